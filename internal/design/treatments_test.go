package design

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/render"
	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/internal/study/cdi"
	"github.com/scalebench/scalebench/internal/study/legacy"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/load"
)

// probe is a study with any plan.
type probe struct{ plan *study.Plan }

func (*probe) Check() ([]caveat.Caveat, error)                            { return nil, nil }
func (*probe) Answer(context.Context, study.Input) (*study.Answer, error) { return nil, nil }
func (p *probe) Plan(study.Setup) (*study.Plan, error)                    { return p.plan, nil }

// known is a plan of which all treatments are known beforehand.
func known(all ...study.Treatment) *study.Plan { return &study.Plan{First: all} }

// designing is an experiment on four nodes with these plans, of studies a, b, ….
func designing(t *testing.T, plans ...*study.Plan) (*experiment.Experiment, []model.Node) {
	t.Helper()
	e := parse(t, "workloads: [{kind: nap, duration: 2s}, {kind: flood}]\nevery: 10s\n")
	e.Designers = nil
	for i, d := range plans {
		e.Designers = append(e.Designers, experiment.Designer{Designer: &probe{d}, Kind: string(rune('a' + i))})
	}
	return e, named(nodes(4)...)
}

// TestTreatment: all that a treatment says is in its step.
func TestTreatment(t *testing.T) {
	e, nodes := designing(t, known([]study.Treatment{
		{Phase: "pool", Label: "pool of 8", Workload: "nap", Trial: 1, Block: 3, NoBarrier: true, Active: []int{2, 0},
			Levels: map[string]any{"duration": "5s"}, NotBefore: 7 * time.Second},
		{Phase: "pool", Workload: "flood", Trial: 2, Offer: &model.Offer{Rate: 9}, Active: []int{1, 3}},
	}...))
	d, err := Build(e, testRun, nodes)
	if err != nil {
		t.Fatal(err)
	}
	first, second := d.Steps[0], d.Steps[1]
	want := model.Treatment{Study: "a", Label: "pool of 8", Levels: map[string]any{"duration": "5s"}, Block: 3, NotBefore: 7 * time.Second}
	if diff := cmp.Diff(want, first.Treatment); diff != "" {
		t.Errorf("treatment (-want +got):\n%s", diff)
	}
	if first.Barrier || first.Tasks[0].Spec.Params["duration"] != "5s" || fmt.Sprint(first.Subjects()) != "[node-000 node-002]" {
		t.Errorf("the first step is %+v", first)
	}
	if !second.Barrier || second.NotBefore != 10*time.Second || second.Tasks[1].Spec.Offer.Rate != 9 || second.Tasks[1].Spec.Parts != 2 {
		t.Errorf("the second step is %+v, want it 10s after the run began, as every says", second)
	}
	if e := d.Estimate; e.Known != 12*time.Second || e.UnknownSteps != 1 {
		t.Errorf("estimate %+v, want the wait and the duration of the level", e)
	}
}

// TestTreatmentErrors: what the nodes cannot do under a treatment is refused and
// not passed over.
func TestTreatmentErrors(t *testing.T) {
	for want, bad := range map[string]study.Treatment{
		`treatment 2 of the study a, x of workload "npa": there is no such workload; the workloads are flood, nap`: {Workload: "npa"},
		"active [4] must be different indices of 4 subjects":                                                       {Workload: "nap", Active: []int{4}},
		"active [-1] must be":       {Workload: "nap", Active: []int{-1}},
		"active [1 1] must be":      {Workload: "nap", Active: []int{1, 1}},
		"active has no subjects":    {Workload: "nap", Active: []int{}},
		"nap reads no offered load": {Workload: "nap", Offer: &model.Offer{Rate: 1}},
		`workloads.nap.durration: the study a sets durration of the workload nap: unknown key`:                           {Workload: "nap", Levels: map[string]any{"durration": "1s"}},
		"workloads.nap.duration: the study a sets duration of the workload nap: 1 has no unit":                           {Workload: "nap", Levels: map[string]any{"duration": 1}},
		"test.yaml:2:47: workloads.flood.kind: the nodes of a flood workload share one load, so they cannot be compared": {Workload: "flood", Active: []int{0, 1}},
	} {
		bad.Phase, bad.Trial = "x", 1
		e, nodes := designing(t, known(study.Treatment{Phase: "x", Workload: "flood", Trial: 1}, bad))
		if _, err := Build(e, testRun, nodes); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("Build: %v, want %s", err, want)
		}
	}
}

// keyed is a study with a key of its own, below study in a file.
type keyed struct {
	probe
	Duration []int `json:"duration,omitempty"`
}

func (k *keyed) Plan(study.Setup) (*study.Plan, error) {
	return known(study.Treatment{Phase: model.Parallel, Workload: "nap", Trial: 1,
		Levels: map[string]any{"duration": k.Duration[0]}}), nil
}

// TestLevelsOfStudy: what is wrong with a value that stands in the study is told there,
// and not at the workload, which does not have it.
func TestLevelsOfStudy(t *testing.T) {
	reg := workload.NewRegistry(workload.Kind{Name: "nap", Summary: "Waits.", New: func() workload.Workload { return &nap{} }})
	kind := study.Kind{Name: "keyed", Summary: "Sets something.", Named: true, Phases: []model.Phase{model.Parallel}, New: func() study.Study { return &keyed{} }}
	e, err := experiment.Parse("test.yaml", []byte("fleet: {agents: {}}\nworkloads: [{kind: nap}]\nstudy:\n  kind: keyed\n  duration: [7]\n"),
		experiment.Kinds{Workloads: reg, Studies: study.Registry{kind}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := "test.yaml:5:13: study.duration: the study keyed sets duration of the workload nap: 7 has no unit"
	if _, err := Build(e, testRun, named("a")); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), want) {
		t.Errorf("Build = %v, want %q", err, want)
	}
}

// TestManyTrials: what trials share is made and checked once, however many there are; and
// no more steps are laid out than anything could measure.
func TestManyTrials(t *testing.T) {
	e := parse(t, tiersFile)
	treatments := func(n int) (out []study.Treatment) {
		for trial := range n {
			out = append(out, study.Treatment{Phase: "pool", Workload: "nap", Trial: trial + 1, Levels: map[string]any{"duration": "3s"},
				Services: map[string]study.ServiceLevel{"db": {Count: 1 + trial%2}}})
		}
		return out
	}
	b, err := newBuilder(e, testRun, tiered("users", "front", "back", "back"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := b.steps("a", treatments(200), 0)
	if err != nil || len(steps) != 200 || len(b.treated) != 1 || len(b.services) != 2 {
		t.Fatalf("%d steps of %d workloads and %d sets of services, %v; want 200 of 1 and 2", len(steps), len(b.treated), len(b.services), err)
	}
	for i, s := range steps {
		again, err := newBuilder(e, testRun, tiered("users", "front", "back", "back"))
		if err != nil {
			t.Fatal(err)
		}
		alone, err := again.step("a", treatments(i + 1)[i], i)
		if diff := cmp.Diff(alone, s); err != nil || diff != "" {
			t.Fatalf("step %d differs from what it is alone: %v (-alone +shared):\n%s", i, err, diff)
		}
		if i > 3 {
			break
		}
	}
	if _, err := b.steps("a", treatments(maxSteps), 1); !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "the study a asks for 100001 steps, and the limit is 100000") {
		t.Errorf("steps = %v, want the limit", err)
	}
}

// TestSharedLoad: every step that offers the load of the parameters divides it
// among its nodes, and nodes are not compared with fewer of them.
func TestSharedLoad(t *testing.T) {
	for src, parts := range map[string][]int{ // of the first task of each step
		"evaluations: [parallel]":                                 {4},
		"evaluations: [serial]":                                   {1, 1, 1, 1},
		"evaluations: [parallel]\nsizes: [2]":                     nil,
		"study: {kind: cdi, sizes: [2]}\nevaluations: [parallel]": nil,
		"study: {kind: cdi}":                                      nil,
	} {
		d, err := Build(parse(t, "workloads: [{kind: flood}]\n"+src), testRun, named(nodes(4)...))
		if parts == nil {
			if !errors.Is(err, model.ErrUsage) || !strings.HasPrefix(err.Error(), "test.yaml:2:20: workloads.flood.kind: ") {
				t.Errorf("%s: %v, want a refusal at the workload", src, err)
			}
			continue
		}
		var got []int
		for _, s := range d.Steps {
			got = append(got, s.Tasks[0].Spec.Parts)
		}
		if err != nil || !slices.Equal(got, parts) {
			t.Errorf("%s: parts %v, %v; want %v", src, got, err, parts)
		}
	}
	e, nodes := designing(t, known(study.Treatment{Phase: "x", Workload: "flood", Trial: 1, Active: []int{1, 3}}))
	d, err := Build(e, testRun, nodes)
	if err != nil || d.Steps[0].Tasks[1].Spec.Part != 1 || d.Steps[0].Tasks[1].Spec.Parts != 2 {
		t.Errorf("two of four: %+v, %v; want two parts", d.Steps, err)
	}
}

// TestEvery: trials of a design that is known beforehand begin in their time,
// too.
func TestEvery(t *testing.T) {
	p := build(t, "trials: 3\nevery: 15m\nworkloads: [{kind: nap, duration: 1s}]", nodes(2)...)
	for _, s := range p.Steps {
		if want := time.Duration(s.Trial-1) * 15 * time.Minute; s.NotBefore != want {
			t.Errorf("trial %d begins not before %s, want %s", s.Trial, s.NotBefore, want)
		}
	}
	if want := 30*time.Minute + 3*time.Second; p.Estimate.Known != want {
		t.Errorf("it takes %s, want %s", p.Estimate.Known, want)
	}
}

// counted is a design that decides as it goes, and nothing more: so many steps,
// two at a time.
type counted struct {
	steps int
	seen  []string
}

func (c *counted) next(seen study.Seen) (out study.More, _ error) {
	for _, s := range seen.Run.Steps() {
		c.seen = append(c.seen, fmt.Sprint(s.Study, s.Number))
		c.seen = append(c.seen, fmt.Sprint(len(seen.Run.Accepted(s.ID))))
	}
	for i := 0; i < 2 && len(c.seen)/2+i < c.steps; i++ {
		out.Treatments = append(out.Treatments, study.Treatment{Phase: "x", Workload: "nap", Trial: 1 + i})
	}
	return out, nil
}

// TestSequences: a design that decides as it goes is asked until it is over, and
// told of its own steps, as it goes and when the run is resumed at any step.
func TestSequences(t *testing.T) {
	begin := func() (*Sequence, *counted, *counted) {
		a, b := &counted{steps: 3}, &counted{steps: 4}
		e, nodes := designing(t, &study.Plan{Next: a.next}, known(study.Treatment{Phase: "x", Workload: "flood", Trial: 1}),
			&study.Plan{Next: b.next})
		d, err := Build(e, testRun, nodes)
		if err != nil || len(d.Steps) != 1 || !slices.Equal(d.Later, []string{"a", "c"}) {
			t.Fatalf("Build: %+v, %v; want the step that is known, and a and c later", d, err)
		}
		s, err := NewSequence(e, model.Run{ID: testRun}, nodes)
		if err != nil {
			t.Fatal(err)
		}
		return s, a, b
	}
	before := newStep(testRun, 0, "x", "flood", 1)
	before.Study, before.State = "b", model.StepComplete
	all := model.RunData{Steps: []model.Step{before}}
	measure := func(s *Sequence) bool {
		data := model.RunData{Steps: all.Steps[s.Told():]}
		for _, r := range all.Results {
			if slices.ContainsFunc(data.Steps, func(s model.Step) bool { return s.ID == r.Step }) {
				data.Results = append(data.Results, r)
			}
		}
		next, _, err := s.Next(observe.Of(data))
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range next {
			step.State = model.StepComplete
			all.Steps = append(all.Steps, step)
			all.Results = append(all.Results, model.Result{Step: step.ID, Task: step.Tasks[0].ID, Outcome: model.OutcomeOK})
		}
		return len(next) > 0
	}
	for resumed := range 5 {
		all = model.RunData{Steps: all.Steps[:1]}
		s, a, b := begin()
		for calls := 0; measure(s); calls++ {
			if calls == resumed {
				s, a, b = begin()
			}
		}
		if got, want := fmt.Sprint(a.seen), "[a1 1 a2 1 a3 1]"; got != want {
			t.Errorf("resumed after call %d: the first design was told of %s, want %s", resumed, got, want)
		}
		if got, want := fmt.Sprint(b.seen), "[c4 1 c5 1 c6 1 c7 1]"; got != want {
			t.Errorf("resumed after call %d: the second design was told of %s, want %s", resumed, got, want)
		}
		if !s.Over() {
			t.Errorf("resumed after call %d: something is left to decide", resumed)
		}
	}
}

// TestOutlook: what is known of steps that follow from results is counted in
// steps, for people and for programs; what a study refuses has its place.
func TestOutlook(t *testing.T) {
	parse := func(src string) *experiment.Experiment {
		kinds := experiment.Kinds{Workloads: workload.NewRegistry(load.Kind()), Studies: study.Registry{cdi.Kind(),
			legacy.Adapt(capacity.Kind())}}
		e, err := experiment.Parse("search.yaml", []byte("fleet: {local: {nodes: 2}}\ntrials: 3\n"+src), kinds, nil)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	d, err := Build(parse("study: {kind: capacity, sla: p90=100ms, windows: 9}\nworkloads: [{kind: load, target: 'http://127.0.0.1:1/', duration: 5s}]"), testRun, named("a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	const each = 7225 * time.Millisecond // warm-up, window, and as long as the SLA allows
	if want := []study.Outlook{{Phase: model.Search, Workload: "load", Trials: 3, Steps: 9, Step: each}}; !slices.Equal(d.Outlook, want) {
		t.Errorf("outlook %+v, want %+v", d.Outlook, want)
	}
	var text bytes.Buffer
	if err := render.Text(&text, d.Document(), render.TextOptions{}); err != nil || !strings.Contains(text.String(), "search  load, 3 trials: up to 9 steps each of about 7.22 s") {
		t.Errorf("%v, text\n%s", err, &text)
	}
	for src, want := range map[string]string{
		"evaluations: [search]\nworkloads: [{kind: load, target: 'http://127.0.0.1:1/'}]":                                       "sla: a search needs an SLA; write study: {kind: capacity, sla: p90=150ms}",
		"study: {kind: capacity, sla: p90=20s}\nworkloads: [{kind: load, target: 'http://127.0.0.1:1/'}]":                       "search.yaml:4:13: workloads.load.request_timeout: requests are given up after 10s, and the SLA allows 20s",
		"study: {kind: capacity, sla: p90=1s}\nworkloads: [{kind: load, target: 'http://127.0.0.1:1/', users: 3}]":              "search.yaml:4:64: workloads.load.users: a search chooses its own load",
		"study: {kind: capacity, start: 5op/s}\nworkloads: [{kind: load, target: 'http://127.0.0.1:1/', max: 1op/s}]":           "search.yaml:3:32: study.start: 5 exceeds max 1",
		"study: {kind: capacity}\nworkloads: [{kind: load, name: a, target: 'http://127.0.0.1:1/', sla: p90=5s, timeout: 16s}]": "search.yaml:4:88: workloads.a.timeout: the timeout of 16s is too short",
	} {
		if _, err := Build(parse(src), testRun, named("a")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", src, err, want)
		}
	}
}

// TestReplaced: a step that became invalid is not missing if a later one stands in for it. The last
// of a chain is, and so is a step of a study that does not decide as it goes.
func TestReplaced(t *testing.T) {
	e, nodes := designing(t, &study.Plan{Next: (&counted{}).next})
	s, err := NewSequence(e, model.Run{ID: testRun}, nodes)
	if err != nil {
		t.Fatal(err)
	}
	step := func(number, replaces int, by string) model.Step {
		treatment := model.Treatment{Study: by, Replaces: replaces}
		return model.Step{Number: number, State: model.StepInvalid, Treatment: treatment}
	}
	steps := []model.Step{step(0, 0, "a"), step(1, 1, "a"), step(2, 0, "other"), step(3, 2, "a"), step(4, 3, "a")}
	var got []bool
	for i, invalid := range steps {
		got = append(got, s.Replaced(invalid, steps[i+1:]))
	}
	if want := []bool{true, true, false, false, false}; !slices.Equal(got, want) {
		t.Errorf("replaced %v, want %v", got, want)
	}
}
