package design

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/workload"
)

// Bounds of a design: more is a slip of the pen, and would not fit the memory of the
// server.
const (
	maxTasks = 1_000_000
	maxSteps = 100_000
)

// Build lays out an experiment on these nodes. It fails with model.ErrUsage
// when the nodes cannot make a fleet, a study designs what they cannot do, or
// there would be unreasonably many tasks. What is about keys of the file has its
// place there; all that the nodes do not suit comes at once.
func Build(exp *experiment.Experiment, run model.RunID, nodes []model.Node) (Design, error) {
	b, plans, err := begin(exp, run, nodes)
	if err != nil {
		return Design{}, err
	}
	d := Design{Run: run, Name: exp.Name, Kind: model.KindExperiment, Seed: b.setup.Seed, Nodes: model.NodeIDs(b.setup.Nodes)}
	for _, p := range plans {
		if p.Next != nil {
			d.Outlook, d.Later = append(d.Outlook, p.Outlook...), append(d.Later, p.study)
			if _, err := b.steps(p.study, p.First, 0); err != nil {
				return Design{}, err
			}
			continue
		}
		steps, err := b.steps(p.study, p.First, len(d.Steps))
		if err != nil {
			return Design{}, err
		}
		d.Steps = append(d.Steps, steps...)
	}
	d.Estimate, d.Notes = estimate(d.Steps, b.times), b.notes
	return d, nil
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

// Seed returns the experiment's seed, or one derived from the run's id. It
// has at most 53 bits, so that it can be put into a file as it is.
func Seed(exp *experiment.Experiment, run model.RunID) int64 {
	if exp.Seed != nil {
		return *exp.Seed
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(run)) // a hash.Hash never fails
	return int64(h.Sum64() >> 11)
}

// builder turns treatments into steps.
type builder struct {
	exp       *experiment.Experiment
	run       model.RunID
	setup     study.Setup
	workloads map[string]*prepared
	times     map[model.StepID]time.Duration // of one task; 0 is unknown
	tasks     int                            // that were built
	treated   map[string]*treated            // by workload and levels
	services  map[string]*served             // by what of a treatment they depend on
	busy      map[model.NodeID]bool          // run the services of the file
	notes     []string                       // for who reads the design
}

// prepared is what is the same in all steps of a workload.
type prepared struct {
	experiment.Workload
	index    int // in the file
	subjects []subject
	// alike is how many subjects are active at once in steps that offer the load
	// of the parameters together; 0 before the first.
	alike int
}

// planned is the plan of a study.
type planned struct {
	*study.Plan
	study string
}

// begin prepares an experiment for these nodes and asks its studies for their
// plans.
func begin(exp *experiment.Experiment, run model.RunID, nodes []model.Node) (*builder, []planned, error) {
	b, err := newBuilder(exp, run, nodes)
	if err != nil {
		return nil, nil, exp.Place(err)
	}
	var all []planned
	for _, designer := range exp.Designers {
		p, err := designer.Plan(b.setup)
		if err != nil {
			for _, one := range model.Single(err) {
				if key, ok := errors.AsType[*model.InputError](one); ok && key.Path != "" {
					key.Path = designer.In(key.Path)
				}
			}
			return nil, nil, exp.Place(err)
		}
		all = append(all, planned{p, designer.Kind})
	}
	return b, all, nil
}

func newBuilder(exp *experiment.Experiment, run model.RunID, nodes []model.Node) (*builder, error) {
	if _, err := checkNodes(model.NodeIDs(nodes)); err != nil {
		return nil, err
	}
	if n := len(nodes) * exp.Trials * len(exp.Workloads); n > maxTasks { // before anything so large is laid out
		return nil, refused("%d nodes x %d trials x %d workloads make %d tasks, and the limit is %d", len(nodes), exp.Trials, len(exp.Workloads), n, maxTasks)
	}
	b := &builder{exp: exp, run: run, workloads: map[string]*prepared{}, times: map[model.StepID]time.Duration{},
		treated: map[string]*treated{}, services: map[string]*served{}}
	b.setup = study.Setup{
		Nodes:  slices.SortedFunc(slices.Values(nodes), func(a, b model.Node) int { return strings.Compare(string(a.ID), string(b.ID)) }),
		Trials: exp.Trials, Seed: Seed(exp, run), Phases: exp.Evaluations, Services: servicesOf(exp),
		Links: linksOf(exp), Volumes: volumesOf(exp),
	}
	b.setup.Fits = func(t study.Treatment) error {
		_, err := b.step("", t, 0)
		return err
	}
	var errs []error
	var err error
	if b.busy, err = b.used(); err != nil {
		errs = append(errs, err)
	}
	for i, w := range exp.Workloads {
		p, err := b.prepare(i, w)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		b.workloads[w.Name] = p
		b.setup.Workloads = append(b.setup.Workloads, study.Workload{
			Name: w.Name, Kind: w.Kind, Bench: w.Bench, Params: p.Params, Timeout: w.Timeout.Std(),
			Subjects: len(p.subjects), Names: names(p.subjects)})
	}
	return b, errors.Join(errs...)
}

// names are those of subjects.
func names(subjects []subject) []model.NodeID {
	out := make([]model.NodeID, len(subjects))
	for i, s := range subjects {
		out[i] = model.NodeID(s.name)
	}
	return out
}

// prepare settles what is the same in all steps of a workload.
func (b *builder) prepare(i int, w experiment.Workload) (*prepared, error) {
	at := "workloads." + w.Name + "."
	nodes := b.setup.Nodes
	if len(w.On) > 0 {
		nodes = slices.DeleteFunc(slices.Clone(b.setup.Nodes), func(n model.Node) bool { return !n.Has(w.On) })
	} else if len(b.busy) > 0 {
		nodes = slices.DeleteFunc(slices.Clone(b.setup.Nodes), func(n model.Node) bool { return b.busy[n.ID] })
		if len(nodes) == 0 {
			return nil, &model.InputError{Path: strings.TrimSuffix(at, "."), Problem: "services run on all nodes, and none is left for it", Allowed: "add nodes to the fleet"}
		}
	}
	if len(nodes) == 0 {
		return nil, &model.InputError{Path: at + "on", Problem: "no node has " + labelList(w.On), Allowed: labelsOf(b.setup.Nodes)}
	}
	subjects, bad := subjectsOf(w.Bench, nodes)
	if bad != nil {
		bad.Path = at + bad.Path
		return nil, bad
	}
	params, err := throughJSON(w.Params)
	w.Params = params
	return &prepared{Workload: w, index: i, subjects: subjects}, err
}

// steps are what the nodes do under the treatments of a study, numbered from
// first on. A treatment under which no node is left to do anything is none.
func (b *builder) steps(by string, treatments []study.Treatment, first int) ([]model.Step, error) {
	n := b.tasks
	for _, t := range treatments { // before anything so large is laid out
		if p := b.workloads[t.Workload]; p != nil && t.Active == nil {
			n += len(p.subjects)
		}
		n += len(t.Active)
	}
	if n > maxTasks {
		return nil, refused("the steps make %d tasks or more, and the limit is %d", n, maxTasks)
	}
	if n := first + len(treatments); n > maxSteps {
		return nil, refused("the study %s asks for %d steps, and the limit is %d: ask for fewer trials, or for less in each", by, n, maxSteps)
	}
	var out []model.Step
	for i, t := range treatments {
		s, err := b.step(by, t, first+len(out))
		if _, ok := errors.AsType[*model.InputError](err); err != nil && !ok {
			err = fmt.Errorf("%w: treatment %d of the study %s, %s of workload %q: %w", model.ErrUsage, i+1, by, t.Phase, t.Workload, err)
		}
		if err != nil {
			return nil, b.exp.Place(err)
		}
		b.tasks += len(s.Tasks)
		if len(s.Tasks) > 0 {
			out = append(out, s)
		}
	}
	return out, nil
}

// step is what the nodes do under a treatment; it has no tasks where none is
// left to do it.
func (b *builder) step(by string, t study.Treatment, number int) (model.Step, error) {
	p := b.workloads[t.Workload]
	if p == nil {
		return model.Step{}, fmt.Errorf("there is no such workload; the workloads are %s", strings.Join(slices.Sorted(maps.Keys(b.workloads)), ", "))
	}
	active, err := p.active(t)
	if err != nil {
		return model.Step{}, err
	}
	w, err := b.under(by, p, t.Levels)
	if err != nil {
		return model.Step{}, err
	}
	if err := p.checkShared(t, len(active)); err != nil {
		return model.Step{}, err
	}
	active = slices.DeleteFunc(active, func(s subject) bool {
		return slices.ContainsFunc(s.nodes, func(n model.NodeID) bool { return slices.Contains(t.Without, n) })
	})
	s := newStep(b.run, number, t.Phase, t.Workload, t.Trial)
	s.Barrier = !t.NoBarrier
	s.Treatment = model.Treatment{Study: by, Label: t.Label, Replaces: t.Replaces, Levels: w.levels, Block: t.Block,
		NotBefore: max(t.NotBefore, time.Duration(t.Trial-1)*b.exp.Every.Std())}
	if t.Factors != nil {
		if s.Factors, err = json.Marshal(t.Factors); err != nil {
			return model.Step{}, fmt.Errorf("encoding the levels of the study: %w", err)
		}
	}
	if s.Volumes, err = b.volumes(t.Volumes); err != nil {
		return model.Step{}, err
	}
	spec := specOf(w.Workload, b.exp.Output)
	spec.Offer, spec.Trial = t.Offer, t.Trial
	s.Tasks = tasks(s.ID, active, spec)
	if team := isTeam(p.Bench); team || sharesLoad(p.Bench) {
		share(s.Tasks, team)
	}
	if len(s.Tasks) > 0 {
		if err := b.serve(&s, t, w.Workload, "workloads."+p.Name); err != nil {
			return model.Step{}, err
		}
	}
	b.times[s.ID] = w.lasts
	return s, nil
}

// active are the subjects that work at once under a treatment.
func (p *prepared) active(t study.Treatment) ([]subject, error) {
	if t.Active == nil {
		return slices.Clone(p.subjects), nil
	}
	var out []subject
	for i, k := range t.Active {
		if k < 0 || k >= len(p.subjects) || slices.Contains(t.Active[:i], k) {
			return nil, fmt.Errorf("active %v must be different indices of %d subjects", t.Active, len(p.subjects))
		}
		out = append(out, p.subjects[k])
	}
	if len(out) == 0 {
		return nil, errors.New("active has no subjects")
	}
	return out, nil
}

// treated is a workload as treatments set it that have the same levels, in the form that
// these have when the store gives them back. It is shared, and read only.
type treated struct {
	experiment.Workload
	levels map[string]any
	lasts  time.Duration // of one task; 0 is unknown
}

// under returns a workload as a treatment of a study sets it: made and checked once for
// all trials.
func (b *builder) under(by string, p *prepared, levels map[string]any) (*treated, error) {
	key, err := json.Marshal([]any{by, p.Name, levels})
	if err != nil {
		return nil, fmt.Errorf("encoding levels: %w", err)
	}
	if t, ok := b.treated[string(key)]; ok {
		return t, nil
	}
	t := &treated{Workload: p.Workload}
	if len(levels) == 0 {
		err = p.complete()
	} else if t.Workload, t.levels, err = b.set(p, levels); err != nil {
		err = b.blame(by, p, levels, err)
	}
	if err != nil {
		return nil, err
	}
	t.lasts = t.Estimate()
	b.treated[string(key)] = t
	return t, nil
}

// set sets levels in a workload.
func (b *builder) set(p *prepared, levels map[string]any) (experiment.Workload, map[string]any, error) {
	levels, err := throughJSON(levels)
	if err != nil {
		return p.Workload, nil, err
	}
	w, err := b.exp.WithLevels(p.index, levels)
	if err != nil {
		return w, nil, err
	}
	if pairing(w.Bench) != pairing(p.Bench) {
		return w, nil, errors.New("levels may not change how nodes are paired")
	}
	w.Params, err = throughJSON(w.Params)
	return w, levels, err
}

// blame says of what is wrong with levels that a study sets them: they do not stand at
// the workload. Where a key of the study has them, it is there.
func (b *builder) blame(by string, p *prepared, levels map[string]any, err error) error {
	all := model.Single(err)
	at := slices.IndexFunc(b.exp.Designers, func(d experiment.Designer) bool { return d.Kind == by })
	for i, one := range all {
		bad, ok := errors.AsType[*model.InputError](one)
		if !ok || at < 0 {
			continue
		}
		key, _, _ := strings.Cut(strings.TrimPrefix(bad.Path, "workloads."+p.Name+"."), ".")
		if _, set := levels[key]; !set {
			continue
		}
		problem := fmt.Sprintf("the study %s sets %s of the workload %s: %s", by, key, p.Name, bad.Problem)
		if path := b.exp.Designers[at].In(key); path != key {
			all[i] = b.exp.Refusal(strings.Split(path, "."), problem, bad.Allowed)
		} else {
			bad.Problem = problem
		}
	}
	return errors.Join(all...)
}

// complete refuses a workload of which a study was to set something and does not.
func (p *prepared) complete() error {
	c, ok := p.Bench.(workload.Completer)
	if !ok {
		return nil
	}
	err := c.Complete()
	if key, ok := errors.AsType[*model.InputError](err); ok {
		key.Path = "workloads." + p.Name + "." + key.Path
	}
	return err
}

// checkShared holds an offer to a workload that reads one. Where the tasks of a
// step share the load of the parameters, all steps have equally many subjects:
// compared with fewer, each of them would seem to do less.
func (p *prepared) checkShared(t study.Treatment, active int) error {
	switch shares := sharesLoad(p.Bench); {
	case t.Offer != nil && !shares:
		return fmt.Errorf("%s reads no offered load", p.Kind)
	case t.Offer != nil || !shares || active == p.alike:
	case p.alike == 0:
		p.alike = active
	default:
		return &model.InputError{Path: "workloads." + p.Name + ".kind",
			Problem: fmt.Sprintf("the nodes of a %s workload share one load, so they cannot be compared with fewer nodes", p.Kind),
			Allowed: "use evaluations: [parallel] without sizes, [serial], or [search]"}
	}
	return nil
}

// sharesLoad reports whether the tasks of a workload offer one load together.
func sharesLoad(bench workload.Workload) bool {
	s, ok := bench.(workload.Sharer)
	return ok && s.SharesLoad()
}

// isTeam reports whether the tasks of a workload know of each other.
func isTeam(bench workload.Workload) bool {
	t, ok := bench.(workload.Teamed)
	return ok && t.IsTeam()
}

// share tells each measuring task its part; in a team each task.
func share(tasks []model.Task, team bool) {
	var parts []*model.Spec
	for i := range tasks {
		if team || tasks[i].Spec.Role == model.RoleMeasure {
			parts = append(parts, &tasks[i].Spec)
		}
	}
	for i, spec := range parts {
		spec.Part, spec.Parts = i, len(parts)
	}
}

// pairing says how a workload connects nodes; nothing where it does not.
func pairing(bench workload.Workload) workload.Pairing {
	if p, ok := bench.(workload.Paired); ok {
		return p.Pairing()
	}
	return workload.Pairing{}
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

// specOf says what a node must do for a workload.
func specOf(w experiment.Workload, out experiment.Output) model.Spec {
	return model.Spec{
		Workload: w.Name, Kind: w.Kind, Params: w.Params, Timeout: w.Timeout.Std(),
		OutputLimit: out.Limit.Bytes(), ArtifactLimit: out.Artifact.Bytes(),
	}
}

// throughJSON gives parameters the form that they have when the store gives them
// back, so that a design does not change by being stored.
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
