package capacity

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/test/golden"
)

func indented(t *testing.T, v any) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Documents of a search, and of one that the generators ended.
func TestDocumentGolden(t *testing.T) {
	for _, name := range []string{"search", "refused search"} {
		d := (&Result{Searches: searchBuilders()[name]()}).Document()
		golden.Check(t, "testdata/"+strings.ReplaceAll(name, " ", "-")+".doc.json", indented(t, d))
	}
	golden.Check(t, "testdata/none.doc.json", indented(t, (&Result{}).Document()))
}

// TestContract: the JSON and CSV forms are contracts for programs.
func TestContract(t *testing.T) {
	one := &Result{Searches: []Search{oneSearch()}}
	golden.Check(t, "testdata/record.json", indented(t, one))
	var b bytes.Buffer
	if err := render.CSV(&b, one.Document().Data); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, "testdata/windows.csv", b.Bytes())
	one.Searches[0].Answer.Doubts = model.Doubts{{Text: "few"}, {Text: "not confirmed"}}
	column := func(d *doc.Table, row int, key string) any {
		return d.Rows[row].Cells[slices.IndexFunc(d.Columns, func(c doc.Column) bool { return c.Key == key })].Value
	}
	table := one.Document().Data
	for i := range table.Rows {
		if got := column(table, i, "warnings"); got != "few; not confirmed" {
			t.Errorf("row %d of the CSV has the warnings %q, want those of the search", i, got)
		}
	}
	one.Searches[0].Answer = Answer{Limit: LimitNone, Doubts: model.Doubts{{Text: "connection refused"}}}
	table = one.Document().Data
	if len(table.Rows) != 1 || column(table, 0, "warnings") != "connection refused" || column(table, 0, "window") != nil || column(table, 0, "limit") != "none" {
		t.Errorf("a search without a window has the rows %v, want one that says why", table.Rows)
	}
}

// One search is an object and several are an array; what is not known is null,
// and lists are never null.
func TestJSONContract(t *testing.T) {
	x := Search{Workload: "w", Target: "t", Trial: 2, Config: Defaults()}
	x.Config.SLA = sla("p90=150ms")
	x.Answer.Limit = LimitNone
	var got map[string]any
	if err := json.Unmarshal(indented(t, &Result{Searches: []Search{x}}), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"workload": "w", "target": "t", "trial": 2.0, "sla": "p90=150ms,errors=1%", "algorithm": "default", "passed": nil, "failed": nil,
		"estimate": nil, "ci": nil, "limit": "none", "confirmed": false, "windows": []any{}, "doubts": []any{}, "warnings": []any{},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("JSON differs (-want +got):\n%s", diff)
	}
	if b := indented(t, &Result{Searches: []Search{x, x}}); b[0] != '[' {
		t.Errorf("two searches are %.20q, want an array", b)
	}
	if b := indented(t, &Result{}); string(b) != "[]\n" {
		t.Errorf("no search is %q, want an empty array", b)
	}
}

// CSV has a line a window, with as many fields as columns.
func TestCSV(t *testing.T) {
	many := &Result{Searches: manySearches()}
	windows := 0
	for _, x := range many.Searches {
		windows += len(x.Answer.Windows)
	}
	var b bytes.Buffer
	if err := render.CSV(&b, many.Document().Data); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(&b).ReadAll()
	if err != nil || len(rows) != windows+1 {
		t.Errorf("%d rows, %v, want a head and %d windows", len(rows), err, windows)
	}
}

// Every width must be kept to, ASCII must be ASCII, no control character may
// reach a terminal, and a document survives being encoded.
func TestDocumentsAreSafe(t *testing.T) {
	for name, build := range searchBuilders() {
		d := (&Result{Searches: build()}).Document()
		b, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var again doc.Document
		if err := json.Unmarshal(b, &again); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c, err := json.Marshal(&again); err != nil || !bytes.Equal(b, c) {
			t.Errorf("%s: encoded, decoded and encoded it is another document, %v", name, err)
		}
		for _, p := range panels(d) {
			if drawn := chart.Draw(p)[0]; strings.Contains(drawn.Area, "NaN") || strings.Contains(drawn.Area, "<script") {
				t.Errorf("%s: %s: the drawing has a NaN or a script", name, p.Title)
			}
		}
		for width := 60; width <= 200; width += 20 {
			text := textOf(t, d, render.TextOptions{Width: width, ASCII: true})
			for line := range strings.Lines(text) {
				if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > width {
					t.Errorf("%s: width %d: line of %d columns: %q", name, width, n, line)
				}
			}
			for _, r := range text {
				if r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)) {
					t.Fatalf("%s holds %U", name, r)
				}
			}
		}
	}
}

func textOf(t *testing.T, d *doc.Document, o render.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := render.Text(&b, d, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// panels are all charts of a document.
func panels(d *doc.Document) (out []chart.Chart) {
	var walk func(blocks []doc.Block)
	walk = func(blocks []doc.Block) {
		for _, b := range blocks {
			switch {
			case b.Figure != nil:
				for _, p := range b.Figure.Panels {
					out = append(out, p.Chart)
				}
			case b.Fold != nil:
				walk(b.Fold.Blocks)
			case b.Part != nil:
				walk(b.Part.Blocks)
			}
		}
	}
	for _, s := range d.Sections {
		walk(s.Blocks)
	}
	return out
}

// What a reader of one search must find, on a page and on a terminal.
func TestDocumentSays(t *testing.T) {
	for name, want := range map[string][]string{
		"search": {
			"The server takes 7.09 kop/s: passed at 7.055 kop/s", "p90 ≤ 150 ms, errors ≤ 1 %", "17 windows of load were measured",
			"http://10.0.0.7:8080/", "something else disturbed them", "How often each load was tried", "The search over time",
			"Latency by load and percentile", "Outside of the drawing: 100 op/s: 1 passed", "the generators sent late", "95 % interval of the estimate",
		},
		"refused search": {"Capacity not found: the generators were at their limit, not the server; it takes at least 4 kop/s."},
		"searches": {
			"Capacity by target", "n = 11", "n = 9", "2 trials without an estimate: trial 2 (not found: the generators were at their limit), trial 4 (not found",
			"Of 11 trials these are shown: 1, ", "and some without any", "not confirmed", "Hollow: not confirmed.", "2 warnings in 2 searches", "of 33 searches",
		},
		"far targets":            {"The targets are far apart"},
		"long search":            {"whole windows are drawn", "farther from the boundary: see the table"},
		"resumed search":         {"in all are left out, at the dotted lines"},
		"search without windows": {"The search is not over: nothing is known yet."},
	} {
		got := string(indented(t, (&Result{Searches: searchBuilders()[name]()}).Document()))
		for _, text := range want {
			if !strings.Contains(got, text) {
				t.Errorf("%s: the document does not say %q", name, text)
			}
		}
	}
	d := (&Result{Searches: manySearches()}).Document()
	estimates, folds := 0, 0
	for _, p := range panels(d) {
		for _, l := range p.Layers {
			if l.Mark == chart.Point && p.X.Relative {
				estimates += len(l.X)
			}
		}
	}
	for _, s := range d.Sections {
		for _, b := range s.Blocks {
			if b.Fold != nil && strings.HasPrefix(b.Fold.ID, "search") {
				folds++
			}
		}
	}
	if estimates != 31 || folds < 12 || folds > 3*mostDetailed {
		t.Errorf("%d estimates are drawn and %d trials shown, want 31 and some of each target", estimates, folds)
	}
}

// A long search is drawn by windows, whose percentiles are exact, and keeps
// its document small.
func TestDocumentsAreSmall(t *testing.T) {
	for name, most := range map[string]int{"search": 100e3, "long search": 250e3} {
		b, err := json.Marshal((&Result{Searches: searchBuilders()[name]()}).Document())
		if err != nil || len(b) > most {
			t.Errorf("%s: %d bytes, %v; want at most %d", name, len(b), err, most)
		}
	}
}

// What says nothing about the target is in no percentile.
func TestUnusableWindowsAreLeftOut(t *testing.T) {
	x := oneSearch()
	refuse(&x)
	loads := loadsOf(x.Answer.Windows)
	last := loads[len(loads)-1]
	if seconds, ok := last.latency(.5); ok || last.unusable != 3 {
		t.Errorf("a load of %d unusable windows has a median of %v", last.unusable, seconds)
	}
	if got := telling(loads); len(got) != 2 {
		t.Errorf("%d loads tell something, want 2", len(got))
	}
	b := x.heatFigure(loads)
	if b.Empty() || b.Figure.Note != "Without 3 windows that said nothing about the target." {
		t.Errorf("heat map of a refused search: %+v", b.Figure)
	}
}

// Of many trials those are shown that a reader would look for.
func TestDetailedTrials(t *testing.T) {
	var g group
	for i := range 20 {
		x := Search{Trial: i + 1}
		if i != 13 {
			x.Answer.Estimate = at(1000 + math.Mod(float64(7*i), 20)) // all different
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

// Time in which nothing was measured is left out when the search was continued
// much later, and only then.
func TestCoursePauses(t *testing.T) {
	from := func(seconds float64) Assessment {
		return Assessment{Verdict: Passed, Window: load.Window{Start: day.Add(time.Duration(seconds * float64(time.Second))), Scored: 10 * time.Second}}
	}
	c := newCourse([]Assessment{from(0), from(14), from(7200), from(7214), {Verdict: Passed, Window: load.Window{Scored: 10 * time.Second}}, from(3)})
	if got, want := c.windows[Passed].X, (chart.Values{0, 14, 34, 48, 58, 68}); !slices.Equal(got, want) {
		t.Errorf("windows begin at %v, want %v", got, want)
	}
	if want := (chart.Values{34}); !slices.Equal(c.pauses, want) || c.skipped != 7200-34 {
		t.Errorf("pauses at %v, %v s left out; want %v, %v s", c.pauses, c.skipped, want, 7200-34)
	}
}

// Seconds without a percentile are one stretch, which says how much did not end
// well.
func TestCourseSeconds(t *testing.T) {
	nan := math.NaN()
	w := Assessment{Verdict: Missed, Window: load.Window{Start: day, Scored: 3 * time.Second, Seconds: load.Seconds{
		Index: []int{2, 3, 4, 5}, Due: []int64{100, 100, 100, 100}, OK: []int64{89, 80, 95, 0}, Replies: []int64{95, 70, 99, 0},
		P50: []float64{1, 1, 1, nan}, P90: []float64{nan, nan, 2, nan},
	}}}
	c := newCourse([]Assessment{w, w})
	if want := (chart.Values{95, 70, 99, 0, 95, 70, 99, 0}); !slices.Equal(c.achieved, want) || c.from[4] != 8 || c.to[4] != 9 {
		t.Errorf("answered %v, want %v; the second window is scored from %v to %v", c.achieved, want, c.from[4], c.to[4])
	}
	if from, to := (chart.Values{2, 5, 8, 11}), (chart.Values{4, 6, 10, 12}); !slices.Equal(c.short.X, from) || !slices.Equal(c.short.X2, to) {
		t.Errorf("no p90 from %v to %v, want from %v to %v", c.short.X, c.short.X2, from, to)
	}
	if !strings.HasPrefix(c.short.Tips[0], "11 of 100") {
		t.Errorf("it says %q of what did not end well", c.short.Tips[0])
	}
}

// A percentile of the SLA that is one of the figure's own has one row.
func TestWithTerms(t *testing.T) {
	s, err := load.ParseSLA("p99.9=1s,p98=1s,errors=10%")
	got := withTerms(heatQuantiles, s)
	if want := []float64{.5, .75, .9, .95, .98, .99, .999}; err != nil || !slices.Equal(got, want) {
		t.Errorf("withTerms = %v, %v, want %v", got, err, want)
	}
}

// The document of a search that the algorithm has made itself says what it
// found, and that is what the server takes by arithmetic.
func TestDocumentOfARealSearch(t *testing.T) {
	server := simServer{capacity: 7300, warmUp: 1, scored: 5, at: day}
	cfg := config(t)
	var windows []load.Window
	state, err := cfg.Evaluate(windows)
	for ; err == nil && state.Next != nil; state, err = cfg.Evaluate(windows) {
		windows = append(windows, server.window(simWindow{load: state.Next.Load, phase: search.Refine}))
	}
	if err != nil {
		t.Fatal(err)
	}
	a := state.Answer
	if a.Limit != LimitTarget || a.Estimate == nil || math.Abs(*a.Estimate-7076) > 0.03*7076 {
		t.Fatalf("the search found %s, limit %s, want 7076", loadText(a.Estimate), a.Limit)
	}
	d := (&Result{Searches: []Search{{Workload: "capacity", Target: "http://10.0.0.7/", Trial: 1, Config: cfg, Answer: a}}}).Document()
	if d.Answer != a.sentence() || len(panels(d)) != 7 || d.Verdict.Word != "confirmed" {
		t.Errorf("the document says %q, %q, with %d charts", d.Answer, d.Verdict.Word, len(panels(d)))
	}
}

// TestSketchOfErrors: a load that was missed by its errors, with a latency below
// the limit, says so.
func TestSketchOfErrors(t *testing.T) {
	s := Search{Config: config(t)}
	for _, ok := range []int64{1000, 950, 950} {
		w := answered(1000, ok, 50*time.Millisecond)
		w.Load = 100 + float64(1000-ok)
		j := Assessment{Window: w, Verdict: Passed, Misses: missed(s.Config.SLA, w)}
		if len(j.Misses) > 0 {
			j.Verdict = Missed
		}
		s.Answer.Windows = append(s.Answer.Windows, j)
	}
	b := s.sketch(loadsOf(s.Answer.Windows))
	if b.Empty() {
		t.Fatal("there is no sketch")
	}
	c := b.Figure.Panels[0].Chart
	var got []string
	for _, r := range c.Y.Rows {
		got = append(got, r.Name+" "+r.Value)
	}
	if want := []string{"100 op/s 50.0 ms", "150 op/s 50.0 ms, errors 5.0 %"}; !slices.Equal(got, want) {
		t.Errorf("rows %q, want %q", got, want)
	}
	if c.Title != "p90 of the windows that count at a load" {
		t.Errorf("the bars are named %q", c.Title)
	}
}
