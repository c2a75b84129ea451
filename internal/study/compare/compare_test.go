package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// rows are values without facts and times.
func rows(values ...float64) (out []row) {
	for _, v := range values {
		out = append(out, row{at: math.NaN(), value: v})
	}
	return out
}

// some are values in no order that depends on time.
var (
	some  = []float64{102.1, 98.4, 101.7, 99.2, 103.3, 100.9, 97.8, 104.2}
	other = []float64{112.5, 109.3, 107.7, 115.1, 110.8, 113.9, 108.6, 111.4}
)

// near reports whether values agree to seven digits.
func near(got, want float64) bool { return math.Abs(got-want) <= 1e-7*math.Abs(want) }

// The deciding numbers are those of R 4.2, with a and b the values above:
//
//	wilcox.test(log(b), log(a), conf.int=TRUE)              # and paired=TRUE
//	t.test(log(b[1:3]), log(a[1:3]))
//
// exp() of the estimate and of the interval.
func TestAgreesWithR(t *testing.T) {
	for name, c := range map[string]struct {
		a, b          []float64
		pair          string
		ratio, lo, hi float64
		p             float64
		method        string
	}{
		"ranks":        {some, other, "", 1.1018377181532, 1.0705190989226, 1.1317600786627, .0001554001554, methodShift},
		"signed ranks": {some, other, "i", 1.10111173054, 1.06909788868, 1.13508219402, .0078125, methodSignedShift},
		"few":          {some[:3], other[:3], "", 1.09030716166, 1.03887601177, 1.14428448950, .00773691448, methodT},
	} {
		p := New()
		p.Pair = c.pair
		a, b := rows(c.a...), rows(c.b...)
		for i := range a {
			a[i].facts, b[i].facts = map[string]string{"i": strconv.Itoa(i)}, map[string]string{"i": strconv.Itoa(i)}
		}
		got := asked(t, p, a, b)
		inside := near(got.CI.Lo, c.lo) && near(got.CI.Hi, c.hi)
		if c.method == methodShift { // whose interval heeds a difference in scatter, too: R's lies within it
			inside = got.CI.Lo <= c.lo && got.CI.Hi >= c.hi && got.CI.Hi-got.CI.Lo < 1.05*(c.hi-c.lo)
		}
		if got.Method != c.method || !near(*got.Ratio, c.ratio) || !inside || !near(*got.P, c.p) {
			t.Errorf("%s: %s %v %v p %v, want %s %v [%v %v] p %v", name, got.Method, *got.Ratio, *got.CI, *got.P, c.method, c.ratio, c.lo, c.hi, c.p)
		}
	}
	got := asked(t, New(), rows(some...), rows(other...))
	// t.test(b, a) and wilcox.test(b, a, conf.int=TRUE)
	if !near(got.T.T, 8.31579468725) || !near(got.T.P, 9.51312091781e-07) || !near(got.T.Difference.Lo, 7.57536486205) || !near(*got.Shift, 10.15) || !near(got.ShiftCI.Hi, 13) || *got.A12 != 1 {
		t.Errorf("the other tests: %+v, shift %v %v, A12 %v", *got.T, *got.Shift, *got.ShiftCI, *got.A12)
	}
}

// TestLayout: what counts as an independent value.
func TestLayout(t *testing.T) {
	type facts = map[string]string
	// grid has a row for each of these nodes, trials and runs.
	grid := func(nodes, trials, runs []string, more facts) (out []row) {
		for r, run := range runs {
			for k, trial := range trials {
				for i, node := range nodes {
					f := facts{"node": node, "trial": trial, "run": run}
					for name, level := range more {
						f[name] = level
					}
					noise := float64((i*7+k*13+r*29+len(node)*3)%11) / 10
					out = append(out, row{at: float64(1000*r + 10*k), value: 100 + noise, facts: f})
				}
			}
		}
		return out
	}
	// bare is without the run, as tables are.
	bare := func(all []row) []row {
		for _, r := range all {
			delete(r.facts, "run")
		}
		return all
	}
	names := func(prefix string, n int) (out []string) {
		for i := range n {
			out = append(out, prefix+strconv.Itoa(i))
		}
		return out
	}
	x, y, one := names("x", 4), names("y", 4), []string{"1"}
	type want struct {
		Of     string
		Paired bool
		N      int
	}
	for name, c := range map[string]struct {
		a, b []row
		set  func(*Params)
		want want
	}{
		"rows alone":                           {rows(some...), rows(other...), nil, want{"row", false, 8}},
		"other nodes, one trial":               {grid(x, one, one, nil), grid(y, one, []string{"2"}, nil), nil, want{"node", false, 4}},
		"same nodes, one trial":                {grid(x, one, one, nil), grid(x, one, []string{"2"}, nil), nil, want{"node", true, 4}},
		"same nodes, one trial, not paired":    {grid(x, one, one, nil), grid(x, one, []string{"2"}, nil), func(p *Params) { p.Pair = "none" }, want{"node", false, 4}},
		"same nodes, five trials":              {grid(x, names("", 5), one, nil), grid(x, names("", 5), []string{"2"}, nil), nil, want{"trial", false, 5}},
		"same names, other instances":          {grid(x, one, one, facts{"instance": "i-1"}), grid(x, one, []string{"2"}, facts{"instance": "i-2"}), nil, want{"node", false, 4}},
		"same nodes, numbered trials of files": {bare(grid(x, names("", 5), one, nil)), bare(grid(x, names("", 5), one, nil)), nil, want{"trial", false, 5}},
		"one node, five trials":                {grid(x[:1], names("", 5), one, nil), grid(y[:1], names("", 5), []string{"2"}, nil), nil, want{"trial", false, 5}},
		"campaigns":                            {grid(x, names("", 2), names("a", 9), nil), grid(x, names("", 2), names("b", 9), nil), nil, want{"run", false, 9}},
		"one campaign, in it both":             {grid(x, one, names("a", 9), nil), grid(x, one, names("a", 9), nil), nil, want{"run", true, 9}},
		"a fact that the user names":           {grid(x, one, one, nil), grid(y, one, []string{"2"}, nil), func(p *Params) { p.Cluster = "node" }, want{"node", false, 4}},
		"pairs that the user names":            {grid(x, names("", 3), one, nil), grid(x, names("", 3), []string{"2"}, nil), func(p *Params) { p.Pair = "node,trial" }, want{"node and trial", true, 12}},
		"same nodes, two trials": {bare(grid(x, names("", 2), one, nil)),
			bare(grid(x, names("", 2), one, nil)), nil, want{"trial", false, 2}},
		"trial numbers of two runs are apart": {grid(x[:1], names("", 2), names("a", 2), nil),
			grid(x[:1], names("", 2), names("b", 2), nil), nil, want{"trial", false, 4}},
	} {
		p := New()
		if c.set != nil {
			c.set(p)
		}
		got := asked(t, p, c.a, c.b)
		if diff := cmp.Diff(c.want, want{got.Of, got.Paired, got.A.N}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestIncompleteTrials: B's trial without a fast node is left out, where it
// would make B slower.
func TestIncompleteTrials(t *testing.T) {
	var a, b []row
	for k := range 6 {
		for i, level := range []float64{100, 200} {
			f := map[string]string{"node": strconv.Itoa(i), "trial": strconv.Itoa(k), "run": "1"}
			a = append(a, row{at: float64(k), value: level * (1 + .001*float64(k%3)), facts: f})
			if g := map[string]string{"node": strconv.Itoa(i), "trial": strconv.Itoa(k), "run": "2"}; i == 0 || k > 1 {
				b = append(b, row{at: float64(k), value: level * (1 + .001*float64((k+1)%3)), facts: g})
			}
		}
	}
	got := asked(t, New(), a, b)
	if got.Verdict != Equivalent || got.B.N != 4 || !strings.Contains(strings.Join(got.Warnings, "\n"), "2 rows left out: not all nodes") {
		t.Errorf("verdict %s with %d trials of B, warnings %q; want equivalent with 4", got.Verdict, got.B.N, got.Warnings)
	}
}

// TestVerdicts: each word, and what the gate makes of it at 5 %.
func TestVerdicts(t *testing.T) {
	times := func(factor float64, values []float64) []float64 {
		out := make([]float64, len(values))
		for i, v := range values {
			out[i] = factor * v
		}
		return out
	}
	noisy := []float64{80, 130, 95, 140, 70, 121, 88, 109}
	for name, c := range map[string]struct {
		a, b   []float64
		better model.Better
		want   Verdict
		gate   error
		says   string
	}{
		"better":                   {some, times(1.2, some), model.Higher, Better, nil, "B is 20.0 % faster than A"},
		"worse":                    {some, times(.8, some), model.Higher, Worse, model.ErrThreshold, "B is 20.0 % slower than A"},
		"worse by less":            {some, times(.955, some), model.Higher, Worse, model.ErrInvalid, "4.5 % slower"},
		"less is better":           {some, times(.8, some), model.Lower, Better, nil, "20.0 % lower than A"},
		"less is better, and more": {some, times(1.2, some), model.Lower, Worse, model.ErrThreshold, "which is worse"},
		"no direction":             {some, times(1.2, some), "", Higher, model.ErrInvalid, "which is better is not known"},
		"no direction, lower":      {some, times(.8, some), "", Lower, model.ErrInvalid, "in 0 of 100 pairs B has the higher value"},
		"equivalent":               {[]float64{100, 100.1, 99.9, 100.2, 99.8, 100.05}, []float64{100.01, 100.11, 99.91, 100.18, 99.82, 100.04}, model.Higher, Equivalent, nil, "within the margin"},
		"unclear":                  {noisy, times(1.05, noisy), model.Higher, Unclear, model.ErrInvalid, "than A (2), but that may be chance ("},
		"two values":               {some[:2], other[:2], model.Higher, Unknown, model.ErrInvalid, "2 independent values of a side (by row): too few for a conclusion; measure 6 or more"},
		"zeros, then errors":       {[]float64{0, 0, 0, 0, 0, 0}, []float64{3, 5, 4, 6, 5, 4}, model.Lower, Worse, model.ErrThreshold, "by what factor cannot be said"},
		"some zeros":               {[]float64{4, 5, 0, 6, 5, 4, 5}, []float64{9, 11, 10, 8, 0, 12, 11}, model.Lower, Worse, model.ErrThreshold, "higher than A"},
		"differences of nothing":   {[]float64{-1, 1, 2, -2, .5, -.5}, []float64{1, -1, 2, -2, .4, -.4}, model.Lower, Unclear, model.ErrInvalid, "holds 0"},
	} {
		a, b := table("x", rows(c.a...)), table("x", rows(c.b...))
		a.Better, b.Better = c.better, c.better
		p, five := New(), study.Percent(5)
		p.FailWorse = &five
		res, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: map[bool]string{true: "A (2)", false: "A"}[name == "unclear"], Frames: []frame.Frame{a}}, {Name: "B", Frames: []frame.Frame{b}}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		r := res.(*Result)
		if got := r.Comparisons[0].Verdict; got != c.want {
			t.Errorf("%s: verdict %s, want %s (%v)", name, got, c.want, r.Comparisons[0].Warnings)
		}
		if got := r.Gate(); !errors.Is(got, c.gate) || (got == nil) != (c.gate == nil) {
			t.Errorf("%s: gate %v, want %v", name, got, c.gate)
		}
		if got := r.Document().Answer; !strings.Contains(got, c.says) {
			t.Errorf("%s: %q, want %q in it", name, got, c.says)
		}
		if _, err := json.Marshal(r); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestConstants: values that are all equal are as exact as their last digit, where
// something tells their rows apart.
func TestConstants(t *testing.T) {
	timed := func(f map[string]string, k int) row { return row{at: float64(3600 * k), value: 0, facts: f} }
	rowsOf := map[string]func(k, n int) row{
		"times": func(k, n int) row { return timed(nil, n+k) },
		"trials of nodes": func(k, n int) row {
			return timed(map[string]string{"node": strconv.Itoa(k % 2), "trial": strconv.Itoa(k / 2)}, n+k)
		},
		"nodes of a trial each": func(k, n int) row {
			return timed(map[string]string{"node": strconv.Itoa(n + k), "trial": strconv.Itoa(k)}, n+k)
		},
		"copies": func(int, int) row { return row{at: math.NaN()} },
	}
	for name, draw := range rowsOf {
		for _, c := range []struct {
			from, to float64
			n        int
			want     Verdict
			gate     error
		}{
			{117, 117, 10, Equivalent, nil}, {117, 88.5, 10, Worse, model.ErrThreshold},
			{117, 130, 12, Better, nil}, {117, 116, 10, Equivalent, nil}, {8, 7, 10, Unclear, model.ErrInvalid},
			{.117, .0885, 14, Worse, model.ErrThreshold}, {117, 88.5, 3, Unclear, model.ErrInvalid},
		} {
			if c.n == 3 && name != "times" { // two nodes need four rows of a trial
				continue
			}
			sides := [2][]row{}
			for i, level := range []float64{c.from, c.to} {
				for k := range c.n {
					r := draw(k, i*c.n)
					r.value = level
					sides[i] = append(sides[i], r)
				}
			}
			a, b := table("x", sides[0]), table("x", sides[1])
			a.Better, b.Better = model.Higher, model.Higher
			p, five := New(), study.Percent(5)
			p.FailWorse = &five
			res, err := p.Ask(t.Context(), study.Input{}, []study.Source{
				{Name: "A", Frames: []frame.Frame{a}}, {Name: "B", Frames: []frame.Frame{b}}})
			if err != nil {
				t.Fatal(err)
			}
			want, gate := c.want, c.gate
			if name == "copies" {
				want, gate = Unknown, model.ErrInvalid
			}
			got := res.(*Result)
			one := got.Comparisons[0]
			if err := got.Gate(); one.Verdict != want || !errors.Is(err, gate) || (err == nil) != (gate == nil) {
				t.Errorf("%s, %v to %v: %s %v, gate %v, want %s %v", name, c.from, c.to, one.Verdict, one.CI, err, want, gate)
			}
			if one.CI != nil && !one.CI.Contains(c.to/c.from) {
				t.Errorf("%s, %v to %v: interval %v", name, c.from, c.to, one.CI)
			}
		}
	}
}

// TestRunningTotals: a counter is no metric whose level could differ.
func TestRunningTotals(t *testing.T) {
	rng := newRNG(5)
	sum, sides := 0.0, [2][]row{}
	for k := range 60 {
		sum += math.Round(500 + 20*rng.NormFloat64())
		sides[k/30] = append(sides[k/30], row{at: float64(60 * k), value: sum})
	}
	a, b := table("x", sides[0]), table("x", sides[1])
	a.Unit, a.Better, b.Unit, b.Better = "", "", "", ""
	res, err := New().Ask(t.Context(), study.Input{},
		[]study.Source{{Name: "A", Frames: []frame.Frame{a}}, {Name: "B", Frames: []frame.Frame{b}}})
	if err != nil {
		t.Fatal(err)
	}
	got := res.(*Result).Comparisons[0]
	if got.Verdict != Unknown || !slices.ContainsFunc(got.Doubts, func(d model.Doubt) bool {
		return d.Code == frame.CodeTotal && d.Severity == model.Problem
	}) {
		t.Errorf("verdict %s, doubts %v; want unknown, for a running total", got.Verdict, got.Doubts)
	}
}

// TestRamp: a load that rises step by step is compared by its steps; that the throughput rises
// with it makes no counter of it.
func TestRamp(t *testing.T) {
	for _, passes := range []int{1, 2, 3} {
		rng := newRNG(passes)
		var sides [2]study.Source
		for i, factor := range []float64{1, .8} {
			var all []row
			for range passes {
				for k := range 12 {
					n := float64(k + 1)
					all = append(all, row{at: float64(60*len(all) + 7*i), value: factor * 1000 * n / (n + 4) * (1 + .002*rng.Float64()),
						facts: map[string]string{"concurrency": strconv.Itoa(k + 1)}})
				}
			}
			f := table("took", all)
			f.Unit, f.Better = "", ""
			sides[i] = study.Source{Name: string(rune('A' + i)), Frames: []frame.Frame{f}}
		}
		p := New()
		p.Pair = "concurrency"
		res, err := p.Ask(t.Context(), study.Input{}, sides[:])
		if err != nil {
			t.Fatal(err)
		}
		if got := res.(*Result).Comparisons[0]; got.Verdict != Lower {
			t.Errorf("%d passes: %s, %v; want lower", passes, got.Verdict, got.Warnings)
		}
	}
}

// TestFewRuns: two runs are enough where trials are numbered, also beside three.
func TestFewRuns(t *testing.T) {
	for _, runs := range [][2]int{{2, 2}, {2, 3}, {3, 2}, {2, 5}, {1, 3}} {
		var sides [2][]row
		rng := newRNG(4)
		for i, n := range runs {
			for run := range n {
				for k := range 12 { // four nodes of its own, three trials
					sides[i] = append(sides[i], row{at: float64(1000*run + 10*(k/4)),
						value: 100 * (1 - .3*float64(i)) * (1 + .005*rng.NormFloat64()),
						facts: map[string]string{"node": string(rune('a'+i)) + strconv.Itoa(k%4), "trial": strconv.Itoa(k / 4),
							"run": string(rune('a'+i)) + strconv.Itoa(run)}})
				}
			}
		}
		want := Worse
		if min(runs[0], runs[1]) < 2 {
			want = Unknown
		}
		if got := asked(t, New(), sides[0], sides[1]); got.Verdict != want || has(got.Doubts, "one_run") != (want == Unknown) {
			t.Errorf("%v runs: %s, %v, %v; want %s", runs, got.Verdict, got.CI, got.Warnings, want)
		}
	}
}

// TestTwoRuns: of two values on a side the wider interval and the larger p of Welch's and
// Student's test count. Numbers are SciPy's, of logarithms:
//
//	r = scipy.stats.ttest_ind(log(b), log(a), equal_var=…); exp(r.confidence_interval())
func TestTwoRuns(t *testing.T) {
	for _, c := range []struct {
		a, b      []float64
		lo, hi, p float64
	}{
		{[]float64{102.1, 98.4}, []float64{112.5, 109.3, 107.7, 115.1, 110.8, 113.9, 108.6},
			.9866938048462625, 1.245125277231195, .060212455616880975},
		{[]float64{100, 100.6}, []float64{112.5, 99.3, 107.7, 119.1, 110.8, 123.9, 108.6},
			.9796379483270983, 1.2604565640368515, .0883614767821693},
	} {
		var sides [2][]row
		for i, values := range [][]float64{c.a, c.b} {
			for k, v := range values {
				sides[i] = append(sides[i], row{at: math.NaN(), value: v, facts: map[string]string{"run": string(rune('a'+i)) + strconv.Itoa(k)}})
			}
		}
		got := asked(t, New(), sides[0], sides[1])
		if got.Method != methodT || got.Of != "run" || !near(got.CI.Lo, c.lo) || !near(got.CI.Hi, c.hi) || !near(*got.P, c.p) {
			t.Errorf("%v and %v: %s of %ss, %v, p %v; want [%v %v], %v", c.a, c.b, got.Method, got.Of, got.CI, *got.P, c.lo, c.hi, c.p)
		}
	}
}

// TestOrdinals: percentiles are named as people name them.
func TestOrdinals(t *testing.T) {
	for name, want := range map[string]string{"p1": "the 1st percentile", "p5": "the 5th percentile",
		"p10": "the 10th percentile", "p99": "the 99th percentile", "mean": "the mean"} {
		if got := (&Summary{Name: name}).words(); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

// TestNoScatter: what a coarse clock makes of values allows no verdict, however many
// they are; of what is counted equal values are exact, and so few that chance orders
// them tell nothing.
func TestNoScatter(t *testing.T) {
	same := func(v float64, n int) (out []row) {
		for i := range n {
			out = append(out, row{at: math.NaN(), value: v, facts: map[string]string{"i": strconv.Itoa(i)}})
		}
		return out
	}
	ticks := rows(20, 20, 20, 20, 20, 20, 20, 20, 20, 21)
	for name, c := range map[string]struct {
		unit, pair string
		a, b       []row
		want       Verdict
		gate       error
		says       string
	}{
		"counts that differ":        {"allocs/op", "", same(16, 6), same(17, 6), Worse, model.ErrThreshold, "6.2 % higher"},
		"counts that are equal":     {"B/op", "", same(16, 4), same(16, 4), Equivalent, nil, "equal in every value"},
		"nothing, still":            {"allocs/op", "", same(0, 6), same(0, 6), Equivalent, nil, "equal in every value"},
		"something from nothing":    {"allocs/op", "", same(0, 6), same(1, 6), Worse, model.ErrThreshold, ""},
		"bands beside none":         {"s", "", rows(slices.Repeat([]float64{50, 99, 101, 100, 52, 101, 99, 100, 51, 100}, 8)...), rows(slices.Repeat([]float64{99, 101, 100, 99, 101, 100, 99, 101, 100, 100}, 8)...), Unknown, model.ErrInvalid, "the means are"},
		"too few counts":            {"allocs/op", "", same(16, 3), same(17, 3), Unclear, model.ErrInvalid, "may be chance"},
		"too few pairs of counts":   {"allocs/op", "i", same(16, 3), same(17, 3), Unclear, model.ErrInvalid, "may be chance"},
		"times":                     {"s", "", same(16, 3), same(17, 3), Unknown, model.ErrInvalid, "the values show no scatter"},
		"many times":                {"s", "", same(16, 30), same(17, 30), Unknown, model.ErrInvalid, "measure longer, or in a finer unit"},
		"equal times":               {"s", "", same(16, 30), same(16, 30), Unknown, model.ErrInvalid, "the values show no scatter"},
		"pairs of one ratio":        {"s", "i", same(16, 8), same(17, 8), Unknown, model.ErrInvalid, "the values show no scatter"},
		"ticks of a clock":          {"s", "", ticks, same(30, 10), Worse, model.ErrThreshold, "more time than A"},
		"a side that does scatter":  {"s", "", rows(some...), same(120, 8), Worse, model.ErrThreshold, "more time than A"},
		"ticks that are far enough": {"s", "", rows(20, 21, 20, 22, 21, 20, 21, 22), rows(30, 31, 30, 31, 32, 31, 30, 31), Worse, model.ErrThreshold, "more time than A"},
	} {
		a, b := table("x", c.a), table("x", c.b)
		a.Unit, b.Unit, a.Better, b.Better = c.unit, c.unit, model.Lower, model.Lower
		p, five := New(), study.Percent(5)
		p.FailWorse, p.Pair = &five, c.pair
		res, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "A", Frames: []frame.Frame{a}}, {Name: "B", Frames: []frame.Frame{b}}})
		if err != nil {
			t.Fatal(err)
		}
		r := res.(*Result)
		if got, said := r.Comparisons[0], r.Document().Answer; got.Verdict != c.want || !strings.Contains(said, c.says) {
			t.Errorf("%s: %s (%s), want %s (%s)", name, got.Verdict, said, c.want, c.says)
		}
		if got := r.Gate(); !errors.Is(got, c.gate) || (got == nil) != (c.gate == nil) {
			t.Errorf("%s: gate %v, want %v", name, got, c.gate)
		}
	}
}

// TestNeeded: with as many values as an unclear comparison asks for it is clear in
// about 80 % of cases.
func TestNeeded(t *testing.T) {
	settled, cases := 0, 0
	for seed := range 150 {
		rng := newRNG(seed)
		a, b := plain(10, 10, normal)(rng, 1.04)
		first := asked(t, New(), a, b)
		if first.Verdict != Unclear || first.Needed == nil || math.Abs(*first.Ratio-1.04) > .01 {
			continue
		}
		cases++
		a, b = plain(*first.Needed, *first.Needed, normal)(rng, 1.04)
		if asked(t, New(), a, b).Verdict == Better {
			settled++
		}
	}
	if share := float64(settled) / float64(cases); cases < 15 || share < .6 || share > .97 {
		t.Errorf("%d of %d were settled, want about 80 %%", settled, cases)
	}
}

// TestDoubts: what speaks against the values of a side reaches verdict, JSON,
// document and gate.
func TestDoubts(t *testing.T) {
	a, b := table("x", rows(some...)), table("x", rows(other...))
	b.Doubts = []model.Doubt{{Code: "steal", Severity: model.Warning, Text: "stolen time"}}
	ask := func() *Result {
		p, zero := New(), study.Percent(0)
		p.FailWorse = &zero
		res, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "A", Frames: []frame.Frame{a}}, {Name: "B", Frames: []frame.Frame{b}}})
		if err != nil {
			t.Fatal(err)
		}
		return res.(*Result)
	}
	if r := ask(); r.Comparisons[0].Verdict != Better || r.Gate() != nil || r.Comparisons[0].Warnings[0] != "B: stolen time" {
		t.Errorf("a warning: %+v, gate %v", r.Comparisons[0].Warnings, r.Gate())
	}
	b.Doubts[0].Severity = model.Problem
	r := ask()
	if r.Comparisons[0].Verdict != Unknown || !errors.Is(r.Gate(), model.ErrInvalid) || !strings.Contains(r.Document().Answer, "unknown: B: stolen time") || len(r.Document().Warnings) != 1 {
		t.Errorf("a problem: verdict %s, gate %v, %q", r.Comparisons[0].Verdict, r.Gate(), r.Document().Answer)
	}
}

// TestSides: what can be compared, and what is said where it cannot.
func TestSides(t *testing.T) {
	zone := func(name string, values ...float64) (out []row) {
		for _, v := range values {
			out = append(out, row{at: math.NaN(), value: v, facts: map[string]string{"zone": name}})
		}
		return out
	}
	two := append(zone("c", some...), zone("d", other...)...)
	three := append(two, zone("e", some...)...)
	source := func(name string, frames ...frame.Frame) study.Source { return study.Source{Name: name, Frames: frames} }
	seconds := table("x", rows(some...))
	seconds.Unit = "s"
	less := table("x", rows(some...))
	less.Better = model.Lower
	bare := func(workload string) frame.Frame {
		return frame.Frame{Key: frame.Key{Workload: workload, Metric: "time"}, Values: []float64{1, 2}}
	}
	for name, c := range map[string]struct {
		set     func(*Params)
		sources []study.Source
		want    string // names, or the error
	}{
		"split in two": {func(p *Params) {
			p.By = "zone"
		}, []study.Source{source("all", table("x", two))}, "c d"},
		"split, base chosen": {func(p *Params) {
			p.By = "zone=e,c"
		}, []study.Source{source("all", table("x", three))}, "e c"},
		"split in three": {func(p *Params) {
			p.By = "zone"
		}, []study.Source{source("all", table("x", three))},
			"all has 3 levels of zone: c, d, e; choose two, the base first: --by zone=c,d"},
		"clusters by no column": {func(p *Params) { p.Cluster = "rack" },
			[]study.Source{source("1", table("x", two)), source("2", table("x", two))}, `1 has no fact "rack"; it has zone`},
		"pairs by no column": {func(p *Params) { p.Pair = "zone, rack" },
			[]study.Source{source("1", table("x", two)), source("2", table("x", two))}, `1 has no fact " rack"; it has zone`},
		"pairs by a column of one": {func(p *Params) { p.Pair = "Zone" },
			[]study.Source{source("1", table("x", two)), source("2", table("x", rows(some...)))},
			`2 has no fact "Zone"; it has no facts`},
		"clusters by a column": {func(p *Params) { p.Cluster = "Zone" },
			[]study.Source{source("1", table("x", two)), source("2", table("x", two))}, "1 2"},
		"no such fact": {func(p *Params) { p.By = "rack" }, []study.Source{source("all", table("x", two))}, `all has no fact "rack"; it has zone`},
		"no fact at all": {func(p *Params) { p.By = "command" }, []study.Source{source("all", bare("sleep 1"), bare("sleep 2"))},
			`all has no fact "command"; it has no facts; give a second source; --a and --b compare two of its ` +
				`workloads: sleep 1, sleep 2`},
		"no such level": {func(p *Params) { p.By = "zone=c,f" }, []study.Source{source("all", table("x", two))}, `all has no zone "f"; it has c, d, e`[:23]},
		"three sources": {nil,
			[]study.Source{source("1", table("x", rows(some...))), source("2", table("x", rows(other...))),
				source("3", table("x", rows(other...)))}, "1 2 3"},
		"same name": {nil,
			[]study.Source{source("r", table("x", rows(some...))), source("r", table("x", rows(other...)))},
			"r (1) r (2)"},
		"only metric of each": {nil,
			[]study.Source{source("1", table("x", rows(some...))), source("2", table("y", rows(other...)))}, "1 2"},
		"nothing in common": {nil, []study.Source{source("1", table("x", rows(some...)),
			table("z", rows(some...))), source("2", table("y", rows(other...)))},
			"the sides have no metric in common; 1 has x, z; 2 has y"},
		"other units":        {nil, []study.Source{source("1", table("x", rows(some...))), source("2", seconds)}, `x is measured in "op/s" in 1 and in "s" in 2; give both in one unit`},
		"no such metric":     {func(p *Params) { p.Metric = "q" }, []study.Source{source("1", table("x", rows(some...))), source("2", table("x", rows(some...)))}, `not both have "q"; 1 has x; 2 has x`},
		"workload not there": {func(p *Params) { p.A, p.B = "new", "old" }, []study.Source{source("1", table("x", rows(some...)))}, `1 has no measurements of a workload "new"`},
		"more is better, less is": {nil, []study.Source{source("1", table("x", rows(some...))), source("2", less)},
			"of x more is better by 1 and less by 2: both must say the same"},
		"a metric of one only": {nil, []study.Source{source("1", table("x", rows(some...)), table("z", rows(some...))),
			source("2", table("x", rows(other...)))}, "1 2"},
	} {
		p := New()
		if c.set != nil {
			c.set(p)
		}
		res, err := p.Ask(t.Context(), study.Input{}, c.sources)
		got := fmt.Sprint(err)
		if err == nil {
			r := res.(*Result)
			got = strings.Join(append([]string{r.Base}, r.Others...), " ")
			if name == "a metric of one only" && !strings.Contains(strings.Join(r.Told, "\n"), "z is left out: 2 does not have it") {
				t.Errorf("%s: told %q", name, r.Told)
			}
		} else if !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: %v is no error of usage", name, err)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestGeomeans: of metrics of one unit, as benchstat has it.
func TestGeomeans(t *testing.T) {
	f := func(metric string, factor float64) frame.Frame {
		var values []float64
		for _, v := range some {
			values = append(values, factor*v)
		}
		return table(metric, rows(values...))
	}
	res, err := New().Ask(t.Context(), study.Input{}, []study.Source{{Name: "1", Frames: []frame.Frame{f("x", 1), f("y", 1)}}, {Name: "2", Frames: []frame.Frame{f("x", 2), f("y", .5)}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := res.(*Result).Geomeans; len(got) != 1 || got[0].N != 2 || !near(got[0].Ratio, 1) {
		t.Errorf("Geomeans = %+v, want one of 2 metrics, 1", got)
	}
}

// TestSymmetry: with the sides exchanged every ratio is the reciprocal, and the
// verdict the opposite.
func TestSymmetry(t *testing.T) {
	opposite := map[Verdict]Verdict{Better: Worse, Worse: Better, Equivalent: Equivalent, Unclear: Unclear, Unknown: Unknown}
	for seed := range 40 {
		for _, w := range worlds {
			if w.means {
				continue
			}
			a, b := w.draw(newRNG(seed), 1.05)
			one, two := asked(t, New(), a, b), asked(t, New(), b, a)
			if one.Verdict != opposite[two.Verdict] {
				t.Errorf("%s, seed %d: %s, and exchanged %s", w.name, seed, one.Verdict, two.Verdict)
			}
			if one.CI != nil && (math.Abs(*one.Ratio**two.Ratio-1) > 1e-9 || math.Abs(one.CI.Lo*two.CI.Hi-1) > 1e-9) {
				t.Errorf("%s, seed %d: %v %v, and exchanged %v %v", w.name, seed, *one.Ratio, *one.CI, *two.Ratio, *two.CI)
			}
		}
	}
}

// TestExactNames: what is called otherwise is something else where names are exact, and
// other machines are a doubt.
func TestExactNames(t *testing.T) {
	some := rows(100, 101, 99, 100, 102, 98, 100)
	exact := func(name string, cpus ...string) study.Source {
		f := table("ns/op", some)
		f.Workload, f.Exact = name, true
		cpu := frame.NewFact("cpu")
		for i := range some {
			cpu.Append(cpus[i%len(cpus)])
		}
		f.Facts = append(f.Facts, cpu.Fact())
		return study.Source{Name: name + strings.Join(cpus, " "), Frames: []frame.Frame{f}}
	}
	for name, c := range map[string]struct {
		a, b    study.Source
		refused bool
		doubt   bool
	}{
		"the same":         {exact("json.Encode-4", "x"), exact("json.Encode-4", "x"), false, false},
		"other processors": {exact("json.Encode-4", "x"), exact("json.Encode-4", "y"), false, true},
		"two, then one":    {exact("json.Encode-4", "x", "y"), exact("json.Encode-4", "y"), false, true},
		"one, then two":    {exact("json.Encode-4", "x"), exact("json.Encode-4", "x", "y"), false, true},
		"two and two":      {exact("json.Encode-4", "x", "y"), exact("json.Encode-4", "y", "x"), false, false},
		"some not known":   {exact("json.Encode-4", "x", ""), exact("json.Encode-4", "x"), false, false},
		"other package":    {exact("json.Encode-4", "x"), exact("xml.Encode-4", "x"), true, false},
		"other GOMAXPROCS": {exact("json.Encode-4", "x"), exact("json.Encode", "x"), true, false},
		"a table": {exact("json.Encode-4", "x"),
			study.Source{Name: "t", Frames: []frame.Frame{table("ns/op", some)}}, true, false},
	} {
		res, err := New().Ask(t.Context(), study.Input{}, []study.Source{c.a, c.b})
		if (err != nil) != c.refused || err != nil && !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: error %v, want refused %t", name, err, c.refused)
		}
		if err == nil {
			if got := has(res.(*Result).Comparisons[0].Doubts, "other_configuration"); got != c.doubt {
				t.Errorf("%s: doubt of the configuration %t, want %t", name, got, c.doubt)
			}
		}
	}
}

// A load at a fixed rate is compared by each percentile of its latency, and what else
// there is gets named.
func TestLoadAtFixedRate(t *testing.T) {
	side := func(name string, slower float64) study.Source {
		out := study.Source{Name: name}
		add := func(metric string, info bool, better model.Better, values []float64) {
			f := frame.Frame{Key: frame.Key{Workload: "w", Metric: metric, Phase: model.Parallel}, Better: better, Info: info}
			f.Values = slices.Clone(values)
			for i := range f.Values {
				f.Values[i] *= slower
			}
			out.Frames = append(out.Frames, f)
		}
		add("load_throughput", false, model.Higher, some)
		add("load_late{op=get1}", true, model.Lower, some)
		add("load_late{op=post2}", true, model.Lower, some)
		for _, p := range []string{"p50", "p99"} {
			add(model.MetricLoadLatency+"{percentile="+p+"}", true, model.Lower, some)
		}
		return out
	}
	for metric, want := range map[string]int{"": 3, "load_throughput": 1, "load_latency{percentile=p99}": 1} {
		p := New()
		p.Metric = metric
		got, err := p.Ask(t.Context(), study.Input{}, []study.Source{side("a", 1), side("b", 1.3)})
		if err != nil {
			t.Fatal(err)
		}
		r := got.(*Result)
		if len(r.Comparisons) != want {
			t.Errorf("--metric %q: %d comparisons, want %d", metric, len(r.Comparisons), want)
		}
		for _, c := range r.Comparisons {
			if strings.HasPrefix(c.Metric, "load_latency{") && c.Verdict != Worse {
				t.Errorf("%s is %s, want worse", c.Metric, c.Verdict)
			}
		}
		if says := strings.Contains(strings.Join(r.Told, " "), "There are also load_late: name one with --metric"); says != (metric == "") {
			t.Errorf("--metric %q: told %q", metric, r.Told)
		}
	}
}
