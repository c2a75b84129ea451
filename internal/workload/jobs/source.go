package jobs

import (
	"context"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/internal/workload/jobs/natsqueue"
)

// source is a queue as slots use it.
type source interface {
	// next hands in a result, unless it is nil, and then takes an item, if take is set. It
	// returns once what it says of the result is durable. An error ends the task.
	next(ctx context.Context, result *jobs.Record, take bool) (turn, error)
	// renew keeps the items that are worked on, and returns leases that are over.
	renew(ctx context.Context, leases []uint64) (lost []uint64, err error)
	// free reports whether items can be given back without using up a try.
	free() bool
	// close gives back what is still held, and ends the connection.
	close()
}

// turn is what a queue says to a slot.
type turn struct {
	lease   *jobs.Lease    // nil: there is nothing to take now
	item    natsqueue.Item // what its message says, if it has one
	counts  bool           // the result that was handed in is the one of its item
	drained bool           // there never will be anything
	again   time.Duration
}

// builtin is the server's queue.
type builtin struct {
	call func(context.Context, jobs.Call) (jobs.Reply, error)
}

// openBuiltin opens the queue of the step, and waits until its items are known: the first
// of the nodes names them.
func (p *Params) openBuiltin(ctx context.Context, env *workload.Env, names []string) (*builtin, error) {
	q := &builtin{call: env.Jobs}
	open := &jobs.Open{Endless: p.Duration > 0, Lease: p.Lease.Std(), Tries: p.Tries}
	if named := p.Stage != nil || p.Items != nil && p.Items.Count == 0; !named {
		open.Count = 1 // without names an endless queue counts on
		if p.Items != nil {
			open.Count = p.Items.Count
		}
	}
	for from := 0; env.Part == 0 && from < len(names); from += jobs.MaxAdd {
		to := min(from+jobs.MaxAdd, len(names))
		add := &jobs.Add{From: int64(from), Names: names[from:to], Last: to == len(names)}
		if _, err := q.call(ctx, jobs.Call{Open: open, Add: add}); err != nil {
			return nil, err
		}
	}
	for {
		reply, err := q.call(ctx, jobs.Call{Open: open})
		if err != nil || reply.State.Ready {
			return q, err
		}
		if err := workload.Pause(ctx, askAgain); err != nil {
			return nil, err
		}
	}
}

// askAgain is the time between two questions whether items are known.
const askAgain = 200 * time.Millisecond

func (q *builtin) next(ctx context.Context, result *jobs.Record, take bool) (turn, error) {
	var c jobs.Call
	if result != nil {
		c.Finish = []jobs.Record{*result}
	}
	if take {
		c.Take = 1
	}
	if result == nil && !take {
		return turn{}, nil
	}
	reply, err := q.call(ctx, c)
	if err != nil {
		return turn{}, err
	}
	t := turn{drained: reply.State.Drained, again: reply.Again}
	t.counts = result != nil && !slices.Contains(reply.Refused, result.Lease)
	if len(reply.Leases) > 0 {
		t.lease = &reply.Leases[0]
	}
	return t, nil
}

func (q *builtin) renew(ctx context.Context, leases []uint64) ([]uint64, error) {
	reply, err := q.call(ctx, jobs.Call{Renew: leases})
	return reply.Lost, err
}

func (q *builtin) free() bool { return true }

// close needs to give back nothing: the leases end with the attempt.
func (q *builtin) close() {}
