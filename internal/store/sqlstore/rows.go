package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

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

// insertReturning is insert with a RETURNING clause, whose rows go to scan.
func (s *Store) insertReturning(ctx context.Context, tx *sql.Tx, into string, rows [][]any,
	suffix string, scan func(*sql.Rows) error) error {
	return split(len(rows), func(from, to int) error {
		query, args := insertQuery(into, rows[from:to], suffix)
		return s.each(ctx, tx, scan, query, args...)
	})
}

func insertQuery(into string, rows [][]any, suffix string) (string, []any) {
	row := "(" + marks(len(rows[0])) + ")"
	var b strings.Builder
	fmt.Fprintf(&b, "INSERT INTO %s VALUES %s", into, row)
	args := append([]any(nil), rows[0]...)
	for _, r := range rows[1:] {
		b.WriteString(", " + row)
		args = append(args, r...)
	}
	b.WriteString(" " + suffix)
	return b.String(), args
}

// eachIn runs a query whose "%s" is an IN list of these values, in parts.
func (s *Store) eachIn(ctx context.Context, tx *sql.Tx, scan func(*sql.Rows) error, query string, values []string) error {
	return split(len(values), func(from, to int) error {
		args := make([]any, 0, to-from)
		for _, v := range values[from:to] {
			args = append(args, text(v))
		}
		return s.each(ctx, tx, scan, fmt.Sprintf(query, marks(to-from)), args...)
	})
}

// existing returns which of these ids the table has.
func (s *Store) existing(ctx context.Context, tx *sql.Tx, table string, ids []string) (map[string]bool, error) {
	found := make(map[string]bool, len(ids))
	err := s.eachIn(ctx, tx, func(rows *sql.Rows) error {
		var id text
		if err := rows.Scan(&id); err != nil {
			return err
		}
		found[string(id)] = true
		return nil
	}, "SELECT id FROM "+table+" WHERE id IN (%s)", ids)
	return found, err
}

func marks(n int) string {
	return strings.TrimSuffix(strings.Repeat("?, ", n), ", ")
}
