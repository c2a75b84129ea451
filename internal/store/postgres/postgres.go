// Package postgres keeps runs in a PostgreSQL database: the store that several
// servers and many readers share.
//
// Tables live in the schema "scalebench", which is made at the first opening,
// unless the URL names a search_path. Commits are synchronous: a write that
// was acknowledged is in the server's write-ahead log on disk, even where the
// server's default is synchronous_commit=off.
package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"embed"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// ownSchema is where the tables are when the URL says nothing.
const ownSchema = "scalebench"

const (
	// connectTimeout bounds an attempt to connect when the URL does not.
	connectTimeout = 10 * time.Second
	// connections a process opens at most; the server's default is 100 for
	// all its clients.
	connections = 8
	// committers is how many batches may be in their transactions at once:
	// one is on its way while another waits for the log.
	committers = 2
	// migrationLock is the number of the advisory lock under which one
	// process brings the schema up to date ("SCLB").
	migrationLock = 0x53434c42
)

// Store is a store.Store in a PostgreSQL database.
type Store = sqlstore.Store

// Open connects to the database that the URL names
// (postgres://user:password@host:port/database?sslmode=…; the password may
// also come from PGPASSWORD or ~/.pgpass) and brings its schema up to date.
// No error contains the password.
//
// Errors: model.ErrUsage for a URL that cannot be read, a database that does
// not exist or a store newer than this program; model.ErrDenied for a wrong
// password or missing rights; model.ErrUnavailable where the server does not
// answer.
func Open(ctx context.Context, url string) (*Store, error) {
	target, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	db := openPool(target)
	if err := prepareSchema(ctx, db, target); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the store %s: %w", target.where, explain(ctx, err)), db.Close())
	}
	return sqlstore.New(ctx, sqlstore.Config{Dialect: dialect(db), Write: db, Read: db, Where: target.where})
}

func openPool(t *target) *sql.DB {
	// synchronous_commit is turned on where the server or the role has it off; stronger
	// settings (remote_apply) stay.
	db := stdlib.OpenDB(*t.config, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SELECT set_config('synchronous_commit', 'on', false)
			WHERE current_setting('synchronous_commit') = 'off'`)
		return err
	}))
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections / 2)
	db.SetConnMaxIdleTime(5 * time.Minute)
	return db
}

// prepareSchema makes our schema unless the user chose another place. Two
// processes may try at once; PostgreSQL lets one of them fail.
func prepareSchema(ctx context.Context, db *sql.DB, t *target) error {
	if !t.ownSchema {
		return db.PingContext(ctx)
	}
	var exists bool
	look := func() error {
		return db.QueryRowContext(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, ownSchema).Scan(&exists)
	}
	if err := look(); err != nil || exists {
		return err
	}
	_, createErr := db.ExecContext(ctx, `CREATE SCHEMA IF NOT EXISTS `+ownSchema)
	if err := look(); err != nil || exists {
		return err
	}
	return createErr
}

func dialect(db *sql.DB) sqlstore.Dialect {
	return sqlstore.Dialect{
		Goose:      goose.DialectPostgres,
		Migrations: migrations,
		LockMigration: func(ctx context.Context) (func() error, error) {
			return lockMigration(ctx, db)
		},
		TableExists: `SELECT to_regclass(?) IS NOT NULL`,
		Numbered:    true,
		// SHARE and not KEY SHARE: BeginAttempt, which changes no key, must
		// wait as well.
		ForShare:     ` FOR SHARE OF s FOR KEY SHARE OF t`,
		ForShareStep: ` FOR SHARE`,
		ForUpdate:    ` FOR UPDATE`,
		Now:          `CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1e9 AS BIGINT)`,
		Snapshot:     &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true},
		// Only the database's own machine knows it, and what deleted runs leave is free
		// within the files, which do not shrink.
		Room: func(context.Context, *sql.DB) (store.Room, error) {
			return store.Room{Used: -1, Free: -1, Disk: -1}, nil
		},
		Committers: committers,
		Classify:   classify,
	}
}

// lockMigration waits for the lock, which ends with its connection.
func lockMigration(ctx context.Context, db *sql.DB) (unlock func() error, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := conn.ExecContext(ctx, `SELECT pg_advisory_lock($1)`, migrationLock); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), `SELECT pg_advisory_unlock($1)`, migrationLock)
		return errors.Join(err, conn.Close())
	}, nil
}

// explain adds kind and advice to an error of the driver; one of the caller's
// context stays what it is.
func explain(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx.Err()
	}
	f := classify(err)
	if errors.Is(err, context.DeadlineExceeded) {
		f.Kind = model.ErrUnavailable
	}
	return f.Explain(err)
}

// bySQLState tells what error codes mean
// (https://www.postgresql.org/docs/current/errcodes-appendix.html). A code is
// looked up whole, then by its class, the first two characters. Codes that are
// not here are defects.
var bySQLState = map[string]sqlstore.Fault{
	"08":    {Kind: model.ErrUnavailable, Advice: "the connection was lost"},
	"25006": {Kind: model.ErrUnavailable, Advice: "the server is read-only; it may be a standby"},
	"28":    {Kind: model.ErrDenied, Advice: "check user and password, and the server's pg_hba.conf"},
	"3D000": {Kind: model.ErrUsage, Advice: "create the database with `createdb` or use another one"},
	"3F000": {Kind: model.ErrUsage, Advice: "the schema in the URL's search_path does not exist"},
	"23503": {Kind: model.ErrNotFound, Advice: "the run, task or campaign it belongs to does not exist"},
	"40001": {Kind: model.ErrUnavailable, Retry: true},
	"40P01": {Kind: model.ErrUnavailable, Retry: true},
	"42501": {Kind: model.ErrDenied, Advice: "the user needs the right to create a schema in the database, or to use its tables"},
	"53":    {Kind: model.ErrUnavailable, Advice: "the server lacks connections, memory or space"},
	"53100": {Kind: model.ErrUnavailable, Advice: "the server's disk is full: free some space there; the store then continues"},
	"55P03": {Kind: model.ErrUnavailable, Advice: "another client keeps a lock for too long"},
	"57014": {Kind: model.ErrUnavailable, Advice: "the server ended the statement; increase statement_timeout"},
	"57P01": {Kind: model.ErrUnavailable, Advice: "the server is being stopped"},
	"57P02": {Kind: model.ErrUnavailable, Advice: "the server crashed and recovers"},
	"57P03": {Kind: model.ErrUnavailable, Advice: "the server is starting or stopping"},
	"57P05": {Kind: model.ErrUnavailable, Advice: "the server closed an idle connection"},
	"58":    {Kind: model.ErrUnavailable, Advice: "the server's disk fails: see its log"},
}

func classify(err error) sqlstore.Fault {
	if pgErr, ok := errors.AsType[*pgconn.PgError](err); ok {
		f, ok := bySQLState[pgErr.Code]
		if !ok && len(pgErr.Code) == 5 {
			f = bySQLState[pgErr.Code[:2]]
		}
		return f
	}
	var connectErr *pgconn.ConnectError
	var netErr net.Error
	if errors.As(err, &connectErr) || errors.As(err, &netErr) || pgconn.SafeToRetry(err) || pgconn.Timeout(err) ||
		slices.ContainsFunc([]error{ // it lies between us and the server
			driver.ErrBadConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, pgconn.ErrConnClosed, os.ErrDeadlineExceeded,
			context.DeadlineExceeded, syscall.ECONNRESET, syscall.ECONNREFUSED, syscall.EPIPE,
		}, func(target error) bool { return errors.Is(err, target) }) {
		return sqlstore.Fault{Kind: model.ErrUnavailable, Advice: "check that the server is running and reachable from here"}
	}
	return sqlstore.Fault{}
}
