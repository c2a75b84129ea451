package master

import (
	"math"

	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

func twoTasks() (*attempt, model.Step) {
	step := model.Step{ID: "r/0000", Phase: model.Parallel, Barrier: true, Tasks: []model.Task{
		{ID: "r/0000/0000", Node: "a", Spec: model.Spec{Timeout: time.Second}},
		{ID: "r/0000/0001", Node: "b", Spec: model.Spec{Timeout: 2 * time.Second}},
	}}
	return newAttempt("r", step, 2, step.Tasks), step
}

func ready(task model.TaskID, number int, node model.NodeID) wire.Ready {
	return wire.Ready{Node: node, Attempt: wire.Attempt{Task: task, Attempt: number}, ClockError: 5}
}

func TestReady(t *testing.T) {
	a, _ := twoTasks()
	for _, c := range []struct {
		name          string
		msg           wire.Ready
		cancel, first bool
	}{
		{"first time", ready("r/0000/0000", 2, "a"), false, true},
		{"again", ready("r/0000/0000", 2, "a"), false, false},
		{"a former attempt", ready("r/0000/0001", 1, "b"), true, false},
		{"an unknown task", ready("r/0009/0000", 2, "a"), true, false},
		{"another node's task", ready("r/0000/0001", 2, "a"), true, false},
	} {
		reply, first := a.setReady(c.msg)
		if reply.Cancel != c.cancel || first != c.first {
			t.Errorf("%s: setReady = %+v, %v; want cancel %v, first %v", c.name, reply, first, c.cancel, c.first)
		}
	}
	if got := a.tally(); got.ready != 1 || got.worst != 5 {
		t.Errorf("tally = %+v, want 1 ready, worst 5 ns", got)
	}
	a.setStart(at(3))
	if reply, _ := a.setReady(ready("r/0000/0001", 2, "b")); !reply.At.Equal(at(3)) {
		t.Errorf("ready after the start was named: %+v, want the start", reply)
	}
	a.cancel()
	if reply, _ := a.setReady(ready("r/0000/0001", 2, "b")); !reply.Cancel {
		t.Errorf("ready after a cancel: %+v, want cancel", reply)
	}
}

// TestReadyClock: a node that claims an impossible error of its clock is left out, and moves
// nobody's start.
func TestReadyClock(t *testing.T) {
	for _, claim := range []time.Duration{-1, maxClockError + 1, 25 * time.Hour, 1<<62 - 9e11, math.MaxInt64 / 4,
		math.MaxInt64, math.MinInt64} {
		a, _ := twoTasks()
		msg := ready("r/0000/0000", 2, "a")
		msg.ClockError = claim
		reply, first := a.setReady(msg)
		if got := a.tally(); !reply.Cancel || first || got.worst != 0 || got.ready != 0 {
			t.Errorf("%v: setReady = %+v, %v; tally %+v", claim, reply, first, got)
		}
		if lost := a.takeLost(); !strings.Contains(lost["a"], "its clock may be wrong by") {
			t.Errorf("%v: lost %q", claim, lost)
		}
	}
	a, _ := twoTasks()
	late := ready("r/0000/0000", 1, "a") // of a former attempt
	late.ClockError = time.Hour
	if reply, _ := a.setReady(late); !reply.Cancel || len(a.takeLost()) > 0 {
		t.Error("a former attempt's claim loses the node in this one")
	}
	step := model.Step{ID: "r/0001", Phase: model.Serial, Tasks: []model.Task{{ID: "r/0001/0000", Node: "a"}}}
	alone, msg := newAttempt("r", step, 2, step.Tasks), ready("r/0001/0000", 2, "a")
	msg.ClockError = time.Hour
	if reply, first := alone.setReady(msg); reply.Cancel || !first || alone.tally().worst != 0 {
		t.Errorf("a task alone needs no common start: setReady = %+v, %v; worst %v", reply, first, alone.tally().worst)
	}
}

// TestHas: a live point counts only of a task that its node has.
func TestHas(t *testing.T) {
	a, step := twoTasks()
	own := wire.Progress{Node: "a", Step: step.ID, Attempt: wire.Attempt{Task: "r/0000/0000", Attempt: 2}}
	other := own
	other.Node = "b"
	late := own
	late.Attempt.Attempt = 1
	unknown := own
	unknown.Task = "r/0009/0000"
	if !a.has(own) || a.has(other) || a.has(late) || a.has(unknown) {
		t.Errorf("has(own) %t, of another node %t, of a former attempt %t, of an unknown task %t", a.has(own),
			a.has(other), a.has(late), a.has(unknown))
	}
}

// TestFirstOutcomeStays: a task that was given up is not revived by a result
// that comes second, and results of former attempts do not count.
func TestFirstOutcomeStays(t *testing.T) {
	a, _ := twoTasks()
	a.setOutcome("r/0000/0000", 1, model.OutcomeOK, "")
	if got := a.tally(); got.open != 2 {
		t.Errorf("after a former attempt's result: %d open, want 2", got.open)
	}
	a.setOutcome("r/0000/0000", 2, model.OutcomeLost, "gone")
	a.setOutcome("r/0000/0000", 2, model.OutcomeOK, "")
	a.setOutcome("r/0000/0001", 2, model.OutcomeOK, "")
	got := a.tally()
	if got.open != 0 || got.bad() != 1 || got.outcomes[model.OutcomeLost] != 1 {
		t.Errorf("tally = %+v, want one lost, one ok", got)
	}
}

// TestBudget: lost nodes and failed tasks have budgets of their own.
func TestBudget(t *testing.T) {
	lost := tally{total: 1, outcomes: map[model.Outcome]int{model.OutcomeLost: 1}}
	failed := tally{total: 1, outcomes: map[model.Outcome]int{model.OutcomeFailed: 1}}
	both := tally{total: 2, outcomes: map[model.Outcome]int{model.OutcomeFailed: 1, model.OutcomeLost: 1}}
	for _, c := range []struct {
		name string
		b    budget
		in   []tally
		want []bool
	}{
		{"lost twice", budget{lost: 2}, []tally{lost, lost, lost}, []bool{true, true, false}},
		{"failed is not lost", budget{lost: 2}, []tally{failed}, []bool{false}},
		{"failed once", budget{failed: 1, lost: 2}, []tally{failed, lost, failed}, []bool{true, true, false}},
		{"both count as failed", budget{lost: 2}, []tally{both}, []bool{false}},
	} {
		for i, in := range c.in {
			if _, again := c.b.next(in); again != c.want[i] {
				t.Errorf("%s: try %d again = %v, want %v", c.name, i+1, again, c.want[i])
			}
		}
	}
}

// TestPatience: jobs of a batch run one after another on a node, so that the
// longest chain counts.
func TestPatience(t *testing.T) {
	step := model.Step{Phase: model.Batch, Tasks: []model.Task{
		{ID: "1", Node: "a", Spec: model.Spec{Timeout: time.Minute}},
		{ID: "2", Node: "a", Spec: model.Spec{Timeout: time.Minute}},
		{ID: "3", Node: "b", Spec: model.Spec{Timeout: 90 * time.Second}},
	}}
	x := &execution{Master: New(Config{Lease: 10 * time.Second})}
	x.timeouts.ready = 5 * time.Second
	if got, want := x.patience(newAttempt("r", step, 1, step.Tasks)), 135*time.Second; got != want {
		t.Errorf("patience = %s, want %s", got, want)
	}
	step.Tasks[2].Spec.Offer = &model.Offer{Recover: true, RecoverWithin: 3 * time.Minute}
	if got, want := x.ready(step), 185*time.Second; got != want {
		t.Errorf("with a long recovery, nodes may prepare for %s, want %s", got, want)
	}
}

// TestAdopt: what former executions stored is not measured again.
func TestAdopt(t *testing.T) {
	_, step := twoTasks()
	step.Attempt, step.State = 2, model.StepRunning
	result := func(task model.TaskID, attempt int, o model.Outcome) model.Result {
		return model.Result{Step: step.ID, Task: task, Attempt: attempt, Outcome: o}
	}
	ok1, ok2 := result("r/0000/0000", 2, model.OutcomeOK), result("r/0000/0001", 2, model.OutcomeOK)
	for _, c := range []struct {
		name    string
		results []model.Result
		want    model.StepState
	}{
		{"complete but unsaid", []model.Result{ok1, ok2}, model.StepComplete},
		{"one is missing", []model.Result{ok1}, model.StepRunning},
		{"one was lost", []model.Result{ok1, result("r/0000/0001", 2, model.OutcomeLost)}, model.StepRunning},
		{"of two attempts", []model.Result{ok1, result("r/0000/0001", 1, model.OutcomeOK)}, model.StepRunning},
	} {
		x := &execution{steps: []model.Step{step}, settled: make(map[model.TaskID]bool)}
		x.adopt(model.RunData{Results: c.results})
		if got := x.steps[0].State; got != c.want {
			t.Errorf("%s: state = %s, want %s", c.name, got, c.want)
		}
	}
	step.State = model.StepInvalid // it ended well, with links that something had changed
	x := &execution{steps: []model.Step{step}, settled: make(map[model.TaskID]bool)}
	if x.adopt(model.RunData{Results: []model.Result{ok1, ok2}}); x.steps[0].State != model.StepInvalid {
		t.Errorf("an invalid step is %s", x.steps[0].State)
	}
}

// TestFirstBad: of several tasks that did not end well the first of the step is
// named, whichever ended first.
func TestFirstBad(t *testing.T) {
	for range 20 {
		a := threeJobs()
		a.step.Phase = model.Parallel
		for _, id := range []model.TaskID{"b1", "a2", "a1"} {
			a.setOutcome(id, 1, model.OutcomeFailed, "of "+string(id))
		}
		if got := a.tally().firstBad; !strings.HasSuffix(got, "of a1") {
			t.Fatalf("the first bad task is %q, want a1", got)
		}
	}
}
