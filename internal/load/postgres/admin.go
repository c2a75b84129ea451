package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// The tables, in the first schema of the search path. They are made and removed
// in one transaction, so that one without the other is not ours.
const (
	recordTable = "scalebench_kv"
	stateTable  = "scalebench_kv_state"
)

type admin struct{ conn *pgx.Conn }

// Find reads the description; the table is empty until there is one.
func (a *admin) Find(ctx context.Context) (string, error) {
	made, err := ours(ctx, a.conn)
	if err != nil || !made {
		return "", adminError(err)
	}
	var description string
	err = a.conn.QueryRow(ctx, "SELECT description FROM "+stateTable).Scan(&description)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	return description, adminError(err)
}

// Count counts the rows.
func (a *admin) Count(ctx context.Context) (n int64, err error) {
	made, err := ours(ctx, a.conn)
	if err != nil || !made {
		return 0, adminError(err)
	}
	err = a.conn.QueryRow(ctx, "SELECT count(*) FROM "+recordTable).Scan(&n)
	return n, adminError(err)
}

// querier is a connection or a transaction.
type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ours reports whether there are tables that Create has made. A table of
// records that somebody else has made is an error, model.ErrUsage.
func ours(ctx context.Context, q querier) (bool, error) {
	var records, state bool
	err := q.QueryRow(ctx, "SELECT to_regclass($1) IS NOT NULL, to_regclass($2) IS NOT NULL", recordTable, stateTable).Scan(&records, &state)
	if err == nil && records && !state {
		return false, kv.Foreign(recordTable, "schema with ?search_path=")
	}
	return records && state, err
}

// Create makes the tables. Keys compare byte by byte, whatever the language of
// the database is, so that the same load means the same work everywhere.
func (a *admin) Create(ctx context.Context, shape kv.Shape) error {
	columns := strings.Join(shape.Names(), " text NOT NULL, ") + " text NOT NULL"
	return a.transaction(ctx, func(tx pgx.Tx) error {
		if err := drop(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "CREATE TABLE "+stateTable+" (description text NOT NULL)"); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `CREATE TABLE `+recordTable+` (k text COLLATE "C" PRIMARY KEY, `+columns+`)`)
		return err
	})
}

func (a *admin) transaction(ctx context.Context, do func(pgx.Tx) error) error {
	return adminError(pgx.BeginFunc(ctx, a.conn, do))
}

func drop(ctx context.Context, tx pgx.Tx) error {
	made, err := ours(ctx, tx)
	if err != nil || !made {
		return err
	}
	_, err = tx.Exec(ctx, "DROP TABLE "+recordTable+", "+stateTable)
	return err
}

// Finish writes the description after a vacuum with statistics, as pgbench does
// it: otherwise the server would begin one by itself during the measurement.
func (a *admin) Finish(ctx context.Context, description string) error {
	if _, err := a.conn.Exec(ctx, "VACUUM (ANALYZE) "+recordTable); err != nil {
		return adminError(err)
	}
	_, err := a.conn.Exec(ctx, "INSERT INTO "+stateTable+" (description) VALUES ($1)", description)
	return adminError(err)
}

// Drop removes the tables.
func (a *admin) Drop(ctx context.Context) error {
	return a.transaction(ctx, func(tx pgx.Tx) error { return drop(ctx, tx) })
}

// Close ends the connection.
func (a *admin) Close() error { return closeConn(a.conn) }

func closeConn(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return conn.Close(ctx)
}

// loader writes batches of rows with COPY.
type loader struct {
	conn  *pgx.Conn
	shape kv.Shape
}

// Load writes rows.
func (l *loader) Load(ctx context.Context, rows []kv.Row) error {
	columns := append([]string{"k"}, l.shape.Names()...)
	source := pgx.CopyFromSlice(len(rows), func(i int) ([]any, error) {
		values := append(make([]any, 0, len(columns)), rows[i].Key)
		for _, value := range rows[i].Fields {
			values = append(values, value)
		}
		return values, nil
	})
	if _, err := l.conn.CopyFrom(ctx, pgx.Identifier{recordTable}, columns, source); err != nil {
		return fmt.Errorf("writing %d records: %w", len(rows), adminError(err))
	}
	return nil
}

// Close ends the connection.
func (l *loader) Close() error { return closeConn(l.conn) }
