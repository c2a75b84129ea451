package master

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Reasons for which the executor stops waiting.
var (
	errCancelled   = errors.New("cancelled by the user")
	errInterrupted = errors.New("cut short: the scalebench server was stopped")
)

// Times of an attempt.
const (
	// leadBase, and so much more for each node, is how far ahead the start is
	// named: the order must have reached every node by then.
	leadBase    = 30 * time.Millisecond
	leadPerNode = 200 * time.Microsecond
	// endGrace is how long agents may take to report after a cancel.
	endGrace = 10 * time.Second
	// assignmentLife bounds how long a task stays valid on its way, so that a
	// replayed one is not run later. What is sent again is signed again.
	assignmentLife = 5 * time.Minute
)

// runStep brings one step to its end: complete, or invalid once the retry
// policy is used up. An error means that the run cannot go on now.
func (x *execution) runStep(ctx context.Context, step model.Step) (model.StepState, error) {
	budget := &budget{lost: 2}
	if x.exp != nil {
		budget.failed, budget.lost = x.exp.Retries.Failed, x.exp.Retries.Lost
	}
	for {
		tasks := x.openTasks(step)
		if problem, ok := x.nodesReady(ctx, tasks); !ok {
			return model.StepInvalid, x.endStep(ctx, step, model.StepInvalid, problem)
		}
		began := time.Now()
		a, err := x.attempt(ctx, step, tasks)
		if err != nil {
			return model.StepPending, err
		}
		if a.moved != "" {
			return model.StepInvalid, x.endStep(ctx, step, model.StepInvalid, a.moved)
		}
		t := a.tally()
		if t.bad() == 0 {
			x.forecast.Took(step, time.Since(began))
		}
		if t.bad() == 0 || step.Phase == model.Batch && onlyDefinitive(t) {
			return model.StepComplete, x.endStep(ctx, step, model.StepComplete, "")
		}
		why, again := budget.next(t)
		if !again {
			return model.StepInvalid, x.endStep(ctx, step, model.StepInvalid, why)
		}
		x.ev.emit(model.Event{Run: x.run.ID, Step: step.ID, Kind: model.EventRetry, Severity: model.Warning,
			Text: fmt.Sprintf("retrying %s: %s", describe(step), why)})
		a.Lock()
		for id, t := range a.tasks { // of a batch, those that came to an end
			x.settled[id] = x.settled[id] || t.outcome.Definitive()
		}
		a.Unlock()
	}
}

// budget is how often a step may still be tried again.
type budget struct {
	failed, lost int
}

// next decides what follows an attempt that did not end well: again, or not,
// and why. A lost node is told apart from a failed task, for only the latter
// says something about the workload.
func (b *budget) next(t tally) (why string, again bool) {
	lost := t.outcomes[model.OutcomeLost] > 0
	failed := t.outcomes[model.OutcomeFailed]+t.outcomes[model.OutcomeTimeout]+t.outcomes[model.OutcomeRefused] > 0
	why = cmp.Or(t.firstBad, fmt.Sprintf("%d of %d tasks did not succeed", t.bad(), t.total))
	switch {
	case failed:
		b.failed--
		return why, b.failed >= 0
	case lost:
		b.lost--
		return why, b.lost >= 0
	}
	return why, false
}

// onlyDefinitive: in a batch a job that failed is a result like any other; it
// is kept, with its exit code, and the batch goes on.
func onlyDefinitive(t tally) bool {
	for o, n := range t.outcomes {
		if n > 0 && !o.Definitive() {
			return false
		}
	}
	return t.open == 0
}

// attempt dispatches the tasks, agrees on a start, and waits for the results.
func (x *execution) attempt(ctx context.Context, step model.Step, tasks []model.Task) (*attempt, error) {
	if err := x.awaitRoom(ctx); err != nil {
		return nil, err
	}
	if err := x.awaitIdle(ctx); err != nil {
		return nil, err
	}
	shape, err := x.shape(step)
	if err != nil {
		return nil, err
	}
	var number int
	err = x.persist(ctx, "beginning "+describe(step), func() (err error) {
		number, err = x.store.BeginAttempt(ctx, step.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	a := newAttempt(x.run.ID, step, number, tasks)
	a.shape = shape
	x.setCurrent(a)
	defer x.setCurrent(nil)
	x.ev.emit(model.Event{Run: x.run.ID, Step: step.ID, Kind: model.EventStepStarted,
		Text: describe(step), Left: x.left(step)})

	stop, err := x.dispatch(ctx, a, tasks)
	if err != nil {
		return nil, err
	}
	defer stop()
	if step.Barrier && !x.agree(ctx, a) && ctx.Err() == nil {
		x.callOff(ctx, a, "a task could not start")
	}
	x.collect(ctx, a)
	if cause := context.Cause(ctx); cause != nil {
		x.callOff(ctx, a, cause.Error())
		return nil, cause
	}
	a.moved = x.moved(shape)
	return a, nil
}

// agree waits until all nodes are ready and names the start. It returns false
// when some task has ended before it could begin.
func (x *execution) agree(ctx context.Context, a *attempt) bool {
	deadline := time.Now().Add(x.ready(a.step) + x.cfg.Lease)
	for {
		t := a.tally()
		if t.open < t.total {
			return false
		}
		if t.ready == t.total {
			break
		}
		if !x.await(ctx, a, deadline) {
			if ctx.Err() == nil {
				x.giveUp(ctx, a, "", "not ready in time")
			}
			return false
		}
	}
	lead := leadBase + time.Duration(len(a.tasks))*leadPerNode + 4*a.tally().worst
	at := time.Now().Add(lead).UTC()
	a.setStart(at)
	order := wire.Order{Kind: wire.OrderStart, Run: a.run, Step: a.step.ID, Attempt: a.number, At: at}
	x.order(ctx, order, a.nodes, "broadcasting a start failed; agents will ask for it")
	err := x.persist(ctx, "recording a start", func() error {
		return x.store.SetStepStart(ctx, a.step.ID, at)
	})
	return err == nil
}

// collect waits until every task of the attempt has a stored result. In a
// step with a barrier the first task that does not end well ends the others,
// too: from then on they no longer measure with n nodes.
func (x *execution) collect(ctx context.Context, a *attempt) {
	deadline := time.Now().Add(x.patience(a))
	calledOff := false
	for {
		t := a.tally()
		if t.open == 0 {
			return
		}
		if a.step.Barrier && t.bad() > 0 && !calledOff {
			calledOff = true
			x.callOff(ctx, a, "another task of the step ended early: "+t.firstBad)
			deadline = time.Now().Add(endGrace)
			continue // the results may all be here by now
		}
		look := deadline
		if nodes := a.openServices(); len(nodes) > 0 && !calledOff {
			// It is told again until they have ended: an order may be lost.
			order := wire.Order{Kind: wire.OrderOver, Run: a.run, Step: a.step.ID, Attempt: a.number}
			x.order(ctx, order, nodes, "telling services that they may end; telling them again")
			if again := time.Now().Add(releaseEvery); again.Before(deadline) {
				look = again
			}
		}
		if x.await(ctx, a, look) || look.Before(deadline) && ctx.Err() == nil {
			continue
		}
		if ctx.Err() != nil {
			return
		}
		x.giveUp(ctx, a, "", "no result in time")
	}
}

// releaseEvery is how often services are told that they may end.
const releaseEvery = time.Second

// order gives nodes an order. One that is not sent is logged: it is given again, or
// asked for.
func (m *Master) order(ctx context.Context, o wire.Order, nodes []model.NodeID, doing string) {
	if err := m.cfg.Queue.Order(ctx, o, nodes); err != nil && ctx.Err() == nil {
		m.log.Warn(doing, "run", o.Run, "nodes", len(nodes), "err", err)
	}
}

// patience is how long an attempt may take after its start: the longest chain
// of tasks on one node, and a lease for a node that is slow to report.
func (x *execution) patience(a *attempt) time.Duration {
	chain := make(map[model.NodeID]time.Duration)
	var longest time.Duration
	for _, t := range a.order {
		chain[t.Node] += t.Spec.Timeout
		longest = max(longest, chain[t.Node])
	}
	return longest + x.ready(a.step) + x.cfg.Lease
}

// ready is how long nodes may take to prepare a step.
func (x *execution) ready(s model.Step) time.Duration {
	var recovers time.Duration
	for _, t := range s.Tasks {
		if o := t.Spec.Offer; o != nil {
			recovers = max(recovers, o.RecoverWithin)
		}
	}
	return x.timeouts.ready + recovers
}

// await waits for a change of the attempt, and gives up what was to come from
// nodes that were lost. It returns false at the deadline or when ctx is done. The
// deadline moves while results are held up.
func (x *execution) await(ctx context.Context, a *attempt, deadline time.Time) bool {
	for {
		deadline = x.extended(deadline)
		left := time.Until(deadline)
		if left <= 0 {
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-a.changed:
			for node, why := range a.takeLost() {
				x.giveUp(ctx, a, node, why)
			}
			return true
		case <-time.After(left):
		}
	}
}

// callOff tells the agents to end the attempt, and waits a little for their
// word that they did. It does so even when the run has been cut, and ends in
// time even when the store fails.
func (x *execution) callOff(ctx context.Context, a *attempt, reason string) {
	ctx, cancel := x.ending(ctx, endGrace, stopTasks)
	defer cancel()
	a.cancel()
	order := wire.Order{Kind: wire.OrderCancel, Run: a.run, Step: a.step.ID, Attempt: a.number, Reason: reason}
	x.order(ctx, order, a.nodes, "calling an attempt off")
	deadline := time.Now().Add(endGrace)
	for a.tally().open > 0 && x.await(ctx, a, deadline) {
	}
}

// giveUp records the tasks without a result as lost: those of one node, or
// all (""). Should a result arrive all the same, it comes second and is not
// stored.
func (x *execution) giveUp(ctx context.Context, a *attempt, node model.NodeID, reason string) {
	for _, t := range a.openOn(node) {
		r := a.ended(t, model.OutcomeLost, reason)
		err := x.persist(ctx, "recording a lost task", func() error {
			stored, err := x.store.PutResult(ctx, r)
			if err == nil && stored {
				x.ev.emit(endedEvent(r))
			} else if err == nil {
				var kept model.Result // which came first
				if kept, err = x.store.Head(ctx, t.ID, a.number); err == nil {
					r = kept
				}
			}
			return err
		})
		if err != nil {
			x.log.Warn("recording a lost task", "task", t.ID, "err", err)
		}
		a.setOutcome(t.ID, a.number, r.Outcome, r.Error)
	}
}

func (x *execution) setCurrent(a *attempt) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.current = a
}

// endStep stores a step's state and tells people.
func (x *execution) endStep(ctx context.Context, step model.Step, state model.StepState, reason string) error {
	err := x.persist(ctx, "ending "+describe(step), func() error {
		return x.store.SetStepState(ctx, step.ID, state, reason)
	})
	ev := model.Event{Run: x.run.ID, Step: step.ID, Kind: model.EventStepEnded,
		Text: describe(step) + ": " + string(state)}
	if state == model.StepInvalid {
		for i := range x.steps {
			if x.steps[i].ID == step.ID {
				x.steps[i].Reason = reason
			}
		}
		ev.Severity = model.Warning
		ev.Text += ": " + reason
	}
	x.ev.emit(ev)
	return err
}

// describe names a step for people.
func describe(s model.Step) string {
	if s.Phase == model.Batch {
		return fmt.Sprintf("batch of %d tasks", len(s.Tasks))
	}
	on := s.Subjects()
	where := num.Count(len(on), string(s.Of()))
	if len(on) == 1 {
		where = on[0]
	}
	return fmt.Sprintf("%s, trial %d, %s on %s", s.Workload, s.Trial, cmp.Or(s.Label, string(s.Phase)), where)
}
