package plan

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// maxTasks bounds a plan: more is a slip of the pen, and would not fit the
// memory of the server.
const maxTasks = 1_000_000

// Build plans an experiment on these nodes. It fails with model.ErrUsage when
// the nodes cannot make a fleet, or the plan would be unreasonably large.
func Build(exp *experiment.Experiment, run model.RunID, nodes []model.NodeID) (Plan, error) {
	nodes, err := checkNodes(nodes)
	if err != nil {
		return Plan{}, err
	}
	if n := len(nodes) * exp.Trials * len(exp.Workloads) * len(exp.Evaluations); n > maxTasks {
		return Plan{}, fmt.Errorf("%d nodes x %d trials x %d workloads x %d evaluations make %d tasks, at most %d are possible: %w",
			len(nodes), exp.Trials, len(exp.Workloads), len(exp.Evaluations), n, maxTasks, model.ErrUsage)
	}
	b := &builder{exp: exp, run: run, nodes: nodes, seed: seedOf(exp, run)}
	if err := b.build(); err != nil {
		return Plan{}, err
	}
	return Plan{
		Run: run, Name: exp.Name, Kind: model.KindExperiment, Seed: b.seed,
		Nodes: nodes, Steps: b.steps, Estimate: estimate(b.steps, b.times),
	}, nil
}

// checkNodes returns the nodes sorted, or says why they cannot make a fleet.
func checkNodes(nodes []model.NodeID) ([]model.NodeID, error) {
	if len(nodes) == 0 {
		return nil, fmt.Errorf("the fleet has no nodes: start agents, or use a local fleet: %w", model.ErrUsage)
	}
	sorted := slices.Sorted(slices.Values(nodes))
	for i, n := range sorted {
		if err := n.Validate(); err != nil {
			return nil, fmt.Errorf("%w: %w", err, model.ErrUsage)
		}
		if i > 0 && n == sorted[i-1] {
			return nil, fmt.Errorf("node %s is in the fleet twice: %w", n, model.ErrUsage)
		}
	}
	return sorted, nil
}

// seedOf returns the experiment's seed, or one derived from the run's id. It
// has at most 53 bits, so that it can be put into a file as it is.
func seedOf(exp *experiment.Experiment, run model.RunID) int64 {
	if exp.Seed != nil {
		return *exp.Seed
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(run)) // a hash.Hash never fails
	return int64(h.Sum64() >> 11)
}

// builder collects the steps of an experiment.
type builder struct {
	exp   *experiment.Experiment
	run   model.RunID
	nodes []model.NodeID // sorted
	seed  int64
	steps []model.Step
	specs map[string]model.Spec          // by workload name
	times map[string]time.Duration       // of one task, by workload name; 0 is unknown
	order func(trial int) []model.NodeID // of serial turns
}

func (b *builder) build() error {
	b.order = serialOrder(b.nodes, b.seed, b.exp.Rotate)
	b.specs, b.times = map[string]model.Spec{}, map[string]time.Duration{}
	for _, w := range b.exp.Workloads {
		spec, err := specOf(w, b.exp.Output)
		if err != nil {
			return err
		}
		b.specs[w.Name], b.times[w.Name] = spec, w.Estimate()
	}
	if b.exp.Interleave {
		b.trials(b.exp.Has(model.Serial), b.exp.Has(model.Parallel))
		return nil
	}
	b.trials(b.exp.Has(model.Serial), false)
	b.trials(false, b.exp.Has(model.Parallel))
	return nil
}

// trials adds the steps of all trials, each with the phases asked for.
func (b *builder) trials(serial, parallel bool) {
	for trial := 1; trial <= b.exp.Trials; trial++ {
		for _, w := range b.exp.Workloads {
			if serial {
				for _, n := range b.order(trial) {
					b.add(model.Serial, w.Name, trial, []model.NodeID{n})
				}
			}
			if parallel {
				b.add(model.Parallel, w.Name, trial, b.nodes)
			}
		}
	}
}

// add appends a step in which these nodes run a workload at once.
func (b *builder) add(phase model.Phase, name string, trial int, nodes []model.NodeID) {
	s := newStep(b.run, len(b.steps), phase, name, trial)
	s.Barrier = true
	for i, n := range nodes {
		s.Tasks = append(s.Tasks, newTask(s.ID, i, n, b.specs[name]))
	}
	b.steps = append(b.steps, s)
}

func newStep(run model.RunID, number int, phase model.Phase, name string, trial int) model.Step {
	return model.Step{
		ID: model.NewStepID(run, number), Run: run, Number: number,
		Phase: phase, Workload: name, Trial: trial, State: model.StepPending,
	}
}

func newTask(step model.StepID, position int, node model.NodeID, spec model.Spec) model.Task {
	return model.Task{ID: model.NewTaskID(step, position), Node: node, Position: position, Spec: spec}
}

// serialOrder returns the order of serial turns in each trial (from 1): a
// shuffle, rotated by one place a trial. Over n trials of n nodes it is a
// cyclic Latin square.
func serialOrder(nodes []model.NodeID, seed int64, rotate bool) func(trial int) []model.NodeID {
	base := slices.Clone(nodes)
	// The second word separates this use of the seed from others.
	rng := rand.New(rand.NewPCG(uint64(seed), 0x5e71a1))
	rng.Shuffle(len(base), func(i, j int) { base[i], base[j] = base[j], base[i] })
	return func(trial int) []model.NodeID {
		shift := 0
		if rotate {
			shift = (trial - 1) % len(base)
		}
		return slices.Concat(base[shift:], base[:shift])
	}
}

// specOf says what a node must do for a workload. The parameters take the form
// that they have when the store gives them back, so that a plan does not
// change by being stored.
func specOf(w experiment.Workload, out experiment.Output) (model.Spec, error) {
	params, err := throughJSON(w.Params)
	if err != nil {
		return model.Spec{}, fmt.Errorf("workload %s: %w", w.Name, err)
	}
	return model.Spec{
		Workload: w.Name, Kind: w.Kind, Params: params, Timeout: w.Timeout.Std(),
		OutputLimit: out.Limit.Bytes(), ArtifactLimit: out.Artifact.Bytes(),
	}, nil
}

func throughJSON(params map[string]any) (map[string]any, error) {
	b, err := json.Marshal(params)
	if err != nil {
		return nil, fmt.Errorf("encoding the parameters: %w", err)
	}
	out := map[string]any{}
	if err := json.Unmarshal(b, &out); err != nil {
		return nil, fmt.Errorf("decoding the parameters: %w", err)
	}
	return out, nil
}
