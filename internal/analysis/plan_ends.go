package analysis

import (
	"maps"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// ends are the nodes that measure each subject of a finding: the node itself,
// both nodes of a pair that measures both ways, the client of one that does
// not. A plan counts nodes, a finding subjects.
type ends map[model.NodeID][]model.NodeID

// endsOf finds them in the steps of the finding's workload. A subject of
// which no step is known (numbers from a file) measures itself.
func endsOf(f model.Finding, data model.RunData) ends {
	out := make(ends)
	for _, p := range f.Pairs {
		out[p.Node] = nil
	}
	for _, s := range data.Steps {
		if s.Workload != f.Workload || s.State != model.StepComplete {
			continue
		}
		for _, t := range measuring(s) {
			known, wanted := out[subjectOf(t)]
			if wanted && !slices.Contains(known, t.Node) {
				out[subjectOf(t)] = append(known, t.Node)
			}
		}
	}
	for subject, nodes := range out {
		if len(nodes) == 0 {
			out[subject] = []model.NodeID{subject}
		}
	}
	return out
}

// nodes lists the measuring nodes of all subjects, each once.
func (e ends) nodes() []model.NodeID {
	var out []model.NodeID
	for nodes := range maps.Values(e) {
		out = append(out, nodes...)
	}
	slices.SortFunc(out, compareNodes)
	return slices.Compact(out)
}

// perSubject is how many nodes measure one subject, 1 where none is known.
func (e ends) perSubject() int {
	most := 1
	for _, nodes := range e {
		most = max(most, len(nodes))
	}
	return most
}
