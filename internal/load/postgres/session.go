package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// session executes prepared statements, below the library's conversion of
// values: all here are text, and no memory is needed but that of the caller.
type session struct {
	conn   *pgconn.PgConn
	read   *pgconn.StatementDescription
	insert *pgconn.StatementDescription
	update []*pgconn.StatementDescription // by field
	args   [][]byte                       // of the operation at hand
}

func newSession(conn *pgconn.PgConn, shape kv.Shape) *session {
	return &session{
		conn:   conn,
		update: make([]*pgconn.StatementDescription, shape.Fields),
		args:   make([][]byte, 0, shape.Fields+1),
	}
}

// prepare prepares all statements now, for later it would be a part of some
// operation's latency.
func (s *session) prepare(ctx context.Context, shape kv.Shape) (err error) {
	columns := shape.Names()
	list := strings.Join(columns, ", ")
	if s.read, err = s.prepareOne(ctx, "read", "SELECT "+list+" FROM "+recordTable+" WHERE k = $1"); err != nil {
		return err
	}
	s.insert, err = s.prepareOne(ctx, "insert", "INSERT INTO "+recordTable+" (k, "+list+") VALUES ("+parameters(len(columns)+1)+")")
	for i := 0; err == nil && i < len(columns); i++ {
		s.update[i], err = s.prepareOne(ctx, columns[i], "UPDATE "+recordTable+" SET "+columns[i]+" = $2 WHERE k = $1")
	}
	return err
}

func (s *session) prepareOne(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	statement, err := s.conn.Prepare(ctx, name, sql, nil)
	if hasCode(err, undefinedTable) {
		return nil, fmt.Errorf("no records were loaded: %w", err)
	}
	return statement, err
}

// parameters is "$1, $2, …".
func parameters(n int) string {
	p := make([]string, n)
	for i := range p {
		p[i] = fmt.Sprintf("$%d", i+1)
	}
	return strings.Join(p, ", ")
}

// Read selects all fields of a row.
func (s *session) Read(ctx context.Context, key string, into kv.Record) error {
	s.args = append(s.args[:0], []byte(key))
	result := s.conn.ExecStatement(ctx, s.read, s.args, nil, nil)
	found := result.NextRow()
	if found {
		for i, value := range result.Values() {
			into[i] = append(into[i][:0], value...)
		}
	}
	if _, err := result.Close(); err != nil {
		return fault(ctx, err)
	}
	if !found {
		return kv.ErrMissing
	}
	return nil
}

// Update sets one column of a row.
func (s *session) Update(ctx context.Context, key string, field int, value []byte) error {
	s.args = append(s.args[:0], []byte(key), value)
	tag, err := s.conn.ExecStatement(ctx, s.update[field], s.args, nil, nil).Close()
	if err != nil {
		return fault(ctx, err)
	}
	if tag.RowsAffected() == 0 {
		return kv.ErrMissing
	}
	return nil
}

// Insert inserts a row.
func (s *session) Insert(ctx context.Context, key string, record kv.Record) error {
	s.args = append(append(s.args[:0], []byte(key)), record...)
	_, err := s.conn.ExecStatement(ctx, s.insert, s.args, nil, nil).Close()
	if hasCode(err, uniqueViolation) {
		return errors.Join(kv.ErrExists, err)
	}
	if err != nil {
		return fault(ctx, err)
	}
	return nil
}

// fault gives the error of an operation its kind.
func fault(ctx context.Context, err error) error { return kv.Fault(ctx, err, kindOf) }

// closeTimeout bounds saying goodbye.
const closeTimeout = time.Second

// Close ends the connection. One that an operation has ended is closed in the
// background, after the server was asked to give the operation up; that is
// waited for, unless the server does not react at all.
func (s *session) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.conn.Close(ctx)
	select {
	case <-s.conn.CleanupDone():
	case <-ctx.Done():
	}
	return err
}
