package evaluation

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// lackingTrial is a trial that is not complete in both phases, of a run or of a
// table, with what it lacks.
type lackingTrial struct {
	Trial int    `json:"trial"`
	Lacks []lack `json:"lacks"`
}

func (t lackingTrial) String() string { return fmt.Sprintf("trial %d (%s)", t.Trial, listed(t.Lacks)) }

// lack is one thing that a trial lacks to be complete.
type lack struct {
	What   lackKind        `json:"what"`
	Phase  model.Phase     `json:"phase,omitempty"`
	Size   int             `json:"size,omitempty"` // subjects at once, where sizes differ
	Of     Subjects        `json:"of,omitempty"`
	Nodes  []model.NodeID  `json:"nodes,omitempty"`
	State  model.StepState `json:"state,omitempty"`
	Metric caveat.Verbatim `json:"metric,omitempty"`
}

// lackKind is what a trial can lack.
type lackKind string

const (
	lacksEnd      lackKind = "end"       // a step did not come to a valid end
	lacksUse      lackKind = "use"       // a step says nothing about its size
	lacksStep     lackKind = "step"      // there is no step of the phase
	lacksValue    lackKind = "value"     // nodes have no value
	lacksPhase    lackKind = "phase"     // no node of a table has a value in the phase
	lacksOwnValue lackKind = "own_value" // nodes gave no usable value alone
)

func (l lack) String() string {
	switch l.What {
	case lacksEnd:
		return l.step() + " " + string(l.State)
	case lacksUse:
		return l.step() + " not usable"
	case lacksStep:
		return l.missingStep()
	case lacksPhase:
		return fmt.Sprintf("no %s value", l.Phase)
	case lacksOwnValue:
		return fmt.Sprintf("no usable %s of %s alone", l.Metric, named(l.Of, l.Nodes))
	}
	return fmt.Sprintf("no %s value of %s", l.Phase, named(l.Of, l.Nodes))
}

// step is "serial on n01", "parallel", or "parallel with 2 nodes".
func (l lack) step() string {
	if l.Phase == model.Serial && len(l.Nodes) == 1 {
		return stepName(l.Phase, l.Nodes[0])
	}
	return size{l.Phase, l.Size, l.Of}.String()
}

func (l lack) missingStep() string {
	switch {
	case len(l.Nodes) > 0:
		return fmt.Sprintf("no %s step on %s", l.Phase, num.List(l.Nodes))
	case l.Size > 0:
		return fmt.Sprintf("no %s step with %s", l.Phase, num.Count(l.Size, string(l.Of)))
	}
	return fmt.Sprintf("no %s step", l.Phase)
}

// stepName says which step of a trial it is; node is that of a serial one.
func stepName(phase model.Phase, node model.NodeID) string {
	if phase == model.Serial && node != "" {
		return "serial on " + string(node)
	}
	return string(phase)
}

// lackingTrials are the trials of a finding that are not complete in both phases,
// ascending.
type lackingTrials []lackingTrial

// add judges the next trial by what it lacks; one that lacks nothing is complete.
func (t *lackingTrials) add(number int, lacks []lack) {
	if len(lacks) > 0 {
		*t = append(*t, lackingTrial{number, lacks})
	}
}

// has reports whether a trial is among them.
func (t lackingTrials) has(number int) bool {
	return slices.ContainsFunc(t, func(x lackingTrial) bool { return x.Trial == number })
}

// leave notes the incomplete ones among so many trials and reports whether they
// are left out. They are not if no trial is complete: then everything counts,
// with a problem.
func (t lackingTrials) leave(all int, n *caveat.List) bool {
	switch len(t) {
	case 0:
		return false
	case all:
		n.Add(noCompleteTrial.Problem(keptAll{t}))
		return false
	}
	n.Add(incompleteTrials.Warn(leftOut{t}))
	return true
}

// sameFleet doubts a parallel trial of other subjects than the one before it,
// and reports whether they are the same: CDI(n) is of one fleet.
func sameFleet(of Subjects, before, now []model.NodeID, n *caveat.List) bool {
	if slices.Equal(before, now) {
		return true
	}
	n.Add(differentNodes.Problem(fleets{of, before, now}))
	return false
}
