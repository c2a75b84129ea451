package evaluation

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// notes are what a reader of a finding must know. A problem leaves no
// verdict but "unknown".
type notes struct{ problems, warnings model.Doubts }

// VerdictUnknown begins what says why a verdict is unknown.
const VerdictUnknown = "verdict unknown: "

// doubt adds a reason why the verdict is unknown.
func (n *notes) doubt(code, format string, args ...any) {
	n.add(model.Doubt{Code: code, Severity: model.Problem, Text: fmt.Sprintf(format, args...)})
}

// warn adds a warning.
func (n *notes) warn(code, format string, args ...any) {
	n.add(model.Doubt{Code: code, Severity: model.Warning, Text: fmt.Sprintf(format, args...)})
}

func (n *notes) add(d model.Doubt) {
	if d.Severity == model.Problem {
		d.Text = VerdictUnknown + d.Text
		n.problems.Add(d)
		return
	}
	n.warnings.Add(d)
}

// all returns problems first; never nil: the JSON contract has an array.
func (n *notes) all() []model.Doubt {
	return append(append([]model.Doubt{}, n.problems...), n.warnings...)
}

// named is "node a", "nodes a, b" or "pairs a+b, c+d".
func named(of Subjects, names []model.NodeID) string {
	if len(names) == 1 {
		return string(of) + " " + num.List(names)
	}
	return string(of) + "s " + num.List(names)
}

// number prints a value for a warning, to four significant digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// noteRun adds what the course of the run says about the part.
func (p part) noteRun(n *notes) {
	p.noteChanges(n)
	noteState(p.run.Run(), n)
	p.noteFailures(n)
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
	n.warn("not_over", "%s: the finding rests on what was measured so far", text)
}

// noteFailures names the steps that have no valid result and counts the tasks
// that failed on the way to a valid one.
func (p part) noteFailures(n *notes) {
	var lost []string
	for _, s := range p.steps {
		if s.State == model.StepComplete {
			continue
		}
		text := fmt.Sprintf("%s, trial %d: %s", phaseName(s), s.Trial, s.State)
		if s.Reason != "" {
			text += ", " + s.Reason
		}
		lost = append(lost, text)
	}
	if len(lost) > 0 {
		n.warn("steps_lost", "%s of %d without a valid result, left out: %s", num.Count(len(lost), "step"), len(p.steps), num.List(lost))
	}
	if failed := p.failed(); len(failed) > 0 {
		n.warn("tasks_failed", "%s did not end well before the attempt that counts: %s", num.Count(len(failed), "task"), num.List(failed))
	}
}

// errorsSuffix ends the names of metrics in which workloads count attempts that
// failed, by kind in a label.
const errorsSuffix = "_errors"

// noteErrors says how many attempts failed within tasks that ended well: what a
// store refuses costs a retry each, and may be the limit itself.
func (p part) noteErrors(n *notes) {
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
	each := func(c count) string { return number(c.all / max(c.tasks, 1)) }
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		alone, together := counts[kind][model.Serial], counts[kind][model.Parallel]
		if alone.all+together.all == 0 {
			continue
		}
		n.add(model.Doubt{
			Code: "errors", Severity: model.Warning, Workload: p.workload,
			Text: fmt.Sprintf("%s answered with errors: %s a task of kind %s when all work, %s alone; each costs an "+
				"attempt, and a limit of requests shows in that way",
				p.workload, each(together), kind, each(alone)),
		})
	}
}

// failed lists the unhappy results of steps that are complete all the same.
func (p part) failed() []string {
	steps := make(map[model.StepID]model.Step)
	for _, s := range p.steps {
		if s.State == model.StepComplete {
			steps[s.ID] = s
		}
	}
	var out []string
	for _, r := range p.run.Results() {
		s, ours := steps[r.Step]
		// Cancelled tasks are the innocent companions of one that failed.
		bad := r.Outcome != model.OutcomeOK && r.Outcome != model.OutcomeCancelled
		if ours && bad && r.Attempt < s.Attempt {
			out = append(out, fmt.Sprintf("node %s %s (%s, trial %d, attempt %d)", r.Node, r.Outcome, s.Phase, s.Trial, r.Attempt))
		}
	}
	return out
}

// noteChanges names the part's nodes that became other hosts in the course of
// the run. If that was in the midst of the part, values of both hosts are in
// it, and a difference between the phases may be one between the hosts.
func (p part) noteChanges(n *notes) {
	for _, e := range p.run.Events() {
		if e.Kind != model.EventNodeChanged || !p.uses(e.Node) {
			continue
		}
		if p.during(e.Time) {
			n.doubt("node_changed", "node %s changed between two measurements: %s", e.Node, e.Text)
		} else {
			n.warn("node_changed", "node %s changed during the run, but not between measurements of %s: %s", e.Node, p.workload, e.Text)
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
func (p part) noteFacts(cmp comparison, n *notes) {
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
		n.warn("unknown_cpus", "%s without a known CPU model, so the nodes may be unequal", num.Count(silent, "node"))
		delete(models, "")
	}
	if len(models) > 1 {
		counted := make([]string, 0, len(models))
		for _, name := range slices.Sorted(maps.Keys(models)) {
			counted = append(counted, fmt.Sprintf("%d × %s", models[name], name))
		}
		n.warn("unequal_cpus", "unequal CPUs: %s", num.List(counted))
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
