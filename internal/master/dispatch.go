package master

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// The queue carries and keeps nothing. So the master sends each node its task,
// and again, until a Heartbeat, Ready or Result of the node shows that it has
// it; at once when the node says Hello, for its agent or its connection is a
// new one then. The agent's journal makes that harmless: an attempt is run at
// most once.
//
// An attempt is over when every task of it has a stored result, also if that is
// "lost", or when it was cancelled. From then on nothing of it is sent; tasks
// that still run are called off, and a second result is not stored. A server
// that was restarted knows no attempt: the execution that resumes the run begins
// a new one, and sends that.

const (
	// sendAgainAfter is how many heartbeats a node has to show that it has a
	// task.
	sendAgainAfter = 2
	// So many tasks are sent at once, and then the next after a pause: agents
	// read the server's clock when they have prepared, and a thousand that did
	// so in the same moment would wait for each other, find their readings bad,
	// and read three times as often.
	sendBurst = 64
	sendPause = 25 * time.Millisecond
)

// dispatch sends every node its first task, and goes on sending what is due
// until the returned function is called.
func (x *execution) dispatch(ctx context.Context, a *attempt, tasks []model.Task) (stop func(), err error) {
	book := x.addresses(a.shape.Links)
	if err := book.check(a.step, tasks); err != nil {
		return nil, fmt.Errorf("dispatching %s: %w", describe(a.step), err)
	}
	x.send(ctx, a, book)
	// A node that went away while this was being prepared did not tell.
	gone, _ := x.reg.missing(a.nodes)
	for _, n := range gone {
		a.lose(n, "it is not connected")
	}
	ctx, cancel := context.WithCancel(ctx)
	var sender sync.WaitGroup
	sender.Go(func() {
		tick := time.NewTicker(heartbeat)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-a.unsent:
			}
			x.send(ctx, a, book)
		}
	})
	return func() { cancel(); sender.Wait() }, nil
}

// send sends what is due, burst by burst.
func (x *execution) send(ctx context.Context, a *attempt, book addressBook) {
	due := a.due(time.Now(), sendAgainAfter*heartbeat)
	for len(due) > sendBurst && ctx.Err() == nil {
		x.sendBurst(ctx, a, due[:sendBurst], book)
		due = due[sendBurst:]
		select {
		case <-ctx.Done():
		case <-time.After(sendPause):
		}
	}
	x.sendBurst(ctx, a, due, book)
}

// sendBurst uses all processors: signing and encrypting a task takes longer
// than sending it. A task that cannot travel has failed.
func (x *execution) sendBurst(ctx context.Context, a *attempt, tasks []*awaited, book addressBook) {
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, t := range tasks {
		g.Go(func() error {
			err := x.cfg.Queue.Dispatch(x.assignment(a, t.Task, book))
			switch {
			case errors.Is(err, model.ErrUnavailable):
				x.log.Warn("a task was not sent; sending it again", "err", err)
			case err != nil:
				x.Result(ctx, a.ended(t.Task, model.OutcomeFailed, model.Plain(err)))
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error
}

// assignment is what a node's agent needs to run a task.
func (x *execution) assignment(a *attempt, t model.Task, book addressBook) wire.Assignment {
	n, _ := x.reg.get(t.Node)
	now := time.Now().UTC()
	return wire.Assignment{
		Run: x.run.ID, Step: a.step.ID, Task: t.ID, Attempt: a.number,
		Node: t.Node, NodeKey: n.node.PublicKey,
		Barrier: a.step.Barrier, Spec: x.inPlace(t.Spec, a.step, book), ReadyTimeout: x.ready(a.step),
		Self: book[t.Node], Peers: book.hosts(t.Spec.Peers), Clients: book.hosts(t.Spec.Clients),
		Issued: now, Expires: now.Add(assignmentLife),
	}
}

// attempt is one attempt at a step while the master waits for it. Messages
// change it from their goroutines; the executor waits for its changes.
type attempt struct {
	run    model.RunID
	step   model.Step
	number int
	nodes  []model.NodeID // those that take part, each once
	// shape is that of the fleet when it began, and moved what became of it since.
	shape model.Shape
	moved string
	jobs  jobQueue

	sync.Mutex
	tasks     map[model.TaskID]*awaited
	order     []*awaited // the same, in the order of the step
	start     time.Time  // agreed start; zero before
	cancelled bool
	lost      map[model.NodeID]string // nodes lost since the executor looked, with why
	worst     time.Duration           // largest clock error bound among the ready nodes
	changed   chan struct{}           // holds a token when something has changed
	unsent    chan struct{}           // holds a token when a task is to be sent
}

// awaited is a task of the attempt.
type awaited struct {
	model.Task
	sent    time.Time // when it was last sent to its node; zero before
	held    bool      // its agent has shown that it has it
	ready   bool
	outcome model.Outcome // empty until there is a stored result
	reason  string
	// void: it was taken back before it was sent.
	void bool
}

func newAttempt(run model.RunID, step model.Step, number int, tasks []model.Task) *attempt {
	a := &attempt{
		run: run, step: step, number: number, nodes: nodesOf(tasks),
		tasks:   make(map[model.TaskID]*awaited, len(tasks)),
		changed: make(chan struct{}, 1),
		unsent:  make(chan struct{}, 1),
	}
	for _, t := range tasks {
		w := &awaited{Task: t}
		a.tasks[t.ID], a.order = w, append(a.order, w)
	}
	return a
}

// ended is the result of a task that left none of its own.
func (a *attempt) ended(t model.Task, o model.Outcome, why string) model.Result {
	return model.Result{Run: a.run, Step: a.step.ID, Task: t.ID, Attempt: a.number, Node: t.Node, Outcome: o, Error: why}
}

// notify leaves a token for who waits for one.
func notify(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// due returns the tasks to send now: of each node the first that is open, if
// its agent has not shown that it has it and it was not sent for a while. A
// node has one task at a time, so that the jobs of a batch run in order. They
// count as sent.
func (a *attempt) due(now time.Time, again time.Duration) []*awaited {
	a.Lock()
	defer a.Unlock()
	if a.cancelled {
		return nil
	}
	var out []*awaited
	busy := make(map[model.NodeID]bool)
	for _, t := range a.order {
		if t.outcome != "" || t.void || busy[t.Node] {
			continue
		}
		busy[t.Node] = true
		if !t.held && now.Sub(t.sent) >= again {
			t.sent = now
			out = append(out, t)
		}
	}
	return out
}

// noteHeld notes that a node has shown that it has a task.
func (a *attempt) noteHeld(node model.NodeID, at wire.Attempt) {
	a.Lock()
	defer a.Unlock()
	if t, ok := a.tasks[at.Task]; ok && t.Node == node && at.Attempt == a.number {
		t.held = true
	}
}

// has reports whether a live point is of a task of the attempt, on that node.
func (a *attempt) has(p wire.Progress) bool {
	a.Lock()
	defer a.Unlock()
	t, ok := a.tasks[p.Task]
	return ok && t.Node == p.Node && p.Step == a.step.ID && p.Attempt.Attempt == a.number
}

// sendAgain notes that a node's connection or agent is a new one, which may not
// have what was sent before.
func (a *attempt) sendAgain(node model.NodeID) {
	a.Lock()
	defer a.Unlock()
	for _, t := range a.order {
		if t.Node == node {
			t.held, t.sent = false, time.Time{}
		}
	}
	notify(a.unsent)
}

// maxClockError is the largest error of a clock that a common start can allow for. It is half
// of the shortest of several round trips: a node that is further away than that cannot start
// with others.
const maxClockError = 5 * time.Second

// setReady notes that a task is prepared, and answers its agent. A node that does not know
// the time well enough is left out, so that it moves nobody else's start.
func (a *attempt) setReady(r wire.Ready) (reply wire.ReadyReply, first bool) {
	a.Lock()
	defer a.Unlock()
	t, ok := a.tasks[r.Task]
	if !ok || t.Node != r.Node || r.Attempt.Attempt != a.number || a.cancelled {
		return wire.ReadyReply{Cancel: true}, false
	}
	common := len(a.tasks) > 1
	if common && (r.ClockError < 0 || r.ClockError > maxClockError) {
		a.leaveOut(r.Node, fmt.Sprintf("its clock may be wrong by %v against the server's, and a common start "+
			"allows for %v: is its connection very slow, or its machine starved?", r.ClockError, maxClockError))
		return wire.ReadyReply{Cancel: true}, false
	}
	first = !t.ready
	t.ready, t.held = true, true
	if common {
		a.worst = max(a.worst, r.ClockError)
	}
	if first {
		notify(a.changed)
	}
	return wire.ReadyReply{At: a.start}, first
}

// setOutcome notes that a result is stored. When a job of a batch was lost, the
// jobs behind it on that node are taken back: jobs run in order or not at all.
// They will be sent again, in order, by the next attempt.
func (a *attempt) setOutcome(task model.TaskID, number int, o model.Outcome, reason string) {
	a.Lock()
	defer a.Unlock()
	t, ok := a.tasks[task]
	if !ok || number != a.number || t.outcome != "" {
		return
	}
	t.outcome, t.reason = o, reason
	if a.step.Phase == model.Batch {
		for _, behind := range a.order {
			if !o.Definitive() && behind.Node == t.Node && behind.outcome == "" {
				behind.void = true
			}
		}
		notify(a.unsent)
	}
	notify(a.changed)
}

// lose notes that a node was lost; the executor acts on it.
func (a *attempt) lose(node model.NodeID, why string) {
	a.Lock()
	defer a.Unlock()
	a.leaveOut(node, why)
}

// leaveOut is lose, with the lock held.
func (a *attempt) leaveOut(node model.NodeID, why string) {
	if a.lost == nil {
		a.lost = make(map[model.NodeID]string)
	}
	a.lost[node] = why
	notify(a.changed)
}

// takeLost returns the nodes lost since the last call.
func (a *attempt) takeLost() map[model.NodeID]string {
	a.Lock()
	defer a.Unlock()
	lost := a.lost
	a.lost = nil
	return lost
}

// cancel makes every later Ready be answered with a cancel, and takes back what
// was not sent yet.
func (a *attempt) cancel() {
	a.Lock()
	defer a.Unlock()
	a.cancelled = true
	for _, t := range a.order {
		t.void = t.void || t.outcome == "" && t.sent.IsZero() && !t.held
	}
}

func (a *attempt) setStart(at time.Time) {
	a.Lock()
	defer a.Unlock()
	a.start = at
}

// tally is where an attempt stands.
type tally struct {
	total, ready, open int
	outcomes           map[model.Outcome]int
	worst              time.Duration
	// firstBad is the first task of the step that did not end well, for people.
	firstBad string
}

// bad is how many tasks did not end well.
func (t tally) bad() int { return t.total - t.open - t.outcomes[model.OutcomeOK] }

func (a *attempt) tally() tally {
	a.Lock()
	defer a.Unlock()
	t := tally{total: len(a.tasks), outcomes: make(map[model.Outcome]int), worst: a.worst}
	for _, w := range a.order {
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
				t.firstBad = "node " + string(w.Node) + ": " + string(w.outcome) + ": " + w.reason
			}
		}
	}
	return t
}

// openServices returns the nodes of services that are the only tasks of the step
// which are not over: none measures any more. There are none while one does.
func (a *attempt) openServices() (nodes []model.NodeID) {
	a.Lock()
	defer a.Unlock()
	for _, t := range a.order {
		switch {
		case t.outcome != "" || t.void:
		case t.Spec.Kind != model.KindService:
			return nil
		default:
			nodes = append(nodes, t.Node)
		}
	}
	return nodes
}

// openOn returns the tasks without a result, of one node or of all ("").
func (a *attempt) openOn(node model.NodeID) (open []model.Task) {
	a.Lock()
	defer a.Unlock()
	for _, t := range a.order {
		if t.outcome == "" && !t.void && (node == "" || t.Node == node) {
			open = append(open, t.Task)
		}
	}
	return open
}

// nodesOf returns the nodes of tasks, each once.
func nodesOf(tasks []model.Task) []model.NodeID {
	seen := make(map[model.NodeID]bool)
	var out []model.NodeID
	for _, t := range tasks {
		if !seen[t.Node] {
			seen[t.Node] = true
			out = append(out, t.Node)
		}
	}
	return out
}
