package master

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Hello admits a node that has started, or that has found this server again.
func (m *Master) Hello(ctx context.Context, h wire.Hello) (wire.HelloReply, error) {
	if err := checkAddress(h.Node.ID, h.Node.Labels[model.LabelAddress]); err != nil {
		return wire.HelloReply{}, err
	}
	now := time.Now()
	h.Node.Registered, h.Node.Left = now.UTC(), time.Time{}
	err := m.store.PutNode(ctx, h.Node)
	m.storeAnswered(ctx, err)
	if err != nil {
		return wire.HelloReply{}, fmt.Errorf("recording node %s: %w", h.Node.ID, err)
	}
	c := m.reg.hello(h, time.Now()) // only from now on can it be given a task
	if c.from == model.NodeLost || c.from == model.NodeLeft {
		m.tell(model.Event{Node: h.Node.ID, Kind: model.EventNodeJoined,
			Text: fmt.Sprintf("node %s has joined", h.Node.ID)})
	}
	m.nodeChanged(c, "an agent with another identity replaced its agent")
	if a := m.attemptOn(h.Node.ID); a != nil && (!c.replaced || !c.rekeyed) {
		a.sendAgain(h.Node.ID)
		for _, at := range h.Holding {
			a.noteHeld(h.Node.ID, at)
		}
	}
	return wire.HelloReply{Lease: m.cfg.Lease, Heartbeat: heartbeat, Version: m.cfg.Version}, nil
}

// Heartbeat notes that a node lives.
func (m *Master) Heartbeat(h wire.Heartbeat) {
	c, ok := m.reg.heartbeat(h, time.Now())
	if ok && c.from != c.to {
		m.nodeChanged(c, "")
	}
	if ok && c.tell {
		m.tellTrouble(h.Node, h.Trouble)
	}
	if h.Running == nil {
		return
	}
	if a := m.attemptOf(h.Running.Task.Run()); a != nil {
		a.noteHeld(h.Node, *h.Running)
	}
}

// Goodbye notes that an agent leaves of its own will. The agent does not wait
// for a store that fails: then only this server knows.
func (m *Master) Goodbye(ctx context.Context, g wire.Goodbye) {
	n, ok := m.reg.get(g.Node)
	if !ok || n.session != g.Session {
		return // a former agent process; its successor is here already
	}
	if g.Owes && n.status.Up() {
		// Its result is on its way. Should it not come, the task is lost as with every
		// agent that leaves.
		a := m.attemptOn(g.Node)
		c, _ := m.reg.gone(g.Node, model.NodeLeft)
		m.tellChange(c, "")
		if a != nil {
			time.AfterFunc(owedFor, func() { a.lose(g.Node, "its agent left, and the result of its task did not come") })
		}
	} else if c, ok := m.reg.gone(g.Node, model.NodeLeft); ok {
		m.nodeChanged(c, "its agent left during the task")
	}
	if n.node.Managed() {
		return // agents of a run's fleet leave with it; nothing else is to be known
	}
	n.node.Left = time.Now().UTC()
	err := m.store.PutNode(ctx, n.node)
	m.storeAnswered(ctx, err)
	if err != nil {
		m.log.Warn("noting that a node has left", "node", g.Node, "err", err)
	}
}

// owedFor is how long the result of an agent that leaves may take to come.
const owedFor = 5 * time.Second

// Ready notes that a task is prepared and returns its start, once that is
// agreed. It calls off attempts that the run no longer waits for.
func (m *Master) Ready(_ context.Context, r wire.Ready) (wire.ReadyReply, error) {
	a := m.attemptOf(r.Task.Run())
	if a == nil {
		return wire.ReadyReply{Cancel: true}, nil
	}
	reply, first := a.setReady(r)
	if first {
		m.ev.emit(model.Event{Run: a.run, Step: a.step.ID, Task: r.Task, Node: r.Node,
			Kind: model.EventTaskReady, Text: fmt.Sprintf("node %s is ready", r.Node)})
	}
	return reply, nil
}

// Result stores a result and confirms it only then.
func (m *Master) Result(ctx context.Context, r model.Result) wire.ResultReply {
	stored, err := m.store.PutResult(ctx, r)
	m.storeAnswered(ctx, err)
	switch {
	case errors.Is(err, model.ErrInvalid), errors.Is(err, model.ErrUsage):
		// A failed result takes the place of one that can never be stored, because it
		// holds values that are no numbers.
		if r.Outcome == model.OutcomeFailed && len(r.Samples)+len(r.Series) == 0 {
			return wire.ResultReply{Dropped: true, Reason: err.Error()} // this is such a result already
		}
		return m.Result(ctx, wire.Failed(r, fmt.Sprintf("its result cannot be stored: %v", err)))
	case errors.Is(err, model.ErrStale), errors.Is(err, model.ErrNotFound):
		m.noteEnded(r)
		return wire.ResultReply{Dropped: true, Reason: err.Error()}
	case err != nil:
		return wire.ResultReply{Reason: err.Error()}
	}
	m.noteEnded(r)
	if stored {
		m.ev.emit(endedEvent(r))
	} else if r, err = m.store.Head(ctx, r.Task, r.Attempt); err != nil {
		// When two meet, one that the agent delivers and one that was given up as
		// lost, what the store kept decides, not who came back from it first.
		return wire.ResultReply{Reason: err.Error()}
	}
	if a := m.attemptOf(r.Task.Run()); a != nil {
		a.setOutcome(r.Task, r.Attempt, r.Outcome, r.Error)
	}
	return wire.ResultReply{Stored: true}
}

func endedEvent(r model.Result) model.Event {
	ev := model.Event{Run: r.Run, Step: r.Step, Task: r.Task, Node: r.Node,
		Kind: model.EventTaskEnded, Text: fmt.Sprintf("node %s: %s", r.Node, r.Outcome)}
	if r.Outcome != model.OutcomeOK && r.Outcome != model.OutcomeCancelled {
		ev.Severity = model.Warning
		ev.Text += ": " + r.Error
	}
	return ev
}

// Progress passes a live point on to watchers. A node may tell only of a task that it has.
func (m *Master) Progress(p wire.Progress) {
	if a := m.attemptOf(p.Run); a == nil || !a.has(p) {
		return
	}
	ev := model.Event{Run: p.Run, Step: p.Step, Task: p.Task, Node: p.Node, Kind: model.EventProgress}
	for _, s := range p.Stages {
		ev.Kind, ev.Text, ev.Stage = model.EventStage, s.Text(), &s
		m.ev.emit(ev)
	}
	switch {
	case len(p.Stages) > 0:
		return
	case len(p.Live) > 0:
		ev.Kind, ev.Values = model.EventValues, p.Live
	default:
		ev.Progress = &p.Progress
	}
	m.ev.emit(ev)
}

// Cut notes that the queue cut off a sender that broke the form of messages.
func (m *Master) Cut(g identity.Grant, text string) {
	ev := model.Event{Kind: model.EventCutOff, Severity: model.Problem, Text: text}
	if g.Role == identity.RoleAgent {
		ev.Node = g.Node
	}
	m.tell(ev)
}

// Report passes on what an agent wants people to know: that it refused a task.
// What else it says is not believed; an agent must not write a run's history.
func (m *Master) Report(r wire.Report) {
	m.log.Warn("a node reports", "node", r.Node, "kind", r.Event.Kind, "text", r.Event.Text)
	if r.Event.Kind != model.EventTaskRefused {
		return
	}
	m.tell(model.Event{Node: r.Node, Task: r.Event.Task, Kind: model.EventTaskRefused,
		Severity: model.Problem, Text: r.Event.Text})
}
