package observe

import (
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// SubjectOf names what a task measures: its node, or its node pair.
func SubjectOf(t model.Task) model.NodeID { return model.NodeID(t.Spec.SubjectOn(t.Node)) }

// Measuring lists the tasks of a step that report capacities. The others serve
// them: nothing is missing when they report nothing, and when they began and
// ended says nothing about how parallel the measurement was.
func Measuring(s model.Step) []model.Task {
	out := make([]model.Task, 0, len(s.Tasks))
	for _, t := range s.Tasks {
		if t.Spec.Role != model.RoleServe {
			out = append(out, t)
		}
	}
	return out
}

// Subjects lists what a step measures, by name, each once.
func Subjects(s model.Step) []model.NodeID {
	var out []model.NodeID
	for _, t := range s.Tasks {
		if t.Spec.Role != model.RoleServe {
			out = append(out, SubjectOf(t))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Fleet is how many subjects the largest parallel step of each workload has:
// n in CDI(n). Steps that did not come to a valid end count too, so that a run
// which lost them does not pass off the figures of a smaller fleet as theirs.
func Fleet(steps []model.Step) map[string]int {
	out := make(map[string]int)
	for _, s := range steps {
		if s.Phase == model.Parallel {
			out[s.Workload] = max(out[s.Workload], len(Subjects(s)))
		}
	}
	return out
}
