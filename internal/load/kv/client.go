package kv

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

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
	switch c.target.ops[op] {
	case opRead:
		return c.read(ctx, c.draw())
	case opUpdate:
		return c.update(ctx, c.draw())
	case opInsert:
		return c.insert(ctx)
	case opReadModifyWrite:
		record := c.draw()
		if err := c.read(ctx, record); err != nil {
			return err
		}
		return c.update(ctx, record)
	}
	return fmt.Errorf("%w: there is no operation %d", model.ErrUsage, op)
}

// draw chooses a record.
func (c *client) draw() int64 { return c.target.inserts.record(c.choose()) }

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
	key := c.target.config.Dataset.Key(record)
	c.resize()
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

// resize makes fields whole again, where a read has left shorter ones.
func (c *client) resize() {
	size := c.target.config.Dataset.FieldSize
	for i, value := range c.record {
		c.record[i] = slices.Grow(value[:0], size)[:size]
	}
}

func (c *client) Close() error { return c.session.Close() }

// failure says what was done to which record, and gives what a session says of
// a record its kind: a record that is not there is a wrong answer, and one
// that is there already is a refusal.
func failure(doing, key string, err error) error {
	err = fmt.Errorf("%s %s: %w", doing, key, err)
	switch {
	case errors.Is(err, ErrMissing):
		return &load.Error{Kind: load.ErrWrong, Err: err}
	case errors.Is(err, ErrExists):
		return &load.Error{Kind: load.ErrStatus, Err: err}
	}
	return err
}
