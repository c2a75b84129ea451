package analysis

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// noteFailures names the steps that have no valid result and counts the tasks
// that failed on the way to a valid one.
func (c campaign) noteFailures(data model.RunData, n *notes) {
	var lost []string
	for _, s := range c.steps {
		if s.State == model.StepComplete {
			continue
		}
		text := stepName(s) + ": " + string(s.State)
		if s.Reason != "" {
			text += ", " + s.Reason
		}
		lost = append(lost, text)
	}
	if len(lost) > 0 {
		n.warn("%s of %d without a valid result, left out: %s", plural(len(lost), "step"), len(c.steps), list(lost))
	}
	if failed := c.failed(data); len(failed) > 0 {
		n.warn("%s did not end well before the attempt that counts: %s", plural(len(failed), "task"), list(failed))
	}
}

// failed lists the unhappy results of steps that are complete all the same.
func (c campaign) failed(data model.RunData) []string {
	steps := make(map[model.StepID]model.Step)
	for _, s := range c.steps {
		if s.State == model.StepComplete {
			steps[s.ID] = s
		}
	}
	var out []string
	for _, r := range data.Results {
		s, ours := steps[r.Step]
		// Cancelled tasks are the innocent companions of one that failed.
		bad := r.Outcome != model.OutcomeOK && r.Outcome != model.OutcomeCancelled
		if ours && bad && r.Attempt < s.Attempt {
			out = append(out, fmt.Sprintf("node %s %s (%s, trial %d, attempt %d)", r.Node, r.Outcome, s.Phase, s.Trial, r.Attempt))
		}
	}
	return out
}

// stepName says which step it is, for people.
func stepName(s model.Step) string {
	return fmt.Sprintf("%s, trial %d", phaseName(s), s.Trial)
}

// noteChanges names the campaign's nodes that became other hosts in the course
// of the run. If that was in the midst of the campaign, values of both hosts
// are in it, and a difference between the phases may be one between the hosts.
func (c campaign) noteChanges(events []model.Event, n *notes) {
	for _, e := range events {
		if e.Kind != model.EventNodeChanged || !c.uses(e.Node) {
			continue
		}
		if c.during(e.Time) {
			n.doubt("node %s changed between two measurements: %s", e.Node, e.Text)
		} else {
			n.warn("node %s changed in the course of the run, not between measurements of %s: %s", e.Node, c.workload, e.Text)
		}
	}
}

// uses reports whether a node has a task in the campaign.
func (c campaign) uses(node model.NodeID) bool {
	return slices.ContainsFunc(c.steps, func(s model.Step) bool {
		return slices.ContainsFunc(s.Tasks, func(t model.Task) bool { return t.Node == node })
	})
}

// during reports whether a moment lies between the first and the last accepted
// result. Of what has no time it must be supposed.
func (c campaign) during(at time.Time) bool {
	before, after := at.IsZero(), at.IsZero()
	for _, rs := range c.results {
		for _, r := range rs {
			before = before || r.Started.IsZero() || r.Started.Before(at)
			after = after || r.Ended.IsZero() || r.Ended.After(at)
		}
	}
	return before && after
}

// noteFacts warns when the measured nodes are not of one kind, or do not say.
// Of a pair that is both ends, whichever of them measures.
func (c campaign) noteFacts(nodes []model.Node, cmp comparison, n *notes) {
	measured := c.nodesOf(cmp)
	models := make(map[string]int)
	for _, node := range nodes {
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
		n.warn("%s without a known CPU model: whether the nodes are equal is not known", plural(silent, "node"))
		delete(models, "")
	}
	if len(models) > 1 {
		n.warn("unequal CPUs: %s", list(counted(models)))
	}
}

// cpuName is what must be equal between nodes that are to be compared: empty
// when the node could not find out.
func cpuName(f model.Facts) string {
	if f.CPUModel == "" || f.Cores == 0 {
		return f.CPUModel
	}
	return fmt.Sprintf("%s (%s)", f.CPUModel, plural(f.Cores, "core"))
}

// counted lists "3 × name" in the order of the names.
func counted(counts map[string]int) []string {
	out := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d × %s", counts[name], name))
	}
	return out
}
