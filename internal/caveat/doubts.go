package caveat

import "github.com/scalebench/scalebench/internal/model"

// Doubts are caveats, which have their texts, as records of runs and studies of
// package legacy have them.
func Doubts(all []Caveat) []model.Doubt {
	var out []model.Doubt
	for _, c := range all {
		out = append(out, model.Doubt{Code: string(c.Code), Severity: c.Severity, Text: string(c.Text), Workload: c.Workload,
			Phase: c.Phase, Trial: c.Trial, Node: c.Node, Steps: c.Steps, Explains: c.Explains})
	}
	return out
}
