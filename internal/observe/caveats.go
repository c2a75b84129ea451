package observe

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Caveats defines what observations say: what was left out, and what disturbed the
// nodes, one for each kind of check and for each kind of event that tells of one.
var Caveats = definitions()

// leftOut is a task without a usable value of a metric.
var leftOut = caveat.DefineAbout("left_out", func(about caveat.Caveat, a caveat.Cause) string {
	return fmt.Sprintf("%s, trial %d: %s on %s: %s", about.Phase, about.Trial, a.Of, about.Node, a.Why)
})

func definitions() caveat.Table {
	out := caveat.Table{leftOut, setAside, earlier}
	for _, c := range checks {
		out = append(out, caveat.DefineAbout(caveat.Code(c.kind), func(about caveat.Caveat, a Seen) string {
			return c.words(a.Value) + a.where(about.Subject) + a.Effect.Words()
		}))
	}
	for _, kind := range disturbing {
		out = append(out, caveat.Define(caveat.Code(kind), func(a Announced) string { return string(a.Event) }))
	}
	return out
}

// Seen is a disturbance where it was worst: the arguments of its caveat.
type Seen struct {
	// Value is how bad it was, in the kind's own unit.
	Value float64 `json:"value"`
	// Step is its number, from 0; Window its number in its search, from 1, 0 if it is
	// none.
	Step   int `json:"step"`
	Window int `json:"window,omitempty"`
	// Tasks is in how many of the Watched tasks it was beyond the threshold, and Nodes
	// on how many nodes.
	Tasks   int `json:"tasks"`
	Watched int `json:"watched"`
	Nodes   int `json:"nodes"`
	// Effect is what it can have done to the result; nil: not known.
	Effect *Effect `json:"effect,omitempty"`
}

// Effect is what a disturbance can have done to an index, in the index's unit.
type Effect struct {
	// Index is what was measured; without the disturbance it could lie between Lo and
	// Hi.
	Index float64 `json:"index"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
	// Bounded: the metric followed less than half of the disturbance's changes, so
	// that it explains less than what was taken.
	Bounded bool `json:"bounded,omitempty"`
}

// Announced is what the master told of a node or of itself: the arguments of its caveat.
type Announced struct {
	Event caveat.Verbatim `json:"event"`
}

// Caveat is the disturbance as what speaks against a result.
func (d Disturbance) Caveat() caveat.Caveat {
	c := caveat.Caveat{Code: caveat.Code(d.Kind), Severity: model.Warning,
		Subject: caveat.Subject{Workload: d.Workload, Phase: d.Phase, Trial: d.Trial, Node: d.Node, Steps: d.Steps},
		Args:    Seen{Value: d.Value, Step: d.Step, Window: d.Window, Tasks: d.Tasks, Watched: d.Watched, Nodes: d.Nodes}}
	if d.Event != "" {
		c.Args = Announced{caveat.Verbatim(d.Event)}
	}
	return c
}

// where says where a disturbance was worst, and how often it was.
func (a Seen) where(at caveat.Subject) string {
	out := fmt.Sprintf(" on %s in %s", at.Node, at.Phase.OfTrial(at.Trial))
	if at.Phase != model.Serial && at.Phase != model.Parallel { // it has many steps a trial
		out += ", " + a.place()
	}
	if a.Tasks > 1 {
		out += fmt.Sprintf(" (the worst of %s on %s, of %d watched)", num.Count(a.Tasks, "task"), num.Count(a.Nodes,
			"node"), a.Watched)
	}
	return out
}

// place is the window or the step where it was worst. Tables of windows count
// those of their search from 1, tables of steps those of the run.
func (a Seen) place() string {
	switch a.Window {
	case 0:
		return fmt.Sprintf("step %d", a.Step+1)
	case a.Step + 1:
		return fmt.Sprintf("window %d", a.Window)
	}
	return fmt.Sprintf("window %d, step %d of the run", a.Window, a.Step+1)
}

// Words say what a disturbance can have done, behind what it was.
func (e *Effect) Words() string {
	switch {
	case e == nil:
		return ""
	case e.Bounded:
		return fmt.Sprintf("; but the metric followed less than half of its changes, so that it explains up to %.1f points "+
			"of the CDI",
			max(e.Index-e.Lo, e.Hi-e.Index))
	}
	return fmt.Sprintf("; without it the CDI of %.1f %% could lie between %.1f and %.1f %%", e.Index, e.Lo, e.Hi)
}

// Caveats are the disturbances, and what became of items, as what speaks against results.
func (r *Run) Caveats() []caveat.Caveat {
	out := r.itemCaveats()
	for _, d := range r.Disturbances() {
		out = append(out, d.Caveat())
	}
	return out
}

// Doubts are the disturbances as records of runs and studies of package legacy have
// them.
func (r *Run) Doubts() []model.Doubt {
	all := r.Caveats()
	Caveats.Fill(caveat.Subject{}, all)
	return caveat.Doubts(all)
}
