package sqlkv

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// session executes prepared statements.
type session struct {
	conn
	store     *Store
	duplicate string // code of the error for a key that exists
	read      statement
	insert    statement
	update    []statement // by field
	args      [][]byte    // of the operation at hand
}

// prepare prepares all statements now, for later it would be a part of some
// operation's latency.
func (x *session) prepare(ctx context.Context, shape kv.Shape) (err error) {
	d, fields, all := x.store.dialect(), shape.Names(), columns(shape)
	one := func(query string) (s statement) {
		if err == nil {
			s, err = x.conn.prepare(ctx, query)
		}
		return s
	}
	x.read = one("SELECT " + strings.Join(fields, ", ") + " FROM " + recordTable + " WHERE k = " + d.param(1))
	x.insert = one("INSERT INTO " + recordTable + " (" + strings.Join(all, ", ") + ") VALUES " + params(d.param, 1, len(all)))
	for _, field := range fields {
		x.update = append(x.update, one("UPDATE "+recordTable+" SET "+field+" = "+d.param(1)+" WHERE k = "+d.param(2)))
	}
	if x.store.codeOf(err) == d.missing {
		return fmt.Errorf("no records were loaded: %w", err)
	}
	return err
}

// params is a list of n placeholders in parentheses, for the arguments from
// this one on.
func params(param func(int) string, from, n int) string {
	p := make([]string, n)
	for i := range p {
		p[i] = param(from + i)
	}
	return "(" + strings.Join(p, ", ") + ")"
}

// Read selects all fields of a row.
func (x *session) Read(ctx context.Context, key string, into kv.Record) error {
	x.args = append(x.args[:0], []byte(key))
	found, err := x.read.query(ctx, x.args, into)
	if err != nil {
		return x.fault(ctx, err)
	}
	if !found {
		return kv.ErrMissing
	}
	return nil
}

// Update sets one column of a row.
func (x *session) Update(ctx context.Context, key string, field int, value []byte) error {
	x.args = append(x.args[:0], value, []byte(key))
	found, err := x.update[field].exec(ctx, x.args)
	if err != nil {
		return x.fault(ctx, err)
	}
	if found == 0 {
		return kv.ErrMissing
	}
	return nil
}

// Insert inserts a row.
func (x *session) Insert(ctx context.Context, key string, record kv.Record) error {
	x.args = append(append(x.args[:0], []byte(key)), record...)
	_, err := x.insert.exec(ctx, x.args)
	if x.store.codeOf(err) == x.duplicate {
		return errors.Join(kv.ErrExists, err)
	}
	if err != nil {
		return x.fault(ctx, err)
	}
	return nil
}

// fault gives the error of an operation its kind.
func (x *session) fault(ctx context.Context, err error) error {
	return kv.Fault(ctx, err, x.store.kindOf)
}
