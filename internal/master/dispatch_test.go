package master

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// threeJobs is a batch of two jobs on node a and one on b.
func threeJobs() *attempt {
	step := model.Step{ID: "r/0000", Phase: model.Batch, Tasks: []model.Task{
		{ID: "a1", Node: "a"}, {ID: "a2", Node: "a"}, {ID: "b1", Node: "b"},
	}}
	return newAttempt("r", step, 1, step.Tasks)
}

// TestDue: a node is sent one task at a time, in order; again after a while,
// until it has shown that it has it, and at once after a Hello.
func TestDue(t *testing.T) {
	a := threeJobs()
	due := func(what string, second float64, want ...model.TaskID) {
		t.Helper()
		var got []model.TaskID
		for _, w := range a.due(at(second), 4*time.Second) {
			got = append(got, w.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: due (-want +got):\n%s", what, diff)
		}
	}
	due("at first", 10, "a1", "b1")
	due("soon after", 13)
	a.noteHeld("a", wire.Attempt{Task: "a1", Attempt: 1})
	a.noteHeld("a", wire.Attempt{Task: "b1", Attempt: 1}) // not its own
	a.noteHeld("b", wire.Attempt{Task: "b1", Attempt: 2}) // another attempt
	due("later", 14, "b1")
	a.sendAgain("a")
	due("after a Hello", 14, "a1")
	a.setOutcome("b1", 1, model.OutcomeOK, "")
	a.setOutcome("a1", 1, model.OutcomeFailed, "")
	due("after a result", 15, "a2")
	a.cancel()
	due("after a cancel", 30)
	if got := a.tally(); got.open != 1 {
		t.Errorf("%d open after the cancel, want 1: what was sent", got.open)
	}
}

// TestJobsBehindALostOne are never sent: jobs run in order or not at all.
func TestJobsBehindALostOne(t *testing.T) {
	a := threeJobs()
	a.due(at(10), time.Second)
	a.setOutcome("a1", 1, model.OutcomeLost, "gone")
	if got := a.due(at(20), time.Second); len(got) != 1 || got[0].ID != "b1" {
		t.Errorf("due = %v, want only b1", got)
	}
	if got := a.tally(); got.open != 1 || got.outcomes[model.OutcomeLost] != 2 {
		t.Errorf("tally = %+v, want one open and two lost", got)
	}
}

// TestCancelTakesBack what was not sent: no result of it is waited for.
func TestCancelTakesBack(t *testing.T) {
	a := threeJobs()
	a.cancel()
	if got := a.tally(); got.open != 0 {
		t.Errorf("%d open after a cancel before anything was sent, want 0", got.open)
	}
}
