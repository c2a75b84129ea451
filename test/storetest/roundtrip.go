package storetest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// testRoundTrip stores a whole run and wants all of it back.
func testRoundTrip(t *testing.T, e env) {
	f := New(1, 5, 3)
	e.start(t, f)
	want := model.RunData{Run: f.Run, Nodes: f.Nodes, Steps: f.Steps, Results: f.Results()}
	for i := range want.Steps {
		want.Steps[i].State, want.Steps[i].Attempt = model.StepRunning, 1
	}
	must(t, e.s.PutArtifactChunk(e.ctx, want.Results[0].Task, 1, "stderr", 0, []byte("whole")))
	want.Artifacts = []model.Artifact{{Task: want.Results[0].Task, Attempt: 1, Name: "stderr", Size: 5}}
	// Stored backwards: their order in the run is not that of their arrival.
	for i := len(want.Results) - 1; i >= 0; i-- {
		e.put(t, want.Results[i])
	}
	event := model.Event{Time: epoch, Run: f.Run.ID, Step: f.Steps[0].ID, Task: f.Steps[0].Tasks[0].ID, Node: f.Nodes[0].ID,
		Kind: model.EventStepStarted, Severity: model.Warning, Text: "begins"}
	must(t, e.s.AddEvents(e.ctx, event))
	want.Events = []model.Event{event}
	diff(t, "run", want, e.data(t, e.s, f.Run.ID))
	diff(t, "run read by another store", want, e.data(t, e.open(), f.Run.ID))
}

// testDataFrom: what is stored of the last steps of a run is what Data says of
// them; nothing of other runs, and nothing of what is beside the steps.
func testDataFrom(t *testing.T, e env) {
	f, other := New(1, 3, 4), New(2, 3, 4)
	for _, f := range []Fixture{f, other} {
		e.start(t, f)
		must(t, e.s.PutArtifactChunk(e.ctx, f.Steps[3].Tasks[0].ID, 1, "stderr", 0, []byte("whole")))
		for _, r := range f.Results() {
			e.put(t, r)
		}
	}
	must(t, e.s.SetStepState(e.ctx, f.Steps[2].ID, model.StepComplete, ""))
	must(t, e.s.AddEvents(e.ctx, model.Event{Time: epoch, Run: f.Run.ID, Kind: model.EventRetry, Severity: model.Info}))

	all := e.data(t, e.s, f.Run.ID)
	for from := range len(f.Steps) + 1 {
		got, err := e.s.DataFrom(e.ctx, f.Run.ID, from)
		must(t, err)
		want := model.RunData{Run: all.Run, Nodes: all.Nodes, Steps: all.Steps[from:], Results: all.Results[from*len(f.Nodes):]}
		diff(t, fmt.Sprintf("run from step %d on", from), want, got)
	}
	if _, err := e.s.DataFrom(e.ctx, "another", 0); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("DataFrom of a run that does not exist: %v, want model.ErrNotFound", err)
	}
}

// testExtremes stores the smallest and the largest of everything.
func testExtremes(t *testing.T, e env) {
	f := New(1, 3, 1)
	f.Steps[0].Tasks[1].Spec.Params = map[string]any{"seed": float64(1<<53 - 1), "big": 1e20}
	f.Steps[0].Tasks[2].Spec = model.Spec{}
	f.Nodes[1] = model.Node{ID: f.Nodes[1].ID}
	e.start(t, f)

	code := -1
	full := f.Result(0, 0, 1)
	full.ExitCode = &code
	full.ClockOffset, full.ClockError = math.MinInt64, math.MaxInt64
	full.Started = time.Date(1678, 1, 1, 0, 0, 0, 1, time.UTC)
	full.Ended = time.Date(2261, 12, 31, 23, 59, 59, 999999999, time.UTC)
	full.Samples = nil
	for _, v := range []float64{0, math.MaxFloat64, -math.MaxFloat64, math.SmallestNonzeroFloat64, 0.1, 1 << 53, 1<<53 + 2, math.Pi} {
		full.Samples = append(full.Samples, model.Sample{Metric: "same name", Value: v})
	}
	full.Series = []model.Series{
		{Metric: "m", Offsets: []int64{math.MinInt64, math.MaxInt64, 0, -1}, Values: []float64{math.MaxFloat64, -math.MaxFloat64, 5e-324, 1 << 60}},
		{Metric: "m", Unit: "one point", Offsets: []int64{7}, Values: []float64{0.3}},
		{Metric: "no points"},
	}
	full.Host = []model.HostSeries{
		{Metric: "no points first"},
		{Metric: "no points again"},
		{Metric: "m", Offsets: []int64{math.MinInt64, 0, math.MaxInt64}, Values: []float64{-math.MaxFloat64, 5e-324, math.MaxFloat64}},
		{Metric: "m", Offsets: []int64{math.MinInt64, 0}, Values: []float64{0.1, 0.2}},
	}
	full.Histograms = []model.Histogram{{}, {Metric: "big", Encoded: strings.Repeat("HISTFAAAABx4nJN", 100_000)}, {Metric: "big"}}
	empty := model.Result{Run: f.Run.ID, Step: f.Steps[0].ID, Task: f.Steps[0].Tasks[1].ID, Attempt: 1, Node: f.Nodes[1].ID, Outcome: model.OutcomeLost}
	e.put(t, full)
	e.put(t, empty)
	got := e.data(t, e.s, f.Run.ID)
	diff(t, "results", []model.Result{full, empty}, got.Results)
	diff(t, "tasks", f.Steps[0].Tasks, got.Steps[0].Tasks)
	diff(t, "nodes", f.Nodes, got.Nodes)
}

// testText stores texts that databases do not like: programs print anything.
func testText(t *testing.T, e env) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	noise := make([]byte, 100_000)
	src := rand.NewChaCha8([32]byte{1})
	_, _ = src.Read(noise) // cannot fail
	f := New(1, 6, 1)
	e.start(t, f)
	texts := []string{"a\x00b", "\xff\xfe invalid", "\x01base64?", string(every), string(noise), "'; DROP TABLE runs; -- $1 ? %s"}
	var want []model.Result
	for i, text := range texts {
		r := f.Result(0, i, 1)
		r.Outcome, r.Error = model.OutcomeFailed, text
		r.Stdout = model.Output{Text: text, Total: int64(len(text)), Artifact: text}
		r.Samples[0].Metric, r.Samples[0].Unit = text, text
		r.Series[0].Metric = text
		r.Samples[0].Resource = text
		r.Host[0].Metric, r.Host[0].Unit = text, text
		r.Histograms[0] = model.Histogram{Metric: text, Unit: text, Encoded: text}
		e.put(t, r)
		want = append(want, r)
	}
	must(t, e.s.SetRunState(e.ctx, f.Run.ID, model.RunFailed, texts[0], epoch))
	got := e.data(t, e.s, f.Run.ID)
	diff(t, "results", want, got.Results)
	diff(t, "reason", texts[0], got.Run.Reason)
}

// testBigSeries stores a day at 10 points a second, more than a database's
// page and a network's packet hold.
func testBigSeries(t *testing.T, e env) {
	f := New(1, 1, 1)
	e.start(t, f)
	r := f.Result(0, 0, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	s := model.Series{Metric: "noise", Unit: "op"}
	var at int64
	var sum float64
	for range 864_000 {
		at += 100_000_000 + rng.Int64N(1_000_000)
		sum += rng.Float64()
		s.Offsets, s.Values = append(s.Offsets, at), append(s.Values, sum)
	}
	r.Series = []model.Series{s}
	e.put(t, r)
	got := e.data(t, e.s, f.Run.ID)
	if len(got.Results) != 1 || len(got.Results[0].Series) != 1 {
		t.Fatalf("Data: %d results, want 1 with 1 series", len(got.Results))
	}
	for i, v := range got.Results[0].Series[0].Values {
		if math.Float64bits(v) != math.Float64bits(s.Values[i]) || got.Results[0].Series[0].Offsets[i] != s.Offsets[i] {
			t.Fatalf("point %d = %d, %v, want %d, %v", i, got.Results[0].Series[0].Offsets[i], v, s.Offsets[i], s.Values[i])
		}
	}
	if n := len(got.Results[0].Series[0].Values); n != len(s.Values) {
		t.Errorf("%d points, want %d", n, len(s.Values))
	}
}
