package sqlkv

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// The tables. That of the state is made first and removed last, for MySQL
// cannot do both at once; so a table of records without it is not ours.
const (
	recordTable = "scalebench_kv"
	stateTable  = "scalebench_kv_state"
)

// admin does what is not measured over one connection.
type admin struct {
	*sql.DB
	dialect

	store *Store
}

var _ kv.Remover = (*admin)(nil)

// querier is a connection or a transaction.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Find reads the description; the table is empty until there is one.
func (a *admin) Find(ctx context.Context) (description string, err error) {
	err = a.ifMade(ctx, "SELECT description FROM "+stateTable, &description)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return description, a.store.adminError(err)
}

// Count counts the rows.
func (a *admin) Count(ctx context.Context) (n int64, err error) {
	err = a.ifMade(ctx, "SELECT count(*) FROM "+recordTable, &n)
	return n, a.store.adminError(err)
}

// ifMade reads one value if there are tables that Create has made.
func (a *admin) ifMade(ctx context.Context, query string, into any) error {
	made, err := a.made(ctx, a.DB)
	if err != nil || !made {
		return err
	}
	return a.QueryRowContext(ctx, query).Scan(into)
}

// made reports whether there are tables that Create has made. A table of
// records that another program has made is an error, model.ErrUsage.
func (a *admin) made(ctx context.Context, q querier) (bool, error) {
	var records, state bool
	err := q.QueryRowContext(ctx, a.exists, recordTable).Scan(&records)
	if err != nil || !records {
		return false, err
	}
	err = q.QueryRowContext(ctx, a.exists, stateTable).Scan(&state)
	if err == nil && !state {
		return false, kv.Foreign(recordTable, a.foreign)
	}
	return state, err
}

// Create makes the tables. Keys and values are bytes, or compare as such,
// whatever the language of the database is, so that the same load means the
// same work everywhere.
func (a *admin) Create(ctx context.Context, shape kv.Shape) error {
	fields := strings.Join(shape.Names(), " "+a.value+" NOT NULL, ") + " " + a.value + " NOT NULL"
	return a.replace(ctx,
		"CREATE TABLE "+stateTable+" (description "+a.text+" NOT NULL)",
		"CREATE TABLE "+recordTable+" (k "+a.key+" NOT NULL PRIMARY KEY, "+fields+")")
}

// Drop removes the tables.
func (a *admin) Drop(ctx context.Context) error { return a.replace(ctx) }

// replace removes the tables and executes statements, in one transaction where
// the server's transactions extend to tables.
func (a *admin) replace(ctx context.Context, statements ...string) error {
	tx, err := a.BeginTx(ctx, nil)
	if err != nil {
		return a.store.adminError(err)
	}
	_, err = a.made(ctx, tx)
	for _, s := range append([]string{"DROP TABLE IF EXISTS " + recordTable, "DROP TABLE IF EXISTS " + stateTable}, statements...) {
		if err == nil {
			_, err = tx.ExecContext(ctx, s)
		}
	}
	if err != nil {
		_ = tx.Rollback() // the first error counts
		return a.store.adminError(err)
	}
	return a.store.adminError(tx.Commit())
}

// Finish writes the description after the server did what it would do by itself
// during the measurement otherwise: statistics and, as pgbench does it, a vacuum.
func (a *admin) Finish(ctx context.Context, description string) error {
	if err := a.Settle(ctx); err != nil {
		return err
	}
	_, err := a.ExecContext(ctx, "INSERT INTO "+stateTable+" (description) VALUES "+params(a.param, 1), description)
	return a.store.adminError(err)
}

// Settle implements kv.Remover: in PostgreSQL rows that were removed, or replaced
// by updates, take up room until a vacuum; MySQL purges them in the background.
func (a *admin) Settle(ctx context.Context) error {
	_, err := a.ExecContext(ctx, a.settle+" "+recordTable)
	return a.store.adminError(err)
}

// Remove implements kv.Remover.
func (a *admin) Remove(ctx context.Context, keys []string) (n int64, err error) {
	args := make([]any, len(keys))
	for i, k := range keys {
		args[i] = k
	}
	result, err := a.ExecContext(ctx, "DELETE FROM "+recordTable+" WHERE k IN "+params(a.param, len(keys)), args...)
	if err == nil {
		n, err = result.RowsAffected()
	}
	return n, a.store.adminError(err)
}

// loader writes batches of rows over one connection.
type loader struct {
	*sql.DB

	store   *Store
	columns []string
}

// Load writes rows.
func (l *loader) Load(ctx context.Context, rows []kv.Row) error {
	if err := l.store.load(ctx, l.DB, l.columns, rows); err != nil {
		return fmt.Errorf("writing %d records: %w", len(rows), l.store.adminError(err))
	}
	return nil
}
