package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/workload"
)

// maxTasks bounds a plan: more is a slip of the pen, and would not fit the
// memory of the server.
const maxTasks = 1_000_000

// Build lays out an experiment on these nodes. It fails with model.ErrUsage
// when the nodes cannot make a fleet, or there would be unreasonably many
// steps. Keys that these nodes do not suit are [*model.InputError] values, all
// of them joined.
func Build(exp *experiment.Experiment, run model.RunID, nodes []model.Node) (Design, error) {
	b, err := newBuilder(exp, run, nodes)
	if err != nil {
		return Design{}, err
	}
	d := Design{Run: run, Name: exp.Name, Kind: model.KindExperiment, Seed: b.setup.Seed, Nodes: model.NodeIDs(b.setup.Nodes)}
	designs, err := b.designs()
	if err != nil {
		return Design{}, err
	}
	for _, design := range designs {
		if later, ok := design.(study.Sequential); ok {
			d.Searches = append(d.Searches, later.Outlook()...)
			continue
		}
		treatments, err := design.Next(observe.Of(model.RunData{Run: model.Run{ID: run}, Nodes: b.setup.Nodes}))
		if err != nil {
			return Design{}, err
		}
		for _, t := range treatments {
			if step, ok := b.step(t, len(d.Steps)); ok {
				d.Steps = append(d.Steps, step)
			}
		}
	}
	d.Estimate = estimate(d.Steps, b.times)
	return d, nil
}

// Sequence lays out the steps of a run that results decide, as it goes.
type Sequence struct {
	b       *builder
	designs []study.Sequential // those that are not over
	told    int
}

// NewSequence begins with what is to be decided in a run of exp on these nodes,
// which has not been told of anything yet.
func NewSequence(exp *experiment.Experiment, run model.Run, nodes []model.Node) (*Sequence, error) {
	b, err := newBuilder(exp, run.ID, nodes)
	if err != nil {
		return nil, err
	}
	s := &Sequence{b: b}
	designs, err := b.designs()
	if err != nil {
		return nil, err
	}
	for _, design := range designs {
		if later, ok := design.(study.Sequential); ok {
			s.designs = append(s.designs, later)
		}
	}
	return s, nil
}

// Told is how many steps of the run have been taken into account: the number of
// the first one that Next has to be told of.
func (s *Sequence) Told() int { return s.told }

// Lost names all nodes that are lost for good.
func (s *Sequence) Lost(nodes []model.NodeID) {
	for _, d := range s.designs {
		d.Lost(nodes)
	}
}

// Next is what comes next: the steps, when they may begin at the earliest, and
// a line about the latest step. There are no steps when everything is over.
// seen holds the steps from number Told on, all of which are over.
func (s *Sequence) Next(seen *observe.Run) (steps []model.Step, after time.Time, latest string, err error) {
	s.told += len(seen.Steps())
	for ; len(s.designs) > 0; s.designs = s.designs[1:] {
		d := s.designs[0]
		treatments, err := d.Next(seen)
		if err != nil {
			return nil, time.Time{}, "", err
		}
		if latest == "" {
			latest = d.Latest()
		}
		for _, t := range treatments {
			if step, ok := s.b.step(t, s.told+len(steps)); ok {
				steps = append(steps, step)
				after = t.NotBefore
			}
		}
		if len(steps) > 0 {
			return steps, after, latest, nil
		}
		seen = observe.Of(model.RunData{Run: seen.Run(), Nodes: seen.Nodes()}) // the others are told of their own steps only
	}
	return nil, time.Time{}, latest, nil
}

// refused is what is wrong with the input as a whole.
func refused(problem string, args ...any) error {
	return &model.InputError{Problem: fmt.Sprintf(problem, args...)}
}

// checkNodes returns the nodes sorted, or says why they cannot make a fleet.
func checkNodes(nodes []model.NodeID) ([]model.NodeID, error) {
	if len(nodes) == 0 {
		return nil, refused("the fleet has no nodes: start agents, or use a local fleet")
	}
	sorted := slices.Sorted(slices.Values(nodes))
	for i, n := range sorted {
		if err := n.Validate(); err != nil {
			return nil, refused("%v", err)
		}
		if i > 0 && n == sorted[i-1] {
			return nil, refused("node %s is in the fleet twice", n)
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

// builder turns treatments into steps.
type builder struct {
	exp      *experiment.Experiment
	run      model.RunID
	setup    study.Setup
	specs    map[string]model.Spec    // by workload name
	times    map[string]time.Duration // of one task, by workload name; 0 is unknown
	subjects map[string][]subject     // by workload name
}

func newBuilder(exp *experiment.Experiment, run model.RunID, nodes []model.Node) (*builder, error) {
	if _, err := checkNodes(model.NodeIDs(nodes)); err != nil {
		return nil, err
	}
	if n := len(nodes) * exp.Trials * len(exp.Workloads) * (len(exp.Evaluations) + len(exp.Sizes)); n > maxTasks {
		return nil, refused("%d nodes x %d trials x %d workloads x %d evaluations make %d tasks, at most %d are possible",
			len(nodes), exp.Trials, len(exp.Workloads), len(exp.Evaluations)+len(exp.Sizes), n, maxTasks)
	}
	b := &builder{exp: exp, run: run, specs: map[string]model.Spec{}, times: map[string]time.Duration{}, subjects: map[string][]subject{}}
	b.setup = study.Setup{
		Nodes:  slices.SortedFunc(slices.Values(nodes), func(a, b model.Node) int { return strings.Compare(string(a.ID), string(b.ID)) }),
		Trials: exp.Trials, Every: exp.Every.Std(), Seed: seedOf(exp, run), Phases: exp.Evaluations,
	}
	var errs []error
	for _, w := range exp.Workloads {
		if err := b.prepare(w); err != nil {
			errs = append(errs, err)
			continue
		}
		b.setup.Workloads = append(b.setup.Workloads, study.Workload{Name: w.Name, Bench: w.Bench, Subjects: len(b.subjects[w.Name])})
	}
	return b, errors.Join(errs...)
}

// designs are those of the experiment's studies. What a study says against its
// keys is about those below `study` where the file names one.
func (b *builder) designs() ([]study.Design, error) {
	var all []study.Design
	for _, designer := range b.exp.Designers {
		d, err := designer.Design(b.setup)
		if key, ok := errors.AsType[*model.InputError](err); ok && key.Path != "" && b.exp.Study != nil {
			key.Path = "study." + key.Path
		}
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

// step is what the nodes do under a treatment; false where none is left to do
// it.
func (b *builder) step(t study.Treatment, number int) (model.Step, bool) {
	active := b.subjects[t.Workload]
	if t.Active != nil {
		all := active
		active = make([]subject, len(t.Active))
		for i, k := range t.Active {
			active[i] = all[k]
		}
	}
	active = slices.DeleteFunc(slices.Clone(active), func(s subject) bool {
		return slices.ContainsFunc(s.nodes, func(n model.NodeID) bool { return slices.Contains(t.Without, n) })
	})
	if len(active) == 0 {
		return model.Step{}, false
	}
	s := newStep(b.run, number, t.Phase, t.Workload, t.Trial)
	s.Barrier = true
	s.Tasks = tasks(s.ID, active, b.specs[t.Workload])
	all := t.Active == nil && t.Phase != model.Serial
	for i := range s.Tasks {
		spec := &s.Tasks[i].Spec
		spec.Offer = t.Offer
		if all && b.sharesLoad(t.Workload) {
			spec.Part, spec.Parts = i, len(s.Tasks)
		}
	}
	return s, true
}

// sharesLoad reports whether the tasks of a workload offer one load together.
func (b *builder) sharesLoad(name string) bool {
	i := slices.IndexFunc(b.exp.Workloads, func(w experiment.Workload) bool { return w.Name == name })
	return i >= 0 && offers(b.exp.Workloads[i].Bench)
}

func offers(bench workload.Workload) bool {
	s, ok := bench.(workload.Sharer)
	return ok && s.SharesLoad()
}

// prepare settles what is the same in all steps of a workload.
func (b *builder) prepare(w experiment.Workload) error {
	spec, err := specOf(w, b.exp.Output)
	if err != nil {
		return fmt.Errorf("workload %s: %w", w.Name, err)
	}
	at := "workloads." + w.Name + "."
	nodes := b.setup.Nodes
	if len(w.On) > 0 {
		nodes = slices.DeleteFunc(slices.Clone(b.setup.Nodes), func(n model.Node) bool { return !n.Has(w.On) })
	}
	if len(nodes) == 0 {
		return &model.InputError{Path: at + "on", Problem: "no node has " + labelList(w.On), Allowed: labelsOf(b.setup.Nodes)}
	}
	subjects, bad := subjectsOf(w.Bench, nodes)
	if bad != nil {
		bad.Path = at + bad.Path
		return bad
	}
	shares := offers(w.Bench)
	if b.exp.Has(model.Search) && !shares {
		return &model.InputError{Path: at + "kind", Problem: fmt.Sprintf("%s offers no load to search with", w.Kind),
			Allowed: "evaluations: [search] is for workloads of kind load"}
	}
	if shares && len(subjects) > 1 && b.compares() {
		return &model.InputError{Path: at + "kind",
			Problem: fmt.Sprintf("%s offers one load from all nodes together: compared with fewer nodes, each of them would seem to do less", w.Kind),
			Allowed: "evaluations: [parallel] without sizes, [serial], or [search]"}
	}
	b.specs[w.Name], b.times[w.Name], b.subjects[w.Name] = spec, w.Estimate(), subjects
	return nil
}

// compares reports whether nodes are compared with fewer of them.
func (b *builder) compares() bool {
	return b.exp.Has(model.Serial) && b.exp.Has(model.Parallel) || len(b.exp.Sizes) > 0
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
