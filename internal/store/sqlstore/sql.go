package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// inTx runs fn in a transaction that may write, again if the database asks
// for a repetition; fn must not keep state from one call to the next.
func (s *Store) inTx(ctx context.Context, fn func(*sql.Tx) error) error {
	for try := 1; ; try++ {
		err := oneTx(ctx, s.write, nil, fn)
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
func (s *Store) inSnapshot(ctx context.Context, fn func(*sql.Tx) error) error {
	return oneTx(ctx, s.read, s.d.Snapshot, fn)
}

func oneTx(ctx context.Context, db *sql.DB, opts *sql.TxOptions, fn func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, opts)
	if err != nil {
		return err
	}
	// Also when fn panics or ends its goroutine; after a commit it does
	// nothing. Its error says nothing new: the first one is the cause.
	defer func() { _ = tx.Rollback() }()
	if err := fn(tx); err != nil {
		return err
	}
	return tx.Commit()
}

func (s *Store) exec(ctx context.Context, tx *sql.Tx, query string, args ...any) (int64, error) {
	res, err := tx.ExecContext(ctx, s.d.bind(query), args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// updateOne runs a statement that must touch one row; none is
// model.ErrNotFound.
func (s *Store) updateOne(ctx context.Context, query string, args ...any) error {
	return s.inTx(ctx, func(tx *sql.Tx) error {
		n, err := s.exec(ctx, tx, query, args...)
		if err == nil && n == 0 {
			err = fmt.Errorf("%w: it does not exist, or was deleted", model.ErrNotFound)
		}
		return err
	})
}

// each runs a query and calls scan for every row.
func (s *Store) each(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, query string, args ...any) (err error) {
	rows, err := tx.QueryContext(ctx, s.d.bind(query), args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}

// selectAll returns what a query finds; fields are the places of the columns
// in a value. The same functions give the arguments of an insertion.
func selectAll[T any](ctx context.Context, s *Store, tx *sql.Tx, fields func(*T) []any, query string, args ...any) ([]T, error) {
	all := []T{}
	err := s.each(ctx, tx, func(rows *sql.Rows) error {
		var x T
		err := rows.Scan(fields(&x)...)
		all = append(all, x)
		return err
	}, query, args...)
	return all, err
}

// rowCounts are the numbers of rows (or of values in an IN list) that one
// statement takes, largest first. Few distinct statements mean that a
// database can keep them prepared; the largest stays far below the limits of
// 32,766 (SQLite) and 65,535 (PostgreSQL) parameters.
var rowCounts = [...]int{128, 16, 4, 1}

// split calls fn for consecutive ranges [from, to) whose lengths are row
// counts.
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

// insert writes rows into the columns of a table: "runs (id, name)". suffix
// may hold an ON CONFLICT clause.
func (s *Store) insert(ctx context.Context, tx *sql.Tx, into string, rows [][]any, suffix string) error {
	return split(len(rows), func(from, to int) error {
		query, args := insertQuery(into, rows[from:to], suffix)
		_, err := s.exec(ctx, tx, query, args...)
		return err
	})
}

func insertQuery(into string, rows [][]any, suffix string) (string, []any) {
	row := "(" + marks(len(rows[0])) + ")"
	args := make([]any, 0, len(rows)*len(rows[0]))
	for _, r := range rows {
		args = append(args, r...)
	}
	return "INSERT INTO " + into + " VALUES " + row + strings.Repeat(", "+row, len(rows)-1) + " " + suffix, args
}

// eachIn runs a query whose "%s" is an IN list of these values, in parts.
func (s *Store) eachIn(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, query string, values []string) error {
	return split(len(values), func(from, to int) error {
		return s.each(ctx, tx, scan, fmt.Sprintf(query, marks(to-from)), texts(values[from:to])...)
	})
}

// existing returns which of these ids the table has.
func (s *Store) existing(ctx context.Context, tx *sql.Tx, table string, ids []string) (map[string]bool, error) {
	found := make(map[string]bool, len(ids))
	err := s.eachIn(ctx, tx, func(rows *sql.Rows) error {
		var id text
		err := rows.Scan(&id)
		found[string(id)] = true
		return err
	}, "SELECT id FROM "+table+" WHERE id IN (%s)", ids)
	return found, err
}

func texts(values []string) []any {
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = text(v)
	}
	return args
}

func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}
