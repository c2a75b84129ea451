package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// balanced returns the steps of the trials that are complete in both
// phases. In a run that was cut, is not over, or lost steps, one node would
// else be averaged over more trials than another, and a phase over other
// trials than its counterpart. Where no trial is complete, all steps are
// returned, with a doubt.
func (c campaign) balanced(steps []stepReadings, key string, n *notes) []stepReadings {
	if !c.has(model.Serial) || !c.has(model.Parallel) {
		return steps // one phase only was asked for; comparison says so
	}
	complete := make(map[int]bool)
	var dropped []string
	for _, trial := range c.trials() {
		why := c.lacks(trial, steps, key)
		complete[trial] = len(why) == 0
		if len(why) > 0 {
			dropped = append(dropped, fmt.Sprintf("trial %d (%s)", trial, list(why)))
		}
	}
	switch len(dropped) {
	case 0:
		return steps
	case len(complete):
		n.doubt("no trial is complete in both phases: %s; the numbers are of what there is", list(dropped))
		return steps
	}
	n.warn("left out, because not complete in both phases: %s", list(dropped))
	return slices.DeleteFunc(steps, func(s stepReadings) bool { return !complete[s.step.Trial] })
}

// has reports whether the run was to measure this phase of the workload.
func (c campaign) has(phase model.Phase) bool {
	return slices.ContainsFunc(c.steps, func(s model.Step) bool { return s.Phase == phase })
}

// trials lists the numbers of the campaign's trials, in order.
func (c campaign) trials() []int {
	var out []int
	for _, s := range c.steps {
		out = append(out, s.Trial)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lacks says what a trial lacks to be complete: steps that did not come to a
// valid end, subjects that were not measured alone. One without a value in a
// complete parallel step is worse and not said here (noteMissing).
func (c campaign) lacks(trial int, steps []stepReadings, key string) []string {
	var out []string
	alone := make(map[model.NodeID]bool)
	for _, s := range c.of(trial, model.Serial) {
		for _, subject := range subjects(s) {
			alone[subject] = true
		}
		if s.State != model.StepComplete {
			out = append(out, phaseName(s)+" "+string(s.State))
		} else if silent := missingIn(steps, s.ID); len(silent) > 0 {
			out = append(out, "no usable "+key+" of "+named(c.measures(), silent)+" alone")
		}
	}
	together := c.of(trial, model.Parallel)
	if len(together) == 0 {
		out = append(out, "no parallel step")
	}
	for _, s := range together {
		if s.State != model.StepComplete {
			out = append(out, phaseName(s)+" "+string(s.State))
		}
		for _, subject := range subjects(s) {
			if !alone[subject] {
				out = append(out, "no serial step on "+string(subject))
			}
		}
	}
	return out
}

// of lists the steps of one phase of a trial.
func (c campaign) of(trial int, phase model.Phase) []model.Step {
	var out []model.Step
	for _, s := range c.steps {
		if s.Trial == trial && s.Phase == phase {
			out = append(out, s)
		}
	}
	return out
}

// missingIn lists the subjects that gave no reading in a step.
func missingIn(steps []stepReadings, id model.StepID) []model.NodeID {
	for _, s := range steps {
		if s.step.ID == id {
			return s.missing
		}
	}
	return nil
}

// phaseName says which step of a trial it is.
func phaseName(s model.Step) string {
	if on := subjects(s); s.Phase == model.Serial && len(on) == 1 {
		return fmt.Sprintf("serial on %s", on[0])
	}
	return string(s.Phase)
}

// noteState says that the run is not over, or did not come to its end.
func noteState(run model.Run, n *notes) {
	if run.State == "" || run.State == model.RunDone {
		return
	}
	text := "the run is " + string(run.State)
	if reason := strings.TrimSpace(run.Reason); reason != "" {
		text += " (" + reason + ")"
	}
	n.warn("%s: the finding rests on what was measured so far", text)
}
