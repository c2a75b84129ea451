package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Config is what clients of a store do.
type Config struct {
	Dataset  Dataset
	Workload Workload
	// Seed makes what each client chooses repeatable.
	Seed uint64
	// Share is this generator's part of the load; the zero value is all of it.
	Share load.Share
}

// Target is a store under the load of a workload. It is a load.Target.
type Target struct {
	store   Store
	config  Config
	ops     []operation
	weights []load.Weight
	inserts *inserts

	mu     sync.Mutex
	opened map[int]uint64 // how often each client was opened
}

var _ load.Target = (*Target)(nil)

// NewTarget is for a store into which the data set was loaded. The error is
// model.ErrUsage.
func NewTarget(store Store, c Config) (*Target, error) {
	c.Share = cmp.Or(c.Share, load.All)
	if err := c.Dataset.Check(); err != nil {
		return nil, err
	}
	if err := c.Workload.Distribution.Check(); err != nil {
		return nil, err
	}
	if c.Share.Of < 1 || c.Share.Index < 0 || c.Share.Index >= c.Share.Of {
		return nil, fmt.Errorf("%w: share %d of %d does not exist; shares count from 0", model.ErrUsage, c.Share.Index, c.Share.Of)
	}
	t := &Target{store: store, config: c, inserts: newInserts(c.Dataset.Records, c.Share), opened: map[int]uint64{}}
	t.ops, t.weights = c.Workload.mix()
	return t, nil
}

// Mix names the operations that the workload has, of read, update, insert and
// read-modify-write, in this order.
func (t *Target) Mix() []load.Weight { return t.weights }

// Open connects client number i.
func (t *Target) Open(ctx context.Context, i int) (load.Client, error) {
	session, err := t.store.Connect(ctx, t.config.Dataset.Shape)
	if err != nil {
		return nil, err
	}
	set := t.config.Dataset
	rng := t.random(i)
	return &client{
		target: t, session: session, rng: rng,
		choose:  newChooser(t.config.Workload.Distribution, set.Records, t.inserts.known.Load, rng),
		record:  set.newRecord(),
		scratch: make([]byte, set.FieldSize),
		// Not repeatable: a store may skip a write of the value that it has
		// already, and a run with the seed of an earlier one would write it.
		version: rand.Uint64N(1 << versionBits), //nolint:gosec // no secret
	}, nil
}

// random are the random numbers of a client. They differ among clients and
// generators; and each time that a client is opened anew, for otherwise one
// that is closed often would choose the same first records again and again.
func (t *Target) random(i int) *rand.Rand {
	t.mu.Lock()
	defer t.mu.Unlock()
	times := t.opened[i]
	t.opened[i]++
	who := uint64(i)*uint64(t.config.Share.Of) + uint64(t.config.Share.Index)
	return rand.New(rand.NewPCG(t.config.Seed, mix(mix(who)^times))) //nolint:gosec // repeatable on purpose
}

// client does the operations of a workload over one session.
type client struct {
	target  *Target
	session Session
	rng     *rand.Rand
	choose  func() int64 // a place
	record  Record       // what is read or inserted
	scratch []byte       // a field
	version uint64       // of the next update
}

// Do does an operation of kind op. Verifying what was read is a part of it, and
// takes about a microsecond for a record of 1000 bytes.
func (c *client) Do(ctx context.Context, op int) error {
	kind := c.target.ops[op]
	if kind == opInsert {
		return c.insert(ctx)
	}
	record := c.target.inserts.record(c.choose())
	if kind != opUpdate {
		if err := c.read(ctx, record); err != nil || kind == opRead {
			return err
		}
	}
	return c.update(ctx, record) // read-modify-write, too
}

func (c *client) read(ctx context.Context, record int64) error {
	set := c.target.config.Dataset
	key := set.Key(record)
	if err := c.session.Read(ctx, key, c.record); err != nil {
		return failure("reading", key, err)
	}
	if err := set.verify(record, c.record, c.scratch); err != nil {
		return &load.Error{Kind: load.ErrWrong, Err: fmt.Errorf("reading %s: %w", key, err)}
	}
	return nil
}

func (c *client) update(ctx context.Context, record int64) error {
	set := c.target.config.Dataset
	key, field := set.Key(record), c.rng.IntN(set.Fields)
	c.version = (c.version + 1) % (1 << versionBits)
	fill(c.scratch, record, field, c.version)
	if err := c.session.Update(ctx, key, field, c.scratch); err != nil {
		return failure("updating", key, err)
	}
	return nil
}

func (c *client) insert(ctx context.Context) error {
	place, again := c.target.inserts.take()
	record := c.target.inserts.record(place)
	set := c.target.config.Dataset
	key := set.Key(record)
	for i, value := range c.record { // a read may have left shorter ones
		c.record[i] = slices.Grow(value[:0], set.FieldSize)[:set.FieldSize]
	}
	fillRecord(c.record, record)
	err := c.session.Insert(ctx, key, c.record)
	if again && errors.Is(err, ErrExists) {
		err = nil // the insert that failed before was done after all
	}
	if err != nil {
		c.target.inserts.failed(place)
		return failure("inserting", key, err)
	}
	c.target.inserts.stored(place)
	return nil
}

func (c *client) Close() error { return c.session.Close() }

// failure says what was done to which record, and gives what a session says of
// a record its kind: one that is not there is missing, and one that is there already
// is a refusal.
func failure(doing, key string, err error) error {
	err = fmt.Errorf("%s %s: %w", doing, key, err)
	switch {
	case errors.Is(err, ErrMissing):
		return &load.Error{Kind: load.ErrMissing, Err: err}
	case errors.Is(err, ErrExists):
		return &load.Error{Kind: load.ErrStatus, Err: err}
	}
	return err
}

// inserts hands out records to insert, and knows how many there are without a
// gap, as YCSB's AcknowledgedCounterGenerator does: what is not known to be
// stored is not read.
//
// It counts by places: the records loaded have the places up to loaded, then
// come this generator's own inserts. Of several generators that share a run
// each inserts records of its own, and knows no others.
type inserts struct {
	loaded int64
	share  load.Share
	known  atomic.Int64 // places without a gap

	mu    sync.Mutex
	next  int64              // the first place that was never handed out
	again []int64            // places with a failed insert
	ahead map[int64]struct{} // stored, beyond a gap
}

func newInserts(loaded int64, share load.Share) *inserts {
	c := &inserts{loaded: loaded, share: share, next: loaded, ahead: map[int64]struct{}{}}
	c.known.Store(loaded)
	return c
}

// record is the number of the record in a place.
func (c *inserts) record(place int64) int64 {
	if place < c.loaded {
		return place
	}
	return c.loaded + (place-c.loaded)*int64(c.share.Of) + int64(c.share.Index)
}

// take hands out a place. One that failed before is handed out again, so that
// the gap closes; it may have been stored nevertheless.
func (c *inserts) take() (place int64, again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if last := len(c.again) - 1; last >= 0 {
		place, c.again = c.again[last], c.again[:last]
		return place, true
	}
	c.next++
	return c.next - 1, false
}

// failed gives a place back.
func (c *inserts) failed(place int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.again = append(c.again, place)
}

// stored says that the record in a place is there.
func (c *inserts) stored(place int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ahead[place] = struct{}{}
	known := c.known.Load()
	for _, ok := c.ahead[known]; ok; _, ok = c.ahead[known] {
		delete(c.ahead, known)
		known++
	}
	c.known.Store(known)
}
