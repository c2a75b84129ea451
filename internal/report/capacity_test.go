package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

func TestCapacityGolden(t *testing.T) {
	one, many := []capacity.Found{oneSearch()}, manySearches()[3:8]
	for name, c := range map[string]struct {
		found  []capacity.Found
		format Format
		opts   Options
	}{
		"capacity-wide.txt":    {one, Text, Options{}},
		"capacity-80.txt":      {one, Text, Options{Width: 80}},
		"capacity-ascii.txt":   {one, Text, Options{Width: 110, ASCII: true}},
		"capacity-colored.txt": {one, Text, Options{Width: 100, Color: true}},
		"capacity-several.txt": {many, Text, Options{Width: 120}},
		"capacity.json":        {one, JSON, Options{}},
		"capacity.csv":         {one, CSV, Options{}},
		"capacity-none.txt":    {nil, Text, Options{}},
		"capacity-none.json":   {nil, JSON, Options{}},
	} {
		golden(t, name, func(w io.Writer) error { return Capacities(w, c.found, c.format, c.opts) })
	}
	if err := Capacities(io.Discard, nil, "xml", Options{}); err == nil || !strings.Contains(err.Error(), "want text, json or csv") {
		t.Errorf("Capacities in an unknown format: %v, want an error that names the formats", err)
	}
}

func TestCapacityPageGolden(t *testing.T) {
	d, fs, o := searchCases()["search"]()
	golden(t, "capacity.html", func(w io.Writer) error { return HTML(w, d, fs, o) })
}

// The JSON form is a contract: one search is an object and several are an
// array; what is not known is null, and lists are never null.
func TestCapacityJSONContract(t *testing.T) {
	x := capacity.Found{Workload: "w", Target: "t", Trial: 2, Config: capacity.Config{SLA: sla("p90=150ms"), Algorithm: search.Default}}
	x.Result.Limit = capacity.LimitNone
	var b bytes.Buffer
	if err := Capacities(&b, []capacity.Found{x}, JSON, Options{}); err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"workload": "w", "target": "t", "trial": 2.0, "sla": "p90=150ms,errors=1%", "algorithm": "default", "passed": nil, "failed": nil,
		"estimate": nil, "ci": nil, "limit": "none", "confirmed": false, "windows": []any{}, "warnings": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	b.Reset()
	if err := Capacities(&b, []capacity.Found{x, x}, JSON, Options{}); err != nil || !strings.HasPrefix(b.String(), "[") {
		t.Errorf("two searches are %.20q, %v, want an array", b.String(), err)
	}
}

// CSV has a line a window, with as many fields as columns.
func TestCapacityCSV(t *testing.T) {
	found := manySearches()
	windows := 0
	for _, x := range found {
		windows += len(x.Result.Windows)
	}
	var b bytes.Buffer
	if err := Capacities(&b, found, CSV, Options{}); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != windows+1 {
		t.Errorf("%d rows, %v, want a head and %d windows", len(rows), err, windows)
	}
}

func TestCapacityAnswer(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	for _, c := range []struct {
		name string
		r    capacity.Result
		want string
	}{
		{"target", capacity.Result{Limit: capacity.LimitTarget, Passed: p(7055), Failed: p(7132), Estimate: p(7090), CI: &[2]float64{7010, 7160}, Confirmed: true},
			"the server takes 7.09 kop/s: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s"},
		{"not confirmed", capacity.Result{Limit: capacity.LimitTarget, Passed: p(7055), Failed: p(7132), Estimate: p(7090), CI: &[2]float64{7010, 7160}},
			"the server takes about 7.09 kop/s, not confirmed: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s"},
		{"path", capacity.Result{Limit: capacity.LimitPath, Passed: p(70), Failed: p(80)},
			"refused: the path to the server was at its limit, not the server; it takes at least 70 op/s"},
		{"round trips alone", capacity.Result{Limit: capacity.LimitPath, Failed: p(1), Path: &capacity.Path{Alone: 250 * time.Millisecond, Breaks: &capacity.Term{Quantile: .9, Latency: 150 * time.Millisecond}}},
			"refused: round trips to the server alone take 250 ms, which breaks p90 ≤ 150 ms; nothing is known of the server"},
		{"no estimate", capacity.Result{Limit: capacity.LimitTarget, Passed: p(70), Failed: p(80)},
			"what the server takes was not pinned down: passed at 70 op/s, failed at 80 op/s"},
		{"generators", capacity.Result{Limit: capacity.LimitGenerator, Passed: p(70)},
			"refused: the generators were at their limit, not the server; it takes at least 70 op/s"},
		{"one of several generators", capacity.Result{Limit: capacity.LimitGenerator, Passed: p(70), Generators: []model.NodeID{"n2"}},
			"refused: generator n2 was at its limit, not the server; it takes at least 70 op/s"},
		{"generators at once", capacity.Result{Limit: capacity.LimitGenerator}, "refused: the generators were at their limit, not the server"},
		{"cap", capacity.Result{Limit: capacity.LimitCap, Passed: p(5e4)}, "the server takes 50 kop/s or more: nothing larger was allowed"},
		{"floor", capacity.Result{Limit: capacity.LimitFloor, Failed: p(1)}, "the server takes less than 1 op/s, the smallest load allowed"},
		{"begun", capacity.Result{Limit: capacity.LimitNone, Passed: p(100)}, "not over: passed at 100 op/s, failed at none so far"},
		{"no answer", capacity.Result{Limit: capacity.LimitNone, Failure: "the target does not answer; is it up?"},
			"nothing was measured: the target does not answer; is it up?"},
		{"another version", capacity.Result{Limit: capacity.LimitUnknown}, "refused: another version of scalebench has searched, in another way"},
		{"not begun", capacity.Result{Limit: capacity.LimitNone}, "not over: nothing is known yet"},
	} {
		got := CapacityAnswer(capacity.Found{Workload: "w", Trial: 1, Result: c.r})
		if len(got) != 2 || got[1] != c.want {
			t.Errorf("%s: CapacityAnswer = %q, want %q", c.name, got, c.want)
		}
	}
}

func TestCapacitySummary(t *testing.T) {
	many, trials := manySearches(), []capacity.Found{}
	for _, x := range many {
		if x.Workload == "medium" {
			trials = append(trials, x)
		}
	}
	refused := oneSearch()
	refuse(&refused)
	for _, c := range []struct {
		name  string
		found []capacity.Found
		want  string
	}{
		{"one", []capacity.Found{oneSearch()}, "The server takes 7.09 kop/s: passed at 7.055 kop/s, failed at 7.132 kop/s; 95 % interval 7.01 to 7.16 kop/s."},
		{"refused", []capacity.Found{refused}, "Refused: the generators were at their limit, not the server; it takes at least 4 kop/s."},
		{"trials", trials, "http://medium.test:8080/ takes 4.06 kop/s: the median of 11 trials, from 2.239 to 4.125 kop/s."},
		{"targets", many, "Of 3 targets, http://large.test:8080/ takes the most, 8.034 kop/s, and http://small.test:8080/ the least, 2.041 kop/s."},
	} {
		if got := capacitySummary(c.found)[0]; got != c.want {
			t.Errorf("%s: capacitySummary = %q, want %q", c.name, got, c.want)
		}
	}
}

// TestLoadsAreMergedExactly: percentiles of windows at one load are those of
// all their operations, and the windows stay as they were.
func TestLoadsAreMergedExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	for range 20 {
		windows, all := randomWindows(rng)
		before := windows[0].Latencies.TotalCount()
		loads := loadsTried(windows)
		again := loadsTried(windows)
		for i, tried := range loads {
			if tried.counted() == 0 {
				continue
			}
			for _, q := range []float64{.01, .5, .9, .99, .999, 1} {
				want := rankOf(all[tried.load], q)
				got, ok := tried.latency(q)
				if !ok || !closeTo(got, want) {
					t.Fatalf("p%v at %v = %v, %v, want %v", 100*q, tried.load, got, ok, want)
				}
				if same, _ := again[i].latency(q); same != got {
					t.Fatalf("p%v at %v is %v the second time, %v the first", 100*q, tried.load, same, got)
				}
			}
		}
		if !slices.IsSortedFunc(loads, func(a, b triedLoad) int { return compareLoads(a.load, b.load) }) {
			t.Fatalf("loads are not in order: %v", loads)
		}
		if after := windows[0].Latencies.TotalCount(); after != before {
			t.Fatalf("a window has %d operations after merging and %d before", after, before)
		}
	}
}

// randomWindows are windows at three loads, and the latencies in seconds of
// all operations due at each of them in those that count; +Inf for those that
// did not end well. Histograms have different ranges.
func randomWindows(rng *rand.Rand) ([]capacity.Judged, map[float64][]float64) {
	all := make(map[float64][]float64)
	verdicts := []capacity.Verdict{capacity.Passed, capacity.Missed, capacity.Unusable}
	var out []capacity.Judged
	for i := range 12 {
		w := capacity.Judged{Verdict: verdicts[i%7%3], Window: capacity.Window{
			Load: float64(100 * (1 + rng.IntN(3))), Latencies: histogram.New(int64(time.Duration(1+i%4) * 30 * time.Second)),
		}}
		for range 1 + rng.IntN(400) {
			seconds := rng.ExpFloat64()
			w.Counts.Due++
			if rng.IntN(50) == 0 {
				w.Counts.Errors[load.ErrTimeout]++
				seconds = math.Inf(1)
			} else {
				w.Counts.OK++
				histogram.Record(w.Latencies, int64(seconds*1e9))
			}
			if w.Verdict != capacity.Unusable {
				all[w.Load] = append(all[w.Load], seconds)
			}
		}
		out = append(out, w)
	}
	return out, all
}

// rankOf is the smallest value that a share q of values does not exceed.
func rankOf(values []float64, q float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(math.Ceil(q*float64(len(sorted))))-1]
}

// closeTo allows for what a histogram rounds.
func closeTo(got, want float64) bool {
	return got == want || math.Abs(got-want) <= 2e-3*want
}

// What says nothing about the target is in no percentile.
func TestUnusableWindowsAreLeftOut(t *testing.T) {
	x := oneSearch()
	refuse(&x)
	loads := loadsTried(x.Result.Windows)
	last := loads[len(loads)-1]
	if seconds, ok := last.latency(.5); ok || last.unusable != 3 {
		t.Errorf("a load of %d unusable windows has a median of %v", last.unusable, seconds)
	}
	if got := telling(loads); len(got) != 2 {
		t.Errorf("%d loads tell something, want 2", len(got))
	}
	v := newHeatView(x, loads)
	if v == nil || v.Notes != "3 windows that said nothing about the target are no part of it." || v.Divided {
		t.Errorf("heat map of a refused search: %+v", v)
	}
}

func TestBindingTerm(t *testing.T) {
	x := oneSearch()
	twoTerms(&x)
	term, ok := bindingTerm(x, loadsTried(x.Result.Windows))
	if !ok || term.String() != "p99.9=400ms" {
		t.Errorf("bindingTerm = %v, %v, want p99.9, which exceeds its limit most", term, ok)
	}
	x.Config.SLA.Terms = []capacity.Term{{Errors: .01}}
	if term, ok := bindingTerm(x, loadsTried(x.Result.Windows)); ok {
		t.Errorf("bindingTerm of an SLA on errors alone = %v", term)
	}
	if got := sketch(x, Options{}); got != nil {
		t.Errorf("a sketch without a limit: %q", got)
	}
}

func TestNearest(t *testing.T) {
	var loads []triedLoad
	for _, v := range []float64{1, 10, 90, 100, 120, 500, math.NaN()} {
		loads = append(loads, triedLoad{load: v})
	}
	center := 100.0
	var got []float64
	for _, x := range nearest(loads, capacity.Result{Passed: &center}, 3) {
		got = append(got, x.load)
	}
	if want := []float64{90, 100, 120}; !slices.Equal(got, want) {
		t.Errorf("nearest = %v, want %v", got, want)
	}
}

// Bars end where their latency is, the limit keeps its cell, and what leaves
// the drawing ends in an arrow.
func TestSketchBars(t *testing.T) {
	c := sketchChart{glyphs: asciiGlyphs, cells: 12, limit: 8, perCell: 0.1 / 8}
	for _, x := range []struct {
		seconds float64
		known   bool
		want    string
	}{
		{0, true, "        |   "}, {0.0001, true, "#       |   "}, {0.05, true, "####    |   "}, {0.1, true, "########|   "},
		{0.125, true, "########|#  "}, {0.15, true, "########|###"}, {9, true, "########|##>"}, {math.Inf(1), true, "########|##>"},
		{1, false, "        |   "},
	} {
		if got := c.bar(x.seconds, x.known); got != x.want {
			t.Errorf("bar(%v, %v) = %q, want %q", x.seconds, x.known, got, x.want)
		}
	}
	for want, x := range map[string]triedLoad{"++x": {passed: 2, missed: 1}, "?": {unusable: 1}, "+*9 x*2 ?*1": {passed: 9, missed: 2, unusable: 1}, "": {}} {
		if got := c.tried(x); got != want {
			t.Errorf("tried(%+v) = %q, want %q", x, got, want)
		}
	}
}

// Every width must be kept to, ASCII must be ASCII, and no control character
// may reach a terminal.
func TestCapacityTextIsSafe(t *testing.T) {
	for name, build := range searchBuilders() {
		found := build()
		for width := 60; width <= 200; width += 20 {
			var b strings.Builder
			if err := Capacities(&b, found, Text, Options{Width: width}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if n := len([]rune(line)); n > width {
					t.Errorf("%s: width %d: line of %d columns: %q", name, width, n, line)
				}
			}
			for _, r := range b.String() {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
					t.Fatalf("%s holds %U", name, r)
				}
			}
		}
	}
	for _, line := range sketch(oneSearch(), Options{ASCII: true}) {
		if strings.ContainsFunc(line, func(r rune) bool { return r > unicode.MaxASCII }) {
			t.Errorf("not ASCII: %q", line)
		}
	}
}
