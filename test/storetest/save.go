package storetest

import (
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Save stores a run that is over, as a server would have: steps begin, results
// come, steps and run end; of a run with a campaign as a repetition of that. Results are of the last attempts of their steps.
func Save(t testing.TB, s store.Store, d model.RunData) {
	t.Helper()
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	run, steps := d.Run, slices.Clone(d.Steps)
	run.State, run.Reason, run.Started, run.Finished = model.RunPending, "", time.Time{}, time.Time{}
	for i := range steps {
		steps[i].State, steps[i].Reason, steps[i].Attempt, steps[i].StartAt = model.StepPending, "", 0, time.Time{}
	}
	if run.Campaign == "" {
		must(s.CreateRun(ctx, run, d.Nodes, steps))
	} else {
		rep := model.Repetition{Campaign: run.Campaign, Number: run.Repetition, Due: run.Created, State: model.RepetitionRun, Run: run.ID}
		_, err := s.CreateRepetition(ctx, rep, run, d.Nodes, steps)
		must(err)
	}
	for _, st := range d.Steps {
		if st.Attempt == 0 {
			continue
		}
		for range st.Attempt {
			_, err := s.BeginAttempt(ctx, st.ID)
			must(err)
		}
		must(s.SetStepStart(ctx, st.ID, st.StartAt))
		for _, r := range d.Results {
			if r.Step == st.ID {
				_, err := s.PutResult(ctx, r)
				must(err)
			}
		}
		must(s.SetStepState(ctx, st.ID, st.State, st.Reason))
	}
	must(s.AddEvents(ctx, d.Events...))
	must(s.SetRunState(ctx, d.Run.ID, model.RunRunning, "", d.Run.Started))
	must(s.SetRunState(ctx, d.Run.ID, d.Run.State, d.Run.Reason, d.Run.Finished))
}
