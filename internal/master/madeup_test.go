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
		x.steps = append(x.steps, model.Step{ID: model.NewStepID(x.run.ID, n), Number: n, Phase: model.Search, Workload: "small", Trial: 1,
			Treatment: model.Treatment{Study: "capacity", Replaces: n}, State: model.StepInvalid})
	}
	if missing := x.notMadeUpFor(x.steps); len(missing) != 1 || missing[0].Number != 1 {
		t.Errorf("missing %v, want all but the first", missing)
	}
	if state, err := x.performStep(t.Context(), x.steps[0]); state != model.StepInvalid || err != nil {
		t.Errorf("performStep of a window that was made up for: %s, %v; want it left alone", state, err)
	}
}

// TestWhyIncomplete: where nothing was measured, the run ends for what the node
// found while it prepared; otherwise it says how much is missing, and of a single
// step why.
func TestWhyIncomplete(t *testing.T) {
	const found = "node n1: failed: preparing: connection refused"
	step := func(n int, reason string) model.Step {
		return model.Step{Number: n, Phase: model.Search, Workload: "small", Trial: 1, Reason: reason}
	}
	for _, c := range []struct {
		name    string
		missing []model.Step
		steps   int
		want    string
	}{
		{"nothing else", []model.Step{step(0, found)}, 1, "connection refused"},
		{"not while it prepared", []model.Step{step(0, "node n1: failed: exit status 3")}, 1, "1 of 1 steps are not valid: small, trial 1, search on 0 nodes: node n1: failed: exit status 3"},
		{"one of three", []model.Step{step(2, found)}, 3, "1 of 3 steps are not valid: small, trial 1, search on 0 nodes: " + found},
		{"two of three", []model.Step{step(1, found), step(2, found)}, 3, "2 of 3 steps are not valid: small, trial 1, search on 0 nodes; small, trial 1, search on 0 nodes"},
	} {
		x := &execution{steps: make([]model.Step, c.steps)}
		if got := x.whyIncomplete(c.missing); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
