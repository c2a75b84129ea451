package model

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

// Accepted returns the results that may be scored: those of the last attempt
// of every complete step, at most one a task.
func (d RunData) Accepted() []Result {
	attempt := make(map[StepID]int, len(d.Steps))
	for _, s := range d.Steps {
		if s.State == StepComplete {
			attempt[s.ID] = s.Attempt
		}
	}
	var out []Result
	for _, r := range d.Results {
		if a, ok := attempt[r.Step]; ok && a == r.Attempt {
			out = append(out, r)
		}
	}
	return out
}
