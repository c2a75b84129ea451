package agent

import (
	"context"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// orderBook passes the master's orders to the task that waits for them, and
// remembers cancels for tasks that have not begun yet.
type orderBook struct {
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
func (b *orderBook) follow(step model.StepID, attempt int) (orders <-chan wire.Order, end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.step, b.attempt = step, attempt
	b.waiting = make(chan wire.Order, 8) // a start and a few repeated cancels
	if upTo, ok := b.cancelled[step]; ok && upTo >= attempt {
		b.waiting <- wire.Order{Kind: wire.OrderCancel, Step: step, Attempt: upTo}
	}
	return b.waiting, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.waiting = nil
	}
}

// deliver hands an order to the task that it concerns.
func (b *orderBook) deliver(o wire.Order) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o.Kind == wire.OrderCancel {
		b.remember(o)
	}
	if b.waiting == nil || o.Step != b.step || !concerns(o, b.attempt) {
		return
	}
	select {
	case b.waiting <- o:
	default: // the task has more orders than it can use already
	}
}

func (b *orderBook) remember(o wire.Order) {
	if b.cancelled == nil || len(b.cancelled) >= cancelMemory {
		b.cancelled = make(map[model.StepID]int)
	}
	b.cancelled[o.Step] = max(b.cancelled[o.Step], o.Attempt)
}

// concerns: a start is for one attempt, a cancel for it and all before.
func concerns(o wire.Order, attempt int) bool {
	if o.Kind == wire.OrderCancel {
		return o.Attempt >= attempt
	}
	return o.Attempt == attempt
}

func (a *Agent) followOrders(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case o, ok := <-a.link.Orders():
			if !ok {
				return
			}
			a.orders.deliver(o)
		}
	}
}
