// Package sqlkv is databases that speak SQL as a kv.Store: one row a record, one
// column a field. Statements are prepared when a session is opened; an operation
// is one round trip and, with autocommit, one transaction. [NewMySQL] is for
// MySQL and MariaDB, [NewPostgres] for PostgreSQL.
//
// Sessions use each database's library without database/sql above it: its pool
// would retry, and take time, unseen. What is not measured goes through
// database/sql.
package sqlkv

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// connectTimeout bounds connecting, beside the context.
const connectTimeout = 10 * time.Second

// Store is a database.
type Store struct {
	address kv.Address
	database
}

var _ kv.Store = (*Store)(nil)

// database is what differs between products.
type database interface {
	dialect() dialect
	// connect opens a connection for operations that are measured.
	connect(ctx context.Context) (conn, error)
	// connector opens connections for what is not measured.
	connector() driver.Connector
	// load writes rows that are not there.
	load(ctx context.Context, db *sql.DB, columns []string, rows []kv.Row) error
	// kindOf knows the errors of the server and of the library.
	kindOf(err error) (load.Kind, bool)
	// codeOf is the code of an error that the server has answered with, "" of
	// another error.
	codeOf(err error) string
}

// dialect is how a product's SQL differs.
type dialect struct {
	param   func(n int) string // the placeholder of the n-th argument, from 1
	key     string             // type of the column of keys
	value   string             // type of the other columns
	text    string             // type of the description
	exists  string             // a query whether the table of its argument exists
	settle  string             // before the table's name: what the server would do by itself later
	foreign string             // what to name instead where another program's table is in the way

	missing, duplicate string // codes of errors: no such table, the key exists
	advice             []advice
}

// advice is what an error of the server means.
type advice struct {
	code string // or its class, the first two characters
	kind error  // of package model
	text string // what to do
}

// conn is one connection of a session.
type conn interface {
	prepare(ctx context.Context, query string) (statement, error)
	Close() error
}

// statement is a prepared statement. The arguments are not kept.
type statement interface {
	// query copies the columns of the first row into record.
	query(ctx context.Context, args [][]byte, into kv.Record) (found bool, err error)
	// exec returns how many rows it has found.
	exec(ctx context.Context, args [][]byte) (rows int64, err error)
}

// Name is the URL without the password.
func (s *Store) Name() string { return s.address.String() }

// Connect opens a session and prepares its statements.
func (s *Store) Connect(ctx context.Context, shape kv.Shape) (kv.Session, error) {
	c, err := s.connect(ctx)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: s.connectError(err)}
	}
	x := &session{store: s, duplicate: s.dialect().duplicate, conn: c, args: make([][]byte, 0, shape.Fields+1)}
	if err := x.prepare(ctx, shape); err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: errors.Join(s.connectError(err), c.Close())}
	}
	return x, nil
}

// Admin opens a connection.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	db, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return &admin{store: s, dialect: s.dialect(), DB: db}, nil
}

// Loader opens a connection.
func (s *Store) Loader(ctx context.Context, shape kv.Shape) (kv.Loader, error) {
	db, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return &loader{store: s, columns: columns(shape), DB: db}, nil
}

// open opens a pool of one connection, and that.
func (s *Store) open(ctx context.Context) (*sql.DB, error) {
	db := sql.OpenDB(s.connector())
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(s.connectError(err), db.Close())
	}
	return db, nil
}

func (s *Store) connectError(err error) error {
	return fmt.Errorf("connecting to %s: %w", s.address, s.address.Hide(s.adminError(err)))
}

// adminError gives an error of what is not measured a kind of package model.
func (s *Store) adminError(err error) error {
	if err == nil || errors.Is(err, model.ErrUsage) {
		return err
	}
	code := s.codeOf(err)
	for _, a := range s.dialect().advice {
		if a.code == code || len(a.code) == 2 && strings.HasPrefix(code, a.code) {
			return fmt.Errorf("%w: %w; %s", a.kind, err, a.text)
		}
	}
	return fmt.Errorf("%w: %w", model.ErrUnavailable, err)
}

// columns are the names of the columns of a table of records.
func columns(shape kv.Shape) []string { return append([]string{"k"}, shape.Names()...) }
