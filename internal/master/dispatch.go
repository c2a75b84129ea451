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
// An attempt is over when every task of it has a stored result, be it one that
// says "lost", or when it was cancelled. Nothing of it is sent from then on;
// whatever still runs is called off, and what it delivers comes second and is
// not stored. A server that was restarted knows no attempt: the execution that
// resumes the run begins a new one, and sends that.

const (
	// sendAgainAfter is how many heartbeats a node has to show that it has a
	// task.
	sendAgainAfter = 2
	// So many tasks are sent at once, and then the next after a pause: agents
	// read the server's clock when they have prepared, and a thousand that did
	// so in the same moment would wait for each other, find their readings bad,
	// and read three times as often.
	sendBurst = 64
	sendPause = 40 * time.Millisecond
)

// dispatch sends every node its first task, and goes on sending what is due
// until the returned function is called.
func (x *execution) dispatch(ctx context.Context, a *attempt, tasks []model.Task) (stop func(), err error) {
	book := x.addresses()
	if err := book.check(tasks); err != nil {
		return nil, fmt.Errorf("dispatching %s: %w", describe(a.step), err)
	}
	x.send(ctx, a, book)
	// A node that went away while this was being prepared did not tell.
	gone, _ := x.m.reg.missing(a.nodes)
	for _, n := range gone {
		a.lose(n, "it is not here")
	}
	ctx, cancel := context.WithCancel(ctx)
	var sender sync.WaitGroup
	sender.Go(func() {
		tick := time.NewTicker(x.m.cfg.Heartbeat)
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
	due := a.due(x.m.cfg.Now(), sendAgainAfter*x.m.cfg.Heartbeat)
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
			as := x.assignment(a, t.Task, book)
			err := x.m.cfg.Queue.Dispatch(as)
			switch {
			case errors.Is(err, model.ErrUnavailable):
				x.m.log.Warn("a task is not on its way; it is sent again", "err", err)
			case err != nil:
				x.m.Result(ctx, model.Result{
					Run: as.Run, Step: as.Step, Task: as.Task, Attempt: as.Attempt, Node: as.Node,
					Outcome: model.OutcomeFailed, Error: err.Error(),
				})
			}
			return nil
		})
	}
	_ = g.Wait() // none returns an error
}

// assignment is what a node's agent needs to run a task.
func (x *execution) assignment(a *attempt, t model.Task, book addressBook) wire.Assignment {
	n, _ := x.m.reg.get(t.Node)
	now := x.m.cfg.Now().UTC()
	return wire.Assignment{
		Run: x.run.ID, Step: a.step.ID, Task: t.ID, Attempt: a.number,
		Node: t.Node, NodeKey: n.node.PublicKey,
		Barrier: a.step.Barrier, Spec: x.inPlace(t.Spec), ReadyTimeout: x.timeouts.ready,
		Self: book[t.Node], Peers: book.hosts(t.Spec.Peers), Clients: book.hosts(t.Spec.Clients),
		Issued: now, Expires: now.Add(assignmentLife),
	}
}
