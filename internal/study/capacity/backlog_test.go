package capacity

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	work "github.com/scalebench/scalebench/internal/workload/load"
)

// hoarder answers so many operations a second, one after the other, and goes on with
// those that its clients have given up after patience.
type hoarder struct {
	rate, patience float64
	queue          float64 // operations
	due, replies   float64 // left of counts that are whole
}

// offer lets it get over what it has, and measures a window.
func (h *hoarder) offer(o Next, warmUp time.Duration) load.Window {
	w := load.Window{Load: o.Load, Scored: o.Scored, Latencies: histogram.New(int64(time.Hour)), Services: histogram.New(int64(time.Hour))}
	if o.Recover {
		h.queue -= h.rate * max(o.RecoverWithin, work.RecoverWithin).Seconds()
		w.Unrecovered = h.queue > 0
	}
	h.queue = max(h.queue, 0)
	for k := range int((warmUp + o.Scored) / time.Second) {
		wait := h.queue / h.rate
		replies := min(h.rate, o.Load+h.queue)
		ok := 0.
		if wait+1/h.rate < h.patience {
			ok = o.Load
		}
		if wait > h.patience {
			replies = 0 // of those who have gone
		}
		h.queue = max(h.queue+o.Load-h.rate, 0)
		if k < int(warmUp/time.Second) {
			continue
		}
		h.due, h.replies = h.due+o.Load, h.replies+replies
		due, answers, x := int64(h.due), int64(h.replies), &w.Seconds
		h.due, h.replies = h.due-float64(due), h.replies-float64(answers)
		n := due
		if ok == 0 {
			n = 0
		}
		x.Index, x.Due, x.OK, x.Replies = append(x.Index, k), append(x.Due, due), append(x.OK, n), append(x.Replies, answers)
		x.P50, x.P90 = append(x.P50, wait), append(x.P90, wait)
		w.Counts.Due, w.Counts.OK, w.Replies = w.Counts.Due+due, w.Counts.OK+n, w.Replies+answers
		w.Counts.Errors[load.ErrTimeout] += due - n
		histogram.RecordMany(w.Latencies, int64((wait+1/h.rate)*1e9), n)
	}
	return w
}

// TestBacklog: a target that goes on with what its clients have given up is let go of
// it before the next window; one that began before counts for nothing, and nobody
// says that the target stood still.
func TestBacklog(t *testing.T) {
	rng := rand.New(rand.NewPCG(25, 4)) //nolint:gosec // repeatable on purpose
	for _, start := range []float64{5, 25, 100, 3 + 7*rng.Float64(), 30 + 30*rng.Float64()} {
		rate := 20 + 100*rng.Float64()
		h := hoarder{rate: rate, patience: 10}
		cfg := timed(t, 5*time.Second, 0)
		cfg.Start, cfg.Max = math.Round(start*rate), 1e5
		a := searchIn(t, cfg, func(o Next, _ int) load.Window { return h.offer(o, cfg.WarmUp) })
		for i, j := range a.Windows {
			if j.Verdict == Missed && j.Load < .95*rate {
				t.Errorf("%.3g/s, from %v: window %d at %.3g is missed: %s", rate, cfg.Start, i, j.Load, j)
			}
		}
		if a.Passed != nil && *a.Passed < .9*rate && a.Estimate != nil || a.Limit == LimitTarget && a.Estimate == nil || hasDoubt(a, "stall") {
			t.Errorf("%.3g/s, from %v: limit %s, passed %v, failed %v; %q", rate, cfg.Start, a.Limit, number(a.Passed), number(a.Failed), a.Warnings())
		}
	}
}

// TestBacklogTake: what there is to work off is what was not answered, at the rate at
// which it was; where that is not known, or too much, the window may have begun
// before.
func TestBacklogTake(t *testing.T) {
	missed := func(due, replies, stalled int64) Assessment {
		j := Assessment{Verdict: Missed, Window: load.Window{Scored: 10 * time.Second, Counts: load.Counts{Due: due}, Replies: replies}}
		for i := range int64(10) {
			x := &j.Seconds
			x.Index, x.Due, x.Replies = append(x.Index, int(i)), append(x.Due, due/10), append(x.Replies, 0)
			if i < 10-stalled {
				x.Replies[i] = replies / (10 - stalled)
			}
		}
		return j
	}
	refused := missed(1000, 0, 10)
	refused.Counts.Errors[load.ErrStatus] = 1000
	for name, c := range map[string]struct {
		j      Assessment
		want   time.Duration
		waited bool
	}{
		"100/s, 20/s answered":        {missed(1000, 200, 0), 110 * time.Second, true},
		"until it answered nobody":    {missed(1000, 100, 5), 121*time.Second + 500*time.Millisecond, true},
		"nobody":                      {missed(1000, 0, 10), mostRecovery, false},
		"all refused":                 {refused, 0, false},
		"more than anybody waits for": {missed(10000, 100, 0), mostRecovery, false},
		"all answered, but late":      {missed(100, 100, 0), work.RecoverWithin, true},
		"passed":                      {Assessment{Verdict: Passed, Window: missed(100, 100, 0).Window}, 0, false},
	} {
		var b backlog
		if got := b.take(c.j, 5*time.Second); got.Round(2*time.Second) != c.want.Round(2*time.Second) || b.waited != c.waited {
			t.Errorf("%s: %v, waited for all: %v; want %v, %v", name, got, b.waited, c.want, c.waited)
		}
		late := load.Window{Unrecovered: true, Counts: load.Counts{Due: 100}}
		if got := b.in(late); got == c.waited {
			t.Errorf("%s: the next window begins too early: %v", name, got)
		}
		if late.Counts.Errors[load.ErrConnect] = 60; b.in(late) {
			t.Errorf("%s: who refuses works off nothing", name)
		}
	}
}

// TestBacklogAtMin: where all windows began before what was left was worked off nothing
// is known of the target, and certainly not that it takes less.
func TestBacklogAtMin(t *testing.T) {
	cfg := timed(t, 5*time.Second, 0)
	cfg.Start = 100
	a := searchIn(t, cfg, func(o Next, _ int) load.Window {
		w := answered(int64(o.Load*o.Scored.Seconds()), 0)
		w.Load, w.Scored, w.Unrecovered = o.Load, o.Scored, o.Recover
		w.Counts.Errors[load.ErrTimeout] = w.Counts.Due
		return w
	})
	s := Search{Workload: "w", Config: cfg, Answer: a}
	if a.open == nil || a.open.code != "backlog" || s.gate(0) == nil || len(a.Windows) > 12 || strings.Contains(a.sentence(), "less than") ||
		strings.Contains(a.brief(), "less than") {
		t.Errorf("limit %s after %d windows, %q, %q", a.Limit, len(a.Windows), a.sentence(), a.Warnings())
	}
}

// TestStoodStill: that a target stood still is said only where its load cannot be why.
func TestStoodStill(t *testing.T) {
	course := func(at float64, replies ...int64) Assessment {
		j := Assessment{Verdict: Missed, Stall: 3 * time.Second, Window: load.Window{Load: at}}
		for i, n := range replies {
			x := &j.Seconds
			x.Index, x.Due, x.Replies = append(x.Index, i), append(x.Due, int64(at)), append(x.Replies, n)
		}
		return j
	}
	for name, c := range map[string]struct {
		j    Assessment
		want bool
	}{
		"a pause":                          {course(100, 100, 100, 40, 0, 0, 0, 300), true},
		"a queue that nobody waits for":    {course(100, 20, 20, 20, 20, 0, 0, 0), false},
		"silent from the start":            {course(100, 0, 0, 0, 0), false},
		"silent, where as much has passed": {course(40, 0, 0, 0, 0), true},
		"above what failed":                {course(300, 300, 300, 300, 0, 0, 0), false},
		"slightly too much for long":       {course(100, append(make([]int64, 0, 99), 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 97, 0, 0, 0)...), false},
	} {
		a := Answer{Passed: at(50), Failed: at(200), Windows: []Assessment{c.j}}
		a.contradictions()
		if got := hasDoubt(a, "stall"); got != c.want {
			t.Errorf("%s: told of a stall: %v", name, got)
		}
	}
}

// TestMinOnFullMachine: where the smallest load allowed is on a machine that is full,
// a window and its repetition are enough.
func TestMinOnFullMachine(t *testing.T) {
	for _, start := range []float64{200, 2000} {
		cfg := timed(t, 2*time.Second, 0)
		cfg.Min, cfg.Start = 200, start
		a := searchIn(t, cfg, func(o Next, _ int) load.Window {
			w := answered(int64(10*o.Load), int64(5*o.Load), time.Millisecond)
			w.Load, w.Processor = o.Load, 1
			w.Lags.Reset()
			histogram.RecordMany(w.Lags, int64(500*time.Millisecond), int64(10*o.Load))
			return w
		})
		at := 0
		for _, j := range a.Windows {
			if j.Load == cfg.Min {
				at++
			}
		}
		if a.Limit != LimitMachine || at > 3 || len(a.Windows) > 12 {
			t.Errorf("from %v: limit %s, %d windows, %d at the smallest load", start, a.Limit, len(a.Windows), at)
		}
	}
}
