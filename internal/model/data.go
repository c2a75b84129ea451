package model

import "slices"

// RunData is everything that the store holds about one run, artifacts apart.
// Every finding can be computed from it.
type RunData struct {
	Run       Run        `json:"run"`
	Nodes     []Node     `json:"nodes"`   // as they were when the run began
	Steps     []Step     `json:"steps"`   // in order
	Results   []Result   `json:"results"` // of every attempt
	Events    []Event    `json:"events"`
	Artifacts []Artifact `json:"artifacts,omitempty"`
}

// Has reports whether the run has a step in one of these phases.
func (d RunData) Has(phases ...Phase) bool {
	return slices.ContainsFunc(d.Steps, func(s Step) bool { return slices.Contains(phases, s.Phase) })
}

// Accepted returns the results that count, at most one a task: those of the
// last attempt of every complete step. In a batch, tasks are independent of
// each other, so that there the latest attempt at each task counts, and
// attempts that were lost or called off do not.
func (d RunData) Accepted() []Result {
	steps := make(map[StepID]Step, len(d.Steps))
	for _, s := range d.Steps {
		steps[s.ID] = s
	}
	latest := make(map[TaskID]int) // index into out, of batch tasks
	var out []Result
	for _, r := range d.Results {
		s, ok := steps[r.Step]
		switch {
		case !ok:
		case s.Phase == Batch && r.Outcome.Definitive():
			if i, dup := latest[r.Task]; dup {
				if out[i].Attempt < r.Attempt {
					out[i] = r
				}
				continue
			}
			latest[r.Task] = len(out)
			out = append(out, r)
		case s.Phase != Batch && s.State == StepComplete && s.Attempt == r.Attempt:
			out = append(out, r)
		}
	}
	return out
}
