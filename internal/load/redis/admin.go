package redis

import (
	"context"
	"errors"
	"slices"
	"strconv"

	goredis "github.com/redis/go-redis/v9"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// stateKey holds the description of the data set. It does not begin as records
// do, whose keys begin with "user".
const stateKey = prefix + "state"

// scanCount is how many keys the server looks at in one step of a scan.
const scanCount = 1000

type admin struct{ *conn }

// Find reads the description.
func (a *admin) Find(ctx context.Context) (string, error) {
	defer a.socket.closeAfter(ctx)()
	description, err := a.Get(ctx, stateKey).Result()
	if errors.Is(err, goredis.Nil) {
		return "", nil
	}
	return description, adminError(err)
}

// Count looks at all keys of the database: the server keeps no number of those
// with a prefix. A scan may return a key twice; so the numbers in the keys, by
// which keys differ, are kept until the end: 8 bytes a record.
func (a *admin) Count(ctx context.Context) (int64, error) {
	var numbers []uint64
	err := a.scan(ctx, recordKey("user*"), func(keys []string) error {
		for _, key := range keys {
			// What is no number is not ours.
			if n, err := strconv.ParseUint(key[len(recordKey("user")):], 10, 64); err == nil {
				numbers = append(numbers, n)
			}
		}
		return nil
	})
	slices.Sort(numbers)
	return int64(len(slices.Compact(numbers))), err
}

// scan hands on the keys that match a pattern.
func (a *admin) scan(ctx context.Context, pattern string, each func(keys []string) error) error {
	defer a.socket.closeAfter(ctx)()
	var cursor uint64
	for {
		keys, next, err := a.Scan(ctx, cursor, pattern, scanCount).Result()
		if err != nil {
			return adminError(err)
		}
		if err := each(keys); err != nil {
			return err
		}
		if cursor = next; cursor == 0 {
			return nil
		}
	}
}

// Create removes what there is; a hash needs no schema.
func (a *admin) Create(ctx context.Context, _ kv.Shape) error { return a.Drop(ctx) }

// Finish writes the description.
func (a *admin) Finish(ctx context.Context, description string) error {
	defer a.socket.closeAfter(ctx)()
	return adminError(a.Set(ctx, stateKey, description, 0).Err())
}

// Drop removes all keys that begin as ours do, first the description: then no
// data set counts as complete that has lost records.
func (a *admin) Drop(ctx context.Context) error {
	defer a.socket.closeAfter(ctx)()
	if err := a.Unlink(ctx, stateKey).Err(); err != nil {
		return adminError(err)
	}
	return a.scan(ctx, prefix+"*", func(keys []string) error {
		if len(keys) == 0 {
			return nil
		}
		return adminError(a.Unlink(ctx, keys...).Err())
	})
}
