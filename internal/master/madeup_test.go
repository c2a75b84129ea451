package master

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestMadeUpFor: a window that became invalid is not missing when its search
// has gone on since, and is not measured again by a resume, which would change
// what the windows after it were answers to. The last one of a search is.
func TestMadeUpFor(t *testing.T) {
	step := func(n int, phase model.Phase, workload string, trial int) model.Step {
		s := model.Step{ID: model.NewStepID("r", n), Number: n, Phase: phase, Workload: workload, Trial: trial, State: model.StepInvalid}
		s.Tasks = []model.Task{{Node: "n1", Spec: model.Spec{Params: map[string]any{"rate": "100op/s"}}}}
		return s
	}
	x := &execution{steps: []model.Step{
		step(0, model.Search, "a", 1), step(1, model.Search, "a", 1), step(2, model.Search, "b", 1), step(3, model.Search, "a", 2),
		step(4, model.Parallel, "a", 3), step(5, model.Parallel, "a", 3),
	}}
	var got []bool
	for _, s := range x.steps {
		got = append(got, x.madeUpFor(s))
	}
	if diff := cmp.Diff([]bool{true, false, false, false, false, false}, got); diff != "" {
		t.Errorf("madeUpFor (-want +got):\n%s", diff)
	}
	if missing := x.notMadeUpFor(x.steps); len(missing) != 5 {
		t.Errorf("missing %q, want all but the first", missing)
	}
	if state, err := x.performStep(t.Context(), x.steps[0]); state != model.StepInvalid || err != nil {
		t.Errorf("performStep of a window that was made up for: %s, %v; want it left alone", state, err)
	}
}
