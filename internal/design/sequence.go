package design

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Sequence lays out the steps of a run that results decide, as it goes.
type Sequence struct {
	b     *builder
	plans []planned // that decide as they go, in the order of the file
	over  int       // so many of them are
	told  int
	lost  []model.NodeID
}

// NewSequence begins with what is to be decided in a run of exp on these nodes,
// which has not been told of anything yet.
func NewSequence(exp *experiment.Experiment, run model.Run, nodes []model.Node) (*Sequence, error) {
	b, plans, err := begin(exp, run.ID, nodes)
	if err != nil {
		return nil, err
	}
	return &Sequence{b: b, plans: slices.DeleteFunc(plans, func(p planned) bool { return p.Next == nil })}, nil
}

// Told is how many steps of the run have been taken into account: the number of
// the first one that Next has to be told of.
func (s *Sequence) Told() int { return s.told }

// Over reports whether nothing is left to decide.
func (s *Sequence) Over() bool { return s.over == len(s.plans) }

// Made reports whether a step is one of those that results decide.
func (s *Sequence) Made(step model.Step) bool {
	return slices.ContainsFunc(s.plans, func(p planned) bool { return p.made(step) })
}

// AtMost bounds what is still to be decided, the steps apart that are over: how
// many steps, and how long all of them take without preparation. known is false
// where a plan cannot say.
func (s *Sequence) AtMost() (steps int, all time.Duration, known bool) {
	for _, p := range s.plans[s.over:] {
		if p.Left == nil {
			return 0, 0, false
		}
		steps, all = steps+p.Left.Steps, all+p.Left.Time
	}
	return steps, all, true
}

// Lost names all nodes that are lost for good.
func (s *Sequence) Lost(nodes []model.NodeID) { s.lost = slices.Clone(nodes) }

// Next is what comes next, and a line about the latest step. There are no steps
// when everything is over. seen holds the steps from number Told on, all of
// which are over; each plan is told of its own.
func (s *Sequence) Next(seen *observe.Run) (steps []model.Step, latest string, err error) {
	s.told += len(seen.Steps())
	for ; s.over < len(s.plans); s.over++ {
		p := s.plans[s.over]
		more, err := p.Next(study.Seen{Run: p.own(seen), Lost: s.lost})
		if err != nil {
			return nil, latest, err
		}
		p.Left = more.Left
		latest = cmp.Or(latest, more.Latest)
		steps, err := s.b.steps(p.study, more.Treatments, s.told)
		if err != nil || len(steps) > 0 {
			return steps, latest, err
		}
	}
	return nil, latest, nil
}

// Agrees is an error where this version cannot go on with a run that is stored,
// for it would have decided otherwise than the one that has measured. That is
// known of plans that ask for one step at a time: asked again about what ended,
// they ask for the step that did not. The sequence is of no use after it.
func (s *Sequence) Agrees(stored *observe.Run) error {
	for _, p := range s.plans {
		own := p.own(stored)
		more, err := p.Next(study.Seen{Run: own, Lost: s.lost})
		if err != nil {
			return err
		}
		if steps := own.Steps(); len(steps) > 0 && len(more.Treatments) == 1 && !over(steps[len(steps)-1]) {
			next, err := s.b.steps(p.study, more.Treatments, s.told)
			if err != nil || len(next) == 0 {
				return err
			}
			return agree(steps[len(steps)-1], next[0])
		}
		if len(more.Treatments) > 0 {
			break
		}
	}
	return nil
}

// agree is an error where a stored step is not the one that its study asks for now.
// Which nodes take part may differ: some may be lost.
func agree(stored, next model.Step) error {
	for _, x := range []struct {
		what         string
		before, asks any
	}{
		{"phase", stored.Phase, next.Phase},
		{"workload", stored.Workload, next.Workload},
		{"trial", stored.Trial, next.Trial},
		{"levels", decoded(stored.Factors), decoded(next.Factors)}, {"parameters", stored.Levels, next.Levels},
		{"offered load in operations/s", offered(stored), offered(next)},
	} {
		if !reflect.DeepEqual(x.before, x.asks) {
			return fmt.Errorf("%w: the %s of its step %d is %v, but this version would use %v",
				model.ErrUsage, x.what, stored.Number+1, x.before, x.asks)
		}
	}
	return nil
}

// decoded are levels as values: the order of their keys does not matter.
func decoded(factors json.RawMessage) (v any) {
	if json.Unmarshal(factors, &v) != nil {
		return nil // none
	}
	return v
}

// offered is the rate of the load of a step in operations a second; 0: it has none.
func offered(s model.Step) float64 {
	for _, t := range s.Tasks {
		if t.Spec.Offer != nil {
			return t.Spec.Offer.Rate
		}
	}
	return 0
}

// Replaced reports whether the study can do without a step that became invalid,
// because one of the later steps replaces it.
func (s *Sequence) Replaced(invalid model.Step, later []model.Step) bool {
	return s.Made(invalid) && slices.ContainsFunc(later, func(x model.Step) bool { return x.Replaces == invalid.Number+1 })
}

// made reports whether a step is of this plan.
func (p planned) made(s model.Step) bool { return s.Study == p.study }

// own are the observations of the steps of a plan.
func (p planned) own(seen *observe.Run) *observe.Run {
	out := model.RunData{Run: seen.Run(), Nodes: seen.Nodes(), Events: seen.Events()}
	ids := make(map[model.StepID]bool)
	for _, s := range seen.Steps() {
		if ids[s.ID] = p.made(s); ids[s.ID] {
			out.Steps = append(out.Steps, s)
		}
	}
	for _, r := range seen.Results() {
		if ids[r.Step] {
			out.Results = append(out.Results, r)
		}
	}
	return observe.Of(out)
}

func over(s model.Step) bool { return s.State == model.StepComplete || s.State == model.StepInvalid }
