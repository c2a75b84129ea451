package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// group is a group commit: items that arrive while a transaction is under way
// wait and go together in the next one. There is no delay to fill a batch: on
// an idle database an item is committed at once and alone.
//
// A goroutine exists only while there are items.
type group[T any] struct {
	// commit stores the items of a batch and returns an error for each.
	commit func(context.Context, []T) []error
	limit  int // batches under way at once

	mu      sync.Mutex
	waiting []*ticket[T]
	running int
	closed  bool
	idle    sync.WaitGroup // counts running
}

// ticket is one item and where its caller waits.
type ticket[T any] struct {
	ctx  context.Context
	item T
	done chan error // buffered: a caller that left is not waited for
}

func newGroup[T any](limit int, commit func(context.Context, []T) []error) *group[T] {
	return &group[T]{commit: commit, limit: max(limit, 1)}
}

// do returns when the item's transaction has ended, or with the context's
// error; in that case it is not known whether the item is stored.
func (g *group[T]) do(ctx context.Context, item T) error {
	t := &ticket[T]{ctx: ctx, item: item, done: make(chan error, 1)}
	if err := g.enqueue(t); err != nil {
		return err
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return ended(ctx.Err())
	}
}

func (g *group[T]) enqueue(t *ticket[T]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return errClosed
	}
	g.waiting = append(g.waiting, t)
	if g.running < g.limit {
		g.running++
		g.idle.Add(1)
		go g.drain()
	}
	return nil
}

// drain commits batches until nothing waits.
func (g *group[T]) drain() {
	defer g.idle.Done()
	for {
		batch := g.next()
		if batch == nil {
			return
		}
		g.run(batch)
	}
}

// next takes the oldest waiting items whose callers still wait; nil ends the
// goroutine that asked.
func (g *group[T]) next() []*ticket[T] {
	g.mu.Lock()
	defer g.mu.Unlock()
	var batch []*ticket[T]
	taken := 0
	for _, t := range g.waiting {
		if len(batch) == batchItems {
			break
		}
		taken++
		if t.ctx.Err() == nil {
			batch = append(batch, t)
		}
	}
	g.waiting = g.waiting[taken:]
	if len(batch) == 0 {
		g.waiting = nil
		g.running--
	}
	return batch
}

// run commits under a context of its own: a caller that gives up must not
// fail the others.
func (g *group[T]) run(batch []*ticket[T]) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	items := make([]T, len(batch))
	for i, t := range batch {
		items[i] = t.item
	}
	for i, err := range g.commit(ctx, items) {
		batch[i].done <- err
	}
}

// close lets what waits be committed and refuses what comes later.
func (g *group[T]) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.idle.Wait()
}

// newBatches returns a group that stores items in one transaction a batch. put
// writes them and returns an error for each that it refuses (nil: written), or
// one for the transaction.
func newBatches[T any](s *Store, put func(context.Context, *sql.Tx, []T) ([]error, error)) *group[T] {
	return newGroup(s.d.Committers, func(ctx context.Context, items []T) []error {
		return commitBatch(ctx, s, items, put)
	})
}

// commitBatch tries every item alone when their transaction fails for a reason
// that may lie in one of them. When the database is unavailable that would
// only multiply the waiting, and all get the error.
func commitBatch[T any](ctx context.Context, s *Store, items []T, put func(context.Context, *sql.Tx, []T) ([]error, error)) (errs []error) {
	err := s.inTx(ctx, func(tx *sql.Tx) (err error) {
		errs, err = put(ctx, tx, items)
		return err
	})
	if err == nil {
		return errs
	}
	err = s.fail(ctx, "writing", err)
	if len(items) == 1 || errors.Is(err, model.ErrUnavailable) {
		return slices.Repeat([]error{err}, len(items))
	}
	errs = nil
	for i := range items {
		errs = append(errs, commitBatch(ctx, s, items[i:i+1], put)...)
	}
	return errs
}
