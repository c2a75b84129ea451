package kv

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

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
	if c.Share == (load.Share{}) {
		c.Share = load.All
	}
	if err := c.Dataset.Check(); err != nil {
		return nil, err
	}
	if err := c.Workload.Check(); err != nil {
		return nil, err
	}
	if c.Share.Of < 1 || c.Share.Index < 0 || c.Share.Index >= c.Share.Of {
		return nil, fmt.Errorf("%w: share %d of %d; shares are counted from 0", model.ErrUsage, c.Share.Index, c.Share.Of)
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
		// Not repeatable: a store that is told to write what is there already
		// may do nothing, and a run with the seed of an earlier one would.
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
