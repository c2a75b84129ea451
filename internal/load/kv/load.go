package kv

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
)

const (
	// loaders is how many connections write at the same time.
	loaders = 8
	// batchSize is about how many bytes are written at once; maxBatch is the
	// most records.
	batchSize = 256 << 10
	maxBatch  = 1000
)

// Load makes sure that a store holds the data set, and nothing but it: one that
// is there already, complete and with no record more or less, is kept (updates
// change no more than versions); anything else that scalebench left there is
// replaced. within is how long the store may take to accept a connection and to say
// what it holds, 0: any time; loading itself takes as long as it takes.
//
// Only one generator loads; two at once would remove each other's records,
// and notice. Errors are model.ErrUsage for a data set that cannot be,
// model.ErrInvalid where fewer records are there than were written, else the
// store's.
func Load(ctx context.Context, store Store, set Dataset, within time.Duration) (l Loading, err error) {
	if err := set.Check(); err != nil {
		return l, err
	}
	err = withAdmin(ctx, store, within, func(admin Admin, description string) error {
		l, err = find(ctx, admin, description, set)
		if err != nil || !l.Fresh {
			return err
		}
		return write(ctx, store, admin, set)
	})
	if err != nil {
		return l, fmt.Errorf("loading records into %s: %w", store.Name(), err)
	}
	return l, nil
}

// Loading is what Load has done.
type Loading struct {
	// Fresh: the data set was written now.
	Fresh bool
	// Missing is how many of its records were not there before: all, where there
	// was no data set, or another one.
	Missing int64
}

// Loaded reports whether a store holds exactly the data set; nothing is changed.
// within is that of [Load].
func Loaded(ctx context.Context, store Store, set Dataset, within time.Duration) (there bool, err error) {
	err = withAdmin(ctx, store, within, func(admin Admin, description string) error {
		if description != set.String() {
			return nil
		}
		n, err := admin.Count(ctx)
		there = n == set.Records
		return err
	})
	return there, err
}

// withAdmin opens a connection and reads the description of the data set that
// is there, each within this time.
func withAdmin(ctx context.Context, store Store, within time.Duration, do func(a Admin, description string) error) error {
	admin, err := inTime(ctx, within, store.Admin)
	if err != nil {
		return err
	}
	description, err := inTime(ctx, within, admin.Find)
	if err == nil {
		err = do(admin, description)
	}
	return store.Explain(errors.Join(err, admin.Close()))
}

// find says what has to be loaded so that exactly this data set is there, now that
// what was inserted is removed. description is of what is there.
func find(ctx context.Context, admin Admin, description string, set Dataset) (l Loading, err error) {
	if description != set.String() {
		return Loading{Fresh: true, Missing: set.Records}, nil
	}
	n, err := admin.Count(ctx)
	more := n - set.Records
	if remover, ok := admin.(Remover); ok && err == nil && more > 0 {
		more, err = removeInserted(ctx, remover, set, more)
	}
	return Loading{Fresh: more != 0, Missing: max(-more, 0)}, err
}

// write replaces whatever there is by the data set.
func write(ctx context.Context, store Store, admin Admin, set Dataset) error {
	if err := admin.Create(ctx, set.Shape); err != nil {
		return err
	}
	if err := writeRecords(ctx, store, set, loadersFor(ctx, admin)); err != nil {
		return err
	}
	n, err := admin.Count(ctx)
	if err != nil {
		return err
	}
	if n != set.Records {
		return fmt.Errorf("%w: the store holds %d records after %d were written; check that nothing else writes to this store, and that it does not expire records",
			model.ErrInvalid, n, set.Records)
	}
	return admin.Finish(ctx, set.String())
}

// loadersFor is how many connections may write beside that of admin.
func loadersFor(ctx context.Context, admin Admin) int {
	r, err := roomOf(ctx, admin)
	if err != nil || r.Limit == 0 {
		return loaders
	}
	return min(loaders, max(r.Free(1)-1, 1))
}

// writeRecords writes all records over so many connections.
func writeRecords(ctx context.Context, store Store, set Dataset, loaders int) error {
	batch := min(max(batchSize/set.recordSize(), 1), maxBatch)
	var next atomic.Int64 // the first record that no connection writes yet
	group, ctx := errgroup.WithContext(ctx)
	for range loaders {
		group.Go(func() error {
			first := next.Add(batch) - batch
			if first >= set.Records {
				return nil
			}
			admin, err := store.Admin(ctx)
			if err != nil {
				return err
			}
			rows := make([]Row, batch)
			for i := range rows {
				rows[i].Fields = set.newRecord()
			}
			for ; err == nil && first < set.Records; first = next.Add(batch) - batch {
				rows = rows[:min(batch, set.Records-first)]
				for i := range rows {
					rows[i].Key = set.Key(first + int64(i))
					fillRecord(rows[i].Fields, first+int64(i))
				}
				if err = admin.Load(ctx, set.Shape, rows); err != nil {
					err = fmt.Errorf("writing %d records: %w", len(rows), err)
				}
			}
			return errors.Join(err, admin.Close())
		})
	}
	return group.Wait()
}

// inTime does what a running store does at once. A store that accepts the
// connection and then sends nothing would block forever: after this time the
// error says so, and is model.ErrUnavailable. 0: no limit.
func inTime[T any](ctx context.Context, within time.Duration, do func(context.Context) (T, error)) (T, error) {
	if within <= 0 {
		return do(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	v, err := do(bounded)
	// A socket's deadline may be noticed a moment before the context's. Where
	// no connection came about, the error says enough.
	deadline, _ := bounded.Deadline()
	op, isNet := errors.AsType[*net.OpError](err)
	if err == nil || ctx.Err() != nil || time.Now().Before(deadline) || isNet && op.Op == "dial" {
		return v, err
	}
	// The library only says that a time was over.
	return v, fmt.Errorf("%w: the store accepted the connection but did not answer within %v; check that it is running and that the port is right", model.ErrUnavailable, within)
}

// Remover is implemented by the Admin of a store from which records can be
// removed so that nothing is left of them that would slow it down. What a run
// has inserted is removed there before the next one, which is faster than to
// load all records again.
type Remover interface {
	// Remove removes the records under these keys, as far as they are there,
	// and says how many were.
	Remove(ctx context.Context, keys []string) (removed int64, err error)
	// Settle has the store do now what it would do sooner or later after so
	// many were removed, so that it does not disturb a measurement.
	Settle(ctx context.Context) error
}

// removeInserted removes the records that were inserted into a data set, which
// has so many more than were loaded. It returns how many more there are then: 0 if
// these were all, others if another program has added some, fewer than none if the
// store has lost some.
//
// Inserted records are numbered on from those loaded, by as many generators as
// there were, each with gaps of its own (see inserts). So twice as many numbers
// are looked for as there are records to remove, and 10,000.
func removeInserted(ctx context.Context, r Remover, set Dataset, more int64) (left int64, err error) {
	keys := make([]string, 0, maxBatch)
	end := set.Records + 2*more + 10_000
	for record := set.Records; more > 0 && record < end; {
		keys = keys[:0]
		for ; len(keys) < maxBatch && record < end; record++ {
			keys = append(keys, set.Key(record))
		}
		removed, err := r.Remove(ctx, keys)
		if err != nil {
			return more, err
		}
		more -= removed
	}
	if more != 0 {
		return more, nil
	}
	return 0, r.Settle(ctx)
}
