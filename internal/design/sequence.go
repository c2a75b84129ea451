package design

import (
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Sequence lays out the steps of a run that results decide, as it goes.
type Sequence struct {
	b       *builder
	designs []designed // that decide as they go, in the order of the file
	over    int        // so many of them are
	told    int
}

// NewSequence begins with what is to be decided in a run of exp on these nodes,
// which has not been told of anything yet.
func NewSequence(exp *experiment.Experiment, run model.Run, nodes []model.Node) (*Sequence, error) {
	b, designs, err := begin(exp, run.ID, nodes)
	if err != nil {
		return nil, err
	}
	return &Sequence{b: b, designs: slices.DeleteFunc(designs, func(d designed) bool { return study.IsFixed(d.Design) })}, nil
}

// Told is how many steps of the run have been taken into account: the number of
// the first one that Next has to be told of.
func (s *Sequence) Told() int { return s.told }

// Over reports whether nothing is left to decide.
func (s *Sequence) Over() bool { return s.over == len(s.designs) }

// Made reports whether a step is one of those that results decide.
func (s *Sequence) Made(step model.Step) bool {
	return slices.ContainsFunc(s.designs, func(d designed) bool { return d.made(step) })
}

// AtMost bounds what is still to be decided, the steps apart that are over: how
// many steps, and how long all of them take without preparation. known is false
// where a design cannot say.
func (s *Sequence) AtMost() (steps int, all time.Duration, known bool) {
	for _, d := range s.designs[s.over:] {
		b, ok := d.Design.(study.Bounded)
		if !ok {
			return 0, 0, false
		}
		n, time := b.AtMost()
		steps, all = steps+n, all+time
	}
	return steps, all, true
}

// Lost names all nodes that are lost for good.
func (s *Sequence) Lost(nodes []model.NodeID) {
	for _, d := range s.designs {
		if l, ok := d.Design.(study.Loser); ok {
			l.Lost(nodes)
		}
	}
}

// Next is what comes next, and a line about the latest step. There are no steps
// when everything is over. seen holds the steps from number Told on, all of
// which are over; each design is told of its own.
func (s *Sequence) Next(seen *observe.Run) (steps []model.Step, latest string, err error) {
	s.told += len(seen.Steps())
	for ; s.over < len(s.designs); s.over++ {
		d := s.designs[s.over]
		treatments, err := d.Next(d.own(seen))
		if err != nil {
			return nil, "", err
		}
		if c, ok := d.Design.(study.Commenter); ok && latest == "" {
			latest = c.Latest()
		}
		steps, err := s.b.steps(d.study, treatments, s.told)
		if err != nil || len(steps) > 0 {
			return steps, latest, err
		}
	}
	return nil, latest, nil
}

// Agrees is an error where this version cannot go on with a run that is stored,
// for it would have decided otherwise than the one that has measured. The
// sequence is of no use after it.
func (s *Sequence) Agrees(stored *observe.Run) error {
	for _, d := range s.designs {
		own := d.own(stored)
		next, err := d.Next(own)
		if err != nil {
			return err
		}
		steps := own.Steps()
		if last := len(steps) - 1; last >= 0 && len(next) > 0 && !over(steps[last]) {
			if r, ok := d.Design.(study.Resumer); ok {
				return r.Agrees(steps[last], next[0])
			}
		}
		if len(next) > 0 {
			break
		}
	}
	return nil
}

// Replaced reports whether the design can do without a step that became
// invalid, because one of the later steps replaces it.
func (s *Sequence) Replaced(invalid model.Step, later []model.Step) bool {
	return slices.ContainsFunc(s.designs, func(d designed) bool {
		r, ok := d.Design.(study.Resumer)
		return ok && d.made(invalid) && r.Replaced(invalid, slices.DeleteFunc(slices.Clone(later), func(x model.Step) bool { return !d.made(x) }))
	})
}

// made reports whether a step is of this design.
func (d designed) made(s model.Step) bool { return s.Study == d.study }

// own are the observations of the steps of a design.
func (d designed) own(seen *observe.Run) *observe.Run {
	out := model.RunData{Run: seen.Run(), Nodes: seen.Nodes(), Events: seen.Events()}
	ids := make(map[model.StepID]bool)
	for _, s := range seen.Steps() {
		if ids[s.ID] = d.made(s); ids[s.ID] {
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
