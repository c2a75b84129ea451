package legacy

import (
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/study"
)

// Kind is study.Kind of a study of this contract, see there.
type Kind struct {
	Name, Summary, Command, Long, Example string
	Optional, Several, Named, Shown       bool
	Phases                                []model.Phase
	Top                                   []string
	Tells                                 func(*observe.Run) bool
	Found                                 func(run *observe.Run, asked Study) ([]frame.Frame, error)
	New                                   func() Study
	Measure                               func() Command
}

// noted is what a [Noter] says.
var noted = caveat.Define("note", func(a struct{ Text caveat.Verbatim }) string { return string(a.Text) })

// Adapt is the kind as the platform knows it.
func Adapt(k Kind) study.Kind {
	out := study.Kind{
		Name: k.Name, Summary: k.Summary, Command: k.Command, Long: k.Long, Example: k.Example,
		Optional: k.Optional, Several: k.Several, Named: k.Named, Shown: k.Shown, Phases: k.Phases, Top: k.Top,
		Tells: k.Tells, Measure: k.Measure, Caveats: caveat.Table{noted},
		New: func() study.Study { return Wrap(k.New()) },
	}
	sample := k.New()
	_, out.Table = sample.(Importer)
	if _, ok := sample.(Measured); ok {
		out.Takes = func(s study.Study) Takes { return inner(s).(Measured).Takes() } //nolint:forcetypeassert // as above
	}
	if _, ok := sample.(Sized); ok {
		out.Least = func(s study.Study) int {
			return inner(s).(Sized).LeastSubjects() //nolint:forcetypeassert // as above
		}
	}
	if k.Found != nil {
		out.Found = func(run *observe.Run, asked study.Study) ([]frame.Frame, error) { return k.Found(run, inner(asked)) }
	}
	return out
}

// Wrap is a study as the platform knows it.
func Wrap(s Study) study.Study {
	if d, ok := s.(Designer); ok {
		return &designer{adapter{s}, d}
	}
	return &adapter{s}
}

// inner is the study that Wrap has wrapped.
func inner(s study.Study) Study {
	return study.Parameters(s).(Study) //nolint:forcetypeassert // only those are wrapped
}

// designer is a [Designer] as a study.Designer.
type designer struct {
	adapter
	design Designer
}

// Plan implements study.Designer.
func (d *designer) Plan(setup Setup) (*study.Plan, error) {
	design, err := d.design.Design(setup)
	if err != nil {
		return nil, err
	}
	if f, ok := design.(*fixed); ok {
		return &study.Plan{First: f.treatments}, nil
	}
	plan := &study.Plan{Next: func(seen study.Seen) (study.More, error) { return next(design, seen) }, Left: left(design)}
	if o, ok := design.(Opener); ok {
		plan.First = slices.Clone(o.Opening())
	}
	if f, ok := design.(Forecaster); ok {
		plan.Outlook = f.Outlook()
	}
	return plan, nil
}

func next(design Design, seen study.Seen) (study.More, error) {
	if l, ok := design.(Loser); ok {
		l.Lost(seen.Lost)
	}
	treatments, err := design.Next(seen.Run)
	more := study.More{Treatments: treatments, Left: left(design)}
	if c, ok := design.(Commenter); ok && err == nil {
		more.Latest = c.Latest()
	}
	return more, err
}

// left is what a design knows of what is still to come; nil if it does not.
func left(design Design) *study.Left {
	b, ok := design.(Bounded)
	if !ok {
		return nil
	}
	steps, all := b.AtMost()
	return &study.Left{Steps: steps, Time: all}
}
