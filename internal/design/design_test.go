package design

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/internal/study/cdi"
	"github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/golden"
)

const testRun = model.RunID("01JABCDEFGHJKMNPQRSTVWXYZ0")

// nap takes as long as it is told to; 0 means that it cannot say.
type nap struct {
	Duration unit.Duration `json:"duration"`
	Target   string        `json:"target,omitempty"`
}

func (n *nap) Validate() error                              { return nil }
func (n *nap) Estimate() time.Duration                      { return n.Duration.Std() }
func (n *nap) Prepare(context.Context, *workload.Env) error { return nil }
func (n *nap) Run(context.Context, *workload.Env) error     { return nil }

// flood is a load that the nodes of a step offer together.
type flood struct{ nap }

func (*flood) SharesLoad() bool { return true }

func parse(t *testing.T, src string) *experiment.Experiment {
	t.Helper()
	reg := workload.NewRegistry(
		workload.Kind{Name: "nap", Summary: "Waits.", New: func() workload.Workload { return &nap{} }},
		workload.Kind{Name: "flood", Summary: "Offers a load.", New: func() workload.Workload { return &flood{} }})
	e, err := experiment.Parse("test.yaml", []byte("fleet: {agents: {}}\n"+src), experiment.Kinds{Workloads: reg,
		Studies: study.Registry{cdi.Kind(), legacy.Adapt(capacity.Kind())}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func build(t *testing.T, src string, nodes ...model.NodeID) Design {
	t.Helper()
	p, err := Build(parse(t, src), testRun, named(nodes...))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// named returns nodes with these ids.
func named(ids ...model.NodeID) []model.Node {
	out := make([]model.Node, len(ids))
	for i, id := range ids {
		out[i].ID = id
	}
	return out
}

func nodes(n int) []model.NodeID {
	out := make([]model.NodeID, n)
	for i := range out {
		out[i] = model.NodeID(fmt.Sprintf("node-%03d", i))
	}
	return out
}

// outline is a plan in short: phase, workload, trial and number of tasks.
func outline(p Design) []string {
	out := make([]string, len(p.Steps))
	for i, s := range p.Steps {
		out[i] = fmt.Sprintf("%s %s %d x%d", s.Phase, s.Workload, s.Trial, len(s.Tasks))
	}
	return out
}

func TestOrder(t *testing.T) {
	const two = "workloads: [{name: a, kind: nap}, {name: b, kind: nap}]\ntrials: 2\n"
	for _, c := range []struct {
		name, src string
		want      []string
	}{
		{"interleaved", two, []string{
			"serial a 1 x1", "serial a 1 x1", "parallel a 1 x2", "serial b 1 x1", "serial b 1 x1", "parallel b 1 x2",
			"serial a 2 x1", "serial a 2 x1", "parallel a 2 x2", "serial b 2 x1", "serial b 2 x1", "parallel b 2 x2"}},
		{"phase by phase", two + "interleave: false", []string{
			"serial a 1 x1", "serial a 1 x1", "serial b 1 x1", "serial b 1 x1", "serial a 2 x1", "serial a 2 x1", "serial b 2 x1", "serial b 2 x1",
			"parallel a 1 x2", "parallel b 1 x2", "parallel a 2 x2", "parallel b 2 x2"}},
		{"serial only", two + "evaluations: [serial]", []string{
			"serial a 1 x1", "serial a 1 x1", "serial b 1 x1", "serial b 1 x1", "serial a 2 x1", "serial a 2 x1", "serial b 2 x1", "serial b 2 x1"}},
		{"parallel only", two + "evaluations: [parallel]\ninterleave: false", []string{
			"parallel a 1 x2", "parallel b 1 x2", "parallel a 2 x2", "parallel b 2 x2"}},
		{"the order of evaluations means nothing", "workloads: [{kind: nap}]\nevaluations: [parallel, serial]", []string{
			"serial nap 1 x1", "serial nap 1 x1", "parallel nap 1 x2"}},
	} {
		if diff := cmp.Diff(c.want, outline(build(t, c.src, nodes(2)...))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

func TestSpec(t *testing.T) {
	p := build(t, `
workloads: [{name: a, kind: nap, duration: 3s, timeout: 7s}]
output: {limit: 2KiB, artifact: 3MiB}
evaluations: [parallel]
seed: 5
`, "n2", "n1")
	spec := model.Spec{Workload: "a", Kind: "nap", Params: map[string]any{"duration": "3s"}, Timeout: 7 * time.Second, OutputLimit: 2048, ArtifactLimit: 3 << 20, Trial: 1}
	step := model.NewStepID(testRun, 0)
	want := Design{
		Run: testRun, Name: "test", Kind: model.KindExperiment, Seed: 5, Nodes: []model.NodeID{"n1", "n2"},
		Steps: []model.Step{{
			ID: step, Run: testRun, Phase: model.Parallel, Workload: "a", Trial: 1, Treatment: model.Treatment{Study: "cdi"}, Barrier: true, State: model.StepPending,
			Tasks: []model.Task{
				{ID: model.NewTaskID(step, 0), Node: "n1", Position: 0, Spec: spec},
				{ID: model.NewTaskID(step, 1), Node: "n2", Position: 1, Spec: spec},
			},
		}},
		Estimate: Estimate{Known: 3 * time.Second, Limit: 7 * time.Second},
	}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("Build (-want +got):\n%s", diff)
	}
}

// A plan survives being stored.
func TestJSONRoundTrip(t *testing.T) {
	p := build(t, "workloads: [{kind: nap, duration: 1s}]\ntrials: 3", nodes(3)...)
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var back Design
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p, back); diff != "" {
		t.Errorf("through JSON (-before +after):\n%s", diff)
	}
}

// For many shapes of experiment: every node has the same number of serial and
// of parallel tasks of each workload, one for each trial; ids are unique,
// steps numbered, all with a barrier; the same input gives the same plan.
func TestProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 60 {
		n, trials, kinds := 1+rng.IntN(9), 1+rng.IntN(12), 1+rng.IntN(3)
		src := fmt.Sprintf("trials: %d\ninterleave: %v\nrotate: %v\nseed: %d\nworkloads:\n", trials, rng.IntN(2) == 0, rng.IntN(2) == 0, rng.Int64N(1<<50))
		for k := range kinds {
			src += fmt.Sprintf("  - {name: w%d, kind: nap}\n", k)
		}
		p := build(t, src, nodes(n)...)
		checkCounts(t, p, trials*kinds)
		shuffled := nodes(n)
		rng.Shuffle(n, func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if diff := cmp.Diff(p, build(t, src, shuffled...)); diff != "" {
			t.Fatalf("the same experiment gives two plans:\n%s", diff)
		}
	}
}

func checkCounts(t *testing.T, p Design, perNode int) {
	t.Helper()
	type cell struct {
		node     model.NodeID
		phase    model.Phase
		workload string
		trial    int
	}
	seen, ids, total := map[cell]int{}, map[model.TaskID]bool{}, map[model.NodeID]int{}
	for i, s := range p.Steps {
		if s.Number != i || s.ID != model.NewStepID(testRun, i) || !s.Barrier || s.State != model.StepPending || s.Run != testRun {
			t.Fatalf("step %d is %+v", i, s)
		}
		for j, task := range s.Tasks {
			seen[cell{task.Node, s.Phase, s.Workload, s.Trial}]++
			total[task.Node]++
			if ids[task.ID] || task.Position != j || task.Spec.Workload != s.Workload || task.Spec.Trial != s.Trial {
				t.Fatalf("task %d of step %d is %+v", j, i, task)
			}
			ids[task.ID] = true
		}
	}
	for c, times := range seen {
		if times != 1 {
			t.Fatalf("%+v is there %d times, want once", c, times)
		}
	}
	for _, n := range p.Nodes {
		if total[n] != 2*perNode {
			t.Fatalf("node %s has %d tasks, want %d", n, total[n], 2*perNode)
		}
	}
}

// serialPositions counts how often each node had each serial turn.
func serialPositions(p Design) map[model.NodeID]map[int]int {
	out := map[model.NodeID]map[int]int{}
	turn, trial := 0, 0
	for _, s := range p.Steps {
		if s.Trial != trial {
			turn, trial = 0, s.Trial
		}
		n := s.Tasks[0].Node
		if out[n] == nil {
			out[n] = map[int]int{}
		}
		out[n][turn]++
		turn++
	}
	return out
}

// Over n trials of n nodes each node has each serial turn once.
func TestRotationIsALatinSquare(t *testing.T) {
	for n := 1; n <= 12; n++ {
		p := build(t, fmt.Sprintf("trials: %d\nevaluations: [serial]\nworkloads: [{kind: nap}]", n), nodes(n)...)
		for node, turns := range serialPositions(p) {
			for turn := range n {
				if turns[turn] != 1 {
					t.Errorf("%d nodes: %s has turn %d %d times, want once", n, node, turn, turns[turn])
				}
			}
		}
	}
}

func TestWithoutRotation(t *testing.T) {
	p := build(t, "trials: 5\nrotate: false\nevaluations: [serial]\nworkloads: [{kind: nap}]", nodes(4)...)
	for node, turns := range serialPositions(p) {
		if len(turns) != 1 {
			t.Errorf("%s has the turns %v, want always the same", node, turns)
		}
	}
}

// Over many seeds every node is equally likely to come first (chi-square with
// 4 degrees of freedom below its 99.9 % quantile, 18.47).
func TestShuffleIsFair(t *testing.T) {
	const runs, n = 5000, 5
	first := map[model.NodeID]float64{}
	for seed := range int64(runs) {
		p := build(t, fmt.Sprintf("seed: %d\nevaluations: [serial]\nworkloads: [{kind: nap}]", seed), nodes(n)...)
		first[p.Steps[0].Tasks[0].Node]++
	}
	chi2 := 0.0
	for _, node := range nodes(n) {
		d := first[node] - runs/n
		chi2 += d * d / (runs / n)
	}
	if chi2 > 18.47 {
		t.Errorf("nodes come first %v times of %d, chi-square %.1f, want below 18.47", first, runs, chi2)
	}
}

// Without a seed in the file the run's id makes one, and it is recorded: put
// into the file, it gives the same plan.
func TestDerivedSeed(t *testing.T) {
	const src = "trials: 2\nworkloads: [{kind: nap}]\n"
	p := build(t, src, nodes(5)...)
	if p.Seed <= 0 || p.Seed > 1<<53-1 {
		t.Fatalf("seed %d, want 1 to 2^53 - 1", p.Seed)
	}
	if diff := cmp.Diff(p, build(t, fmt.Sprintf("%sseed: %d", src, p.Seed), nodes(5)...)); diff != "" {
		t.Errorf("the recorded seed gives another plan:\n%s", diff)
	}
	other, err := Build(parse(t, src), testRun[:25]+"1", named(nodes(5)...))
	if err != nil || other.Seed == p.Seed {
		t.Errorf("another run has seed %d, %v, want one of its own", other.Seed, err)
	}
}

func TestBuildErrors(t *testing.T) {
	e := parse(t, "workloads: [{kind: nap}]")
	big := parse(t, "workloads: [{kind: nap}]\ntrials: 1000")
	for _, c := range []struct {
		exp   *experiment.Experiment
		nodes []model.NodeID
		want  string
	}{
		{e, nil, "no nodes"},
		{e, []model.NodeID{"a", "b", "a"}, "node a is in the fleet twice"},
		{e, []model.NodeID{"a b"}, `node id "a b"`},
		{big, nodes(600), "make 1200000 tasks"},
	} {
		if _, err := Build(c.exp, testRun, named(c.nodes...)); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Build on %d nodes: %v, want a model.ErrUsage with %q", len(c.nodes), err, c.want)
		}
	}
}

func paperJob(t *testing.T, file string) *experiment.JobFile {
	t.Helper()
	src, err := os.ReadFile("../../examples/" + file)
	if err != nil {
		t.Fatal(err)
	}
	job, err := experiment.ParseJob(file, src)
	if err != nil {
		t.Fatal(err)
	}
	return job
}

func TestBatch(t *testing.T) {
	job := paperJob(t, "paper-fig2.json")
	p, err := BuildBatch(job, testRun, []model.NodeID{"172.31.0.21", "172.31.0.20"})
	if err != nil {
		t.Fatal(err)
	}
	spec := func(command string) model.Spec {
		return model.Spec{Workload: "demo", Kind: "command", Timeout: 24 * time.Hour, OutputLimit: 64 << 10, ArtifactLimit: 16 << 20,
			Params: map[string]any{"command": command, "path": "/usr/sbin:/usr/bin:/sbin:/bin"}}
	}
	step := model.NewStepID(testRun, 0)
	want := []model.Step{{
		ID: step, Run: testRun, Phase: model.Batch, Workload: "demo", Trial: 1, State: model.StepPending,
		Tasks: []model.Task{
			{ID: model.NewTaskID(step, 0), Node: "172.31.0.20", Position: 0, Spec: spec("df -h")},
			{ID: model.NewTaskID(step, 1), Node: "172.31.0.21", Position: 1, Spec: spec("df -h")},
			{ID: model.NewTaskID(step, 2), Node: "172.31.0.20", Position: 2, Spec: spec("ifconfig")},
		},
	}}
	if diff := cmp.Diff(want, p.Steps); diff != "" {
		t.Errorf("BuildBatch (-want +got):\n%s", diff)
	}
	if p.Kind != model.KindBatch || p.Estimate.Limit != 48*time.Hour || p.Estimate.UnknownSteps != 1 {
		t.Errorf("kind %s, estimate %+v, want batch, at most 48h, unknown", p.Kind, p.Estimate)
	}
}

func TestBatchUnknownNodes(t *testing.T) {
	job := paperJob(t, "paper-fig3.json")
	_, err := BuildBatch(job, testRun, []model.NodeID{"b", "a"})
	const want = `paper-fig3.json:4:13: jobs.0.node: unknown node "172.31.0.21"; the nodes are a, b, and "*" means all of them
paper-fig3.json:8:13: jobs.1.node: unknown node "172.31.0.22"; the nodes are a, b, and "*" means all of them`
	if err == nil || err.Error() != want || !errors.Is(err, model.ErrUsage) {
		t.Errorf("BuildBatch = %v\nwant %s", err, want)
	}
	if _, err := BuildBatch(job, testRun, nil); !errors.Is(err, model.ErrUsage) {
		t.Errorf("BuildBatch without nodes = %v, want a model.ErrUsage", err)
	}
}

func TestEstimate(t *testing.T) {
	const src = "trials: 2\nworkloads: [{name: a, kind: nap, duration: 3s, timeout: 10s}, {name: b, kind: nap, timeout: 1m}]\n"
	p := build(t, src, nodes(4)...)
	// a: 2 trials x (4 serial + 1 parallel) x 3s; b is unknown.
	want := Estimate{Known: 30 * time.Second, UnknownSteps: 10, Unknown: []string{"b"}, Limit: 10*10*time.Second + 10*time.Minute}
	if diff := cmp.Diff(want, p.Estimate); diff != "" {
		t.Errorf("Estimate (-want +got):\n%s", diff)
	}
	if p.Tasks() != 32 {
		t.Errorf("Tasks() = %d, want 32", p.Tasks())
	}
}

func TestText(t *testing.T) {
	batch, err := BuildBatch(paperJob(t, "paper-fig2.json"), testRun, []model.NodeID{"172.31.0.20", "172.31.0.21"})
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range map[string]Design{
		"small":   build(t, "seed: 1\ntrials: 2\nworkloads: [{name: a, kind: nap, duration: 5s}]", nodes(3)...),
		"unknown": build(t, "seed: 1\nworkloads: [{name: a, kind: nap, duration: 5s}, {name: b, kind: nap}]", nodes(2)...),
		"large":   build(t, "seed: 1\ntrials: 30\nworkloads: [{name: a, kind: nap}]", nodes(20)...),
		"batch":   batch,
	} {
		var b bytes.Buffer
		if err := render.Text(&b, p.Document(), render.TextOptions{Width: render.PlainWidth}); err != nil {
			t.Fatal(err)
		}
		golden.Check(t, "testdata/"+name+".txt", b.Bytes())
	}
}
