package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
)

// maxTasks bounds a plan: more is a slip of the pen, and would not fit the
// memory of the server.
const maxTasks = 1_000_000

// Build plans an experiment on these nodes. It fails with model.ErrUsage when
// the nodes cannot make a fleet, or the plan would be unreasonably large. Keys
// that these nodes do not suit are [*KeyError] values, all of them joined.
func Build(exp *experiment.Experiment, run model.RunID, nodes []model.Node) (Plan, error) {
	sorted, err := checkNodes(model.NodeIDs(nodes))
	if err != nil {
		return Plan{}, err
	}
	nodes = slices.SortedFunc(slices.Values(nodes), func(a, b model.Node) int { return strings.Compare(string(a.ID), string(b.ID)) })
	evaluations := len(exp.Evaluations) + len(exp.Sizes)
	if n := len(nodes) * exp.Trials * len(exp.Workloads) * evaluations; n > maxTasks {
		return Plan{}, fmt.Errorf("%d nodes x %d trials x %d workloads x %d evaluations make %d tasks, at most %d are possible: %w",
			len(nodes), exp.Trials, len(exp.Workloads), evaluations, n, maxTasks, model.ErrUsage)
	}
	b := &builder{exp: exp, run: run, nodes: nodes, seed: seedOf(exp, run)}
	if err := b.build(); err != nil {
		return Plan{}, err
	}
	searches, err := searchPlans(exp)
	if err != nil {
		return Plan{}, err
	}
	return Plan{
		Run: run, Name: exp.Name, Kind: model.KindExperiment, Seed: b.seed,
		Nodes: sorted, Steps: b.steps, Estimate: estimate(b.steps, b.times), Searches: searches,
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
	nodes []model.Node // sorted
	seed  int64
	steps []model.Step
	specs map[string]model.Spec    // by workload name
	times map[string]time.Duration // of one task, by workload name; 0 is unknown
	turns map[string]*turns        // by workload name
}

func (b *builder) build() error {
	b.specs, b.times, b.turns = map[string]model.Spec{}, map[string]time.Duration{}, map[string]*turns{}
	var errs []error
	for i, w := range b.exp.Workloads {
		errs = append(errs, b.prepare(i, w))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if b.exp.Interleave {
		b.trials(b.exp.Has(model.Serial), b.exp.Has(model.Parallel))
		return nil
	}
	b.trials(b.exp.Has(model.Serial), false)
	b.trials(false, b.exp.Has(model.Parallel))
	return nil
}

// prepare settles what is the same in all steps of workload i.
func (b *builder) prepare(i int, w experiment.Workload) error {
	spec, err := specOf(w, b.exp.Output)
	if err != nil {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	at := []string{"workloads", strconv.Itoa(i)}
	nodes := b.nodes
	if len(w.On) > 0 {
		nodes = slices.DeleteFunc(slices.Clone(b.nodes), func(n model.Node) bool { return !n.Has(w.On) })
	}
	if len(nodes) == 0 {
		return &KeyError{Workload: w.Name, Path: append(at, "on"), Problem: "no node has " + labelList(w.On), Allowed: labelsOf(b.nodes)}
	}
	subjects, bad := subjectsOf(w.Bench, nodes)
	if bad != nil {
		bad.Workload, bad.Path = w.Name, append(at, bad.Path...)
		return bad
	}
	for k, size := range b.exp.Sizes {
		if size > len(subjects) {
			return &KeyError{Workload: w.Name, Path: []string{"sizes", strconv.Itoa(k)},
				Problem: fmt.Sprintf("%d cannot be active at once, there are %d", size, len(subjects)),
				Allowed: fmt.Sprintf("workload %s allows at most %d", w.Name, len(subjects))}
		}
	}
	_, offers := w.Bench.(Searched)
	if b.exp.Has(model.Search) && !offers {
		return &KeyError{Workload: w.Name, Path: append(at, "kind"), Problem: fmt.Sprintf("%s offers no load to search with", w.Kind),
			Allowed: "evaluations: [search] is for workloads of kind load"}
	}
	if offers && len(subjects) > 1 && b.compares() {
		return &KeyError{Workload: w.Name, Path: append(at, "kind"),
			Problem: fmt.Sprintf("%s offers one load from all nodes together: compared with fewer nodes, each of them would seem to do less", w.Kind),
			Allowed: "evaluations: [parallel] without sizes, [serial], or [search]"}
	}
	b.specs[w.Name], b.times[w.Name] = spec, w.Estimate()
	b.turns[w.Name] = newTurns(subjects, b.seed, b.exp.Rotate)
	return nil
}

// compares reports whether nodes are compared with fewer of them.
func (b *builder) compares() bool {
	return b.exp.Has(model.Serial) && b.exp.Has(model.Parallel) || len(b.exp.Sizes) > 0
}

// trials adds the steps of all trials, each with the phases asked for.
func (b *builder) trials(serial, parallel bool) {
	for trial := 1; trial <= b.exp.Trials; trial++ {
		for _, w := range b.exp.Workloads {
			turns := b.turns[w.Name]
			if serial {
				for _, s := range turns.serial(trial) {
					b.add(model.Serial, w.Name, trial, []subject{s})
				}
			}
			if parallel {
				for _, size := range b.sizes(len(turns.subjects)) {
					b.add(model.Parallel, w.Name, trial, turns.some(trial, size))
				}
				b.add(model.Parallel, w.Name, trial, turns.subjects)
				if _, offers := w.Bench.(Searched); offers {
					deal(b.steps[len(b.steps)-1].Tasks)
				}
			}
		}
	}
}

// sizes returns the sizes of a sweep that no other step measures: the whole
// fleet is measured anyway, and so is one subject by the serial phase.
func (b *builder) sizes(all int) []int {
	var out []int
	for _, size := range b.exp.Sizes {
		if size < all && (size > 1 || !b.exp.Has(model.Serial)) {
			out = append(out, size)
		}
	}
	return out
}

// add appends a step in which these subjects run a workload at once.
func (b *builder) add(phase model.Phase, name string, trial int, active []subject) {
	s := newStep(b.run, len(b.steps), phase, name, trial)
	s.Barrier = true
	s.Tasks = tasks(s.ID, active, b.specs[name])
	b.steps = append(b.steps, s)
}

// deal makes tasks offer their parts of one load.
func deal(tasks []model.Task) {
	for i := range tasks {
		tasks[i].Spec.Part, tasks[i].Spec.Parts = i, len(tasks)
	}
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

// turns says which subjects are measured when.
type turns struct {
	subjects []subject
	shuffled []subject
	rotate   bool
}

func newTurns(subjects []subject, seed int64, rotate bool) *turns {
	t := &turns{subjects: subjects, shuffled: slices.Clone(subjects), rotate: rotate}
	// The second word separates this use of the seed from others.
	rng := rand.New(rand.NewPCG(uint64(seed), 0x5e71a1))
	rng.Shuffle(len(t.shuffled), func(i, j int) { t.shuffled[i], t.shuffled[j] = t.shuffled[j], t.shuffled[i] })
	return t
}

// serial returns the order of serial turns in a trial (from 1): a shuffle,
// rotated by one place a trial. Over n trials of n subjects it is a cyclic
// Latin square.
func (t *turns) serial(trial int) []subject { return t.from(trial - 1) }

// some returns size subjects for a trial: the next ones in the shuffled order,
// so that over the trials all take part equally often.
func (t *turns) some(trial, size int) []subject { return t.from((trial - 1) * size)[:size] }

// from returns the shuffled subjects, rotated by so many places.
func (t *turns) from(shift int) []subject {
	if !t.rotate {
		return t.shuffled
	}
	shift %= len(t.shuffled)
	return slices.Concat(t.shuffled[shift:], t.shuffled[:shift])
}

// specOf says what a node must do for a workload. The parameters take the form
// that they have when the store gives them back, so that a plan does not
// change by being stored.
func specOf(w experiment.Workload, out experiment.Output) (model.Spec, error) {
	params, err := throughJSON(w.Params)
	if err != nil {
		return model.Spec{}, err
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
