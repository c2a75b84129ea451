package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gomodule/redigo/redis"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// stateKey holds the description of the data set.
const stateKey = prefix + "state"

type admin struct{ *conn }

var _ kv.Remover = (*admin)(nil)

// Find reads the description.
func (a *admin) Find(ctx context.Context) (string, error) {
	description, err := redis.String(a.do(ctx, "GET", stateKey))
	if errors.Is(err, redis.ErrNil) {
		return "", nil
	}
	return description, adminError(err)
}

// Count looks at all keys of the database: the server keeps no number of those
// with a prefix. A scan may return a key twice; so the numbers in the keys, by
// which keys differ, are kept until the end: 8 bytes a record.
func (a *admin) Count(ctx context.Context) (int64, error) {
	var numbers []uint64
	err := a.scan(ctx, prefix+"user*", func(keys []string) error {
		for _, key := range keys {
			// A key without a number is not ours.
			if n, err := strconv.ParseUint(key[len(prefix+"user"):], 10, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
		return nil
	})
	slices.Sort(numbers)
	return int64(len(slices.Compact(numbers))), err
}

// scan hands on the keys that match a pattern; the server looks at 1000 in a step.
func (a *admin) scan(ctx context.Context, pattern string, each func(keys []string) error) error {
	cursor := "0"
	for {
		answer, err := redis.Values(a.do(ctx, "SCAN", cursor, "MATCH", pattern, "COUNT", 1000))
		var keys []string
		if err == nil {
			_, err = redis.Scan(answer, &cursor, &keys)
		}
		if err != nil {
			return adminError(err)
		}
		if err := each(keys); err != nil || cursor == "0" {
			return err
		}
	}
}

// Create removes what there is; a hash needs no schema.
func (a *admin) Create(ctx context.Context, _ kv.Shape) error { return a.Drop(ctx) }

// Finish writes the description.
func (a *admin) Finish(ctx context.Context, description string) error {
	_, err := a.do(ctx, "SET", stateKey, description)
	return adminError(err)
}

// Drop removes all keys that begin as ours do, first the description: then no
// data set counts as complete that has lost records.
func (a *admin) Drop(ctx context.Context) error {
	if _, err := a.do(ctx, "UNLINK", stateKey); err != nil {
		return adminError(err)
	}
	return a.scan(ctx, prefix+"*", func(keys []string) error {
		if len(keys) == 0 {
			return nil
		}
		_, err := a.do(ctx, "UNLINK", redis.Args{}.AddFlat(keys)...)
		return adminError(err)
	})
}

// Remove implements kv.Remover. The memory is free when it returns.
func (a *admin) Remove(ctx context.Context, keys []string) (int64, error) {
	args := make([]any, len(keys))
	for i, k := range keys {
		args[i] = prefix + k
	}
	n, err := redis.Int64(a.do(ctx, "DEL", args...))
	return n, adminError(err)
}

// Settle implements kv.Remover: there is nothing left to do.
func (a *admin) Settle(context.Context) error { return nil }

// loader writes batches of records in a pipeline.
type loader struct {
	*conn
	names []string
}

// Load writes rows.
func (l *loader) Load(ctx context.Context, rows []kv.Row) error {
	defer context.AfterFunc(ctx, func() { _ = l.socket.Close() })() // sending may wait, too
	var err error
	for _, row := range rows[:len(rows)-1] {
		if err == nil {
			err = l.library.Send("HSET", hash(row.Key, l.names, row.Fields)...)
		}
	}
	if last := rows[len(rows)-1]; err == nil {
		_, err = l.do(ctx, "HSET", hash(last.Key, l.names, last.Fields)...)
	}
	if err != nil {
		return fmt.Errorf("writing %d records: %w", len(rows), adminError(err))
	}
	return nil
}
