package plan

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// offer is a workload that can be searched with.
type offer struct {
	Rate    *unit.Rate `json:"rate,omitempty"`
	Recover bool       `json:"recover,omitempty"`
}

func (*offer) Validate() error                              { return nil }
func (*offer) Estimate() time.Duration                      { return time.Second }
func (*offer) Prepare(context.Context, *workload.Env) error { return nil }
func (*offer) Run(context.Context, *workload.Env) error     { return nil }

func (*offer) Search() (capacity.Config, error) {
	c := capacity.Defaults()
	var err error
	c.SLA, err = capacity.ParseSLA("p90=100ms")
	return c, err
}

func searching(t *testing.T, src string) *experiment.Experiment {
	t.Helper()
	reg := workload.NewRegistry(
		workload.Kind{Name: "offer", Summary: "Offers load.", New: func() workload.Workload { return &offer{} }},
		workload.Kind{Name: "nap", Summary: "Waits.", New: func() workload.Workload { return &nap{} }},
	)
	e, err := experiment.Parse("test.yaml", []byte("fleet: {agents: {}}\n"+src), reg, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// server answers at once up to its capacity, and in a second above it.
type server struct{ capacity float64 }

// answer makes the results of a window's tasks.
func (s server) answer(t *testing.T, step model.Step) []model.Result {
	t.Helper()
	rate, err := unit.ParseRate(step.Tasks[0].Spec.Params["rate"].(string))
	if err != nil {
		t.Fatal(err)
	}
	took := time.Millisecond
	if rate.Value > s.capacity {
		took = time.Second
	}
	var out []model.Result
	for _, task := range step.Tasks {
		scorer := load.NewScorer(1, 0, time.Second)
		c := load.NewCollector(1, 1, scorer.Add)
		shard := c.Shard(0)
		for i := range int(rate.Value) / task.Spec.Parts {
			due := time.Duration(float64(time.Second) * float64(i) / rate.Value)
			shard.Due(0, due)
			shard.Sent(0, due, 0, due)
			shard.OK(0, due, due, due+took)
		}
		shard.Close()
		c.Wait()
		r := model.Result{Run: step.Run, Step: step.ID, Task: task.ID, Attempt: 1, Node: task.Node, Outcome: model.OutcomeOK}
		summary := scorer.Summary([]string{"get"}, load.Usage{})
		if err := summary.Report(sink{&r}); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// sink puts what is reported into a result.
type sink struct{ r *model.Result }

func (s sink) Sample(x model.Sample)       { s.r.Samples = append(s.r.Samples, x) }
func (s sink) Histogram(x model.Histogram) { s.r.Histograms = append(s.r.Histograms, x) }
func (s sink) Recording(x model.HostSeries) {
	s.r.Host = append(s.r.Host, x)
}

// search executes a run's windows until there are no more, or so many.
func (s server) search(t *testing.T, exp *experiment.Experiment, data model.RunData, most int) model.RunData {
	t.Helper()
	for {
		next, err := NextWindow(exp, data)
		if err != nil {
			t.Fatal(err)
		}
		if next.Step == nil || len(data.Steps) == most {
			return data
		}
		step := *next.Step
		step.State, step.Attempt = model.StepComplete, 1
		data.Steps = append(data.Steps, step)
		data.Results = append(data.Results, s.answer(t, step)...)
	}
}

func newRunData(n int) model.RunData {
	return model.RunData{Run: model.Run{ID: testRun, Started: time.Unix(1e9, 0)}, Nodes: named(nodes(n)...)}
}

// TestNextWindow: the windows of a search come one after another, all nodes
// offering their parts of the load, until the boundary is known.
func TestNextWindow(t *testing.T) {
	exp := searching(t, "evaluations: [search]\nworkloads: [{kind: offer}]\n")
	data := server{capacity: 730}.search(t, exp, newRunData(2), 100)
	windows, broken, err := capacity.Windows(data, "offer", 1)
	if err != nil || broken {
		t.Fatal(broken, err)
	}
	cfg, err := (&offer{}).Search()
	if err != nil {
		t.Fatal(err)
	}
	state, err := cfg.Evaluate(windows)
	if err != nil {
		t.Fatal(err)
	}
	if r := state.Result; state.Next != nil || r.Limit != capacity.LimitTarget || *r.Passed > 730 || *r.Failed < 730 {
		t.Errorf("limit %s, passed %v, failed %v", r.Limit, r.Passed, r.Failed)
	}
	for i, s := range data.Steps {
		if s.Number != i || s.Phase != model.Search || !s.Barrier || len(s.Tasks) != 2 {
			t.Errorf("window %d: %+v", i, s)
		}
		for k, task := range s.Tasks {
			if task.Spec.Part != k || task.Spec.Parts != 2 {
				t.Errorf("window %d: task %d has part %d of %d", i, k, task.Spec.Part, task.Spec.Parts)
			}
		}
	}
}

// TestSearchesInTurn: every trial searches with every workload; the next one
// waits for its time.
func TestSearchesInTurn(t *testing.T) {
	exp := searching(t, `
evaluations: [search]
trials: 2
every: 15m
workloads: [{kind: offer, name: small}, {kind: offer, name: large}]
`)
	data := server{capacity: 730}.search(t, exp, newRunData(1), 1000)
	var order []string
	for _, s := range data.Steps {
		name := fmt.Sprint(s.Workload, s.Trial)
		if len(order) == 0 || order[len(order)-1] != name {
			order = append(order, name)
		}
	}
	if got, want := fmt.Sprint(order), "[small1 large1 small2 large2]"; got != want {
		t.Errorf("searches %s, want %s", got, want)
	}
	first := 0
	for data.Steps[first].Trial == 1 {
		first++
	}
	cut := data
	cut.Steps = data.Steps[:first]
	next, err := NextWindow(exp, cut)
	if want := data.Run.Started.Add(15 * time.Minute); err != nil || next.Step == nil || next.Step.Trial != 2 || !next.After.Equal(want) {
		t.Errorf("the second trial: %+v, %v; want it after %v", next, err, want)
	}
}

// TestBrokenSearch: a search with a window that is invalid for good ends there,
// and the others go on.
func TestBrokenSearch(t *testing.T) {
	exp := searching(t, "evaluations: [search]\nworkloads: [{kind: offer, name: a}, {kind: offer, name: b}]\n")
	data := server{capacity: 730}.search(t, exp, newRunData(1), 3)
	data.Steps[2].State = model.StepInvalid
	next, err := NextWindow(exp, data)
	if err != nil || next.Step == nil || next.Step.Workload != "b" {
		t.Errorf("after a broken search: %+v, %v; want the first window of b", next.Step, err)
	}
}

func TestSearchNeedsLoad(t *testing.T) {
	exp := searching(t, "evaluations: [search]\nworkloads: [{kind: nap}]\n")
	if _, err := Build(exp, testRun, named("a")); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a search with naps: %v, want model.ErrUsage", err)
	}
	parallel := searching(t, "evaluations: [parallel]\nworkloads: [{kind: offer}]\n")
	if next, err := NextWindow(parallel, newRunData(1)); err != nil || next.Step != nil {
		t.Errorf("without a search: %+v, %v", next, err)
	}
}
