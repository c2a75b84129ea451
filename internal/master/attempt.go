package master

import (
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// attempt is one attempt at a step while the master waits for it. Messages
// change it from their goroutines; the executor waits for its changes.
type attempt struct {
	run    model.RunID
	step   model.Step
	number int

	mu        sync.Mutex
	tasks     map[model.TaskID]*awaited
	start     time.Time // agreed start; zero before
	cancelled bool
	lost      map[model.NodeID]string // nodes lost since the executor looked, with why
	worst     time.Duration           // largest clock error bound among the ready nodes
	changed   chan struct{}           // holds a token when something has changed
}

// awaited is a task of the attempt.
type awaited struct {
	node    model.NodeID
	ready   bool
	outcome model.Outcome // empty until there is a stored result
	reason  string
	// void: it was taken back before it ran, because a job before it on the
	// same node was lost.
	void bool
}

func newAttempt(run model.RunID, step model.Step, number int, tasks []model.Task) *attempt {
	a := &attempt{
		run: run, step: step, number: number,
		tasks:   make(map[model.TaskID]*awaited, len(tasks)),
		changed: make(chan struct{}, 1),
	}
	for _, t := range tasks {
		a.tasks[t.ID] = &awaited{node: t.Node}
	}
	return a
}

// poke wakes the executor.
func (a *attempt) poke() {
	select {
	case a.changed <- struct{}{}:
	default:
	}
}

// setReady notes that a task is prepared, and answers its agent.
func (a *attempt) setReady(r wire.Ready) (reply wire.ReadyReply, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.tasks[r.Task]
	if !ok || t.node != r.Node || r.Attempt.Attempt != a.number || a.cancelled {
		return wire.ReadyReply{Cancel: true}, false
	}
	first = !t.ready
	t.ready = true
	a.worst = max(a.worst, r.ClockError)
	if first {
		a.poke()
	}
	return wire.ReadyReply{At: a.start}, first
}

// setOutcome notes that a result is stored.
func (a *attempt) setOutcome(task model.TaskID, number int, o model.Outcome, reason string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, ok := a.tasks[task]
	if !ok || number != a.number || t.outcome != "" {
		return
	}
	t.outcome, t.reason = o, reason
	a.poke()
}

// has reports whether this attempt waits for such a result.
func (a *attempt) has(task model.TaskID, number int) bool {
	_, ok := a.tasks[task]
	return ok && number == a.number
}

// voidAfterLoss takes back the tasks of a node that have not ended: they will
// be dispatched again, in order, by the next attempt.
func (a *attempt) voidAfterLoss(node model.NodeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range a.tasks {
		if t.node == node && t.outcome == "" {
			t.void = true
		}
	}
	a.poke()
}

// lose notes that a node was lost; the executor acts on it.
func (a *attempt) lose(node model.NodeID, why string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.lost == nil {
		a.lost = make(map[model.NodeID]string)
	}
	a.lost[node] = why
	a.poke()
}

// takeLost returns the nodes lost since the last call.
func (a *attempt) takeLost() map[model.NodeID]string {
	a.mu.Lock()
	defer a.mu.Unlock()
	lost := a.lost
	a.lost = nil
	return lost
}

// cancel makes every later Ready be answered with a cancel.
func (a *attempt) cancel() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancelled = true
}

func (a *attempt) setStart(at time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.start = at
}

// tally is where an attempt stands.
type tally struct {
	total, ready, open int
	outcomes           map[model.Outcome]int
	worst              time.Duration
	// firstBad is the first task found that did not end well, for people.
	firstBad string
}

// bad is how many tasks did not end well.
func (t tally) bad() int { return t.total - t.open - t.outcomes[model.OutcomeOK] }

func (a *attempt) tally() tally {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := tally{total: len(a.tasks), outcomes: make(map[model.Outcome]int), worst: a.worst}
	for _, w := range a.tasks {
		if w.ready || w.outcome != "" {
			t.ready++
		}
		switch {
		case w.void:
			t.outcomes[model.OutcomeLost]++
		case w.outcome == "":
			t.open++
		default:
			t.outcomes[w.outcome]++
			if w.outcome != model.OutcomeOK && w.outcome != model.OutcomeCancelled && t.firstBad == "" {
				t.firstBad = "node " + string(w.node) + ": " + string(w.outcome) + ": " + w.reason
			}
		}
	}
	return t
}

// openOn returns the tasks without a result, of one node or of all ("").
func (a *attempt) openOn(node model.NodeID) []model.TaskID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var out []model.TaskID
	for id, t := range a.tasks {
		if t.outcome == "" && !t.void && (node == "" || t.node == node) {
			out = append(out, id)
		}
	}
	return out
}

// nodes returns the nodes that take part, each once.
func (a *attempt) nodes() []model.NodeID {
	all := make([]model.TaskID, 0, len(a.tasks))
	for _, t := range a.step.Tasks {
		if _, ok := a.tasks[t.ID]; ok {
			all = append(all, t.ID)
		}
	}
	return a.nodesOf(all)
}

// nodesOf returns the nodes of these tasks, each once.
func (a *attempt) nodesOf(tasks []model.TaskID) []model.NodeID {
	seen := make(map[model.NodeID]bool)
	var out []model.NodeID
	for _, id := range tasks {
		if n := a.nodeOf(id); !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	}
	return out
}

func (a *attempt) nodeOf(task model.TaskID) model.NodeID {
	return a.tasks[task].node // the map itself never changes
}
