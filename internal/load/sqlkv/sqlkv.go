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

// session executes prepared statements.
type session struct {
	conn
	store     *Store
	duplicate string // code of the error for a key that exists
	read      statement
	insert    statement
	update    []statement // by field
	args      [][]byte    // of the operation at hand
}

// prepare prepares all statements now, for later it would be a part of some
// operation's latency.
func (x *session) prepare(ctx context.Context, shape kv.Shape) (err error) {
	d, fields, all := x.store.dialect(), shape.Names(), columns(shape)
	one := func(query string) (s statement) {
		if err == nil {
			s, err = x.conn.prepare(ctx, query)
		}
		return s
	}
	x.read = one("SELECT " + strings.Join(fields, ", ") + " FROM " + recordTable + " WHERE k = " + d.param(1))
	x.insert = one("INSERT INTO " + recordTable + " (" + strings.Join(all, ", ") + ") VALUES " + params(d.param, len(all)))
	for _, field := range fields {
		x.update = append(x.update, one("UPDATE "+recordTable+" SET "+field+" = "+d.param(1)+" WHERE k = "+d.param(2)))
	}
	if x.store.codeOf(err) == d.missing {
		return fmt.Errorf("no records were loaded: %w", err)
	}
	return err
}

// params is a list of n placeholders in parentheses.
func params(param func(int) string, n int) string {
	p := make([]string, n)
	for i := range p {
		p[i] = param(i + 1)
	}
	return "(" + strings.Join(p, ", ") + ")"
}

// Read selects all fields of a row.
func (x *session) Read(ctx context.Context, key string, into kv.Record) error {
	x.args = append(x.args[:0], []byte(key))
	found, err := x.read.query(ctx, x.args, into)
	if err != nil {
		return x.fault(ctx, err)
	}
	if !found {
		return kv.ErrMissing
	}
	return nil
}

// Update sets one column of a row.
func (x *session) Update(ctx context.Context, key string, field int, value []byte) error {
	x.args = append(x.args[:0], value, []byte(key))
	found, err := x.update[field].exec(ctx, x.args)
	if err != nil {
		return x.fault(ctx, err)
	}
	if found == 0 {
		return kv.ErrMissing
	}
	return nil
}

// Insert inserts a row.
func (x *session) Insert(ctx context.Context, key string, record kv.Record) error {
	x.args = append(append(x.args[:0], []byte(key)), record...)
	_, err := x.insert.exec(ctx, x.args)
	if x.store.codeOf(err) == x.duplicate {
		return errors.Join(kv.ErrExists, err)
	}
	if err != nil {
		return x.fault(ctx, err)
	}
	return nil
}

// fault gives the error of an operation its kind.
func (x *session) fault(ctx context.Context, err error) error {
	return kv.Fault(ctx, err, x.store.kindOf)
}
