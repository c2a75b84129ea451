package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"

	"github.com/scalebench/scalebench/internal/model"
)

// Dialect is what differs between databases.
type Dialect struct {
	// Goose names the database to goose; Migrations holds its *.sql files.
	Goose      goose.Dialect
	Migrations fs.FS
	// LockMigration keeps other processes from migrating until unlock is
	// called.
	LockMigration func(context.Context) (unlock func() error, err error)
	// TableExists is a query with one parameter, the name of a table, that
	// returns one boolean.
	TableExists string
	// Numbered: placeholders are $1, $2, …; otherwise every one is "?".
	Numbered bool
	// ForShare is appended to the query that reads the steps (alias s) of the
	// results to store. It must keep BeginAttempt and DeleteRun of these steps
	// waiting until the transaction ends; empty where writers exclude each
	// other anyway.
	ForShare string
	// Snapshot are the options of a transaction that only reads and sees one
	// moment.
	Snapshot *sql.TxOptions
	// Committers is how many batches may be in their transactions at once.
	Committers int
	// Classify tells what a driver error means.
	Classify func(error) Fault
}

// Fault is what a driver error means for the caller.
type Fault struct {
	// Kind is an error kind of package model, or nil: a defect, of the
	// program or of the data, that waiting does not repair.
	Kind error
	// Advice says what a person can do about it; may be empty.
	Advice string
	// Retry: the transaction had no effect and may succeed when repeated at
	// once (serialization failure, deadlock).
	Retry bool
}

// bind writes the placeholders of a query, all "?", in the form of the
// dialect. Queries in this package have no "?" of another meaning.
func (d *Dialect) bind(query string) string {
	if !d.Numbered {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + len(query)/8)
	n := 0
	for _, c := range []byte(query) {
		if c != '?' {
			b.WriteByte(c)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// errClosed is what a write gets after Close.
var errClosed = fmt.Errorf("%w: the store is closed", model.ErrUnavailable)

// fail says what was being done and gives a driver error its kind. Errors
// that have a kind keep it.
func (s *Store) fail(ctx context.Context, doing string, err error) error {
	switch {
	case err == nil:
		return nil
	case hasKind(err):
		return fmt.Errorf("%s: %w", doing, err)
	case ctx.Err() != nil:
		// The driver's error is only the echo of the caller's own decision.
		return fmt.Errorf("%s: %w", doing, ended(ctx.Err()))
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("%s: %w", doing, err)
	}
	f := s.classify(err)
	if f.Advice != "" {
		err = fmt.Errorf("%w (%s)", err, f.Advice)
	}
	if f.Kind == nil {
		return fmt.Errorf("%s in %s: %w", doing, s.where, err)
	}
	return fmt.Errorf("%s in %s: %w: %w", doing, s.where, f.Kind, err)
}

// classify knows the errors of database/sql and context; the dialect knows
// the rest.
func (s *Store) classify(err error) Fault {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return Fault{Kind: model.ErrUnavailable, Advice: "the database did not answer in time"}
	case errors.Is(err, sql.ErrConnDone), errors.Is(err, sql.ErrTxDone):
		return Fault{Kind: model.ErrUnavailable, Advice: "the connection was lost"}
	case err.Error() == "sql: database is closed":
		// database/sql does not export it.
		return Fault{Kind: model.ErrUnavailable, Advice: "the store was closed"}
	}
	return s.d.Classify(err)
}

// ended makes a deadline that passed model.ErrUnavailable: whether the write
// took effect is unknown, and trying again is right. A cancelled caller asked
// for it and gets just that.
func ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
	}
	return err
}

func hasKind(err error) bool {
	for _, kind := range []error{
		model.ErrUsage, model.ErrNotFound, model.ErrInvalid,
		model.ErrDenied, model.ErrStale, model.ErrUnavailable,
	} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}
