package search_test

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/search"
)

func newPaper(t *testing.T, o search.Options) search.Search {
	t.Helper()
	o.Algorithm, o.Start = search.Paper, 100
	s, err := search.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The answers and numbers of windows that the paper's algorithm gives by hand,
// if loads up to the boundary pass.
func TestPaperGolden(t *testing.T) {
	for _, c := range []struct {
		boundary, rate float64
		answer         float64
		windows        int
	}{
		{1000, .1, 1000, 12},
		{7300, .1, 7040, 12},
		{7300, .25, 7200, 11},
	} {
		r := run(t, newPaper(t, search.Options{Rate: c.rate}), sharp(c.boundary, nil))
		if !near(r.Estimate, c.answer) || len(r.Trials) != c.windows {
			t.Errorf("boundary %v, rate %v: %v in %d windows, want %v in %d",
				c.boundary, c.rate, r.Estimate, len(r.Trials), c.answer, c.windows)
		}
		if !near(r.Passed, c.answer) || !(r.Failed > c.boundary) || r.Confirmed {
			t.Errorf("boundary %v, rate %v: passed %v, failed %v, confirmed %v, want the answer passed, a load above the boundary failed, nothing confirmed",
				c.boundary, c.rate, r.Passed, r.Failed, r.Confirmed)
		}
	}
}

func near(x, want float64) bool { return math.Abs(x-want) <= 1e-9*want }

func TestPaperTrace(t *testing.T) {
	r := run(t, newPaper(t, search.Options{}), sharp(1000, nil))
	want := []search.Trial{
		{Load: 100, Phase: search.Ramp, Passed: true},
		{Load: 200, Phase: search.Ramp, Passed: true},
		{Load: 400, Phase: search.Ramp, Passed: true},
		{Load: 800, Phase: search.Ramp, Passed: true},
		{Load: 1600, Phase: search.Ramp},
		{Load: 800, Phase: search.Refine, Passed: true},
		{Load: 840, Phase: search.Refine, Passed: true},
		{Load: 880, Phase: search.Refine, Passed: true},
		{Load: 920, Phase: search.Refine, Passed: true},
		{Load: 960, Phase: search.Refine, Passed: true},
		{Load: 1000, Phase: search.Refine, Passed: true},
		{Load: 1040, Phase: search.Refine},
	}
	if diff := cmp.Diff(want, r.Trials); diff != "" {
		t.Errorf("trials (-want +got):\n%s", diff)
	}
}

// byRules runs the paper's algorithm where its ramp's rule accepts loads up to
// one, and the SLA holds up to another.
func byRules(t *testing.T, o search.Options, accepted, kept float64) search.Result {
	t.Helper()
	s := newPaper(t, o)
	both, ok := s.(search.RampRule)
	if !ok {
		t.Fatal("the paper's algorithm has no rule for the ramp")
	}
	for {
		load, _, ok := s.Next()
		if !ok {
			return s.Result()
		}
		both.ObserveRamp(load <= accepted, load <= kept)
	}
}

// The ramp's rule allows 1000, the SLA 700: the answer was never tried and
// breaks the SLA.
func TestPaperNeverTested(t *testing.T) {
	r := byRules(t, search.Options{}, 1000, 700)
	if r.Estimate != 760 || r.Passed != 400 || r.Failed != 800 {
		t.Errorf("answer %v, passed %v, failed %v; want 760, 400, 800", r.Estimate, r.Passed, r.Failed)
	}
	wantWarning(t, r, "760, was never tested")
}

// What the ramp's rule accepts passed only if it kept the SLA, too; the loads
// tried and the answer are the paper's all the same.
func TestPaperRampBreaksSLA(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		name                   string
		max, accepted, kept    float64
		passed, failed, answer float64
		trials                 int
		capped                 bool
		warning                string
	}{
		{"some of it", 0, 1000, 300, 200, 400, 760, 6, false, "accepted 2 windows that broke the SLA"},
		{"all of it", 0, 1000, 50, nan, 100, 760, 6, false, "no load is known to keep the SLA"},
		{"the cap", 1000, 1e6, 300, 200, 400, nan, 4, false, "accepted 2 windows that broke the SLA"},
		{"not the cap", 1000, 1e6, 1e6, 800, nan, nan, 4, true, "exceed the largest allowed"},
		{"the rule is stricter", 0, 300, 350, 350, 360, 350, 20, false, "does not repeat windows"},
	} {
		r := byRules(t, search.Options{Max: c.max}, c.accepted, c.kept)
		if !same(r.Passed, c.passed) || !same(r.Failed, c.failed) || !same(r.Estimate, c.answer) || len(r.Trials) != c.trials || r.Capped != c.capped {
			t.Errorf("%s: passed %v, failed %v, answer %v in %d windows, capped %v; want %v, %v, %v in %v, %v",
				c.name, r.Passed, r.Failed, r.Estimate, len(r.Trials), r.Capped, c.passed, c.failed, c.answer, c.trials, c.capped)
		}
		wantWarning(t, r, c.warning)
	}
}

// It is unknown whether the ramp kept the SLA: none of its loads passed.
func TestPaperRampUnknown(t *testing.T) {
	s := newPaper(t, search.Options{Max: 1000})
	for _, _, ok := s.Next(); ok; _, _, ok = s.Next() {
		s.Observe(true)
	}
	r := s.Result()
	if !math.IsNaN(r.Passed) || !math.IsNaN(r.Failed) {
		t.Errorf("passed %v, failed %v; want neither", r.Passed, r.Failed)
	}
	wantWarning(t, r, "no load is known to keep the SLA")
}

func same(x, want float64) bool { return math.IsNaN(x) && math.IsNaN(want) || near(x, want) }

func TestPaperFirstLoadFails(t *testing.T) {
	r := run(t, newPaper(t, search.Options{}), sharp(10, nil))
	if !near(r.Estimate, 47.5) || !math.IsNaN(r.Passed) || r.Failed != 50 {
		t.Errorf("answer %v, passed %v, failed %v; want 47.5, NaN, 50", r.Estimate, r.Passed, r.Failed)
	}
	wantWarning(t, r, "the first load, 100, failed")
	wantWarning(t, r, "never tested")
}

// What the paper lacks and a program must have: an end.
func TestPaperEnds(t *testing.T) {
	always := func(float64) bool { return true }
	r := run(t, newPaper(t, search.Options{Max: 1000}), always)
	if !r.Capped || r.Passed != 800 || !math.IsNaN(r.Estimate) {
		t.Errorf("up to 1000: passed %v, answer %v, capped %v; want 800, NaN, true", r.Passed, r.Estimate, r.Capped)
	}
	wantWarning(t, r, "exceed the largest allowed, 1000")

	r = run(t, newPaper(t, search.Options{MaxWindows: 7}), sharp(1000, nil))
	if len(r.Trials) != 7 || r.Passed != 840 || r.Failed != 1600 || !math.IsNaN(r.Estimate) {
		t.Errorf("7 windows: %d, passed %v, failed %v, answer %v; want 7, 840, 1600, NaN", len(r.Trials), r.Passed, r.Failed, r.Estimate)
	}
	wantWarning(t, r, "no answer after 7 windows that count")
}

// exact prints a load without a unit.
func exact(load float64) string { return strconv.FormatFloat(load, 'g', -1, 64) }

func wantWarning(t *testing.T, r search.Result, part string) {
	t.Helper()
	if !slices.ContainsFunc(r.Warnings, func(w search.Warning) bool { return strings.Contains(w.Text(exact), part) }) {
		t.Errorf("warnings %v: none says %q", r.Warnings, part)
	}
}
