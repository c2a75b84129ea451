package load

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// openAtOnce is how many clients are opened at the same time.
const openAtOnce = 8

// Open opens clients before a run, until there are n or as many as are allowed.
// Those that a run has to open are opened while operations wait for them, and
// what that costs the target it does not have for operations: at the start of a
// run all of them wait, and a target near its limit works that off for many
// seconds.
//
// After the first that cannot be opened no others are tried: the target may
// allow fewer, and the run shows what comes of that. It is an error if there
// is none at all then.
func (p *Pool) Open(ctx context.Context, n int) error {
	if !p.running.TryLock() {
		return fmt.Errorf("%w: the pool runs a plan; open clients before", model.ErrUsage)
	}
	defer p.running.Unlock()
	o := &opening{pool: p, wanted: min(n, p.config.Clients)}
	var group sync.WaitGroup
	for range openAtOnce {
		group.Go(func() { o.work(ctx) })
	}
	group.Wait()
	if len(p.kept) == 0 {
		return errors.Join(o.err, context.Cause(ctx))
	}
	return context.Cause(ctx)
}

// opening is what those that open clients share; the pool's lock guards it.
type opening struct {
	pool   *Pool
	wanted int
	trying int
	err    error
}

// work opens clients one after another.
func (o *opening) work(ctx context.Context) {
	for {
		w := o.next(ctx)
		if w == nil {
			return
		}
		o.done(w, o.open(ctx, w))
	}
}

// next is a worker that lacks a client; nil when there are enough.
func (o *opening) next(ctx context.Context) *worker {
	o.pool.mu.Lock()
	defer o.pool.mu.Unlock()
	if ctx.Err() != nil || o.err != nil || len(o.pool.kept)+o.trying >= o.wanted || !o.pool.slots.free() {
		return nil
	}
	o.trying++
	return &worker{index: o.pool.slots.take()}
}

func (o *opening) open(ctx context.Context, w *worker) (err error) {
	ctx, cancel := context.WithTimeout(ctx, o.pool.config.Timeout)
	defer cancel()
	w.client, err = o.pool.target.Open(ctx, w.index)
	return err
}

func (o *opening) done(w *worker, err error) {
	o.pool.mu.Lock()
	defer o.pool.mu.Unlock()
	o.trying--
	if err != nil {
		o.err = errors.Join(o.err, err)
		o.pool.slots.put(w.index)
		return
	}
	o.pool.kept = append(o.pool.kept, w)
}
