package redis

import (
	"context"
	"errors"
	"fmt"

	goredis "github.com/redis/go-redis/v9"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// Keys of the server begin with this.
const prefix = "scalebench:"

// recordKey is where a record is.
func recordKey(key string) string { return prefix + key }

// session does one command at a time.
type session struct {
	*conn
	names []string
}

func newSession(c *conn, shape kv.Shape) *session {
	return &session{conn: c, names: shape.Names()}
}

// Read gets all fields with HGETALL, as YCSB does.
func (s *session) Read(ctx context.Context, key string, into kv.Record) error {
	defer s.socket.closeAfter(ctx)()
	fields, err := s.HGetAll(ctx, recordKey(key)).Result()
	if err != nil {
		return fault(ctx, err)
	}
	for i := range into {
		value, ok := fields[s.names[i]]
		if !ok {
			return kv.ErrMissing
		}
		into[i] = append(into[i][:0], value...)
	}
	return nil
}

// Update sets one field. A field that was not there tells that the record was
// not; then it is there now, and incomplete.
func (s *session) Update(ctx context.Context, key string, field int, value []byte) error {
	defer s.socket.closeAfter(ctx)()
	added, err := s.HSet(ctx, recordKey(key), s.names[field], value).Result()
	if err != nil {
		return fault(ctx, err)
	}
	if added != 0 {
		return kv.ErrMissing
	}
	return nil
}

// Insert sets all fields, whether the record was there or not.
func (s *session) Insert(ctx context.Context, key string, record kv.Record) error {
	defer s.socket.closeAfter(ctx)()
	if err := s.HSet(ctx, recordKey(key), pairs(s.names, record)...).Err(); err != nil {
		return fault(ctx, err)
	}
	return nil
}

// pairs are the arguments of HSET: names and values in turn.
func pairs(names []string, record kv.Record) []any {
	args := make([]any, 0, 2*len(names))
	for i, name := range names {
		args = append(args, name, record[i])
	}
	return args
}

// fault gives the error of an operation its kind.
func fault(ctx context.Context, err error) error { return kv.Fault(ctx, err, kindOf) }

// kindOf knows the errors of the server and of the library.
func kindOf(err error) (load.Kind, bool) {
	var answer goredis.Error
	switch {
	case errors.Is(err, goredis.ErrClosed), errors.Is(err, goredis.ErrPoolTimeout):
		return load.ErrClosed, true
	case errors.As(err, &answer):
		return load.ErrStatus, true
	}
	return 0, false
}

// loader writes batches of records in a pipeline.
type loader struct {
	*conn
	names []string
}

// Load writes rows.
func (l *loader) Load(ctx context.Context, rows []kv.Row) error {
	defer l.socket.closeAfter(ctx)()
	_, err := l.Pipelined(ctx, func(p goredis.Pipeliner) error {
		for _, row := range rows {
			p.HSet(ctx, recordKey(row.Key), pairs(l.names, row.Fields)...)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("writing %d records: %w", len(rows), adminError(err))
	}
	return nil
}
