package master

import (
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestMadeUpFor: a window that became invalid is not missing when its search
// has gone on since, and is not measured again by a resume, which would change
// what the windows after it were answers to. The last one of a search is.
func TestMadeUpFor(t *testing.T) {
	x := newSearches(t).x
	for n := range 2 {
		x.steps = append(x.steps, model.Step{ID: model.NewStepID(x.run.ID, n), Number: n, Phase: model.Search, Workload: "small", Trial: 1, State: model.StepInvalid})
	}
	if missing := x.notMadeUpFor(x.steps); len(missing) != 1 {
		t.Errorf("missing %q, want all but the first", missing)
	}
	if state, err := x.performStep(t.Context(), x.steps[0]); state != model.StepInvalid || err != nil {
		t.Errorf("performStep of a window that was made up for: %s, %v; want it left alone", state, err)
	}
}
