package evaluation

import (
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// TestActive: when a task counts as active, and at what rate.
func TestActive(t *testing.T) {
	task := observe.Span{Start: epoch, End: epoch.Add(20 * time.Second)}
	for _, c := range []struct {
		name    string
		seconds []float64
		values  []float64
		begin   float64 // s after the task's start
		rate    float64
	}{
		{"working from the start", []float64{1, 2, 11, 20}, []float64{10, 20, 110, 200}, 0, 10},
		{"zero published first", []float64{0, 1, 11, 20}, []float64{0, 10, 110, 200}, 0, 10},
		{"idle for 3 s", []float64{1, 2, 3, 4, 12, 20}, []float64{0, 0, 0, 10, 90, 170}, 3, 10},
		{"silent for 5 s, then at work", []float64{5, 6, 13, 20}, []float64{1, 11, 81, 151}, 5, 10},
		{"silent inside", []float64{1, 2, 10, 20}, []float64{10, 20, 100, 200}, 0, 10},
		{"two points at one moment", []float64{1, 1, 11, 20}, []float64{10, 20, 110, 200}, 0, 10},
		{"over before the task is", []float64{0, 2, 4, 6}, []float64{0, 20, 40, 60}, 0, 10},
		{"one of several tests", []float64{14, 15, 16, 17}, []float64{0, 10, 20, 30}, 14, 10},
	} {
		s := model.Series{Unit: "op", Values: c.values}
		for _, x := range c.seconds {
			s.Offsets = append(s.Offsets, int64(x*1e9))
		}
		got, err := newCurve(s, task)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if begin := got.active.Start.Sub(epoch).Seconds(); begin != c.begin {
			t.Errorf("%s: active from %v s, want %v s", c.name, begin, c.begin)
		}
		rate, err := got.rate()
		wantValue(t, c.name+": rate", &rate, c.rate, .02*c.rate)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// throttled is the counter of a task whose processor quota is share of each
// period of 100 ms, the first of which begins at phase. It counts seconds of
// processor time and is read every 200 ms, by a thread that has some quota left
// on another processor. The threads that work end with the first moment after
// 2 s at which they run.
func throttled(t *testing.T, share float64, phase time.Duration) *curve {
	t.Helper()
	const period, duration = 100 * time.Millisecond, 2 * time.Second
	quota := time.Duration(share * float64(period))
	work := func(x time.Duration) float64 {
		n, in := int((x+period-phase)/period), (x+period-phase)%period
		return float64(n)*quota.Seconds() + min(in, quota).Seconds()
	}
	end := duration
	if in := (end + period - phase) % period; in >= quota {
		end += period - in
	}
	s := model.Series{Unit: "s"}
	for x := 200 * time.Millisecond; x <= duration; x += 200 * time.Millisecond {
		s.Offsets, s.Values = append(s.Offsets, x.Nanoseconds()), append(s.Values, work(x))
	}
	s.Offsets, s.Values = append(s.Offsets, end.Nanoseconds()), append(s.Values, work(end))
	c, err := newCurve(s, observe.Span{Start: epoch, End: epoch.Add(end)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestThrottledEnd: a task that has to wait for its quota when its time is over
// has the rate of its quota.
func TestThrottledEnd(t *testing.T) {
	const share = .425
	for phase := time.Duration(0); phase < 100*time.Millisecond; phase += 5 * time.Millisecond {
		c := throttled(t, share, phase)
		r := reading{curve: c}
		if err := r.scoreCurve(model.Serial, observe.Span{}); err != nil {
			t.Fatal(err)
		}
		wantValue(t, fmt.Sprintf("let run at %v: rate", phase), &r.scored, share, .002*share)
	}
}

// TestBeforeEnd: which points a scored rate may end at.
func TestBeforeEnd(t *testing.T) {
	for _, c := range []struct {
		name    string
		seconds []float64
		want    int // index
	}{
		{"a point each second, and the end", []float64{1, 2, 3, 4, 5, 5.9}, 4},
		{"the end is a point late by less than half", []float64{1, 2, 3, 4, 5, 6, 6.1}, 4},
		{"two points at the end", []float64{1, 2, 3, 4, 5, 5.01, 5.02}, 3},
		{"few points", []float64{1, 2, 3, 4}, 3},
		{"few points but for the end's", []float64{1, 2, 3, 3.1, 3.2}, 4},
		{"far from the end", []float64{3, 6, 9, 12, 15}, 4},
	} {
		s := model.Series{Unit: "op"}
		for _, x := range c.seconds {
			s.Offsets, s.Values = append(s.Offsets, int64(x*1e9)), append(s.Values, 10*x)
		}
		got, err := newCurve(s, observe.Span{Start: epoch, End: epoch.Add(20 * time.Second)})
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got.steady != c.want {
			t.Errorf("%s: a rate may end at point %d, want %d", c.name, got.steady, c.want)
		}
	}
}

// TestRateIn: only what the points tell of a window is used, and too little
// is refused.
func TestRateIn(t *testing.T) {
	at := func(s float64) time.Time { return epoch.Add(time.Duration(s * 1e9)) }
	series := model.Series{Unit: "op"}
	for _, s := range []float64{1, 2, 3, 7, 8, 9, 10} {
		series.Offsets = append(series.Offsets, int64(s*1e9))
		series.Values = append(series.Values, s*s) // faster and faster
	}
	c, err := newCurve(series, observe.Span{Start: at(0), End: at(10)})
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []struct {
		name     string
		from, to float64
		rate     float64 // 0: refused
	}{
		{"on points", 2, 9, 11},
		{"between points", 1.5, 9.5, 11},
		{"silence inside does no harm", 3, 8, 11},
		{"silent at the beginning", 3.5, 10, 0},
		{"silent at the end", 1, 6, 0},
		{"half in the dark", 6.1, 8.2, 0},
		{"one point", 8.5, 9.5, 0},
		{"before all points", 0, .5, 0},
		{"empty", 5, 5, 0},
	} {
		first, last, err := c.within(observe.Span{Start: at(w.from), End: at(w.to)})
		var got float64
		if err == nil {
			got, err = c.between(first, last)
		}
		if got != w.rate || (err == nil) != (w.rate > 0) {
			t.Errorf("%s: rate %v, %v, want %v", w.name, got, err, w.rate)
		}
	}
}
