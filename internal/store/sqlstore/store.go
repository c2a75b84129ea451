// Package sqlstore is store.Store written once in SQL; the packages sqlite and
// postgres add a [Dialect], a connection and their migrations.
//
// The way of a result into the database:
//
//  1. PutResult checks it and packs it in the caller's goroutine: a row of
//     index columns with one body (body.go), and a row of points for each
//     metric (points.go);
//  2. it joins the batch that is waiting (store.go): one transaction, and so
//     one fsync, stores what many agents delivered at the same moment;
//  3. the batch reads the steps' current attempts under a lock, judges every
//     result by itself (new, duplicate, stale, no such task) and inserts the
//     new ones (results.go);
//  4. only after the commit is each caller answered. When the batch fails for
//     a reason that lies in one of its results, each is tried alone, so that
//     a bad result never takes a good one with it.
//
// Reading goes the other way: one read transaction, so that a run is seen as
// it was at one moment, whole or column by column (read.go).
package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Limits of one write. They bound how long a caller can be kept waiting by a
// database that neither works nor fails.
const (
	// batchTimeout ends a batch's transaction; its callers get
	// model.ErrUnavailable.
	batchTimeout = 30 * time.Second
	// maxTries bounds repetitions after a serialization failure or deadlock.
	maxTries = 8
	// batchItems bounds a batch, and so what a fallback to single
	// transactions costs.
	batchItems = 256
)

// Config is what a [Store] is made of.
type Config struct {
	Dialect Dialect
	// Write takes transactions that change something, Read those that do
	// not; both may be the same pool. The Store closes them.
	Write, Read *sql.DB
	// Where names the database in messages: a path or a URL without secrets.
	Where string
	// AsIs: a schema that is not up to date stays as it is, and is an error.
	AsIs bool
}

// Store implements store.Store. It is safe for concurrent use. After a fault
// of the database is repaired the same value works again.
type Store struct {
	d           Dialect
	write, read *sql.DB
	where       string
	codec       *codec

	results *group[*putResult]
	chunks  *group[*putChunk]
	events  *group[[]model.Event]
	jobs    *group[*putJobs]

	close func() error // once
}

var _ store.Store = (*Store)(nil)

// New brings the schema up to date and returns the store. It closes the pools
// when it fails. A schema newer than this program knows is model.ErrUsage.
func New(ctx context.Context, cfg Config) (*Store, error) {
	c, err := newCodec()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store: %w", err), closePools(cfg.Write, cfg.Read))
	}
	s := &Store{d: cfg.Dialect, write: cfg.Write, read: cfg.Read, where: cfg.Where, codec: c}
	s.results = newBatches(s, putResults)
	s.chunks = newBatches(s, putChunks)
	s.events = newBatches(s, putEvents)
	s.jobs = newBatches(s, storeJobs)
	s.close = sync.OnceValue(func() error {
		s.results.close()
		s.chunks.close()
		s.events.close()
		s.jobs.close()
		defer s.codec.close()
		return closePools(s.write, s.read)
	})
	if err := s.migrate(ctx, cfg.AsIs); err != nil {
		return nil, errors.Join(s.fail(ctx, "opening the store", err), s.Close())
	}
	return s, nil
}

// Room implements store.Store.
func (s *Store) Room(ctx context.Context) (store.Room, error) {
	room, err := s.d.Room(ctx, s.read)
	return room, s.fail(ctx, "asking how much space there is", err)
}

// Close waits for the batches under way and closes the database. Writes that
// come later fail with model.ErrUnavailable.
func (s *Store) Close() error { return s.close() }

// closePools closes the readers first, so that SQLite's last connection, the
// one that tidies the log away, is the one that may write.
func closePools(write, read *sql.DB) error {
	if read == write {
		return write.Close()
	}
	return errors.Join(read.Close(), write.Close())
}

// group is a group commit: items that arrive while a transaction is under way
// wait and go together in the next one. It does not wait to fill a batch: on
// an idle database an item is committed at once and alone.
//
// A goroutine exists only while there are items.
type group[T any] struct {
	// commit stores the items of a batch and returns an error for each.
	commit func(context.Context, []T) []error
	limit  int // batches under way at once

	sync.Mutex
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
	if !g.enqueue(t) {
		return errClosed
	}
	select {
	case err := <-t.done:
		return err
	case <-ctx.Done():
		return ended(ctx.Err())
	}
}

// enqueue adds a ticket, and a goroutine that commits until nothing waits; it
// reports false when the group is closed.
func (g *group[T]) enqueue(t *ticket[T]) bool {
	g.Lock()
	defer g.Unlock()
	if g.closed {
		return false
	}
	g.waiting = append(g.waiting, t)
	if g.running < g.limit {
		g.running++
		g.idle.Go(func() {
			for batch := g.next(); batch != nil; batch = g.next() {
				g.run(batch)
			}
		})
	}
	return true
}

// next takes the oldest waiting items that have callers waiting; nil ends the
// goroutine that asked.
func (g *group[T]) next() []*ticket[T] {
	g.Lock()
	defer g.Unlock()
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
	g.Lock()
	g.closed = true
	g.Unlock()
	g.idle.Wait()
}

// newBatches returns a group that stores items in one transaction a batch. put
// writes them and returns an error for each that it refuses (nil: written), or
// one for the transaction.
func newBatches[T any](s *Store, put func(tx, []T) ([]error, error)) *group[T] {
	return newGroup(s.d.Committers, func(ctx context.Context, items []T) []error {
		return commitBatch(ctx, s, items, put)
	})
}

// commitBatch tries every item alone when their transaction fails for a reason
// that may lie in one of them. When the database is unavailable that would
// only multiply the waiting, and all get the error.
func commitBatch[T any](ctx context.Context, s *Store, items []T, put func(tx, []T) ([]error, error)) (errs []error) {
	err := s.inTx(ctx, func(t tx) (err error) {
		errs, err = put(t, items)
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
