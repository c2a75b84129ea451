package sqlkv

import (
	"context"
	"database/sql"
	"errors"
	"strings"

	"github.com/scalebench/scalebench/internal/load/kv"
)

// New is NewMySQL or NewPostgres, as the URL's scheme says.
func New(rawURL string) (*Store, error) {
	if strings.HasPrefix(rawURL, "postgres") {
		return NewPostgres(rawURL)
	}
	return NewMySQL(rawURL)
}

// The methods below are for programs that have tables of their own there.

// Postgres reports whether it is PostgreSQL; if not, it is MySQL or MariaDB.
func (s *Store) Postgres() bool {
	_, is := s.database.(*postgresServer)
	return is
}

// Address is where it is.
func (s *Store) Address() kv.Address { return s.address }

// Explain implements kv.Store.
func (s *Store) Explain(err error) error {
	return s.address.Explain(err, s.Code(err), s.dialect().advice)
}

// Exists reports whether there is a table, and whether it was made by [Store.Marked].
func (s *Store) Exists(ctx context.Context, db *sql.DB, table string) (exists, marked bool, err error) {
	var comment string
	err = db.QueryRowContext(ctx, s.dialect().comment, table).Scan(&comment)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, nil
	}
	return err == nil, comment == kv.Mark, s.Explain(err)
}

// Marked are the statements for a table that carries [kv.Mark], given the one that makes it.
func (s *Store) Marked(table, create string) []string { return s.dialect().marked(table, create) }

// Settle has the server do now what it would do by itself after so many rows.
func (s *Store) Settle(ctx context.Context, db *sql.DB, table string) error {
	_, err := db.ExecContext(ctx, s.dialect().settle+" "+table)
	return s.Explain(err)
}
