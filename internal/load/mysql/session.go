package mysql

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// statement is a prepared statement of the library.
type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// session executes prepared statements.
type session struct {
	conn   driver.Conn
	read   statement
	insert statement
	update []statement         // by field
	args   []driver.NamedValue // of the operation at hand
	row    []driver.Value      // what was read
}

func newSession(conn driver.Conn, shape kv.Shape) *session {
	s := &session{
		conn:   conn,
		update: make([]statement, shape.Fields),
		args:   make([]driver.NamedValue, shape.Fields+1),
		row:    make([]driver.Value, shape.Fields),
	}
	for i := range s.args {
		s.args[i].Ordinal = i + 1
	}
	return s
}

// prepare prepares all statements now, for later it would be a part of some
// operation's latency.
func (s *session) prepare(ctx context.Context, shape kv.Shape) (err error) {
	columns := shape.Names()
	list := strings.Join(columns, ", ")
	if s.read, err = s.prepareOne(ctx, "SELECT "+list+" FROM "+recordTable+" WHERE k = ?"); err != nil {
		return err
	}
	s.insert, err = s.prepareOne(ctx, "INSERT INTO "+recordTable+" (k, "+list+") VALUES "+placeholders(len(columns)+1))
	for i := 0; err == nil && i < len(columns); i++ {
		s.update[i], err = s.prepareOne(ctx, "UPDATE "+recordTable+" SET "+columns[i]+" = ? WHERE k = ?")
	}
	return err
}

func (s *session) prepareOne(ctx context.Context, query string) (statement, error) {
	conn, ok := s.conn.(driver.ConnPrepareContext)
	if !ok {
		return nil, fmt.Errorf("a %T cannot prepare statements", s.conn)
	}
	prepared, err := conn.PrepareContext(ctx, query)
	if hasNumber(err, noSuchTable) {
		return nil, fmt.Errorf("no records were loaded: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return prepared.(statement), nil
}

// placeholders is "(?, ?, …)".
func placeholders(n int) string { return "(?" + strings.Repeat(", ?", n-1) + ")" }

// Read selects all fields of a row.
func (s *session) Read(ctx context.Context, key string, into kv.Record) error {
	s.args[0].Value = key
	rows, err := s.read.QueryContext(ctx, s.args[:1])
	if err != nil {
		return fault(ctx, err)
	}
	err = rows.Next(s.row)
	if err == nil {
		s.copyRow(into)
	}
	// Only when the rest was read is the answer whole.
	closeErr := rows.Close()
	switch {
	case errors.Is(err, io.EOF) && closeErr == nil:
		return kv.ErrMissing
	case err != nil || closeErr != nil:
		return fault(ctx, errors.Join(err, closeErr))
	}
	return nil
}

// copyRow takes the values of a row out of the library's memory.
func (s *session) copyRow(into kv.Record) {
	for i, value := range s.row {
		switch v := value.(type) {
		case []byte:
			into[i] = append(into[i][:0], v...)
		case string:
			into[i] = append(into[i][:0], v...)
		default:
			into[i] = into[i][:0] // no value: it will not verify
		}
	}
}

// Update sets one column of a row.
func (s *session) Update(ctx context.Context, key string, field int, value []byte) error {
	s.args[0].Value, s.args[1].Value = value, key
	result, err := s.update[field].ExecContext(ctx, s.args[:2])
	if err != nil {
		return fault(ctx, err)
	}
	found, err := result.RowsAffected()
	if err != nil {
		return fault(ctx, err)
	}
	if found == 0 {
		return kv.ErrMissing
	}
	return nil
}

// Insert inserts a row.
func (s *session) Insert(ctx context.Context, key string, record kv.Record) error {
	s.args[0].Value = key
	for i, value := range record {
		s.args[i+1].Value = value
	}
	_, err := s.insert.ExecContext(ctx, s.args)
	if hasNumber(err, duplicateEntry) {
		return errors.Join(kv.ErrExists, err)
	}
	if err != nil {
		return fault(ctx, err)
	}
	return nil
}

// fault gives the error of an operation its kind.
func fault(ctx context.Context, err error) error { return kv.Fault(ctx, err, kindOf) }

// Close ends the connection, and with it the statements.
func (s *session) Close() error {
	err := s.conn.Close()
	if kind, ok := kindOf(err); ok && kind == load.ErrClosed {
		return nil // it is closed
	}
	return err
}
