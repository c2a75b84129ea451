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
	"cmp"
	"context"
	"crypto/x509"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

// connectTimeout bounds connecting, beside the context.
const connectTimeout = 10 * time.Second

// Store is a database.
type Store struct {
	address kv.Address
	database
}

var _ kv.Store = (*Store)(nil)

// database is what differs between products. What is exported is also for programs that
// have tables of their own there.
type database interface {
	dialect() dialect
	// connect opens a connection for operations that are measured.
	connect(ctx context.Context) (conn, error)
	// Connector opens connections for database/sql, for what is not measured. Those to
	// MySQL write arguments into the text of statements, so that one takes one round trip,
	// and nothing of it stays with the server or with what stands before it.
	Connector() driver.Connector
	// Insert writes rows that are not there, one value a column, in the way that is fastest
	// there. They should have less than the server's largest packet, 16 MiB.
	Insert(ctx context.Context, db *sql.DB, table string, columns []string, rows [][]any) error
	// kindOf knows the errors of the server and of the library.
	kindOf(err error) (load.Kind, bool)
	// Code is the code of an error that the server has answered with, such as 1062 or
	// 23505; "" of another error.
	Code(err error) string
	// answerOf is that answer.
	answerOf(err error) string
	// trust is kv.Store's Trust.
	trust(roots *x509.CertPool) bool
	// room says how many connections there may be, as far as this user may know.
	room(ctx context.Context, db *sql.DB) (load.Room, error)
}

// dialect is how a product's SQL differs.
type dialect struct {
	param   func(n int) string                  // the placeholder of the n-th argument, from 1
	key     string                              // type of the column of keys
	value   string                              // type of the other columns
	text    string                              // type of the description
	comment string                              // a query for the comment of the table of its argument, if there is one
	marked  func(table, create string) []string // makes a table with kv.Mark as its comment
	lock    func(tables []string) string        // keeps others from tables until they are dropped
	unlock  string                              // after that; "": the end of the transaction does it
	settle  string                              // before the table's name: what the server would do by itself later
	foreign string                              // what to name instead where another program's table is in the way

	missing, duplicate string   // codes of errors: no such table, the key exists
	full               []string // and: no more connections are allowed
	advice             kv.Advice
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
		full := ""
		if slices.Contains(s.dialect().full, s.Code(err)) {
			full = s.answerOf(err)
		}
		return nil, &load.Error{Kind: load.ErrConnect, Err: s.address.Connecting(s.Explain(err)), Full: full}
	}
	x := &session{store: s, duplicate: s.dialect().duplicate, conn: c, args: make([][]byte, 0, shape.Fields+1)}
	if err := x.prepare(ctx, shape); err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: errors.Join(s.address.Connecting(s.Explain(err)), c.Close())}
	}
	return x, nil
}

// Admin opens a connection: a pool of one.
func (s *Store) Admin(ctx context.Context) (kv.Admin, error) {
	db := sql.OpenDB(s.Connector())
	db.SetMaxOpenConns(1)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(s.address.Connecting(s.Explain(err)), db.Close())
	}
	return &admin{store: s, dialect: s.dialect(), DB: db}, nil
}

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
	texts := shape.Statements(recordTable, x.store.dialect().param)
	one := func(query string) (s statement) {
		if err == nil {
			s, err = x.conn.prepare(ctx, query)
		}
		return s
	}
	x.read, x.insert = one(texts.Read), one(texts.Insert)
	for _, text := range texts.Update {
		x.update = append(x.update, one(text))
	}
	if x.store.Code(err) == x.store.dialect().missing {
		return fmt.Errorf("no records were loaded: %w", err)
	}
	return err
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
	if x.store.Code(err) == x.duplicate {
		return errors.Join(kv.ErrExists, err)
	}
	return x.fault(ctx, err)
}

// fault gives the error of an operation its kind. A table that is gone has taken its
// records with it.
func (x *session) fault(ctx context.Context, err error) error {
	if err != nil && x.store.Code(err) == x.store.dialect().missing {
		return errors.Join(kv.ErrMissing, err)
	}
	return load.Fault(ctx, err, x.store.kindOf)
}

// The tables. Each carries kv.Mark as its comment from the moment when it is made.
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
	return description, err
}

// Count counts the rows.
func (a *admin) Count(ctx context.Context) (n int64, err error) {
	return n, a.ifMade(ctx, "SELECT count(*) FROM "+recordTable, &n)
}

// ifMade reads one value if there are both tables that Create makes.
func (a *admin) ifMade(ctx context.Context, query string, into any) error {
	ours, err := a.ours(ctx, a.DB)
	if err != nil || len(ours) < 2 {
		return err
	}
	return a.QueryRowContext(ctx, query).Scan(into)
}

// ours are the tables that Create has made. One of these names that another program has
// made is an error, model.ErrUsage.
func (a *admin) ours(ctx context.Context, q querier) (tables []string, err error) {
	for _, table := range []string{recordTable, stateTable} {
		var comment string
		err := q.QueryRowContext(ctx, a.comment, table).Scan(&comment)
		switch {
		case errors.Is(err, sql.ErrNoRows): // there is none
		case err != nil:
			return nil, err
		case comment != kv.Mark:
			return nil, kv.Foreign("the table "+table, a.foreign)
		default:
			tables = append(tables, table)
		}
	}
	return tables, nil
}

// Create makes the tables. Keys and values are bytes, or compare as such,
// whatever the language of the database is, so that the same load means the
// same work everywhere.
func (a *admin) Create(ctx context.Context, shape kv.Shape) error {
	fields := strings.Join(shape.Names(), " "+a.value+" NOT NULL, ") + " " + a.value + " NOT NULL"
	return a.replace(ctx, append(
		a.marked(stateTable, "CREATE TABLE "+stateTable+" (description "+a.text+" NOT NULL)"),
		a.marked(recordTable, "CREATE TABLE "+recordTable+" (k "+a.key+" NOT NULL PRIMARY KEY, "+fields+")")...)...)
}

// Drop removes the tables.
func (a *admin) Drop(ctx context.Context) error { return a.replace(ctx) }

// replace removes the tables and executes statements, in one transaction where
// the server's transactions extend to tables. Whether they are ours is asked again once
// nobody else can replace them.
func (a *admin) replace(ctx context.Context, statements ...string) error {
	tx, err := a.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	ours, err := a.ours(ctx, tx)
	execute := func(statements ...string) {
		for _, s := range statements {
			if err == nil && s != "" {
				_, err = tx.ExecContext(ctx, s)
			}
		}
	}
	if len(ours) > 0 {
		lock := a.lock(ours)
		if execute(lock); err != nil {
			err = fmt.Errorf("replacing records that were loaded before, by %s: %w", lock, err)
		} else {
			_, err = a.ours(ctx, tx)
		}
		for _, table := range ours {
			execute("DROP TABLE " + table)
		}
		if a.unlock != "" {
			_, unlockErr := tx.ExecContext(ctx, a.unlock) // after an error, too: the connection lives on
			err = cmp.Or(err, unlockErr)
		}
	}
	execute(statements...)
	if err != nil {
		_ = tx.Rollback() // the first error counts
		return err
	}
	return tx.Commit()
}

// Load writes rows.
func (a *admin) Load(ctx context.Context, shape kv.Shape, rows []kv.Row) error {
	values := make([][]any, len(rows))
	for i, r := range rows {
		values[i] = r.Values()
	}
	return a.store.Insert(ctx, a.DB, recordTable, append([]string{"k"}, shape.Names()...), values)
}

// Finish writes the description after the server did what it would do by itself
// during the measurement otherwise: statistics and, as pgbench does it, a vacuum.
func (a *admin) Finish(ctx context.Context, description string) error {
	if err := a.Settle(ctx); err != nil {
		return err
	}
	_, err := a.ExecContext(ctx, "INSERT INTO "+stateTable+" (description) VALUES "+kv.Params(a.param, 1), description)
	return err
}

// Settle implements kv.Remover: in PostgreSQL rows that were removed, or replaced
// by updates, take up room until a vacuum; MySQL purges them in the background.
func (a *admin) Settle(ctx context.Context) error {
	_, err := a.ExecContext(ctx, a.settle+" "+recordTable)
	return err
}

// Remove implements kv.Remover.
func (a *admin) Remove(ctx context.Context, keys []string) (int64, error) {
	args := make([]any, len(keys))
	for i, k := range keys {
		args[i] = k
	}
	result, err := a.ExecContext(ctx, "DELETE FROM "+recordTable+" WHERE k IN "+kv.Params(a.param, len(keys)), args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
