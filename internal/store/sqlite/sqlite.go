// Package sqlite keeps runs in one SQLite file: the embedded store.
//
// The file is in WAL mode with synchronous=FULL: a write that was acknowledged
// has been through fsync and survives a crash of the process, of the system
// and a loss of power (as far as the disk tells the truth about its cache).
// Several processes may have the file open, one of them writing at a time and
// any number reading meanwhile; the file must be on a local disk.
package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlstore"
)

//go:embed migrations/*.sql
var migrations embed.FS

// applicationID marks a SQLite file as a scalebench store ("SCLB"); the first
// migration writes it.
const applicationID = 0x53434c42

// busyTimeout is how long a write waits for another process that writes; after
// it the caller gets model.ErrUnavailable.
const busyTimeout = 10 * time.Second

// readers is how many readings may go on at once in this process.
const readers = 4

// Store is a store.Store in a SQLite file.
type Store = sqlstore.Store

// Open opens the store in the file at path, which is made (mode 0600, its
// directory 0700) if it is not there, and brings its schema up to date. A store
// that is there and cannot be written to can be read: its writes fail with
// model.ErrUnavailable.
//
// Errors: model.ErrUsage for a file that is not a scalebench store or is a
// newer one, model.ErrDenied where permissions are missing,
// model.ErrUnavailable where the disk is full or fails.
func Open(ctx context.Context, path string) (*Store, error) {
	return open(ctx, path, busyTimeout)
}

// OpenAsIs opens a store that is there, in a moment or not at all, and fails
// rather than change its schema.
func OpenAsIs(ctx context.Context, path string) (*Store, error) {
	if _, err := os.Stat(path); err != nil {
		return nil, fmt.Errorf("%w: opening the store: %w", model.ErrNotFound, err)
	}
	return openPath(ctx, path, 100*time.Millisecond, true)
}

func open(ctx context.Context, path string, busy time.Duration) (*Store, error) {
	path, err := prepareFile(path)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	if readOnly(path) {
		return openReadOnly(ctx, path, busy)
	}
	return openPath(ctx, path, busy, false)
}

func openPath(ctx context.Context, path string, busy time.Duration, asIs bool) (*Store, error) {
	write, read, err := openPools(path, busy)
	if err == nil {
		if err = check(ctx, write, path, busy); err != nil {
			err = errors.Join(err, read.Close(), write.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", path, err)
	}
	return sqlstore.New(ctx, sqlstore.Config{Dialect: dialect(path, busy), Write: write, Read: read, Where: path, AsIs: asIs})
}

// OpenReadOnly opens a store that is there, and writes nothing: not even the
// files that SQLite makes beside it while it reads, for which a full disk has no
// room.
func OpenReadOnly(ctx context.Context, path string) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("opening the store: %w", err)
	}
	return openReadOnly(ctx, path, busyTimeout)
}

func openReadOnly(ctx context.Context, path string, busy time.Duration) (*Store, error) {
	params := []string{"mode", "ro"}
	if info, err := os.Stat(path + "-wal"); err != nil || info.Size() == 0 {
		// Nothing waits in the log, and nothing will: SQLite need not look for it.
		params = append(params, "immutable", "1")
	} else if _, err := os.Stat(path + "-shm"); err != nil {
		return nil, fmt.Errorf("opening the store %s: %w: its process was killed, and what it wrote last cannot be read here without the file %s-shm; copy that, too, or open the store once where it can be written",
			path, model.ErrUnavailable, filepath.Base(path))
	}
	db, err := openPool(path, busy, params...)
	if err == nil {
		if err = checkOwner(ctx, db); err != nil {
			err = errors.Join(err, db.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("opening the store %s: %w", path, err)
	}
	return sqlstore.New(ctx, sqlstore.Config{Dialect: dialect(path, busy), Write: db, Read: db, Where: path})
}

func dialect(path string, busy time.Duration) sqlstore.Dialect {
	return sqlstore.Dialect{
		Goose:      goose.DialectSQLite3,
		Migrations: migrations,
		LockMigration: func(ctx context.Context) (func() error, error) {
			return lockDir(ctx, filepath.Dir(path), busy)
		},
		TableExists: `SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?)`,
		Now:         `CAST(unixepoch('now', 'subsec') * 1e9 AS INTEGER)`,
		Snapshot:    &sql.TxOptions{ReadOnly: true},
		Room:        func(ctx context.Context, db *sql.DB) (store.Room, error) { return room(ctx, db, filepath.Dir(path)) },
		Committers:  1, // SQLite has one writer at a time
		Classify:    classify,
	}
}

// openPools opens one connection that writes and a few that cannot. One writer
// a process: its transactions queue in Go, where waiting ends with the
// caller's context, and not in SQLite, where it is polling.
func openPools(path string, busy time.Duration) (write, read *sql.DB, err error) {
	write, err = openPool(path, busy, "_txlock", "immediate", "_pragma", "synchronous(FULL)")
	if err != nil {
		return nil, nil, err
	}
	write.SetMaxOpenConns(1)
	read, err = openPool(path, busy, "_pragma", "query_only(1)")
	if err != nil {
		return nil, nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(readers)
	return write, read, nil
}

// openPool takes parameters of the driver as pairs.
func openPool(path string, busy time.Duration, params ...string) (*sql.DB, error) {
	q := url.Values{
		"_busy_timeout": {fmt.Sprint(busy.Milliseconds())},
		"_error_rc":     {"1"},
		"_pragma":       {"foreign_keys(1)", "journal_size_limit(67108864)"},
	}
	for i := 0; i+1 < len(params); i += 2 {
		q.Add(params[i], params[i+1])
	}
	// A URI escapes the characters of the path that have a meaning in one.
	dsn := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path), RawQuery: q.Encode()}
	c, err := driver.NewConnector(dsn.String())
	if err != nil {
		return nil, fmt.Errorf("setting up SQLite: %w", err)
	}
	return sql.OpenDB(c), nil
}

// check sees that the file is ours, and puts it into WAL mode.
func check(ctx context.Context, db *sql.DB, path string, busy time.Duration) error {
	if err := checkOwner(ctx, db); err != nil {
		return err
	}
	var mode string
	// SQLite does not wait here: while another process opens the same new file
	// it answers "busy" at once.
	err := retryBusy(ctx, busy, isBusy, func() error {
		return db.QueryRowContext(ctx, `PRAGMA journal_mode = WAL`).Scan(&mode)
	})
	if err != nil {
		return classify(err).Explain(err)
	}
	if mode != "wal" {
		return model.Unavailablef("the file system of %s does not support SQLite's write-ahead log; put the store on a "+
			"local disk", filepath.Dir(path))
	}
	return nil
}

// checkOwner refuses the database of another program, into which we would
// otherwise put our tables. One statement reads both facts from one moment:
// between two, another process may make a new file a store.
func checkOwner(ctx context.Context, db *sql.DB) error {
	// Goose's table is made before the migration that writes our mark.
	const query = `SELECT (SELECT application_id FROM pragma_application_id), COUNT(*) FROM sqlite_master
		WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> ?`
	var id, others int
	if err := db.QueryRowContext(ctx, query, sqlstore.VersionTable).Scan(&id, &others); err != nil {
		return classify(err).Explain(err)
	}
	if id != applicationID && (id != 0 || others > 0) {
		return model.Usagef("the file is the database of another program; use another file")
	}
	return nil
}

// faults tells what SQLite's primary result codes mean
// (https://www.sqlite.org/rescode.html). Codes that are not here are defects.
var faults = map[int]sqlstore.Fault{
	lib.SQLITE_FULL:     {Kind: model.ErrUnavailable, Advice: "the disk is full: free some space; the store then continues"},
	lib.SQLITE_IOERR:    {Kind: model.ErrUnavailable, Advice: "the disk fails: see the system's log"},
	lib.SQLITE_READONLY: {Kind: model.ErrUnavailable, Advice: "the file or its file system is read-only"},
	lib.SQLITE_BUSY:     {Kind: model.ErrUnavailable, Advice: "another process keeps the file locked"},
	lib.SQLITE_LOCKED:   {Kind: model.ErrUnavailable, Advice: "another connection keeps the table locked"},
	lib.SQLITE_CANTOPEN: {Kind: model.ErrUnavailable, Advice: "check that the directory exists and that this user may write to it"},
	lib.SQLITE_NOMEM:    {Kind: model.ErrUnavailable, Advice: "there is no memory left"},
	lib.SQLITE_PROTOCOL: {Kind: model.ErrUnavailable, Advice: "another process keeps the file locked"},
	lib.SQLITE_PERM:     {Kind: model.ErrDenied, Advice: "this user may not open the file"},
	lib.SQLITE_AUTH:     {Kind: model.ErrDenied},
	lib.SQLITE_NOTADB:   {Kind: model.ErrUsage, Advice: "the file is not a scalebench store; use another file"},
	lib.SQLITE_CORRUPT:  {Advice: "the file is damaged: restore it from a backup"},
}

func classify(err error) sqlstore.Fault {
	code := errorCode(err)
	if code == lib.SQLITE_IOERR_SHMSIZE { // a file beside the store cannot grow
		code = lib.SQLITE_FULL
	}
	if code == lib.SQLITE_CONSTRAINT_FOREIGNKEY {
		return sqlstore.Fault{Kind: model.ErrNotFound, Advice: "the run, task or campaign it belongs to does not exist"}
	}
	return faults[code&0xff]
}

// errorCode returns the extended result code, 0 for an error of another kind.
func errorCode(err error) int {
	if e, ok := errors.AsType[*driver.Error](err); ok {
		return e.Code()
	}
	return 0
}

func isBusy(err error) bool { return errorCode(err)&0xff == lib.SQLITE_BUSY }
