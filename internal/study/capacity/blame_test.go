package capacity

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// behind is a window of 10 s in which 100/s were due and 19.8/s came back, each
// later than the one before; what had not ended in the end was up to 8 s old.
func behind() load.Window {
	w := answered(1000, 0, time.Millisecond)
	w.Load, w.Counts.Unfinished = 100, 802
	for i := range int64(198) {
		histogram.Record(w.Latencies, (50*i+100)*1e6)
		histogram.Record(w.Services, (50*i+100)*1e6)
		w.Counts.OK++
		w.Replies++
	}
	for i := range 10 {
		x, ok := &w.Seconds, int64(0)
		if i < 2 {
			ok = 99
		}
		x.Index, x.Due, x.OK, x.Replies = append(x.Index, i), append(x.Due, 100), append(x.OK, ok), append(x.Replies, 20)
	}
	return sentLate(w, 20*time.Microsecond)
}

// sentLate has all operations of a window sent so late.
func sentLate(w load.Window, by time.Duration) load.Window {
	w.Lags.Reset()
	histogram.RecordMany(w.Lags, int64(by), w.Counts.Due)
	return w
}

// TestBlame: what is wrong with a generator explains a window that was missed only
// if it is large enough. Who blames it otherwise, or the target, is wrong.
func TestBlame(t *testing.T) {
	generator := func(w load.Window, g load.Generator) load.Window {
		g.Node, g.Counts = "a", w.Counts
		w.Generators, w.Busy, w.Processor = []load.Generator{g}, g.Busy, g.Processor
		return w
	}
	failing := func(late time.Duration, count int64, kinds ...load.Kind) load.Window {
		w := answered(200, 194, time.Millisecond)
		w.Load = 40
		for _, k := range kinds {
			w.Counts.Errors[k] = 6 / int64(len(kinds))
		}
		histogram.RecordMany(w.Lags, int64(late), count)
		w.Counts.Late = count
		return w
	}
	slow := func(latency time.Duration) load.Window { return answered(1000, 1000, latency) }
	const ms = time.Millisecond
	// silent has a share of operations that never end, in each second, and one that the
	// target answers with an error.
	silent := func(share, refused float64) load.Window {
		w := answered(1000, int64(1000*(1-share-refused)), 5*ms)
		w.Counts.Unfinished, w.Counts.Errors[load.ErrClosed] = int64(1000*share), int64(1000*refused)
		for i := range 10 {
			x, ok := &w.Seconds, w.Counts.OK/10
			x.Index, x.Due, x.OK, x.Replies = append(x.Index, i), append(x.Due, 100), append(x.OK, ok), append(x.Replies, ok)
		}
		return w
	}
	for name, c := range map[string]struct {
		w    load.Window
		want string // what is blamed; empty: the target
	}{
		"3 ms late, and 10 s of queue":                      {sentLate(behind(), 3*ms), ""},
		"100 ms late, and 10 s of queue":                    {sentLate(behind(), 100*ms), ""},
		"3 ms late and no time left, and 10 s of queue":     {generator(sentLate(behind(), 3*ms), load.Generator{Lag: 3 * ms, Busy: .99}), ""},
		"10 s late, and 10 s of queue":                      {sentLate(behind(), 10*time.Second), "sent late"},
		"60 ms late, and 110 ms more than is allowed":       {sentLate(slow(260*ms), 60*ms), "sent late"},
		"60 ms late, and 350 ms more than is allowed":       {sentLate(slow(500*ms), 60*ms), ""},
		"no time left, and 350 ms more than is allowed":     {generator(sentLate(slow(500*ms), 60*ms), load.Generator{Lag: 60 * ms, Busy: .97}), "had no time left"},
		"its own processor full, and 350 ms more":           {generator(sentLate(slow(500*ms), 60*ms), load.Generator{Lag: 60 * ms, Own: .98, Processor: .98}), "had no time left"},
		"its own processor full, and 10 s of queue":         {generator(sentLate(behind(), 3*ms), load.Generator{Lag: 3 * ms, Own: .98, Processor: .98}), ""},
		"the machine was full, and 10 s of queue":           {generator(sentLate(behind(), 3*ms), load.Generator{Lag: 3 * ms, Own: .1, Processor: .98}), "does not tell who was at the limit"},
		"most of the machine was in use":                    {generator(sentLate(behind(), 3*ms), load.Generator{Lag: 3 * ms, Own: .1, Processor: .8}), ""},
		"the machine was full, and nothing came for 5 s":    {generator(sentLate(bySeconds(100, 100, 0, 0, 0, 0, 0), 3*ms), load.Generator{Lag: 3 * ms, Processor: .98}), ""},
		"the machine was full, and answers were errors":     {generator(failing(11*ms, 0, load.ErrStatus), load.Generator{Processor: .98}), ""},
		"a restart, 1 in 10 sent 11 ms late":                {failing(11*ms, 20, load.ErrClosed, load.ErrConnect), ""},
		"as many held back for 200 ms and refused":          {failing(200*ms, 20, load.ErrStatus), "sent late"},
		"timeouts, and 30 s of pause in the generator":      {sentLate(behind(), 30*time.Second), "sent late"},
		"no connection for most, late by as little as that": {failing(3*ms, 100, load.ErrConnect), ""},
		"8 ms late, and 2 % never answered":                 {sentLate(silent(.02, 0), 8*ms), ""},
		"60 ms late, and 2 % never answered":                {sentLate(silent(.02, 0), 60*ms), ""},
		"no time left, 30 ms late, 2 % never answered":      {generator(sentLate(silent(.02, 0), 30*ms), load.Generator{Lag: 30 * ms, Busy: .97}), ""},
		"8 ms late, few never answered, few refused":        {sentLate(silent(.008, .008), 8*ms), ""},
		"6 s late, and 2 % never answered":                  {sentLate(silent(.02, 0), 6*time.Second), "sent late"},
	} {
		got := config(t).health(c.w, time.Millisecond)
		text := strings.Join(texts(got), "; ")
		if (len(got) > 0) != (c.want != "") || !strings.Contains(text, c.want) {
			t.Errorf("%s: %q, want %q", name, text, c.want)
		}
	}
}

// bySeconds is a window in which so many were due in each second and so many ended.
func bySeconds(due int64, replies ...int64) load.Window {
	w := answered(due*int64(len(replies)), 0, time.Millisecond)
	w.Load, w.Scored = float64(due), time.Duration(len(replies))*time.Second
	for i, n := range replies {
		x := &w.Seconds
		x.Index, x.Due, x.OK, x.Replies = append(x.Index, i), append(x.Due, due), append(x.OK, n), append(x.Replies, n)
		w.Counts.OK, w.Replies = w.Counts.OK+n, w.Replies+n
	}
	w.Counts.Unfinished = w.Counts.Due - w.Counts.OK
	histogram.RecordMany(w.Latencies, int64(time.Millisecond), w.Counts.OK)
	return w
}

// TestFullMachine: on a machine that is full the words say what is known, and the
// search ends.
func TestFullMachine(t *testing.T) {
	for _, names := range []int{0, 1} {
		w := newWorld(360)
		a := searchIn(t, config(t), func(o Next, _ int) load.Window {
			out := w.offer(o)
			if o.Load > w.target {
				out.Processor = 1
			}
			if names > 0 {
				out.Generators = []load.Generator{{Node: "a", Counts: out.Counts, Processor: out.Processor, Lag: time.Millisecond}}
			}
			return out
		})
		text := a.sentence() + strings.Join(a.Warnings(), "\n")
		if a.Limit != LimitMachine || a.Estimate != nil || *a.Passed > w.target || len(a.Windows) > 20 ||
			!strings.Contains(text, "cannot tell whether the server") || strings.Contains(text, "not the server") {
			t.Errorf("limit %s, passed %v, estimate %v, %d windows: %q", a.Limit, number(a.Passed), number(a.Estimate), len(a.Windows), text)
		}
		if err := gated(1, Search{Workload: "w", Answer: a}); names == 0 && err != nil && !strings.Contains(err.Error(), "full") {
			t.Errorf("the gate says %v", err)
		}
	}
}

// TestUselessSearchEnds: where hardly any window says something of the target, the
// search ends, and says that.
func TestUselessSearchEnds(t *testing.T) {
	w := newWorld(360)
	a := searchIn(t, config(t), func(o Next, k int) load.Window {
		out := w.offer(o)
		if k%4 > 0 { // a pause of the generator
			out = answered(int64(10*o.Load), int64(10*o.Load), 400*time.Millisecond)
			out.Load = o.Load
			out = sentLate(out, 390*time.Millisecond)
		}
		return out
	})
	if len(a.Windows) > 30 || a.Confirmed || a.Estimate != nil || !slices.Contains([]Limit{LimitTarget, LimitGenerator}, a.Limit) {
		t.Errorf("%d windows, limit %s, estimate %v, confirmed %v; %q", len(a.Windows), a.Limit, number(a.Estimate), a.Confirmed, a.Warnings())
	}
}
