package search_test

import (
	"math"
	"slices"
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
		text           bool
		answer         float64
		windows        int
	}{
		{1000, .1, false, 1000, 12},
		{1000, .1, true, 960, 9},
		{7300, .1, false, 7040, 12},
		{7300, .1, true, 7040, 11},
		{7300, .25, false, 7200, 11},
		{7300, .25, true, 6400, 10},
	} {
		r := run(t, newPaper(t, search.Options{Rate: c.rate, TextRule: c.text}), sharp(c.boundary, nil))
		if !near(r.Estimate, c.answer) || len(r.Trials) != c.windows {
			t.Errorf("boundary %v, rate %v, text rule %v: %v in %d windows, want %v in %d",
				c.boundary, c.rate, c.text, r.Estimate, len(r.Trials), c.answer, c.windows)
		}
		if !near(r.Passed, c.answer) || !(r.Failed > c.boundary) || r.Confirmed {
			t.Errorf("boundary %v, rate %v, text rule %v: passed %v, failed %v, confirmed %v, want the answer passed, a load above the boundary failed, nothing confirmed",
				c.boundary, c.rate, c.text, r.Passed, r.Failed, r.Confirmed)
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

// The ramp's rule allows 1000, the SLA 700: the answer was never tried and
// breaks the SLA.
func TestPaperNeverTested(t *testing.T) {
	s := newPaper(t, search.Options{})
	for {
		load, phase, ok := s.Next()
		if !ok {
			break
		}
		s.Observe(phase == search.Ramp && load <= 1000 || load <= 700)
	}
	r := s.Result()
	if r.Estimate != 760 || r.Passed != 400 || r.Failed != 800 {
		t.Errorf("answer %v, passed %v, failed %v; want 760, 400, 800", r.Estimate, r.Passed, r.Failed)
	}
	wantWarning(t, r, "760, was never tested")
}

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
	wantWarning(t, r, "above the largest allowed, 1000")

	r = run(t, newPaper(t, search.Options{MaxWindows: 7}), sharp(1000, nil))
	if len(r.Trials) != 7 || r.Passed != 840 || r.Failed != 1600 || !math.IsNaN(r.Estimate) {
		t.Errorf("7 windows: %d, passed %v, failed %v, answer %v; want 7, 840, 1600, NaN", len(r.Trials), r.Passed, r.Failed, r.Estimate)
	}
	wantWarning(t, r, "no answer after 7 windows")
}

func wantWarning(t *testing.T, r search.Result, part string) {
	t.Helper()
	if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, part) }) {
		t.Errorf("warnings %q: none says %q", r.Warnings, part)
	}
}
