package runner

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// feed adds points at these times, in milliseconds; the value is the time.
func feed(times []int) *progress {
	s := &progress{unit: "op", thin: thinner{step: steps[0]}}
	for _, ms := range times {
		s.add(model.Progress{Metric: "m", Elapsed: time.Duration(ms) * time.Millisecond, Value: float64(ms)})
	}
	return s
}

func TestThinning(t *testing.T) {
	tests := []struct {
		name        string
		times, want []int
	}{
		{"none", nil, nil},
		{"one", []int{7}, []int{7}},
		{"first and last", []int{0, 10, 20, 30}, []int{0, 30}},
		{"every ten milliseconds", []int{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 110, 120, 200, 210}, []int{0, 100, 200, 210}},
		{"about the step", []int{0, 99, 201, 300, 399, 501}, []int{0, 99, 201, 300, 399, 501}},
		{"slower than the step", []int{0, 1000, 2000, 5000}, []int{0, 1000, 2000, 5000}},
		{"twice the same time", []int{0, 500, 500, 1000}, []int{0, 500, 1000}},
		{"backwards", []int{0, 500, 400, 1000}, []int{0, 500, 1000}},
	}
	for _, tt := range tests {
		var got []int
		for _, off := range feed(tt.times).series("m").Offsets {
			got = append(got, int(off/1e6))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", tt.name, diff)
		}
	}
}

// TestLongSeries checks bound, resolution and truth of a series of many hours
// that gets jittered points.
func TestLongSeries(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, tt := range []struct {
		hours, every int // ms
		most         int
	}{{1, 100, maxPoints}, {2, 200, 9_000}, {10, 200, 45_000}, {10, 1000, 36_001}} {
		var times []int
		for ms := 0; ms <= tt.hours*3_600_000; ms += tt.every {
			times = append(times, max(0, ms-rng.IntN(tt.every/5)))
		}
		s := feed(times).series("m")
		n := len(s.Offsets)
		if n > tt.most {
			t.Errorf("%d h every %d ms: %d points, want at most %d", tt.hours, tt.every, n, tt.most)
		}
		if s.Values[0] != float64(times[0]) || s.Values[n-1] != float64(times[len(times)-1]) {
			t.Errorf("%d h every %d ms: from %v to %v, want first and last point", tt.hours, tt.every, s.Values[0], s.Values[n-1])
		}
		for i := range n {
			if s.Values[i] != float64(s.Offsets[i]/1e6) {
				t.Fatalf("point %d: %d ns has the value %v: not a point that was added", i, s.Offsets[i], s.Values[i])
			}
			if i > 0 && s.Offsets[i]-s.Offsets[i-1] > int64(max(time.Second, time.Duration(tt.every)*time.Millisecond*6/5)) {
				t.Fatalf("gap of %d ns at %d, want at most 1 s", s.Offsets[i]-s.Offsets[i-1], i)
			}
		}
	}
}

func TestReporterRefuses(t *testing.T) {
	tests := []struct {
		name string
		do   func(*reporter)
		ok   bool
	}{
		{"nothing", func(*reporter) {}, true},
		{"rising", func(r *reporter) { r.Progress("m", "op", 1); r.Progress("m", "op", 1); r.Progress("m", "op", 2) }, true},
		{"unit changed", func(r *reporter) { r.Progress("m", "op", 1); r.Progress("m", "byte", 2) }, false},
		{"no metric", func(r *reporter) { r.Progress("", "op", 1) }, false},
		{"no unit", func(r *reporter) { r.Progress("m", "", 1) }, false},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		r := newReporter(&lineWriter{w: &out})
		r.Progress("early", "op", 5) // before Run: no progress, no error
		r.begin(time.Now().Add(-time.Second))
		tt.do(r)
		if err := r.end(); (err == nil) != tt.ok {
			t.Errorf("%s: end() = %v, want ok %v", tt.name, err, tt.ok)
		}
		if bytes.Contains(out.Bytes(), []byte("early")) {
			t.Errorf("%s: progress from before Run was sent", tt.name)
		}
	}
}

func FuzzReport(f *testing.F) {
	f.Add([]byte(`{"point":{"metric":"m","unit":"op","after":5,"value":1}}` + "\n" + `{"done":{}}`))
	f.Add([]byte(`{"sample":{"metric":"m"}}` + "\n" + `{"started":-5}` + "\n{"))
	f.Fuzz(func(t *testing.T, text []byte) {
		var d data
		for lines := newLineReader(bytes.NewReader(text)); ; {
			var r report
			if lines.next(&r) != nil {
				break
			}
			if r.Point != nil {
				d.addPoint(*r.Point)
			}
			d.take(r)
		}
		for metric, p := range d.series {
			s := p.series(metric)
			for i := range s.Offsets[1:] {
				if s.Offsets[i+1] <= s.Offsets[i] || s.Values[i+1] < s.Values[i] {
					t.Errorf("series %v %v of %q does not rise", s.Offsets, s.Values, text)
				}
			}
		}
	})
}
