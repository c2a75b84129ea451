package analysis

import (
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
)

// subjectOf names what a task measures: its node, or its node pair.
func subjectOf(t model.Task) model.NodeID { return model.NodeID(t.Spec.SubjectOn(t.Node)) }

// measuring lists the tasks of a step that report capacities. The others serve
// them: nothing is missing when they report nothing, and when they began and
// ended says nothing about how parallel the measurement was.
func measuring(s model.Step) []model.Task {
	out := make([]model.Task, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		if t.Spec.Role != model.RoleServe {
			out = append(out, t)
		}
	}
	return out
}

// subjects lists what a step measures, in order, each once.
func subjects(s model.Step) []model.NodeID {
	var out []model.NodeID
	for _, t := range measuring(s) {
		out = append(out, subjectOf(t))
	}
	slices.SortFunc(out, compareNodes)
	return slices.Compact(out)
}

// tasksOf finds the tasks of a step by id.
func tasksOf(s model.Step) map[model.TaskID]model.Task {
	out := make(map[model.TaskID]model.Task, len(s.Tasks))
	for _, t := range s.Tasks {
		out[t.ID] = t
	}
	return out
}

// measures says what the campaign's subjects are.
func (c campaign) measures() model.Subjects {
	for _, s := range c.steps {
		if slices.ContainsFunc(measuring(s), func(t model.Task) bool { return t.Spec.Subject != "" && t.Spec.Subject != string(t.Node) }) {
			return model.OfPairs
		}
	}
	return model.OfNodes
}

// fleetSize is how many subjects the largest parallel steps have: n in CDI(n).
// Steps that did not come to a valid end count too, so that a run which lost
// them does not pass off the CDI of a smaller fleet as theirs.
func (c campaign) fleetSize() int {
	most := 0
	for _, s := range c.steps {
		if s.Phase == model.Parallel {
			most = max(most, len(subjects(s)))
		}
	}
	return most
}

// largest is the campaign without the parallel steps of fewer subjects, which
// are points of a sweep over sizes.
func (c campaign) largest() campaign {
	size := c.fleetSize()
	steps := slices.DeleteFunc(slices.Clone(c.steps), func(s model.Step) bool {
		return s.Phase == model.Parallel && len(subjects(s)) < size
	})
	return campaign{workload: c.workload, steps: steps, results: c.results}
}

// nodesOf lists the nodes that had a part in a comparison's values: all nodes
// of its subjects, also those that only served.
func (c campaign) nodesOf(cmp comparison) map[model.NodeID]bool {
	measured := make(map[model.NodeID]bool)
	for _, rep := range slices.Concat(cmp.serial, cmp.parallel) {
		for subject := range rep.values {
			measured[subject] = true
		}
	}
	out := make(map[model.NodeID]bool)
	for _, s := range c.steps {
		for _, t := range s.Tasks {
			if s.State == model.StepComplete && measured[subjectOf(t)] {
				out[t.Node] = true
			}
		}
	}
	return out
}

// compareNodes orders nodes and subjects by name.
func compareNodes(a, b model.NodeID) int { return strings.Compare(string(a), string(b)) }
