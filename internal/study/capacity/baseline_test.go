package capacity

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestStartAboveTheLink: where the first load fills the path already, that is
// not what the path is compared with: the path is found to be at its limit, and
// no window in which it was not full is marked or repeated.
func TestStartAboveTheLink(t *testing.T) {
	for name, c := range map[string]struct {
		nodes []model.NodeID
		most  float64 // load that the link takes
		deep  bool    // the queue is the longer the more is offered
		bulky bool    // large answers fill the link for a while under any load
	}{
		"one generator":                {[]model.NodeID{"a"}, 12, false, false},
		"large answers":                {[]model.NodeID{"a"}, 12, false, true},
		"several":                      {[]model.NodeID{"a", "b", "c"}, 12, false, false},
		"the second load fills it too": {[]model.NodeID{"a"}, 5, true, false},
	} {
		f := newFleet(c.nodes...)
		f.bulky = c.bulky
		for _, n := range c.nodes {
			f.path[n] = c.most
		}
		if c.deep {
			f.away = func(o Next, _ int) time.Duration {
				return time.Duration(20*max(math.Log(o.Load/c.most), 0)) * time.Millisecond
			}
		}
		r := f.search(t, config(t))
		if r.Limit != LimitPath || r.Estimate != nil || r.Path == nil || *r.Passed > c.most || *r.Failed <= c.most {
			t.Errorf("%s: limit %s, estimate %v, path %v; want path and no estimate; %q", name, r.Limit, r.Estimate, r.Path, r.Warnings())
			continue
		}
		if !c.bulky && r.Path.Light > 1 || r.Path.Full < 15 || len(r.Path.Nodes) > 0 {
			t.Errorf("%s: round trips %v under a light load, %v under full, of %v", name, r.Path.Light, r.Path.Full, r.Path.Nodes)
		}
		if !c.bulky { // else loads of half the link's differ
			checkNotMarked(t, name, r)
		}
	}
}

// checkNotMarked: only windows that filled the path are marked, of those only
// one is repeated, and the path did not change for good.
func checkNotMarked(t *testing.T, name string, r Answer) {
	t.Helper()
	repeated := 0
	for i, w := range r.Windows {
		if w.Verdict == Unusable {
			repeated++
		}
		if w.PathChange != nil && (w.Load <= *r.Passed || i == 0) {
			t.Errorf("%s: window %d, at %v/s, is marked: %s", name, i+1, w.Load, w.PathChange)
		}
	}
	if repeated > 1 || strings.Contains(strings.Join(r.Warnings(), "\n"), "for good") {
		t.Errorf("%s: %d windows were repeated, want one at most; %q", name, repeated, r.Warnings())
	}
}

// TestQueueAsLongAsBefore: a load that is passed beside one that fills the path,
// with as long a queue, is no sign that the path changed for good. What round
// trips took under a light load is still known.
func TestQueueAsLongAsBefore(t *testing.T) {
	f := newFleet("a")
	f.path["a"] = 3000
	f.away = func(o Next, _ int) time.Duration {
		if o.Load > 2500 && o.Load <= 3000 {
			return 19 * time.Millisecond
		}
		return 0
	}
	if r := f.search(t, config(t)); r.Limit != LimitPath || r.Path.Light > 1 {
		t.Errorf("limit %s, path %v; want path, from less than 1 ms; %q", r.Limit, r.Path, r.Warnings())
	}
}

// TestLongerForGood: a path that became longer for good, as windows far below
// the boundary show too, is not taken for a queue.
func TestLongerForGood(t *testing.T) {
	f := newFleet("a")
	f.away = func(_ Next, window int) time.Duration {
		if window < 3 {
			return 0
		}
		return 30 * time.Millisecond
	}
	r := f.search(t, config(t))
	if r.Limit != LimitTarget || *r.Passed > f.target || *r.Failed <= f.target || !strings.Contains(strings.Join(r.Warnings(), "\n"), "longer for good") {
		t.Errorf("limit %s, path %v, passed %v, failed %v; want target about %v; %q", r.Limit, r.Path, *r.Passed, *r.Failed, f.target, r.Warnings())
	}
}

// TestPathAtFloor: where even the smallest load is missed and the path alone
// explains that, nothing is said of the target.
func TestPathAtFloor(t *testing.T) {
	later := func(from int, more time.Duration) func(Next, int) time.Duration {
		return func(_ Next, window int) time.Duration {
			if window < from {
				return 0
			}
			return more
		}
	}
	const ms = time.Millisecond
	for _, c := range []struct {
		name   string
		away   func(Next, int) time.Duration
		server time.Duration
		limit  Limit
		text   string
	}{
		{"longer for good after the first window", later(2, 200*ms), 2 * ms, LimitPath, "round trips to the target alone take 201 ms (p90) at 1 op/s, where the SLA is p90=150ms: no target can keep"},
		{"longer for good after some windows", later(5, 200*ms), 2 * ms, LimitPath, "under a light load and 201 ms"},
		{"too long from the start", later(0, 250*ms), 2 * ms, LimitPath, "round trips to the target alone take 251 ms (p90)"},
		{"longer by what the server needs", later(2, 100*ms), 60 * ms, LimitPath, "under a light load and 10"},
		{"longer, and the server is slow, too", later(2, 100*ms), time.Second, LimitPath, "under a light load and 10"},
		{"long, but not too long", later(0, 100*ms), 200 * ms, LimitFloor, "the boundary is below"},
	} {
		f := newFleet("a")
		f.away, f.server = c.away, c.server
		r := f.search(t, config(t))
		if r.Limit != c.limit || r.Passed != nil || r.Estimate != nil || (r.Path != nil) != (c.limit == LimitPath) {
			t.Errorf("%s: limit %s, passed %v, estimate %v, path %v; want %s", c.name, r.Limit, r.Passed, r.Estimate, r.Path, c.limit)
		}
		text := strings.Join(r.Warnings(), "\n")
		if !strings.Contains(text, c.text) || c.limit == LimitPath && (!strings.Contains(text, "the target's capacity is unknown") || strings.Contains(text, "at least the load that passed") || strings.Contains(text, "smaller load")) {
			t.Errorf("%s: warnings %q, want %q, and no advice that contradicts it", c.name, r.Warnings(), c.text)
		}
	}
}

// TestFloorWords: where even the smallest load allowed is missed, a smaller one is
// advised only where it could help.
func TestFloorWords(t *testing.T) {
	for _, c := range []struct {
		name   string
		server time.Duration
		refuse float64
		want   string
	}{
		{"no room for one operation", 200 * time.Millisecond, 0, "an operation takes 2"},
		{"operations wait for each other", time.Second, 0, "the smallest load allowed, 1 op/s, failed: the boundary is below it; allow a smaller load"},
		{"operations fail", time.Millisecond, .5, "operations fail even at 1 op/s, the smallest load allowed (refused: "},
	} {
		f := newFleet("a")
		if f.server, f.refuse = c.server, c.refuse; c.refuse > 0 {
			f.target = 0
		}
		r := f.search(t, config(t))
		text := strings.Join(r.Warnings(), "\n")
		if r.Limit != LimitFloor || !strings.Contains(text, c.want) || strings.Count(text, "smaller load") != 1 {
			t.Errorf("%s: limit %s, warnings %q; want %q, and one word about a smaller load", c.name, r.Limit, r.Warnings(), c.want)
		}
	}
}

// TestNothingPassed: where no load passed, none is said to be taken.
func TestNothingPassed(t *testing.T) {
	w := newWorld(7300)
	w.generator = 0
	r := w.search(t, config(t), 100).Answer
	if text := strings.Join(r.Warnings(), "\n"); r.Limit != LimitGenerator || r.Passed != nil || !strings.Contains(text, "could not offer more load") || strings.Contains(text, "the load that passed") {
		t.Errorf("limit %s, passed %v, warnings %q; want the generators, and nothing of a load that passed", r.Limit, r.Passed, text)
	}
}

// TestChosenWindows: windows that a user made shorter than the search would are
// told, and what that costs.
func TestChosenWindows(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		sla    string
		scored time.Duration
		given  bool
		want   string
	}{
		{"p90=150ms", 10 * s, true, ""},
		{"p90=50ms", 3 * s, true, "windows of 3s are shorter than the 10s that the search would choose: what the target does less often"},
		{"p90=50ms", 3 * s, true, "an overload of up to 1.06 % can stay unnoticed, in place of 0.455 %"},
		{"p90=50ms", 3 * s, false, ""}, // of runs that do not say who chose it
		{"p90=150ms", 3 * s, true, "windows of 3s are short for p90=150ms,errors=1%: an overload of up to 3.19 %"},
	} {
		cfg := Config{SLA: sla(c.sla), WarmUp: 2 * s, Scored: c.scored, Given: c.given}
		var d model.Doubts
		cfg.tooShort(&d)
		if got := strings.Join(model.Texts(d), "\n"); (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, windows of %v: %q, want %q", c.sla, c.scored, got, c.want)
		}
	}
}

// TestPathIsNotWhyThereAreErrors: the path explains late answers, or that the
// server fell behind, and no errors that the server answered with.
func TestPathIsNotWhyThereAreErrors(t *testing.T) {
	longer := func(more time.Duration) func(Next, int) time.Duration {
		return func(o Next, _ int) time.Duration {
			if o.Load <= 3000 {
				return 0
			}
			return more
		}
	}
	for _, c := range []struct {
		name   string
		refuse float64
		away   time.Duration
		path   float64
		limit  Limit
	}{
		{"2 % errors, round trips a little longer", .02, 400 * time.Microsecond, 0, LimitTarget},
		{"15 % errors, as many as p90 leaves, behind a queue", .15, 20 * time.Millisecond, 0, LimitTarget},
		{"answers fall behind, still in time, behind a queue", 0, 0, 3000, LimitPath},
	} {
		f := newFleet("a")
		f.target, f.refuse, f.away = 3000, c.refuse, longer(c.away)
		if c.path > 0 {
			f.target, f.path["a"], f.behind = 7300, c.path, true
		}
		r := f.search(t, config(t))
		if r.Limit != c.limit || *r.Passed > 3000 || *r.Failed <= 3000 || (r.Estimate != nil) != (c.limit == LimitTarget) {
			t.Errorf("%s: limit %s, estimate %v, path %v; want %s; %q", c.name, r.Limit, r.Estimate, r.Path, c.limit, r.Warnings())
		}
	}
}
