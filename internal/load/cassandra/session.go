package cassandra

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// session does one statement at a time. The library finds prepared statements
// by their text.
type session struct {
	*conn
	read   string
	insert string
	update []string // by field
}

// newSession is for records of a shape in a table.
func newSession(c *conn, table string, shape kv.Shape) *session {
	columns := shape.Names()
	x := &session{
		conn:   c,
		read:   "SELECT " + strings.Join(columns, ", ") + " FROM " + table + " WHERE k = ?",
		insert: insertStatement(table, shape),
	}
	for _, column := range columns {
		x.update = append(x.update, "UPDATE "+table+" SET "+column+" = ? WHERE k = ?")
	}
	return x
}

// prepare prepares all statements now, for later it would be a part of some
// operation's latency. With several servers the others than the first prepare
// each statement when it comes to them.
func (x *session) prepare(ctx context.Context) error {
	defer x.sockets.closeAfter(ctx)()
	for _, statement := range append([]string{x.read, x.insert}, x.update...) {
		_, err := x.StatementMetadata(ctx, statement, "")
		if hasCode(err, gocql.ErrCodeInvalid) {
			return fmt.Errorf("no records were loaded: %w", err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func insertStatement(table string, shape kv.Shape) string {
	columns := shape.Names()
	return "INSERT INTO " + table + " (k, " + strings.Join(columns, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(columns)) + ")"
}

// Read selects all fields of a row.
func (x *session) Read(ctx context.Context, key string, into kv.Record) error {
	defer x.sockets.closeAfter(ctx)()
	targets := make([]any, len(into))
	for i := range into {
		targets[i] = &into[i]
	}
	err := x.Query(x.read, key).ScanContext(ctx, targets...)
	if errors.Is(err, gocql.ErrNotFound) {
		return kv.ErrMissing
	}
	if err != nil {
		return fault(ctx, err)
	}
	for _, value := range into {
		if value == nil { // the row has only what an update has written
			return kv.ErrMissing
		}
	}
	return nil
}

// Update writes one column of a row, whether the row was there or not.
func (x *session) Update(ctx context.Context, key string, field int, value []byte) error {
	return x.exec(ctx, x.update[field], value, key)
}

// Insert writes a row, whether it was there or not.
func (x *session) Insert(ctx context.Context, key string, record kv.Record) error {
	return x.exec(ctx, x.insert, values(key, record)...)
}

func (x *session) exec(ctx context.Context, statement string, args ...any) error {
	defer x.sockets.closeAfter(ctx)()
	if err := x.Query(statement, args...).ExecContext(ctx); err != nil {
		return fault(ctx, err)
	}
	return nil
}

// values are the arguments of an insert.
func values(key string, record kv.Record) []any {
	args := append(make([]any, 0, 1+len(record)), key)
	for _, value := range record {
		args = append(args, value)
	}
	return args
}
