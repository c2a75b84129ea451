package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{c}, nil
}

// advice is for answers that begin so.
var advice = kv.Advice{model.ErrDenied: {
	"NOAUTH": checkUser, "WRONGPASS": checkUser, "NOPERM": checkUser, "ERR invalid password": checkUser,
}}

const checkUser = "check user and password"

// Explain implements kv.Store.
func (s *Store) Explain(err error) error {
	answer, _ := errors.AsType[redis.Error](err)
	return s.address.Explain(err, string(answer), advice)
}

// stateKey holds kv.Mark and, of a data set that is complete, its description after
// [stateSep]. As long as it does, hashes under the keys of records that have their fields are ours.
const (
	stateKey = prefix + "state"
	stateSep = ": "
)

type admin struct{ *conn }

var _ kv.Remover = (*admin)(nil)

// Find reads the description.
func (a *admin) Find(ctx context.Context) (string, error) {
	description, _, err := a.state(ctx)
	return description, err
}

// state is what the key of the state holds, and whether there is any. One that another
// program has written is model.ErrUsage.
func (a *admin) state(ctx context.Context) (description string, ours bool, err error) {
	kind, err := redis.String(a.do(ctx, "TYPE", stateKey))
	var text string
	if err == nil && kind == "string" {
		text, err = redis.String(a.do(ctx, "GET", stateKey))
	}
	if err != nil || kind == "none" {
		return "", false, err
	}
	rest, ours := strings.CutPrefix(text, kv.Mark)
	if !ours {
		return "", false, kv.Foreign("the key "+stateKey, "database")
	}
	return strings.TrimPrefix(rest, stateSep), true, nil
}

// Count looks at all keys of the database: the server keeps no number of those
// with a prefix. A scan may return a key twice; so the numbers in the keys, by
// which keys differ, are kept until the end: 8 bytes a record.
func (a *admin) Count(ctx context.Context) (int64, error) {
	var numbers []uint64
	err := a.scan(ctx, func(keys []string) error {
		for _, key := range keys {
			n, _ := number(key)
			numbers = append(numbers, n)
		}
		return nil
	})
	slices.Sort(numbers)
	return int64(len(slices.Compact(numbers))), err
}

// number is the number in the key of a record, as a data set writes it.
func number(key string) (n uint64, ok bool) {
	text, ok := strings.CutPrefix(key, prefix+"user")
	if !ok {
		return 0, false
	}
	n, err := strconv.ParseUint(text, 10, 64)
	return n, err == nil && strconv.FormatUint(n, 10) == text
}

// scan hands on the keys of records; the server looks at 1000 keys in a step.
func (a *admin) scan(ctx context.Context, each func(keys []string) error) error {
	for cursor := ""; cursor != "0"; {
		answer, err := redis.Values(a.do(ctx, "SCAN", cmp.Or(cursor, "0"), "MATCH", prefix+"user*", "COUNT", 1000))
		var keys []string
		if err == nil {
			_, err = redis.Scan(answer, &cursor, &keys)
		}
		if err == nil {
			err = each(slices.DeleteFunc(keys, func(key string) bool { _, ours := number(key); return !ours }))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Create removes what there is; a hash needs no schema. Keys of records that are there
// without a state are not ours.
func (a *admin) Create(ctx context.Context, _ kv.Shape) error {
	err := a.Drop(ctx)
	if err == nil {
		err = a.scan(ctx, func(keys []string) error {
			if len(keys) > 0 {
				return kv.Foreign("the key "+keys[0]+" (without "+stateKey+", which the server may have evicted)", "database")
			}
			return nil
		})
	}
	if err != nil {
		return err
	}
	written, err := a.do(ctx, "SET", stateKey, kv.Mark, "NX")
	if err == nil && written == nil {
		return kv.Foreign("the key "+stateKey, "database")
	}
	return err
}

// Load writes rows in a pipeline.
func (a *admin) Load(ctx context.Context, shape kv.Shape, rows []kv.Row) error {
	defer context.AfterFunc(ctx, func() { _ = a.socket.Close() })() // sending may wait, too
	names, last := shape.Names(), len(rows)-1
	for _, row := range rows[:last] {
		if err := a.library.Send("HSET", hash(row.Key, names, row.Fields)...); err != nil {
			return err
		}
	}
	_, err := a.library.Do("HSET", hash(rows[last].Key, names, rows[last].Fields)...)
	return err
}

// Finish writes the description.
func (a *admin) Finish(ctx context.Context, description string) error {
	_, ours, err := a.state(ctx)
	if err == nil && !ours {
		return fmt.Errorf("%w: the key %s is gone; another program has removed it while records were loaded",
			model.ErrInvalid, stateKey)
	}
	if err == nil {
		_, err = a.do(ctx, "SET", stateKey, kv.Mark+stateSep+description, "XX")
	}
	return err
}

// Drop removes the records and the state, if there is one that is ours. First goes the
// description: then no data set counts as complete that has lost records.
func (a *admin) Drop(ctx context.Context) error {
	_, ours, err := a.state(ctx)
	if err != nil || !ours {
		return err
	}
	if err := a.whileOurs(ctx, "SET", stateKey, kv.Mark); err != nil {
		return err
	}
	err = a.scan(ctx, func(keys []string) error {
		records, _, err := a.records(ctx, keys)
		if err != nil || len(records) == 0 {
			return err
		}
		return a.whileOurs(ctx, "UNLINK", redis.Args{}.AddFlat(records)...)
	})
	if err != nil {
		return err
	}
	return a.whileOurs(ctx, "UNLINK", stateKey)
}

// records are those of the keys that hold hashes with the fields of records, and no
// others; foreign are those that hold something else.
func (a *admin) records(ctx context.Context, keys []string) (records, foreign []string, err error) {
	if len(keys) == 0 {
		return nil, nil, nil
	}
	defer context.AfterFunc(ctx, func() { _ = a.socket.Close() })()
	for _, key := range keys {
		if err := a.library.Send("HKEYS", key); err != nil {
			return nil, nil, err
		}
	}
	answers, err := redis.Values(a.library.Do("")) // all of them
	if err != nil {
		return nil, nil, err
	}
	for i, answer := range answers {
		names, err := redis.Strings(answer, nil)
		e, _ := errors.AsType[redis.Error](err)
		switch {
		case strings.HasPrefix(string(e), "WRONGTYPE"), slices.ContainsFunc(names, foreignField):
			foreign = append(foreign, keys[i])
		case err != nil:
			return nil, nil, err
		case len(names) > 0:
			records = append(records, keys[i])
		}
	}
	return records, foreign, nil
}

// foreignField reports whether records have no field of this name.
func foreignField(name string) bool {
	digits, ok := strings.CutPrefix(name, "field")
	n, err := strconv.Atoi(digits)
	return !ok || err != nil || strconv.Itoa(n) != digits || n < 0
}

// whileOurs executes a command only if the state is ours at that moment.
func (a *admin) whileOurs(ctx context.Context, command string, args ...any) error {
	if _, err := a.do(ctx, "WATCH", stateKey); err != nil {
		return err
	}
	_, ours, err := a.state(ctx)
	if err != nil || !ours {
		_, unwatched := a.do(ctx, "UNWATCH")
		return cmp.Or(err, unwatched)
	}
	err = errors.Join(a.library.Send("MULTI"), a.library.Send(command, args...))
	var answer any
	if err == nil {
		answer, err = a.do(ctx, "EXEC")
	}
	if err == nil && answer == nil {
		return fmt.Errorf("%w: another program has changed the key %s meanwhile; is another scalebench loading into "+
			"the same database?", model.ErrInvalid, stateKey)
	}
	return err
}

// Remove implements kv.Remover. The memory is free when it returns. A key that holds no
// record is another program's.
func (a *admin) Remove(ctx context.Context, keys []string) (int64, error) {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = prefix + k
	}
	records, foreign, err := a.records(ctx, all)
	switch {
	case err != nil:
		return 0, err
	case len(foreign) > 0:
		return 0, kv.Foreign("the key "+foreign[0], "database")
	case len(records) == 0:
		return 0, nil
	}
	return int64(len(records)), a.whileOurs(ctx, "DEL", redis.Args{}.AddFlat(records)...)
}

// Settle implements kv.Remover: there is nothing left to do.
func (a *admin) Settle(context.Context) error { return nil }
