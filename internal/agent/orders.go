package agent

import (
	"context"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// orderRouter passes the master's orders to the task that waits for them, and
// remembers cancels for tasks that have not begun yet.
type orderRouter struct {
	mu        sync.Mutex
	step      model.StepID
	attempt   int
	waiting   chan wire.Order // nil when no task is running
	cancelled map[model.StepID]int
}

// cancelMemory bounds how many cancelled steps are remembered; an agent runs
// one task at a time, so that only the latest few can matter.
const cancelMemory = 1024

// follow returns the orders for this step and attempt, from now on. A cancel
// that came earlier is delivered at once. end must be called.
func (r *orderRouter) follow(step model.StepID, attempt int) (orders <-chan wire.Order, end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.step, r.attempt = step, attempt
	r.waiting = make(chan wire.Order, 8) // a start and a few repeated cancels
	if upTo, ok := r.cancelled[step]; ok && upTo >= attempt {
		r.waiting <- wire.Order{Kind: wire.OrderCancel, Step: step, Attempt: upTo}
	}
	return r.waiting, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.waiting = nil
	}
}

// deliver hands an order to the task that it concerns.
func (r *orderRouter) deliver(o wire.Order) {
	r.mu.Lock()
	defer r.mu.Unlock()
	// A start is for one attempt, a cancel for it and all before.
	concerns := o.Attempt == r.attempt
	if o.Kind == wire.OrderCancel {
		concerns = o.Attempt >= r.attempt
		if r.cancelled == nil || len(r.cancelled) >= cancelMemory {
			r.cancelled = make(map[model.StepID]int)
		}
		r.cancelled[o.Step] = max(r.cancelled[o.Step], o.Attempt)
	}
	if r.waiting == nil || o.Step != r.step || !concerns {
		return
	}
	select {
	case r.waiting <- o:
	default: // the task has more orders than it can use already
	}
}

func (a *Agent) followOrders(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case o := <-a.link.Orders():
			a.orders.deliver(o)
		}
	}
}
