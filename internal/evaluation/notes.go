package evaluation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/caveat"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// named is "node a", "nodes a, b" or "pairs a+b, c+d".
func named(of Subjects, names []model.NodeID) string {
	if len(names) == 1 {
		return string(of) + " " + num.List(names)
	}
	return string(of) + "s " + num.List(names)
}

// noteRun adds what the course of the run says about the part.
func (p part) noteRun(n *caveat.List) {
	p.noteChanges(n)
	noteState(p.run.Run(), n)
	p.noteFailures(n)
}

// noteState says that the run is not over, or did not come to its end.
func noteState(run model.Run, n *caveat.List) {
	if run.State == "" || run.State == model.RunDone {
		return
	}
	n.Add(notOver.Warn(runState{run.State, caveat.Verbatim(strings.TrimSpace(run.Reason))}))
}

// noteFailures names the steps that have no valid result and counts the tasks
// that failed on the way to a valid one.
func (p part) noteFailures(n *caveat.List) {
	var lost []lostStep
	for _, s := range p.steps {
		if s.State == model.StepComplete {
			continue
		}
		one := lostStep{Phase: s.Phase, Trial: s.Trial, State: s.State, Reason: caveat.Verbatim(s.Reason)}
		if on := aloneIn(s); len(on) > 0 {
			one.Node = on[0]
		}
		lost = append(lost, one)
	}
	if len(lost) > 0 {
		n.Add(stepsLost.Warn(lostSteps{lost, len(p.steps)}))
	}
	if failed := p.failed(); len(failed) > 0 {
		n.Add(tasksFailed.Warn(failedTasks{failed}))
	}
}

// errorsSuffix ends the names of metrics in which workloads count attempts that
// failed, by kind in a label.
const errorsSuffix = "_errors"

// noteErrors says how many attempts failed within tasks that ended well: what a
// store refuses costs a retry each, and may be the limit itself.
func (p part) noteErrors(n *caveat.List) {
	type count struct{ all, tasks float64 }
	counts := make(map[string]map[model.Phase]count)
	for _, s := range p.steps {
		for _, r := range p.run.Accepted(s.ID) {
			for _, x := range r.Samples {
				if !x.Info || !strings.HasSuffix(x.Metric, errorsSuffix) || !(x.Value >= 0) || math.IsInf(x.Value, 0) {
					continue
				}
				kind := cmp.Or(x.Labels["kind"], "error")
				if counts[kind] == nil {
					counts[kind] = make(map[model.Phase]count)
				}
				c := counts[kind][s.Phase]
				counts[kind][s.Phase] = count{c.all + x.Value, c.tasks + 1}
			}
		}
	}
	each := func(c count) float64 { return c.all / max(c.tasks, 1) }
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		alone, together := counts[kind][model.Serial], counts[kind][model.Parallel]
		if alone.all+together.all == 0 {
			continue
		}
		n.Add(failedAttempts.At(model.Warning, caveat.Subject{Workload: p.workload},
			attempts{caveat.Verbatim(kind), each(together), each(alone)}))
	}
}

// failed lists the unhappy results of steps that are complete all the same.
func (p part) failed() []failedTask {
	steps := make(map[model.StepID]model.Step)
	for _, s := range p.steps {
		if s.State == model.StepComplete {
			steps[s.ID] = s
		}
	}
	var out []failedTask
	for _, r := range p.run.Results() {
		s, ours := steps[r.Step]
		// Cancelled tasks are the innocent companions of one that failed.
		bad := r.Outcome != model.OutcomeOK && r.Outcome != model.OutcomeCancelled
		if ours && bad && r.Attempt < s.Attempt {
			out = append(out, failedTask{r.Node, r.Outcome, s.Phase, s.Trial, r.Attempt})
		}
	}
	return out
}

// noteChanges names the part's nodes that became other hosts in the course of
// the run. If that was in the midst of the part, values of both hosts are in
// it, and a difference between the phases may be one between the hosts.
func (p part) noteChanges(n *caveat.List) {
	for _, e := range p.run.Events() {
		if e.Kind != model.EventNodeChanged || !p.uses(e.Node) {
			continue
		}
		if event := caveat.Verbatim(e.Text); p.during(e.Time) {
			n.Add(changedBetween.Problem(change{e.Node, event}))
		} else {
			n.Add(changedDuring.Warn(changeElsewhere{e.Node, event, caveat.Verbatim(p.workload)}))
		}
	}
}

// uses reports whether a node has a task in the part.
func (p part) uses(node model.NodeID) bool {
	return slices.ContainsFunc(p.steps, func(s model.Step) bool {
		return slices.ContainsFunc(s.Tasks, func(t model.Task) bool { return t.Node == node })
	})
}

// during reports whether a moment lies between the first and the last accepted
// result. Of what has no time it must be supposed.
func (p part) during(at time.Time) bool {
	before, after := at.IsZero(), at.IsZero()
	for _, s := range p.all {
		for _, r := range p.run.Accepted(s.ID) {
			before = before || r.Started.IsZero() || r.Started.Before(at)
			after = after || r.Ended.IsZero() || r.Ended.After(at)
		}
	}
	return before && after
}

// noteFacts warns when the measured nodes are not of one kind, or do not say.
// Of a pair that is both ends, whichever of them measures.
func (p part) noteFacts(cmp comparison, n *caveat.List) {
	measured := p.nodesOf(cmp)
	models := make(map[string]int)
	for _, node := range p.run.Nodes() {
		if !measured[node.ID] {
			continue
		}
		delete(measured, node.ID)
		models[cpuName(node.Facts)]++
	}
	if len(measured) > 0 {
		models[""] += len(measured)
	}
	if silent := models[""]; silent > 0 {
		n.Add(unknownCPUs.Warn(unknownModels{silent}))
		delete(models, "")
	}
	if len(models) > 1 {
		var counted []cpuModel
		for _, name := range slices.Sorted(maps.Keys(models)) {
			counted = append(counted, cpuModel{models[name], caveat.Verbatim(name)})
		}
		n.Add(unequalCPUs.Warn(cpuModels{counted}))
	}
}

// nodesOf lists the nodes that had a part in a comparison's values: all nodes
// of its subjects, also those that only served.
func (p part) nodesOf(cmp comparison) map[model.NodeID]bool {
	measured := make(map[model.NodeID]bool, len(cmp.subjects))
	for _, subject := range cmp.subjects {
		measured[subject] = true
	}
	out := make(map[model.NodeID]bool)
	for _, s := range p.steps {
		for _, t := range s.Tasks {
			if s.State == model.StepComplete && measured[observe.SubjectOf(t)] {
				out[t.Node] = true
			}
		}
	}
	return out
}

// cpuName is what must be equal between nodes that are to be compared: empty
// when the node could not find out.
func cpuName(f model.Facts) string {
	if f.CPUModel == "" || f.Cores == 0 {
		return f.CPUModel
	}
	return fmt.Sprintf("%s (%s)", f.CPUModel, num.Count(f.Cores, "core"))
}
