package answer_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/answer"
	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/internal/study/cdi"
	"github.com/scalebench/scalebench/internal/study/compare"
	"github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/study/variability"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/cpu"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/storetest"
)

var day = time.Date(2026, 3, 14, 9, 26, 53, 0, time.UTC)

// heat is a small study: the greatest value of the run's samples. It is shown
// of each run that has some.
type heat struct {
	Above  float64 `json:"fail_above,omitempty" flag:"fail-heat"`
	Word   string  `json:"word"`
	Breaks bool    `json:"breaks,omitempty"`
	Beside string  `json:"beside,omitempty"` // a run that is read as well
}

type hottest struct {
	Value     float64       `json:"value"`
	Tolerance float64       `json:"tolerance"`
	Warnings  []caveat.Text `json:"warnings,omitempty"`
	Doubts    caveat.List   `json:"doubts,omitempty"`
	study     heat
}

func heatKind() study.Kind {
	return study.Kind{
		Name: "heat", Summary: "the greatest value", Shown: true, Optional: true, Several: true, Table: true,
		Tells: func(run *observe.Run) bool { return len(run.Results()) > 0 },
		New:   func() study.Study { return &heat{Word: "degrees"} },
	}
}

func (h *heat) Check() ([]caveat.Caveat, error) {
	if h.Above < 0 {
		return nil, &model.InputError{Path: "fail_above", Problem: "must be a number of at least 0"}
	}
	return nil, nil
}

func (h *heat) Answer(ctx context.Context, in study.Input) (*study.Answer, error) {
	if h.Breaks {
		return nil, errors.New("it broke")
	}
	if h.Beside != "" {
		if _, err := in.Open(ctx, h.Beside); err != nil {
			return nil, err
		}
	}
	run := in.Run()
	if h.Beside == "" && (run == nil || len(run.Results()) == 0) {
		return nil, fmt.Errorf("%w: heat needs a run with results", model.ErrUsage)
	}
	r := &hottest{study: *h, Tolerance: in.Common.Tolerance}
	if run != nil {
		for _, x := range run.Results() {
			for _, s := range x.Samples {
				r.Value = max(r.Value, s.Value)
			}
		}
	}
	places := []caveat.Place{{Caveats: &r.Doubts, Warnings: &r.Warnings}}
	return &study.Answer{Result: r, Places: places, Gate: r.Gate(), Document: r.Document}, nil
}

func (r *hottest) Document() *doc.Document {
	d := &doc.Document{
		Answer: fmt.Sprintf("It is %g %s <hot>.", r.Value, r.study.Word), Verdict: doc.Tag{Word: "hot"}, More: []string{"Mind it."},
		Warnings: []doc.Warning{{Text: "only 2 nodes: the interval is wide and says nothing about nodes that were not measured; 6 or more are better", Links: []doc.Link{{Href: "#heat", Text: "Heat"}}}, {Text: "summer"}},
		Sections: []doc.Section{{ID: "heat", Title: "Heat"}},
	}
	d.Warnings = append(d.Warnings, doc.Caveats(r.Doubts...)...)
	return d
}

func (r *hottest) Gate() error {
	if r.study.Above > 0 && r.Value > r.study.Above {
		return fmt.Errorf("%w: %g is above %g", model.ErrThreshold, r.Value, r.study.Above)
	}
	return nil
}

func kinds() experiment.Kinds {
	return experiment.Kinds{Workloads: workload.NewRegistry(cpu.Kind()),
		Studies: study.Registry{legacy.Adapt(capacity.Kind()), cdi.Kind(), heatKind()}}
}

// source is the file of the test's run; more are further keys.
func source(more string) string {
	return "fleet: {local: {nodes: 2}}\nworkloads: [{name: w, kind: cpu, duration: 1s}]\n" + more
}

// asked is the question of a file, as it is stored when the file is submitted.
func asked(source string) model.Asked {
	all := kinds()
	all.Studies = append(all.Studies, legacy.Adapt(variability.Kind()))
	exp, err := experiment.Parse("two.yaml", []byte(source), all, nil)
	if err != nil {
		panic(err)
	}
	return exp.Asked
}

// measured is a run of two nodes; each does 100 alone and 80 together.
func measured(id, source string) model.RunData {
	d := model.RunData{Run: model.Run{
		ID: model.RunID(id), Name: "two", Kind: model.KindExperiment, State: model.RunDone, SourceName: "two.yaml",
		Source: source, Asked: asked(source), Seed: 7, Version: "v1",
		Created: day, Started: day, Finished: day.Add(time.Minute),
	}}
	for _, n := range []model.NodeID{"a", "b"} {
		d.Nodes = append(d.Nodes, model.Node{ID: n, Facts: model.Facts{Cores: 4}})
	}
	add := func(phase model.Phase, value float64, nodes ...model.NodeID) {
		s := model.Step{
			ID: model.NewStepID(d.Run.ID, len(d.Steps)), Run: d.Run.ID, Number: len(d.Steps), Phase: phase, Workload: "w", Trial: 1,
			Barrier: true, State: model.StepComplete, Attempt: 1, StartAt: day.Add(time.Duration(len(d.Steps)) * 10 * time.Second),
		}
		for i, n := range nodes {
			task := model.Task{ID: model.NewTaskID(s.ID, i), Node: n, Position: i, Spec: model.Spec{Workload: "w", Kind: "cpu"}}
			v := value + float64(i)/10
			r := model.Result{
				Run: d.Run.ID, Step: s.ID, Task: task.ID, Attempt: 1, Node: n, Outcome: model.OutcomeOK, Started: s.StartAt, Ended: s.StartAt.Add(4 * time.Second),
				Samples: []model.Sample{{Metric: "rate", Unit: "op/s", Value: v, Better: model.Higher}},
				Series:  []model.Series{{Metric: "rate", Unit: "op", Offsets: []int64{1e9, 2e9, 3e9, 4e9}, Values: []float64{v, 2 * v, 3 * v, 4 * v}}},
				Host:    []model.HostSeries{{Metric: "memory.swap_in", Unit: "byte", Counter: true, Offsets: []int64{0, 4e9}, Values: []float64{0, 8 << 20}}},
			}
			s.Tasks, d.Results = append(s.Tasks, task), append(d.Results, r)
		}
		d.Steps = append(d.Steps, s)
	}
	add(model.Serial, 100, "a")
	add(model.Serial, 100, "b")
	add(model.Parallel, 80, "a", "b")
	return d
}

// Runs of the tests: one with a file without a study, one with a file that asks
// for the CDI with a threshold, and one with nothing measured.
const (
	plain  = "01KJ2Q8Z7V3N5XW9T4B6C8D0EA"
	asking = "01KJ2Q8Z7V3N5XW9T4B6C8D0EB"
	empty  = "01KJ2Q8Z7V3N5XW9T4B6C8D0EC"
)

// swapped is what disturbed the nodes of each run of the tests.
const swapped = "w: 8.00 MiB of memory were swapped in or out on a in serial trial 1 (the worst of 4 tasks on 2 nodes, of 4 watched)"

func asker(t *testing.T) answer.Asker {
	t.Helper()
	st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	storetest.Save(t, st, measured(plain, source("")))
	storetest.Save(t, st, measured(asking, source("study: {kind: cdi, fail_above: 5}\n")))
	none := measured(empty, source(""))
	none.Steps, none.Results, none.Run.State = nil, nil, model.RunCancelled
	storetest.Save(t, st, none)
	return answer.Asker{Store: st, Kinds: kinds(), Version: "v9", Now: func() time.Time { return day }}
}

func params(key, value string) map[string]json.RawMessage {
	return map[string]json.RawMessage{key: json.RawMessage(value)}
}

// TestAnswer: an answer from the store, where a run is read a column at a time,
// is what the study says of the whole run, with what disturbed the nodes, in
// JSON, in the document, and in its table for programs.
func TestAnswer(t *testing.T) {
	a := asker(t)
	got, err := a.Answer(t.Context(), answer.Question{Study: "cdi", Run: plain})
	if err != nil {
		t.Fatal(err)
	}
	run := observe.Of(measured(plain, source("")))
	found, err := cdi.New().Answer(t.Context(), study.Input{Runs: []study.NamedRun{{Run: run}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found.Places {
		slices.Concat(evaluation.Caveats, observe.Caveats).FillPlace(p)
	}
	b, err := json.Marshal(found.Result)
	if err != nil {
		t.Fatal(err)
	}
	want := string(b) // which has the disturbance: the study reads it
	if !strings.Contains(want, strings.TrimPrefix(swapped, "w: ")) || strings.Contains(want, swapped) {
		t.Errorf("the result is silent, or says twice what it is about, on what disturbed the nodes: %s", want)
	}
	if diff := cmp.Diff(want, string(got.Result)); diff != "" {
		t.Errorf("the result differs (-want +got):\n%s", diff)
	}
	document := found.Document()
	if diff := cmp.Diff(document, got.Document); diff != "" {
		t.Errorf("the document differs (-want +got):\n%s", diff)
	}
	bare, err := a.Answer(t.Context(), answer.Question{Study: "cdi", Run: "latest", Bare: true})
	if !errors.Is(err, model.ErrUsage) {
		t.Errorf("the latest run has nothing to compare: %+v, %v; want a model.ErrUsage", bare, err)
	}
	bare, err = a.Answer(t.Context(), answer.Question{Study: "cdi", Run: plain, Bare: true})
	if err != nil || bare.Document != nil || string(bare.Result) != want {
		t.Errorf("a bare answer has the document %v, %v; want the result alone", bare.Document, err)
	}
	hot, err := a.Answer(t.Context(), answer.Question{Study: "heat", Run: plain})
	if err != nil || !strings.Contains(hot.Document.Answer, "100 degrees <hot>") {
		t.Errorf("heat answers %+v, %v", hot.Document, err)
	}
}

// TestParameters: those of the run's file count where it asks the same question,
// and what the user gives is put over them.
func TestParameters(t *testing.T) {
	a := asker(t)
	for _, c := range []struct {
		name      string
		q         answer.Question
		threshold bool // or none
		err       error
	}{
		{"no file asks", answer.Question{Study: "cdi", Run: plain}, false, nil},
		{"a flag", answer.Question{Study: "cdi", Run: plain, Params: params("fail_above", "5")}, true, nil},
		{"the file", answer.Question{Study: "cdi", Run: asking}, true, nil},
		{"a flag over the file", answer.Question{Study: "cdi", Run: asking, Params: params("fail_above", "50")}, false, nil},
		{"another question than the file's", answer.Question{Study: "heat", Run: asking}, false, nil},
		{"its own threshold", answer.Question{Study: "heat", Run: asking, Params: params("fail_above", "99")}, true, nil},
		{"impossible", answer.Question{Study: "heat", Run: plain, Params: params("fail_above", "-1")}, false, model.ErrUsage},
		{"of another type", answer.Question{Study: "heat", Run: plain, Params: params("fail_above", `"x"`)}, false, model.ErrUsage},
		{"an unknown study", answer.Question{Study: "cold", Run: plain}, false, model.ErrUsage},
		{"an unknown run", answer.Question{Study: "cdi", Run: "01ZZZZ"}, false, model.ErrNotFound},
		{"no run", answer.Question{Study: "cdi"}, false, model.ErrUsage},
		{"no search", answer.Question{Study: "capacity", Run: plain, Params: params("fail_below", `"10op/s"`)}, false, model.ErrUsage},
	} {
		got, err := a.Answer(t.Context(), c.q)
		if !errors.Is(err, c.err) || c.err == nil && err != nil {
			t.Errorf("%s: error %v, want %v", c.name, err, c.err)
		}
		// The CDI is 19.95 %.
		if held := got.Gate != nil; held != c.threshold {
			t.Errorf("%s: gate %v, want one: %v", c.name, got.Gate, c.threshold)
		}
	}
	if err := answer.Set(nil, heatKind().New(), params("fail_above", "-1")); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "--fail-heat: must be") {
		t.Errorf("Check = %v, want the problem as a model.ErrUsage", err)
	}
}

// TestGates: the kind of a gate survives JSON, and that a threshold was missed
// says more than that another cannot be told.
func TestGates(t *testing.T) {
	missed := answer.Answer{Gate: &answer.Gate{Threshold: true, Text: "too much"}}
	unknown := answer.Answer{Gate: &answer.Gate{Text: "cannot be told"}}
	for _, c := range []struct {
		name    string
		answers []answer.Answer
		want    error
		text    string
	}{
		{"none", []answer.Answer{{}, {}}, nil, ""},
		{"no answers", nil, nil, ""},
		{"missed", []answer.Answer{{}, missed}, model.ErrThreshold, "too much"},
		{"unknown", []answer.Answer{unknown, {}}, model.ErrInvalid, "cannot be told"},
		{"unknown, then missed", []answer.Answer{unknown, missed, unknown}, model.ErrThreshold, "too much"},
	} {
		b, err := json.Marshal(c.answers)
		if err != nil {
			t.Fatal(err)
		}
		var back []answer.Answer
		if err := json.Unmarshal(b, &back); err != nil {
			t.Fatal(err)
		}
		got := answer.Worst(back...)
		if c.want == nil && got != nil || !errors.Is(got, c.want) || got != nil && got.Error() != c.text {
			t.Errorf("%s: Worst = %v, want %v, %q", c.name, got, c.want, c.text)
		}
		for _, kind := range []error{model.ErrThreshold, model.ErrInvalid, model.ErrUsage} {
			if got != nil && !errors.Is(kind, c.want) && errors.Is(got, kind) {
				t.Errorf("%s: Worst = %v is also %v", c.name, got, kind)
			}
		}
	}
}

// TestWithoutRun: a table goes the same way as a run.
func TestWithoutRun(t *testing.T) {
	const table = "node,serial,parallel\na,100,81\nb,102,80.5\nc,98,79.1\nd,100,79.4\n"
	got, err := answer.WithoutRun(t.Context(), cdi.Kind(), answer.Question{Params: params("fail_above", "10")}, "pairs.csv", strings.NewReader(table))
	if err != nil || !errors.Is(got.Err(), model.ErrThreshold) || got.Document == nil || !strings.HasPrefix(string(got.Result), "[{") {
		t.Errorf("Import: %v, gate %v, result %.20s", err, got.Err(), got.Result)
	}
	_, err = answer.WithoutRun(t.Context(), cdi.Kind(), answer.Question{}, "bad.csv", strings.NewReader("node,serial,parallel\na,fast,80\n"))
	if !errors.Is(err, model.ErrUsage) || !strings.HasPrefix(err.Error(), "bad.csv:2:3: ") {
		t.Errorf("a bad table: %v, want its place", err)
	}
	_, err = answer.WithoutRun(t.Context(), legacy.Adapt(capacity.Kind()), answer.Question{}, "x.csv",
		strings.NewReader(table))
	if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "capacity cannot read tables") {
		t.Errorf("a study that reads none: %v", err)
	}
	_, err = answer.WithoutRun(t.Context(), heatKind(), answer.Question{Params: params("beside", `"latest"`)}, "", nil)
	if !errors.Is(err, answer.ErrStored) {
		t.Errorf("a parameter that names a run: %v, want ErrStored", err)
	}
	_, err = answer.WithoutRun(t.Context(), cdi.Kind(), answer.Question{Params: params("sizes", "[0]")}, "pairs.csv", strings.NewReader(table))
	if !errors.Is(err, model.ErrUsage) {
		t.Errorf("impossible parameters: %v, want a model.ErrUsage", err)
	}
}

// TestFindings: each study with a finding answers, in the order of the registry,
// with its own parameters; if the run's file names a study, only that one. A
// warning of several is said once, wherever it leads.
func TestFindings(t *testing.T) {
	a := asker(t)
	for _, c := range []struct {
		run   string
		given answer.Params
		want  string
		gates string
		err   error
	}{
		{plain, nil, "cdi heat", "", nil},
		{asking, nil, "cdi", "cdi", nil}, // what the file asks, with its own threshold
		{plain, answer.Params{"heat": params("fail_above", "99")}, "cdi heat", "heat", nil},
		{empty, nil, "", "", nil},
		{plain, answer.Params{"heat": params("breaks", "true")}, "", "", errors.ErrUnsupported},
		{plain, answer.Params{"capacity": params("fail_below", `"1op/s"`)}, "", "", model.ErrUsage},
	} {
		all, err := a.Findings(t.Context(), c.run, c.given)
		if c.err == nil && err != nil || c.err != nil && err == nil || errors.Is(c.err, model.ErrUsage) && !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s, %v: error %v, want %v", c.run, c.given, err, c.err)
		}
		var names, gates, warnings []string
		for _, x := range all {
			for _, w := range x.Document.Warnings {
				if slices.Contains(warnings, w.Text) {
					t.Errorf("%s, %v: twice: %s", c.run, c.given, w.Text)
				}
				warnings = append(warnings, w.Text)
			}
			names = append(names, x.Study)
			if x.Gate != nil {
				gates = append(gates, x.Study)
			}
		}
		if got := strings.Join(names, " "); got != c.want || strings.Join(gates, " ") != c.gates {
			t.Errorf("%s, %v: studies %q with gates of %q, want %q and %q", c.run, c.given, got, gates, c.want, c.gates)
		}
	}
}

// TestShow: a run in brief has what studies that are shown have found, with
// their warnings; it is held to the thresholds that are given, whatever study
// they are of, and to no others.
func TestShow(t *testing.T) {
	a := asker(t)
	for _, c := range []struct {
		name  string
		run   string
		given answer.Params
		want  error
	}{
		{"nothing asked", plain, nil, nil},
		{"of a study that is shown", plain, answer.Params{"heat": params("fail_above", "99")}, model.ErrThreshold},
		{"kept", plain, answer.Params{"heat": params("fail_above", "101")}, nil},
		{"of one that is not shown", plain, answer.Params{"cdi": params("fail_above", "5")}, model.ErrThreshold},
		{"several", plain, answer.Params{"cdi": params("fail_above", "50"), "heat": params("fail_above", "99")}, model.ErrThreshold},
	} {
		got, err := a.Show(t.Context(), c.run, c.given)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if gate := got.Err(); c.want == nil && gate != nil || !errors.Is(gate, c.want) {
			t.Errorf("%s: gate %v, want %v", c.name, gate, c.want)
		}
		var shown struct {
			Run      model.Run
			Fleet    []model.NodeID
			Steps    []json.RawMessage
			Findings struct {
				Heat hottest
			}
			Warnings []string
		}
		if err := json.Unmarshal(got.Result, &shown); err != nil {
			t.Fatal(err)
		}
		if string(shown.Run.ID) != c.run || len(shown.Fleet) != 2 || len(shown.Steps) != 3 || shown.Findings.Heat.Value != 100 ||
			!slices.Equal(shown.Findings.Heat.Warnings, []caveat.Text{swapped}) || !slices.Equal(shown.Warnings,
			[]string{swapped}) {
			t.Errorf("%s: result %s", c.name, got.Result)
		}
		d := got.Document
		for i, row := range d.Data.Rows {
			if last := len(row.Cells) - 1; d.Data.Columns[last].Key != "warnings" || row.Cells[last].Value != swapped {
				t.Errorf("%s: row %d for programs ends with %v, want the warnings", c.name, i, row.Cells[last].Value)
			}
		}
		if d.Verdict.Word != "done" || !strings.HasPrefix(d.Answer, "It is 100") || len(d.Warnings) != 3 || d.Sections[len(d.Sections)-1].ID != "heat-heat" {
			t.Errorf("%s: verdict %v, answer %q, %d warnings; want the state of the run and what heat says", c.name, d.Verdict, d.Answer, len(d.Warnings))
		}
	}
	if _, err := a.Show(t.Context(), plain, answer.Params{"capacity": params("fail_below", `"1op/s"`)}); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "searches for none") {
		t.Errorf("a threshold of what was not measured: %v", err)
	}
}

// TestPage: the first study gives the answer and the verdict, the others follow,
// a warning of several is said once, and the run's own parts come last.
func TestPage(t *testing.T) {
	skip.IfShort(t)
	a := asker(t)
	d, err := a.Page(t.Context(), plain)
	if err != nil {
		t.Fatal(err)
	}
	found, err := a.Findings(t.Context(), plain, nil)
	if err != nil {
		t.Fatal(err)
	}
	first := found[0].Document
	if d.Title != "two" || d.Answer != first.Answer || d.Verdict != first.Verdict {
		t.Errorf("the page of %q answers %q, %v; want what the CDI says: %q, %v", d.Title, d.Answer, d.Verdict, first.Answer, first.Verdict)
	}
	if more := strings.Join(d.More, "\n"); !strings.HasSuffix(more, "It is 100 degrees <hot>.\nMind it.") {
		t.Errorf("more = %q, want what heat says at the end", more)
	}
	if diff := cmp.Diff(first.Data, d.Data); diff != "" {
		t.Errorf("the table for programs differs from that of the first study (-want +got):\n%s", diff)
	}
	texts := make(map[string]int)
	for _, x := range d.Warnings {
		texts[x.Text]++
	}
	for text, n := range texts {
		if n > 1 {
			t.Errorf("%d times: %s", n, text)
		}
		_, bare, _ := strings.Cut(text, ": ") // a study does not name the workload again
		for other := range texts {
			if bare != "" && other != text && strings.Contains(other, bare) {
				t.Errorf("the same twice: %q and %q", text, other)
			}
		}
	}
	if texts["summer"] != 1 || len(texts) < 3 {
		t.Errorf("warnings %v", texts)
	}
	var ids []string
	for _, s := range d.Sections {
		ids = append(ids, s.ID)
	}
	got := strings.Join(ids, " ")
	if i := strings.Index(got, "heat"); i < 0 || strings.Index(got, "setup") < i || !strings.Contains(got, "nodes steps") || !strings.Contains(got, "cdi-overview") {
		t.Errorf("sections %q, want those of studies before setup, nodes and steps", got)
	}
	if !strings.HasPrefix(d.Footer, "Made by scalebench v9 on ") {
		t.Errorf("footer %q", d.Footer)
	}
	d, err = a.Page(t.Context(), empty)
	if err != nil || d.Answer != "This run was cancelled before it could answer anything." {
		t.Errorf("the page of a run with nothing measured answers %q, %v", d.Answer, err)
	}
	if _, err := a.Page(t.Context(), "01ZZZZ"); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("the page of no run: %v", err)
	}
}

// TestOtherRuns: each run that a study opens is warned of, by its id, and the
// one in question once.
func TestOtherRuns(t *testing.T) {
	a := asker(t)
	other := "run " + asking + ": " + swapped
	for _, c := range []struct {
		name string
		ask  func() (answer.Answer, error)
		want []string
	}{
		{"beside a run", func() (answer.Answer, error) {
			return a.Answer(t.Context(), answer.Question{Study: "heat", Run: plain, Params: params("beside", `"`+asking+`"`)})
		}, []string{swapped, other}},
		{"itself", func() (answer.Answer, error) {
			return a.Answer(t.Context(), answer.Question{Study: "heat", Run: plain, Params: params("beside", `"`+plain+`"`)})
		}, []string{swapped}},
		{"several runs", func() (answer.Answer, error) {
			return a.Answer(t.Context(), answer.Question{Study: "heat", Run: "fast=" + plain, More: []string{"slow=" + asking}})
		}, []string{swapped, other}},
		{"without a run", func() (answer.Answer, error) {
			return a.Answer(t.Context(), answer.Question{Study: "heat", Params: params("beside", `"`+asking+`"`)})
		}, []string{other}},
		{"with a table", func() (answer.Answer, error) {
			table := &answer.Table{Name: "x.csv", Data: []byte("value\n7\n")}
			return a.Answer(t.Context(), answer.Question{Study: "heat", Table: table, Params: params("beside", `"`+asking+`"`)})
		}, []string{other}},
	} {
		got, err := c.ask()
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		var result struct{ Warnings []string }
		if err := json.Unmarshal(got.Result, &result); err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, w := range got.Document.Warnings[2:] {
			texts = append(texts, w.Text)
		}
		if diff := cmp.Diff(c.want, result.Warnings) + cmp.Diff(c.want, texts); diff != "" {
			t.Errorf("%s: warnings of the result, of the document (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestSeveral: only studies that take several runs get them, and each once.
func TestSeveral(t *testing.T) {
	a := asker(t)
	for want, q := range map[string]answer.Question{
		"capacity is about one run": {Study: "capacity", Run: plain, More: []string{asking}},
		"is given twice":            {Study: "heat", Run: plain, More: []string{"b=" + plain}},
		"unknown run":               {Study: "heat", Run: plain, More: []string{"b=01NOSUCH"}},
	} {
		if _, err := a.Answer(t.Context(), q); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Answer() = %v, want %q", err, want)
		}
	}
	named := measured("01KJ2Q8Z7V3N5XW9T4B6C8D0EF", source(""))
	named.Run.Name = "size=4"
	storetest.Save(t, a.Store.(*sqlite.Store), named)
	for _, q := range []answer.Question{
		{Run: "size=4", More: []string{"b=" + plain}}, {Run: plain, More: []string{"b=size=4"}},
	} {
		q.Study = "heat"
		if _, err := a.Answer(t.Context(), q); err != nil {
			t.Errorf("Answer(%s, %v) = %v, want the run size=4", q.Run, q.More, err)
		}
	}
}

// TestSilentStudy: where the study that a file names has nothing to say, its
// reason is told.
func TestSilentStudy(t *testing.T) {
	a := asker(t)
	const id = "01KJ2Q8Z7V3N5XW9T4B6C8D0ED"
	d := measured(id, source("study: {kind: heat}\n"))
	d.Steps, d.Results, d.Run.State = nil, nil, model.RunCancelled
	storetest.Save(t, a.Store.(*sqlite.Store), d)
	const want = "heat needs a run with results"
	if _, err := a.Findings(t.Context(), id, nil); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
		t.Errorf("Findings: %v, want %q", err, want)
	}
	page, err := a.Page(t.Context(), id)
	if err != nil || page.Warnings[0].Text != "the study that the run's file names has no answer: "+want {
		t.Errorf("its page: %v, warnings %v", err, page.Warnings)
	}
	show, err := a.Show(t.Context(), id, nil)
	if err != nil || !strings.Contains(string(show.Result), want) {
		t.Errorf("Show: %v, %s", err, show.Result)
	}
}

// TestFileNamesBaseline: a question about a run whose file names a baseline is
// answered with that, be it asked with the run alone or at its end; a baseline that
// is stored nowhere is named.
func TestFileNamesBaseline(t *testing.T) {
	a := asker(t)
	a.Kinds.Studies = append(a.Kinds.Studies, legacy.Adapt(variability.Kind()))
	ask := func(baseline string) error {
		id := "01KJ2Q8Z7V3N5XW9T4B6C8D0E" + map[bool]string{true: "F", false: "G"}[baseline == plain]
		storetest.Save(t, a.Store.(store.Store), measured(id, source("study: {kind: variability, baseline: "+baseline+"}\n")))
		_, err := a.Answer(t.Context(), answer.Question{Study: "variability", Run: id})
		_, alone := a.Answer(t.Context(), answer.Question{Study: "variability", Sources: []answer.Source{{Source: study.Source{Name: id}, Stored: true}}})
		if (err == nil) != (alone == nil) {
			t.Errorf("at the end of the run %v, asked later %v; want both or neither", err, alone)
		}
		return errors.Join(err, alone)
	}
	if err := ask(plain); err != nil {
		t.Errorf("with a baseline that is stored: %v", err)
	}
	if err := ask("nowhere"); !errors.Is(err, model.ErrUsage) || strings.Count(err.Error(), `"nowhere" is no file here, and no run or campaign`) != 2 {
		t.Errorf("with a baseline that is stored nowhere: %v, want that named, twice", err)
	}
}

// TestThresholdsOfAnother: thresholds in the file of a run are named where they are
// those of another question than the one asked, also where runs are compared.
func TestThresholdsOfAnother(t *testing.T) {
	a := asker(t)
	a.Kinds.Studies = append(a.Kinds.Studies, legacy.Adapt(variability.Kind()), legacy.Adapt(compare.Kind()))
	stored := func(id string) answer.Source { return answer.Source{Source: study.Source{Name: id}, Stored: true} }
	for kind, sources := range map[string][]answer.Source{"variability": {stored(asking)}, "compare": {stored(plain), stored(asking)}} {
		got, err := a.Answer(t.Context(), answer.Question{Study: kind, Sources: sources})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		said := strings.Join(got.Document.More, "\n")
		if want := "is not heeded here: it is about `scalebench cdi " + asking + "`"; strings.Count(said, want) != 1 || !strings.Contains(said, "study.fail_above") {
			t.Errorf("%s: %q, want %q in it, once", kind, said, want)
		}
	}
}

// TestTolerance: that of the run's file is told to every study, wherever the file
// has it.
func TestTolerance(t *testing.T) {
	for i, c := range []struct {
		source string
		want   string
	}{
		{source(""), `"tolerance":10`},
		{source("tolerance: 3\n"), `"tolerance":3`},
		{source("study: {kind: cdi, tolerance: 4}\n"), `"tolerance":4`},
	} {
		a, id := asker(t), fmt.Sprintf("01KJ2Q8Z7V3N5XW9T4B6C8D0F%d", i)
		storetest.Save(t, a.Store.(store.Store), measured(id, c.source))
		got, err := a.Answer(t.Context(), answer.Question{Study: "heat", Run: id})
		if err != nil || !strings.Contains(string(got.Result), c.want) {
			t.Errorf("%q: %s, %v, want %s", c.source, got.Result, err, c.want)
		}
	}
}
