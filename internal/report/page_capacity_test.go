package report

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
)

func renderCase(t *testing.T, name string) string {
	t.Helper()
	d, fs, o := cases()[name]()
	return renderWith(t, d, fs, o)
}

// A run that only searches says nothing of the degradation that nobody asked
// about, and one that does both begins with the search.
func TestSearchPageIsAboutTheSearch(t *testing.T) {
	got := renderCase(t, "search")
	for _, want := range []string{
		"The server takes 7.09 kop/s: passed at 7.055 kop/s", "p90 ≤ 150 ms, errors ≤ 1 %", "17 windows of load were measured",
		"http://10.0.0.7:8080/", "something else disturbed them", "search: 1 trial", "How often each load was tried", "The search over time",
		"Latency by load and percentile", "Outside of the drawing: 100 op/s: 1 passed", "the generators sent late",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	for _, bad := range []string{"degradation", "CDI", "Which resource?", "cannot tell", "order (S serial", "NaN"} {
		if strings.Contains(bodyOf(got), bad) {
			t.Errorf("the page of a search says %q", bad)
		}
	}
	both := renderCase(t, "search beside findings")
	search, overview := strings.Index(both, `id="target0"`), strings.Index(both, `id="overview"`)
	if search < 0 || overview < search {
		t.Errorf("the search stands at %d and the CDI at %d, want the search first", search, overview)
	}
	if !strings.Contains(both, "each node loses 75.") || !strings.Contains(both, "<dt>CDI</dt>") || !strings.Contains(both, "<dt>Unusable window</dt>") {
		t.Error("a page of both does not explain both")
	}
}

// bodyOf leaves out the style sheet.
func bodyOf(page string) string {
	_, body, _ := strings.Cut(page, "<body>")
	return body
}

// The first thing that a reader of a refused search sees is that it was
// refused.
func TestRefusedSearchPage(t *testing.T) {
	got := renderCase(t, "refused search")
	if !strings.Contains(got, `<p class="lead">Refused: the generators were at their limit, not the server; it takes at least 4 kop/s.</p>`) {
		t.Error("the page of a refused search does not begin with that")
	}
	if strings.Contains(got, `class="estimate"`) {
		t.Error("a refused search has an estimate in its figure")
	}
}

func TestPageOfManySearches(t *testing.T) {
	got := renderCase(t, "searches")
	for _, want := range []string{
		"Capacity by target", "n = 11", "n = 9", "2 trials without an estimate: trial 2 (refused: the generators were at their limit), trial 4 (refused",
		"Of 11 trials these are shown: 1, ", "and some without any", "not confirmed", "Hollow: not confirmed.", "http://large.test:8080/: 2 warnings in 2 searches",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := strings.Count(got, `class="boxrow"`); n != 3 {
		t.Errorf("%d box plots, want 3", n)
	}
	if n := strings.Count(got, `<details class="onesearch"`); n < 12 || n > 3*mostDetailed {
		t.Errorf("%d searches with figures, want some of each target", n)
	}
	if n := strings.Count(got, `class="point firm"`) + strings.Count(got, `class="single"`); n != 31 {
		t.Errorf("%d points, want the 31 estimates", n)
	}
}

// Of many trials those are shown that a reader would look for.
func TestDetailedTrials(t *testing.T) {
	var g searchGroup
	for i := range 20 {
		x := capacity.Found{Trial: i + 1}
		if i != 13 {
			x.Result.Estimate = ptr(1000 + math.Mod(float64(7*i), 20)) // all different
		}
		g.trials = append(g.trials, x)
	}
	// 7·3 mod 20 = 1 and 7·17 mod 20 = 19; the least, 0, is the first.
	got := g.detailed()
	for _, want := range []int{0, 19, 17, 13} {
		if !slices.Contains(got, want) {
			t.Errorf("detailed = %v, want %d among them", got, want)
		}
	}
	if len(got) > mostDetailed || !slices.IsSorted(got) {
		t.Errorf("detailed = %v, want at most %d in order", got, mostDetailed)
	}
	g.trials = g.trials[:mostDetailed]
	if got := g.detailed(); len(got) != mostDetailed {
		t.Errorf("detailed of %d trials = %v, want all", mostDetailed, got)
	}
}

// Time in which nothing was measured is left out when somebody has gone on
// much later, and only then.
func TestCourseClock(t *testing.T) {
	at := func(seconds float64) capacity.Judged {
		return capacity.Judged{Window: capacity.Window{Start: day.Add(time.Duration(seconds * float64(time.Second))), Scored: 10 * time.Second}}
	}
	windows := []capacity.Judged{at(0), at(14), at(7200), at(7214), {Window: capacity.Window{Scored: 10 * time.Second}}, at(3)}
	c := newCourseClock(windows)
	for i, want := range []struct {
		from  float64
		pause bool
	}{{0, false}, {14, false}, {34, true}, {48, false}, {58, false}, {68, false}} {
		if from, pause := c.next(windows[i]); from != want.from || pause != want.pause {
			t.Errorf("window %d begins at %v, pause %v, want %v, %v", i, from, pause, want.from, want.pause)
		}
	}
	if want := 7200.0 - 34; c.skipped != want {
		t.Errorf("skipped = %v s, want %v", c.skipped, want)
	}
	got := renderCase(t, "resumed search")
	if !strings.Contains(got, "Pauses of 1 h 59 min in all are left out") && !strings.Contains(got, "Pauses of 2 h 00 min in all are left out") {
		t.Error("the page does not say that time was left out")
	}
}

// A second without a percentile says how much did not end well.
func TestSecondStep(t *testing.T) {
	x := capacity.Second{At: 2 * time.Second, Due: 100, OK: 89, Replies: 95, Median: 1, P90: math.NaN()}
	s := secondStep(x, 10)
	if s.From != 12 || s.To != 13 || s.Achieved != 95 || s.Median != 1 || !math.IsNaN(s.P90) {
		t.Errorf("secondStep(%+v) = %+v", x, s)
	}
	if !strings.HasPrefix(s.Short, "11 of 100") {
		t.Errorf("it says %q of what did not end well", s.Short)
	}
	if x.P90 = 2; secondStep(x, 10).Short != "" {
		t.Error("a second with a p90 says that one is missing")
	}
}

// A long search is drawn by windows, whose percentiles are exact, and keeps
// its page small.
func TestLongSearch(t *testing.T) {
	got := renderCase(t, "long search")
	for _, want := range []string{"whole windows are drawn", "farther from the boundary stand in the table only"} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if n := len(renderCase(t, "search")); n > 200e3 {
		t.Errorf("the page of a search has %d bytes, want at most 200,000", n)
	}
	if len(got) > 400e3 {
		t.Errorf("the page of a long search has %d bytes, want at most 400,000", len(got))
	}
}

// Where rounding has made a percentile of the SLA another number than the
// figure's own, there is one row, and it is the SLA's.
func TestWithTerms(t *testing.T) {
	percent := 99.9
	s := capacity.SLA{Terms: []capacity.Term{{Quantile: percent / 100, Latency: time.Second}, {Quantile: .98, Latency: time.Second}, {Errors: .1}}}
	got := withTerms(heatQuantiles, s)
	if want := []float64{.5, .75, .9, .95, .98, .99, percent / 100}; !slices.Equal(got, want) {
		t.Errorf("withTerms = %v, want %v", got, want)
	}
}

// The page of a search that package capacity has made itself says what it
// found, and that is what the server takes by arithmetic.
func TestPageOfARealSearch(t *testing.T) {
	server := simServer{capacity: 7300, warmUp: 1, scored: 5, at: day}
	cfg := capacity.Defaults()
	cfg.SLA = sla("p90=150ms")
	var windows []capacity.Window
	state, err := cfg.Evaluate(windows)
	for ; err == nil && state.Next != nil; state, err = cfg.Evaluate(windows) {
		windows = append(windows, server.window(simWindow{load: state.Next.Load, phase: state.Next.Phase}))
	}
	if err != nil {
		t.Fatal(err)
	}
	r := state.Result
	if r.Limit != capacity.LimitTarget || r.Estimate == nil || math.Abs(*r.Estimate-7076) > 0.03*7076 {
		t.Fatalf("the search found %v, limit %s, want 7076", opRate(r.Estimate), r.Limit)
	}
	found := []capacity.Found{{Workload: "capacity", Target: "http://10.0.0.7/", Trial: 1, Config: cfg, Result: r}}
	o := plainOptions
	o.Capacities = found
	got := renderWith(t, runOf(found), nil, o)
	for _, want := range []string{capital(answerWords(r)) + ".", `class="ciband"`, `class="divide"`, `class="slarow"`} {
		if !strings.Contains(got, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}
