package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
)

// Dialect is what differs between databases.
type Dialect struct {
	// Goose names the database to goose; Migrations holds migrations/*.sql.
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
	// ForShareStep is the same for a query that reads steps alone.
	ForShareStep string
	// ForUpdate is appended to a query that reads rows which stay as they are
	// until the transaction ends; empty where writers exclude each other anyway.
	ForUpdate string
	// Now is the time of the database, in nanoseconds since 1970.
	Now string
	// Snapshot are the options of a transaction that only reads and sees one
	// moment.
	Snapshot *sql.TxOptions
	// Room returns how much space the database has.
	Room func(ctx context.Context, read *sql.DB) (store.Room, error)
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

// Explain adds kind and advice to a driver error.
func (f Fault) Explain(err error) error {
	if f.Advice != "" {
		err = fmt.Errorf("%w (%s)", err, f.Advice)
	}
	if f.Kind != nil {
		err = fmt.Errorf("%w: %w", f.Kind, err)
	}
	return err
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

var errClosed = model.Unavailablef("the store is closed")

// fail says what was being done and gives a driver error its kind. Errors
// that have a kind keep it. It knows the errors of database/sql and context; the
// dialect knows the rest.
func (s *Store) fail(ctx context.Context, doing string, err error) error {
	is := func(target error) bool { return errors.Is(err, target) }
	var f Fault
	switch {
	case err == nil:
		return nil
	case slices.ContainsFunc([]error{
		model.ErrUsage, model.ErrNotFound, model.ErrInvalid, model.ErrDenied, model.ErrStale, model.ErrQuota,
		model.ErrUnavailable,
	}, is):
		return fmt.Errorf("%s: %w", doing, err)
	case ctx.Err() != nil:
		// The driver's error is only the echo of the caller's own decision.
		return fmt.Errorf("%s: %w", doing, ended(ctx.Err()))
	case is(context.Canceled):
		return fmt.Errorf("%s: %w", doing, err)
	case is(context.DeadlineExceeded):
		f = Fault{Kind: model.ErrUnavailable, Advice: "the database did not answer in time"}
	case is(sql.ErrConnDone), is(sql.ErrTxDone):
		f = Fault{Kind: model.ErrUnavailable, Advice: "the connection was lost"}
	case err.Error() == "sql: database is closed": // database/sql does not export it
		f = Fault{Kind: model.ErrUnavailable, Advice: "the store was closed"}
	default:
		f = s.d.Classify(err)
	}
	return fmt.Errorf("%s in %s: %w", doing, s.where, f.Explain(err))
}

// ended makes a deadline that passed model.ErrUnavailable: whether the write
// took effect is unknown, and trying again is right. A cancelled caller asked
// for it and gets just that.
func ended(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return model.Unavailablef("%w", err)
	}
	return err
}

// tx is a transaction, with the context of who asked for it. In its statements
// arguments and places of columns are of the model's types: see [sqlValue].
type tx struct {
	*sql.Tx
	s   *Store
	ctx context.Context
}

// inTx runs fn in a transaction that may write, again if the database asks
// for a repetition; fn must not keep state from one call to the next.
func (s *Store) inTx(ctx context.Context, fn func(tx) error) error {
	for try := 1; ; try++ {
		err := s.oneTx(ctx, s.write, nil, fn)
		if err == nil || try == maxTries || !s.d.Classify(err).Retry {
			return err
		}
		// A random time, so that two transactions in each other's way part.
		timer := time.NewTimer(rand.N(time.Millisecond << min(try, 6)))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return err
		}
	}
}

// inSnapshot runs fn in a transaction that reads one moment of the database.
func (s *Store) inSnapshot(ctx context.Context, fn func(tx) error) error {
	return s.oneTx(ctx, s.read, s.d.Snapshot, fn)
}

// read returns what fn reads of one moment of the database. An error says what
// was being done, and the value is zero then.
func read[T any](ctx context.Context, s *Store, doing string, fn func(tx) (T, error)) (x T, err error) {
	err = s.inSnapshot(ctx, func(t tx) (err error) {
		x, err = fn(t)
		return err
	})
	if err != nil {
		var none T
		return none, s.fail(ctx, doing, err)
	}
	return x, nil
}

// change is inTx with an error that says what was being done.
func (s *Store) change(ctx context.Context, doing string, fn func(tx) error) error {
	return s.fail(ctx, doing, s.inTx(ctx, fn))
}

func (s *Store) oneTx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, fn func(tx) error) error {
	t, err := db.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	// Also when fn panics or ends its goroutine; after a commit it does
	// nothing. Its error says nothing new: the first one is the cause.
	defer func() { _ = t.Rollback() }()
	if err := fn(tx{t, s, ctx}); err != nil {
		return err
	}
	return t.Commit()
}

// exec returns how many rows a statement touched.
func (t tx) exec(query string, args ...any) (int64, error) {
	res, err := t.ExecContext(t.ctx, t.s.d.bind(query), sqlValues(args)...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

var errGone = fmt.Errorf("%w: it does not exist, or was deleted", model.ErrNotFound)

// changeOne runs a statement that must touch one row; none is
// model.ErrNotFound.
func (s *Store) changeOne(ctx context.Context, doing, query string, args ...any) error {
	return s.change(ctx, doing, func(t tx) error {
		n, err := t.exec(query, args...)
		if err == nil && n == 0 {
			err = errGone
		}
		return err
	})
}

// first reads the first row that a query finds; none is sql.ErrNoRows.
func (t tx) first(places []any, query string, args ...any) error {
	return t.QueryRowContext(t.ctx, t.s.d.bind(query), sqlValues(args)...).Scan(sqlValues(places)...)
}

// each runs a query and calls row for every row, which is in these places then.
func (t tx) each(places []any, row func() error, query string, args ...any) (err error) {
	rows, err := t.QueryContext(t.ctx, t.s.d.bind(query), sqlValues(args)...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for places = sqlValues(places); rows.Next(); {
		if err := rows.Scan(places...); err != nil {
			return err
		}
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}

// selectAll returns what a query finds; fields are the places of the columns
// in a value. The same functions give the arguments of an insertion.
func selectAll[T any](t tx, fields func(*T) []any, query string, args ...any) ([]T, error) {
	all := []T{}
	var x, zero T
	err := t.each(fields(&x), func() error {
		all, x = append(all, x), zero
		return nil
	}, query, args...)
	return all, err
}

// rowCounts are the numbers of rows (or of values in an IN list) that one
// statement takes, largest first. Few distinct statements mean that a
// database can keep them prepared; the largest stays far below the limits of
// 32,766 (SQLite) and 65,535 (PostgreSQL) parameters.
var rowCounts = [...]int{128, 16, 4, 1}

// split calls fn for consecutive ranges [from, to) with row counts as
// lengths.
func split(n int, fn func(from, to int) error) error {
	for from := 0; from < n; {
		for _, size := range rowCounts {
			if n-from >= size {
				if err := fn(from, from+size); err != nil {
					return err
				}
				from += size
				break
			}
		}
	}
	return nil
}

// insert writes rows into the columns of a table, "runs (id, name)", and returns
// how many. suffix may hold an ON CONFLICT clause.
func (t tx) insert(into string, rows [][]any, suffix string) (n int64, err error) {
	err = split(len(rows), func(from, to int) error {
		query, args := insertQuery(into, rows[from:to], suffix)
		more, err := t.exec(query, args...)
		n += more
		return err
	})
	return n, err
}

func insertQuery(into string, rows [][]any, suffix string) (string, []any) {
	row := "(" + marks(len(rows[0])) + ")"
	return "INSERT INTO " + into + " VALUES " + row + strings.Repeat(", "+row, len(rows)-1) + " " + suffix, slices.Concat(rows...)
}

// eachIn runs a query in which "%s" is an IN list of these values, in parts.
func (t tx) eachIn(places []any, row func(), query string, list []string) error {
	return split(len(list), func(from, to int) error {
		return t.each(places, func() error {
			row()
			return nil
		}, fmt.Sprintf(query, marks(to-from)), values(list[from:to])...)
	})
}

func values[T any](list []T) []any {
	args := make([]any, len(list))
	for i, v := range list {
		args[i] = v
	}
	return args
}

func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}
