package agent

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// repeatReady is how often a prepared task says so again: the answer carries
// the start, should the broadcast have been lost.
const repeatReady = time.Second

// awaitStart waits until the process is prepared and, with a barrier, until
// the master has agreed on a start. It returns the start on this node's clock;
// ok is false when the task must not begin.
func (x *execution) awaitStart(ctx context.Context) (at time.Time, ok bool) {
	timeout := time.NewTimer(x.as.ReadyTimeout)
	if !x.as.Barrier {
		timeout.Stop()
	}
	defer timeout.Stop()
	if !x.awaitPrepared(ctx) {
		return time.Time{}, false
	}
	if !x.measureClock(ctx) {
		return time.Time{}, false
	}
	if !x.as.Barrier {
		return x.agent.cfg.Now(), true
	}
	return x.awaitAgreement(ctx, timeout.C)
}

// awaitPrepared waits for the child to have prepared. When that fails the
// outcome of the process says why.
func (x *execution) awaitPrepared(ctx context.Context) bool {
	for {
		select {
		case err := <-x.proc.Ready():
			return err == nil
		case o := <-x.orders:
			if o.Kind == wire.OrderCancel {
				x.obey(o)
				return false
			}
		case <-ctx.Done():
			x.force(model.OutcomeLost, "the agent was told to stop")
			return false
		}
	}
}

// measureClock finds the server's clock right before the start, when an offset
// is freshest. Without an answer the task cannot begin: its times would mean
// nothing.
func (x *execution) measureClock(ctx context.Context) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := retry(ctx, x.agent.log, "measuring the clock offset", func(ctx context.Context) error {
		var err error
		x.offset, x.bound, err = x.agent.link.Clock(ctx)
		return err
	})
	if err != nil {
		x.force(model.OutcomeLost, "the agent was told to stop")
	}
	return err == nil
}

// awaitAgreement says ready until the master names the start or calls it off.
func (x *execution) awaitAgreement(ctx context.Context, timeout <-chan time.Time) (time.Time, bool) {
	replies := make(chan wire.ReadyReply, 1)
	again := time.NewTicker(repeatReady)
	defer again.Stop()
	x.sayReady(ctx, replies)
	for {
		select {
		case r := <-replies:
			if at, decided, ok := x.agreed(r); decided {
				return at, ok
			}
		case o := <-x.orders:
			if o.Kind == wire.OrderStart {
				return o.At.Add(-x.offset), true
			}
			x.obey(o)
			return time.Time{}, false
		case <-again.C:
			x.sayReady(ctx, replies)
		case <-timeout:
			x.force(model.OutcomeLost, "no start from the server within "+x.as.ReadyTimeout.String())
			return time.Time{}, false
		case <-ctx.Done():
			x.force(model.OutcomeLost, "the agent was told to stop")
			return time.Time{}, false
		}
	}
}

// sayReady asks in the background; an answer that finds no room is dropped,
// for another one is waiting already.
func (x *execution) sayReady(ctx context.Context, replies chan<- wire.ReadyReply) {
	msg := wire.Ready{Node: x.as.Node, Attempt: x.entry.Attempt, ClockOffset: x.offset, ClockError: x.bound}
	go func() {
		ctx, cancel := context.WithTimeout(ctx, 2*repeatReady)
		defer cancel()
		r, err := x.agent.link.Ready(ctx, msg)
		if err != nil {
			x.agent.log.Debug("saying ready", "err", err)
			return
		}
		select {
		case replies <- r:
		default:
		}
	}()
}

// agreed reads an answer to Ready.
func (x *execution) agreed(r wire.ReadyReply) (at time.Time, decided, ok bool) {
	if r.Cancel {
		x.force(model.OutcomeCancelled, "the server has called this attempt off")
		return time.Time{}, true, false
	}
	if r.At.IsZero() {
		return time.Time{}, false, false
	}
	return r.At.Add(-x.offset), true, true
}
