package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// offer is a workload that can be searched with.
type offer struct {
	Rate    *unit.Rate `json:"rate,omitempty"`
	Recover bool       `json:"recover,omitempty"`
	Seed    int64      `json:"seed,omitempty"`
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
	e, err := experiment.Parse("test.yaml", []byte("fleet: {agents: {}}\n"+src), experiment.Kinds{Workloads: reg}, nil)
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
		record := &workloadtest.Record{T: t}
		if err := summary.Report(record); err != nil {
			t.Fatal(err)
		}
		measured := record.Result()
		r.Samples, r.Histograms, r.Host = measured.Samples, measured.Histograms, measured.Host
		out = append(out, r)
	}
	return out
}

// search executes a run's windows until there are no more, or so many.
func (s server) search(t *testing.T, exp *experiment.Experiment, data model.RunData, most int) model.RunData {
	t.Helper()
	searches := NewSearches(exp)
	for {
		next, err := searches.Next(from(data, searches.Told()))
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

// from is what a store has of the steps from a number on.
func from(data model.RunData, number int) model.RunData {
	data.Steps = data.Steps[number:]
	return data
}

func newRunData(n int) model.RunData {
	return model.RunData{Run: model.Run{ID: testRun, Started: time.Unix(1e9, 0)}, Nodes: named(nodes(n)...)}
}

// TestNext: the windows of a search come one after another, all nodes
// offering their parts of the load, until the boundary is known.
func TestNext(t *testing.T) {
	exp := searching(t, "evaluations: [search]\nworkloads: [{kind: offer}]\n")
	data := server{capacity: 730}.search(t, exp, newRunData(2), 100)
	recorded, err := capacity.Searches(data)
	if err != nil || len(recorded) != 1 || recorded[0].Broken {
		t.Fatal(recorded, err)
	}
	cfg, err := (&offer{}).Search()
	if err != nil {
		t.Fatal(err)
	}
	state, err := cfg.Evaluate(recorded[0].Windows)
	if err != nil {
		t.Fatal(err)
	}
	if r := state.Result; state.Next != nil || r.Limit != capacity.LimitTarget || *r.Passed > 730 || *r.Failed < 730 {
		t.Errorf("limit %s, passed %v, failed %v", r.Limit, r.Passed, r.Failed)
	}
	next, err := NewSearches(exp).Next(data)
	if want := fmt.Sprintf("window %d of at most %d: ", len(data.Steps), cfg.MaxWindows); err != nil || !strings.HasPrefix(next.Latest, want) {
		t.Errorf("the latest window: %q, %v; want %q", next.Latest, err, want)
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

// TestWindowsDrawAnew: no two windows have the same seed, which those of the
// same run have again when it is repeated or resumed.
func TestWindowsDrawAnew(t *testing.T) {
	seeds := func(head string) (all []any) {
		exp := searching(t, head+"evaluations: [search]\ntrials: 3\nworkloads: [{kind: offer}]\n")
		for _, s := range (server{capacity: 730}).search(t, exp, newRunData(2), 1000).Steps {
			all = append(all, s.Tasks[0].Spec.Params["seed"])
			if other := s.Tasks[1].Spec.Params["seed"]; other != all[len(all)-1] {
				t.Errorf("generators of one window have the seeds %v and %v", all[len(all)-1], other)
			}
		}
		return all
	}
	once, again := seeds("seed: 7\n"), seeds("seed: 7\n")
	if !slices.Equal(once, again) {
		t.Error("with the same seed, two runs draw differently")
	}
	distinct := make(map[any]bool)
	for _, s := range slices.Concat(once, seeds("seed: 8\n")) {
		distinct[s] = true
	}
	if len(distinct) < 2*len(once)-1 {
		t.Errorf("two searches of %d windows each have %d different seeds", len(once), len(distinct))
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
	next, err := NewSearches(exp).Next(cut)
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
	next, err := NewSearches(exp).Next(data)
	if err != nil || next.Step == nil || next.Step.Workload != "b" {
		t.Errorf("after a broken search: %+v, %v; want the first window of b", next.Step, err)
	}
}

// TestSearchPlan: before a search it is known how many windows it has at most,
// and how long they are.
func TestSearchPlan(t *testing.T) {
	exp := searching(t, "evaluations: [search]\ntrials: 3\nworkloads: [{kind: offer}]\n")
	p, err := Build(exp, testRun, named(nodes(2)...))
	if err != nil {
		t.Fatal(err)
	}
	if want := []SearchPlan{{Workload: "offer", Trials: 3, Windows: 40, Window: time.Second}}; !slices.Equal(p.Searches, want) {
		t.Errorf("searches %+v, want %+v", p.Searches, want)
	}
	var text strings.Builder
	if err := p.Text(&text); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"offer, 3 trials: at most 40 windows each", "of about 1s", "2m at most"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("the plan does not say %q:\n%s", part, &text)
		}
	}
	if strings.Contains(text.String(), "0 steps") {
		t.Errorf("the plan speaks of steps:\n%s", &text)
	}
}

func TestSearchNeedsLoad(t *testing.T) {
	exp := searching(t, "evaluations: [search]\nworkloads: [{kind: nap}]\n")
	if _, err := Build(exp, testRun, named("a")); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a search with naps: %v, want model.ErrUsage", err)
	}
	parallel := searching(t, "evaluations: [parallel]\nworkloads: [{kind: offer}]\n")
	if next, err := NewSearches(parallel).Next(newRunData(1)); err != nil || next.Step != nil {
		t.Errorf("without a search: %+v, %v", next, err)
	}
}

// TestLostGenerator: a search whose window became invalid with a node that is
// lost for good goes on with the others, at the same load; without that it
// ends.
func TestLostGenerator(t *testing.T) {
	exp := searching(t, "evaluations: [search]\nworkloads: [{kind: offer}]\n")
	s := server{capacity: 730}
	data := s.search(t, exp, newRunData(3), 4)
	lost := func() (*Searches, model.RunData, model.Step) {
		searches := NewSearches(exp)
		next, err := searches.Next(data)
		if err != nil || next.Step == nil {
			t.Fatal(next, err)
		}
		step := *next.Step
		step.State = model.StepInvalid
		return searches, model.RunData{Run: data.Run, Nodes: data.Nodes, Steps: []model.Step{step}}, step
	}
	searches, news, _ := lost()
	if next, err := searches.Next(news); err != nil || next.Step != nil {
		t.Errorf("a search with a window that failed goes on: %+v, %v", next.Step, err)
	}
	searches, news, step := lost()
	gone := data.Nodes[1].ID
	searches.Without(map[model.NodeID]bool{gone: true})
	next, err := searches.Next(news)
	if err != nil || next.Step == nil || len(next.Step.Tasks) != 2 {
		t.Fatalf("without %s: %+v, %v; want a window of two", gone, next.Step, err)
	}
	for i, task := range next.Step.Tasks {
		if task.Node == gone || task.Spec.Part != i || task.Spec.Parts != 2 || task.Spec.Params["rate"] != step.Tasks[0].Spec.Params["rate"] {
			t.Errorf("task %d: %s has part %d of %d at %v", i, task.Node, task.Spec.Part, task.Spec.Parts, task.Spec.Params["rate"])
		}
	}
	again := *next.Step
	again.State, again.Attempt = model.StepComplete, 1
	all := model.RunData{Run: data.Run, Nodes: data.Nodes, Steps: append(append([]model.Step{}, data.Steps...), step, again),
		Results: append(append([]model.Result{}, data.Results...), s.answer(t, again)...)}
	recorded, err := capacity.Searches(all)
	if err != nil || len(recorded) != 1 || recorded[0].Broken || len(recorded[0].Windows) != 5 || len(recorded[0].Dropouts) != 1 {
		t.Fatalf("recorded %+v, %v; want five windows and a dropout", recorded, err)
	}
	if text := recorded[0].Dropouts[0].String(); text != "generator "+string(gone)+" did not come back after window 4; from then on the load came from 2" {
		t.Errorf("the dropout reads %q", text)
	}
}

// TestOneLoad: in a parallel phase, too, nodes offer their parts of one load,
// and nobody compares that with what fewer of them would do.
func TestOneLoad(t *testing.T) {
	nodes := newRunData(3).Nodes
	p, err := Build(searching(t, "evaluations: [parallel]\nworkloads: [{kind: offer}, {kind: nap}]\n"), "r", nodes)
	if err != nil {
		t.Fatal(err)
	}
	for i, task := range p.Steps[0].Tasks {
		if task.Spec.Part != i || task.Spec.Parts != 3 {
			t.Errorf("task %d has part %d of %d, want %d of 3", i, task.Spec.Part, task.Spec.Parts, i)
		}
	}
	for _, task := range p.Steps[1].Tasks {
		if task.Spec.Parts != 0 {
			t.Errorf("a workload that offers no load has part %d of %d", task.Spec.Part, task.Spec.Parts)
		}
	}
	for _, src := range []string{"", "evaluations: [parallel]\nsizes: [2]\n"} {
		exp := searching(t, src+"workloads: [{kind: offer}]\n")
		var bad *KeyError
		if _, err := Build(exp, "r", nodes); !errors.As(err, &bad) || bad.Workload != "offer" {
			t.Errorf("%q with three nodes: %v, want an error of workload offer", src, err)
		}
		if _, err := Build(exp, "r", nodes[:1]); src == "" && err != nil {
			t.Errorf("with one node: %v", err)
		}
	}
}
