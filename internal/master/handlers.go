package master

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Hello admits a node that has started, or that has found this server again.
func (m *Master) Hello(ctx context.Context, h wire.Hello) (wire.HelloReply, error) {
	now := m.cfg.Now()
	h.Node.Registered = now.UTC()
	if err := m.cfg.Queue.EnsureNode(ctx, h.Node.ID, h.Node.PublicKey); err != nil {
		return wire.HelloReply{}, fmt.Errorf("preparing the queue of node %s: %w", h.Node.ID, err)
	}
	err := m.cfg.Store.PutNode(ctx, h.Node)
	m.storeAnswered(err)
	if err != nil {
		return wire.HelloReply{}, fmt.Errorf("recording node %s: %w", h.Node.ID, err)
	}
	c := m.reg.hello(h, now)
	if c.from == model.NodeLost || c.from == model.NodeLeft {
		m.tell(model.Event{Node: h.Node.ID, Kind: model.EventNodeJoined, Severity: model.Info,
			Text: fmt.Sprintf("node %s has joined", h.Node.ID)})
	}
	m.nodeChanged(c, "its agent was replaced by one with another identity")
	return wire.HelloReply{Lease: m.cfg.Lease, Heartbeat: m.cfg.Heartbeat, Version: m.cfg.Version}, nil
}

// Heartbeat notes that a node lives.
func (m *Master) Heartbeat(h wire.Heartbeat) {
	if c, ok := m.reg.heartbeat(h, m.cfg.Now()); ok {
		m.nodeChanged(c, "")
	}
}

// Goodbye notes that an agent leaves of its own will.
func (m *Master) Goodbye(g wire.Goodbye) {
	if n, ok := m.reg.get(g.Node); !ok || n.session != g.Session {
		return // a former agent process; its successor is here already
	}
	if c, ok := m.reg.gone(g.Node, model.NodeLeft); ok {
		m.nodeChanged(c, "its agent left in mid-task")
	}
}

// Ready notes that a task is prepared and says when it starts, once that is
// agreed. Attempts that nobody waits for are called off.
func (m *Master) Ready(_ context.Context, r wire.Ready) (wire.ReadyReply, error) {
	a := m.currentAttempt()
	if a == nil {
		return wire.ReadyReply{Cancel: true}, nil
	}
	reply, first := a.setReady(r)
	if first {
		m.ev.emit(model.Event{Run: a.run, Step: a.step.ID, Task: r.Task, Node: r.Node,
			Kind: model.EventTaskReady, Severity: model.Info, Text: fmt.Sprintf("node %s is ready", r.Node)})
	}
	return reply, nil
}

// Result stores a result and confirms it only then.
func (m *Master) Result(ctx context.Context, r model.Result) wire.ResultReply {
	stored, err := m.cfg.Store.PutResult(ctx, r)
	m.storeAnswered(err)
	switch {
	case errors.Is(err, model.ErrInvalid), errors.Is(err, model.ErrUsage):
		return m.refuseResult(ctx, r, err)
	case errors.Is(err, model.ErrStale), errors.Is(err, model.ErrNotFound):
		return wire.ResultReply{Dropped: true, Reason: err.Error()}
	case err != nil:
		return wire.ResultReply{Reason: err.Error()}
	}
	if err := m.noteResult(ctx, r); err != nil {
		return wire.ResultReply{Reason: err.Error()}
	}
	if stored {
		m.ev.emit(endedEvent(r))
	}
	return wire.ResultReply{Stored: true}
}

// refuseResult puts a failed result in the place of one that can never be
// stored, because it holds values that are no numbers: the attempt has ended,
// and why must not be lost.
func (m *Master) refuseResult(ctx context.Context, r model.Result, why error) wire.ResultReply {
	bare := model.Result{
		Run: r.Run, Step: r.Step, Task: r.Task, Attempt: r.Attempt, Node: r.Node,
		Outcome: model.OutcomeFailed, Error: fmt.Sprintf("its result cannot be stored: %v", why),
		Started: r.Started, Ended: r.Ended, ClockOffset: r.ClockOffset, ClockError: r.ClockError,
	}
	if r.Outcome == model.OutcomeFailed && len(r.Samples)+len(r.Series) == 0 {
		return wire.ResultReply{Dropped: true, Reason: why.Error()} // this is such a result already
	}
	return m.Result(ctx, bare)
}

// noteResult tells the waiting executor. When a job of a batch was lost, the
// jobs behind it on that node are taken back before the agent may fetch the
// next: jobs run in order or not at all.
func (m *Master) noteResult(ctx context.Context, r model.Result) error {
	a := m.currentAttempt()
	if a == nil {
		return nil
	}
	if a.step.Phase == model.Batch && !r.Outcome.Definitive() && a.number == r.Attempt {
		if err := m.cfg.Queue.PurgeTasks(ctx, []model.NodeID{r.Node}); err != nil {
			return fmt.Errorf("taking back the jobs after a lost one: %w", err)
		}
		a.setOutcome(r.Task, r.Attempt, r.Outcome, r.Error)
		a.voidAfterLoss(r.Node)
		return nil
	}
	a.setOutcome(r.Task, r.Attempt, r.Outcome, r.Error)
	return nil
}

func endedEvent(r model.Result) model.Event {
	ev := model.Event{Run: r.Run, Step: r.Step, Task: r.Task, Node: r.Node,
		Kind: model.EventTaskEnded, Severity: model.Info, Text: fmt.Sprintf("node %s: %s", r.Node, r.Outcome)}
	if r.Outcome != model.OutcomeOK && r.Outcome != model.OutcomeCancelled {
		ev.Severity = model.Warning
		ev.Text += ": " + r.Error
	}
	return ev
}

// Chunk stores a part of an artifact of the node's own task.
func (m *Master) Chunk(ctx context.Context, c wire.Chunk) error {
	owner, err := m.ownerOf(ctx, c.Task)
	if err != nil {
		return err
	}
	if owner != c.Node {
		return fmt.Errorf("%w: task %s is not node %s's", model.ErrNotFound, c.Task, c.Node)
	}
	err = m.cfg.Store.PutArtifactChunk(ctx, c.Task, c.Attempt.Attempt, c.Name, c.Offset, c.Data)
	m.storeAnswered(err)
	return err
}

// ownerOf returns the node that a task belongs to. Artifacts come in many
// parts, so the answers for one run are kept.
func (m *Master) ownerOf(ctx context.Context, task model.TaskID) (model.NodeID, error) {
	run, _, _ := strings.Cut(string(task), "/")
	m.mu.Lock()
	owner, ok := m.owners[task]
	m.mu.Unlock()
	if ok {
		return owner, nil
	}
	data, err := m.cfg.Store.Data(ctx, model.RunID(run))
	if err != nil {
		return "", err
	}
	owners := make(map[model.TaskID]model.NodeID)
	for _, s := range data.Steps {
		for _, t := range s.Tasks {
			owners[t.ID] = t.Node
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.owners = owners
	return owners[task], nil
}

// Progress passes a live point on to whoever watches.
func (m *Master) Progress(p wire.Progress) {
	m.ev.emit(model.Event{Run: p.Run, Step: p.Step, Task: p.Task, Node: p.Node,
		Kind: model.EventProgress, Severity: model.Info, Progress: &p.Progress})
}

// Report passes on what an agent wants people to know.
func (m *Master) Report(r wire.Report) {
	ev := r.Event
	ev.Node = r.Node
	m.log.Warn("a node reports", "node", r.Node, "kind", ev.Kind, "text", ev.Text)
	m.ev.emit(ev)
}

func (m *Master) currentAttempt() *attempt {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.current
}

func (m *Master) setCurrent(a *attempt) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.current = a
}
