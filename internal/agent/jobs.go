package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// jobs passes a call of the task on to the queue of its step, again and again until the
// server answers or the task ends. The number tells the server which calls are the same.
func (x *execution) jobs(ctx context.Context, number uint64, c jobs.Call) (jobs.Reply, error) {
	msg := wire.JobCall{Attempt: x.entry.Attempt, Node: x.as.Node, Number: number, Call: c}
	var reply wire.JobReply
	var refused error
	err := retry(ctx, x.agent.log, "calling the queue of items", func(ctx context.Context) (err error) {
		reply, err = x.agent.link.Jobs(ctx, msg)
		if errors.Is(err, model.ErrStale) || errors.Is(err, model.ErrNotFound) || errors.Is(err, model.ErrInvalid) {
			refused, err = fmt.Errorf("calling the queue of items: %w", err), nil // another try gets the same answer
		}
		return err
	})
	if err == nil {
		err = refused
	}
	return reply.Reply, err
}
