package capacity

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// limited is a target that answers what is beyond a rate with errors of a kind,
// as nginx does with limit_req; from one load up the generators send late, too.
func limited(limit, late float64, kind load.Kind) func(Next, int) load.Window {
	return func(o Next, _ int) load.Window {
		due := int64(10 * o.Load)
		ok := min(due, int64(10*limit))
		w := answered(due, ok, time.Millisecond)
		w.Load = o.Load
		w.Counts.Errors[kind] = due - ok
		w.Replies = ok
		if o.Load >= late {
			w.Lags.Reset()
			histogram.RecordMany(w.Lags, int64(63*time.Millisecond), due)
		}
		return w
	}
}

// searchIn lets a configuration search among windows.
func searchIn(t *testing.T, cfg Config, offer func(o Next, window int) load.Window) Answer {
	t.Helper()
	var windows []load.Window
	for range 200 {
		s, err := cfg.Evaluate(windows)
		if err != nil {
			t.Fatal(err)
		}
		if s.Next == nil {
			return s.Answer
		}
		windows = append(windows, offer(*s.Next, len(windows)))
	}
	t.Fatal("the search does not end")
	return Answer{}
}

// Errors that the target answers are its own, however late requests were sent.
func TestErrorsAreTheTargets(t *testing.T) {
	for name, kind := range map[string]load.Kind{"429 or 503": load.ErrStatus, "closed connections": load.ErrClosed} {
		a := searchIn(t, config(t), limited(300, 320, kind))
		if a.Limit != LimitTarget || a.Estimate == nil || *a.Passed > 305 || *a.Failed < 300 {
			t.Errorf("%s: limit %s, passed %v, failed %v; want the target, about 300; %q", name, a.Limit, number(a.Passed), number(a.Failed), a.Warnings())
		}
	}
}

// What a generator has held back comes at once, and a target that bounds its rate
// refuses it: below the rate, such errors say nothing of the target.
func TestRefusedForComingAtOnce(t *testing.T) {
	steady := limited(1451, 1e6, load.ErrStatus)
	a := searchIn(t, config(t), func(o Next, k int) load.Window {
		w := steady(o, k)
		if k%2 == 0 || o.Load > 1451 {
			return w
		}
		held := w.Counts.Due / 20 // in every second window, for half a second
		w = answered(w.Counts.Due, w.Counts.Due-held*9/10, time.Millisecond)
		w.Load = o.Load
		w.Counts.Errors[load.ErrStatus], w.Counts.Late = held*9/10, held
		w.Lags.Reset()
		histogram.RecordMany(w.Lags, int64(10*time.Microsecond), w.Counts.Due-held)
		histogram.RecordMany(w.Lags, int64(250*time.Millisecond), held)
		return w
	})
	if a.Limit != LimitTarget || a.Estimate == nil || *a.Passed > 1480 || *a.Failed < 1451 {
		t.Errorf("limit %s, passed %v, failed %v; want the target, about 1451; %q", a.Limit, number(a.Passed), number(a.Failed), a.Warnings())
	}
}

// A larger load that missed for the target's sake says where the target has its
// limit, although windows in between say nothing; unless it is so much larger that
// this is no answer.
func TestLateInBetween(t *testing.T) {
	for _, c := range []struct {
		target, late float64 // windows above the one and below the other say nothing
		want         Limit
		estimated    bool // one window at 1000/s does not bound it
	}{{811, 900, LimitTarget, true}, {650, 990, LimitTarget, false}, {330, 990, LimitGenerator, false}} {
		w := newWorld(c.target)
		a := searchIn(t, config(t), func(o Next, _ int) load.Window {
			out := w.offer(o)
			if o.Load > c.target && o.Load < c.late {
				out = answered(int64(10*o.Load), int64(10*o.Load), 170*time.Millisecond)
				out.Load = o.Load
				out.Lags.Reset()
				histogram.RecordMany(out.Lags, int64(60*time.Millisecond), int64(10*o.Load))
			}
			return out
		})
		if a.Limit != c.want || *a.Passed > c.target || *a.Failed < c.target {
			t.Errorf("%+v: limit %s, passed %v, failed %v, %q", c, a.Limit, number(a.Passed), number(a.Failed), a.Warnings())
			continue
		}
		if n := missedAt(a, *a.Failed); (a.Estimate != nil) != c.estimated || a.Confirmed && n < 2 {
			t.Errorf("%+v: estimate %v, confirmed %v, where %d windows missed at %v; want an estimate of the target's limit, if it is bounded, confirmed by two",
				c, number(a.Estimate), a.Confirmed, n, *a.Failed)
		}
		if (a.CI == nil) != (a.Estimate == nil) {
			t.Errorf("%+v: estimate %v with the interval %v", c, number(a.Estimate), a.CI)
		}
		if a.CI != nil && (a.CI[0] > c.target || a.CI[1] < c.target) {
			t.Errorf("%+v: the interval %v misses %v", c, *a.CI, c.target)
		}
	}
}

// A target that becomes slower is no floor: the search returns to a load that
// passed.
func TestDrift(t *testing.T) {
	w := newWorld(7300)
	a := searchIn(t, config(t), func(o Next, k int) load.Window {
		if k == 2 {
			w.target = .5 // it took 100 and 1000/s
		}
		return w.offer(o)
	})
	if a.Limit != LimitDrift || a.Drift == nil || a.Drift.Then < 100 || a.Drift.Now != nil || a.Passed != nil || a.Confirmed {
		t.Errorf("limit %s, %+v, passed %v, confirmed %v; want a drift from 100/s to nothing", a.Limit, a.Drift, number(a.Passed), a.Confirmed)
	}
	if err := (Search{Answer: a}).gate(0); err == nil {
		t.Error("the gate lets a drift pass")
	}
	// What passed before is not what it takes now.
	for from := 2; from < 9; from++ {
		w = newWorld(7300)
		a = searchIn(t, config(t), func(o Next, k int) load.Window {
			if k == from {
				w.target = .5
			}
			return w.offer(o)
		})
		if a.Limit != LimitDrift || a.Drift.Now != nil {
			t.Errorf("from window %d on: limit %s, %+v; want a drift to nothing", from+1, a.Limit, a.Drift)
		}
	}
	// One that recovers was disturbed.
	w, broken := newWorld(7300), 0
	a = searchIn(t, config(t), func(o Next, k int) load.Window {
		w.target = 7300
		if k >= 2 && k < 30 {
			w.target, broken = .5, k
		}
		return w.offer(o)
	})
	if a.Limit == LimitDrift && broken < len(a.Windows)-2 {
		t.Errorf("a target that recovered drifts: %+v", a.Windows)
	}
}

// One window is enough, unless it may have passed by luck: a target that slows
// down from the first one on is no floor either.
func TestDriftFromTheFirst(t *testing.T) {
	for _, c := range []struct {
		first int64 // operations of the window that passed
		want  Limit
	}{{1000, LimitDrift}, {20, LimitFloor}} {
		w := newWorld(7300)
		a := searchIn(t, config(t), func(o Next, k int) load.Window {
			if k == 0 {
				out := answered(c.first, c.first, time.Millisecond)
				out.Load = o.Load
				return out
			}
			w.target = .5
			return w.offer(o)
		})
		if a.Limit != c.want || a.Confirmed || a.Passed != nil {
			t.Errorf("%d operations passed: limit %s, passed %v, confirmed %v; want %s", c.first, a.Limit, number(a.Passed), a.Confirmed, c.want)
		}
	}
}

// A light load needs longer for its SLA to be told from luck.
func TestLasts(t *testing.T) {
	cfg := config(t)
	cfg.Scored, cfg.WarmUp = 10*time.Second, time.Second
	for _, c := range []struct {
		load  float64
		given bool
		want  time.Duration
	}{{100, false, 10 * time.Second}, {20, false, 15 * time.Second}, {1, false, time.Minute}, {20, true, 10 * time.Second}} {
		cfg.Given = c.given
		if got := cfg.lasts(c.load); got != c.want {
			t.Errorf("%v/s, given %v: a window of %v, want %v", c.load, c.given, got, c.want)
		}
	}
	cfg.Given = false
	for timeout, want := range map[time.Duration]time.Duration{0: time.Minute, time.Hour: time.Minute, 30 * time.Second: 26 * time.Second, 13 * time.Second: 10 * time.Second} {
		cfg.Most = 0
		if cfg.bound(timeout, 13*time.Second); cfg.lasts(1) != want {
			t.Errorf("a timeout of %v: a window of %v, want %v", timeout, cfg.lasts(1), want)
		}
	}
	few := Assessment{Window: answered(20, 20, time.Millisecond), Phase: search.Ramp, Verdict: Passed}
	var d model.Doubts
	cfg.tooFew([]Assessment{few, few}, &d)
	if got := strings.Join(model.Texts(d), ""); !strings.Contains(got, "2 windows passed with as few as 20 operations") {
		t.Errorf("tooFew = %q", got)
	}
}

// missedAt counts the windows at a load that missed for the target's sake.
func missedAt(a Answer, load float64) (n int) {
	for _, j := range a.Windows {
		if j.Load == load && j.Verdict == Missed {
			n++
		}
	}
	return n
}

// number is a load that may be missing.
func number(v *float64) any {
	if v == nil {
		return "none"
	}
	return *v
}

// A target that breaks its SLA at any load lets some windows of few operations
// pass. Nothing is estimated from these.
func TestLuckIsNoCapacity(t *testing.T) {
	cfg := config(t)
	n := int64(0)
	a := searchIn(t, cfg, func(o Next, _ int) load.Window {
		due := max(int64(2*o.Load), 1) // two seconds, whatever the load
		failed := int64(0)
		for range due {
			if n++; n%20 == 0 { // every twentieth request is redirected
				failed++
			}
		}
		w := answered(due, due-failed, time.Millisecond)
		w.Load, w.Replies = o.Load, due
		w.Counts.Errors[load.ErrStatus] = failed
		return w
	})
	if a.Estimate != nil || a.CI != nil || a.Confirmed {
		t.Errorf("estimate %v %v, confirmed %v, of luck; %q", number(a.Estimate), a.CI, a.Confirmed, a.Warnings())
	}
}

// anyLoad is a target that fails a share of all requests, each by chance, however
// many there are: from half to twice what the SLA allows a window may pass. Beyond
// its capacity it fails the rest as well.
func anyLoad(share, capacity float64, seed uint64) func(Next, int) load.Window {
	rng := rand.New(rand.NewPCG(seed, 1))
	return func(o Next, _ int) load.Window {
		due, failed := max(int64(o.Load*max(10, min(60, math.Ceil(300/o.Load)))), 1), int64(0)
		for range due {
			if rng.Float64() < max(share, 1-capacity/o.Load) {
				failed++
			}
		}
		w := answered(due, due-failed, time.Millisecond)
		w.Load, w.Replies = o.Load, due-failed
		w.Counts.Errors[load.ErrStatus] = failed
		return w
	}
}

// TestNoLoadIsAllowed: where what fails does not depend on the load, no load is the
// capacity, and the target did not change, whichever windows passed.
func TestNoLoadIsAllowed(t *testing.T) {
	for _, c := range []struct {
		sla             string
		share, capacity float64
	}{
		{"p90=150ms", .015, 1e6}, {"p90=150ms", .02, 1e6}, {"p90=150ms", .05, 1e6}, {"p90=150ms,errors=0.1%", .002, 1e6},
		{"p90=150ms,errors=0", .01, 1e6}, {"p90=150ms,errors=0", .001, 1e6}, {"p90=150ms", .015, 500}, {"p90=150ms", .02, 300},
	} {
		wrong := 0
		const searches = 20
		for seed := range uint64(searches) {
			cfg := config(t)
			sla, err := load.ParseSLA(c.sla)
			if err != nil {
				t.Fatal(err)
			}
			cfg.SLA, cfg.Max = sla, 3000
			a := searchIn(t, cfg, anyLoad(c.share, c.capacity, seed))
			if a.Estimate != nil || a.Confirmed || a.Limit == LimitDrift {
				wrong++
				t.Logf("%s, %v fail: %s, passed %v, estimate %v; %q", c.sla, c.share, a.Limit, number(a.Passed), number(a.Estimate), a.Warnings())
			}
			if a.Limit == LimitTarget && gated(1, Search{Workload: "w", Config: cfg, Answer: a}) == nil {
				t.Errorf("%s, %v fail: the gate lets it pass", c.sla, c.share)
			}
		}
		if wrong > 0 {
			t.Errorf("%s, %v fail at any load: %d of %d searches report a capacity, or a change", c.sla, c.share, wrong, searches)
		}
	}
}

// TestReturnThatTellsNothing: where the generators cannot offer the load that
// passed early, it is not known whether the target changed.
func TestReturnThatTellsNothing(t *testing.T) {
	w := newWorld(7300)
	a := searchIn(t, config(t), func(o Next, k int) load.Window {
		if k < 2 { // it took 100 and 1000/s
			return w.offer(o)
		}
		w.target = 3.3
		out := w.offer(o)
		if o.Load > 50 {
			out = answered(int64(10*o.Load), int64(9*o.Load), time.Millisecond)
			out.Load, out.Processor = o.Load, 1
			out.Lags.Reset()
			histogram.RecordMany(out.Lags, int64(500*time.Millisecond), int64(10*o.Load))
		}
		return out
	})
	if a.Confirmed || a.Estimate != nil || a.Limit != LimitMachine || len(a.Windows) > 2*mostUseless {
		t.Errorf("limit %s, passed %v, confirmed %v, %q; want an end, and the machine that was full", a.Limit, number(a.Passed), a.Confirmed, a.Warnings())
	}
	for _, least := range []float64{0, 1, 100} {
		if err := gated(least, Search{Workload: "w", Answer: a}); !errors.Is(err, model.ErrInvalid) {
			t.Errorf("--fail-below %v: %v, want ErrInvalid", least, err)
		}
	}
}
