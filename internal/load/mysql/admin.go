package mysql

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// The tables. That of the state is made first and removed last, for the server
// cannot do both at once; so a table of records without it is not ours.
const (
	recordTable = "scalebench_kv"
	stateTable  = "scalebench_kv_state"
)

type admin struct{ db *sql.DB }

// Find reads the description; the table is empty until there is one.
func (a *admin) Find(ctx context.Context) (string, error) {
	made, err := a.made(ctx)
	if err != nil || !made {
		return "", err
	}
	var description string
	err = a.db.QueryRowContext(ctx, "SELECT description FROM "+stateTable).Scan(&description)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return description, adminError(err)
}

// Count counts the rows.
func (a *admin) Count(ctx context.Context) (n int64, err error) {
	made, err := a.made(ctx)
	if err != nil || !made {
		return 0, err
	}
	err = a.db.QueryRowContext(ctx, "SELECT count(*) FROM "+recordTable).Scan(&n)
	return n, adminError(err)
}

// made reports whether there are both tables.
func (a *admin) made(ctx context.Context) (bool, error) {
	records, err := a.exists(ctx, recordTable)
	if err != nil || !records {
		return false, err
	}
	state, err := a.exists(ctx, stateTable)
	if err == nil && !state {
		return false, kv.Foreign(recordTable, "database")
	}
	return state, err
}

func (a *admin) exists(ctx context.Context, table string) (there bool, err error) {
	err = a.db.QueryRowContext(ctx,
		"SELECT count(*) > 0 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = ?", table).Scan(&there)
	return there, adminError(err)
}

// Create makes the tables. Keys and values are bytes, whatever the language of
// the database is, so that the same load means the same work everywhere.
func (a *admin) Create(ctx context.Context, shape kv.Shape) error {
	columns := strings.Join(shape.Names(), " MEDIUMBLOB NOT NULL, ") + " MEDIUMBLOB NOT NULL"
	if err := a.Drop(ctx); err != nil {
		return err
	}
	return a.exec(ctx,
		"CREATE TABLE "+stateTable+" (description VARCHAR(255) NOT NULL)",
		"CREATE TABLE "+recordTable+" (k VARBINARY(32) NOT NULL PRIMARY KEY, "+columns+")")
}

// exec executes statements that return nothing.
func (a *admin) exec(ctx context.Context, statements ...string) error {
	for _, s := range statements {
		if _, err := a.db.ExecContext(ctx, s); err != nil {
			return adminError(err)
		}
	}
	return nil
}

// Finish writes the description after statistics were computed: otherwise the
// server would do so by itself during the measurement.
func (a *admin) Finish(ctx context.Context, description string) error {
	if err := a.exec(ctx, "ANALYZE TABLE "+recordTable); err != nil {
		return err
	}
	_, err := a.db.ExecContext(ctx, "INSERT INTO "+stateTable+" (description) VALUES (?)", description)
	return adminError(err)
}

// Drop removes the tables.
func (a *admin) Drop(ctx context.Context) error {
	if _, err := a.made(ctx); err != nil {
		return err
	}
	return a.exec(ctx, "DROP TABLE IF EXISTS "+recordTable, "DROP TABLE IF EXISTS "+stateTable)
}

// Close ends the connection.
func (a *admin) Close() error { return a.db.Close() }

// loader writes batches of rows with one statement each.
type loader struct {
	db    *sql.DB
	shape kv.Shape
}

// Load writes rows.
func (l *loader) Load(ctx context.Context, rows []kv.Row) error {
	row := placeholders(l.shape.Fields + 1)
	query := "INSERT INTO " + recordTable + " VALUES " + row + strings.Repeat(", "+row, len(rows)-1)
	args := make([]any, 0, len(rows)*(l.shape.Fields+1))
	for _, r := range rows {
		args = append(args, r.Key)
		for _, value := range r.Fields {
			args = append(args, value)
		}
	}
	if _, err := l.db.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("writing %d records: %w", len(rows), adminError(err))
	}
	return nil
}

// Close ends the connection.
func (l *loader) Close() error { return l.db.Close() }
