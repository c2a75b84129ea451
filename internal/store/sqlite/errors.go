package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlstore"
)

// faults tells what SQLite's primary result codes mean
// (https://www.sqlite.org/rescode.html). Codes that are not here are defects.
var faults = map[int]sqlstore.Fault{
	lib.SQLITE_FULL:     {Kind: model.ErrUnavailable, Advice: "the disk is full: free some space, and the store goes on"},
	lib.SQLITE_IOERR:    {Kind: model.ErrUnavailable, Advice: "the disk fails: look into the system's log"},
	lib.SQLITE_READONLY: {Kind: model.ErrUnavailable, Advice: "the file or its file system is read-only"},
	lib.SQLITE_BUSY:     {Kind: model.ErrUnavailable, Advice: "another process keeps the file locked"},
	lib.SQLITE_LOCKED:   {Kind: model.ErrUnavailable, Advice: "another connection keeps the table locked"},
	lib.SQLITE_CANTOPEN: {Kind: model.ErrUnavailable, Advice: "is the directory there, and may this user write to it?"},
	lib.SQLITE_NOMEM:    {Kind: model.ErrUnavailable, Advice: "there is no memory left"},
	lib.SQLITE_PROTOCOL: {Kind: model.ErrUnavailable, Advice: "another process keeps the file locked"},
	lib.SQLITE_PERM:     {Kind: model.ErrDenied, Advice: "this user may not open the file"},
	lib.SQLITE_AUTH:     {Kind: model.ErrDenied},
	lib.SQLITE_NOTADB:   {Kind: model.ErrUsage, Advice: "the file is not a scalebench store; name another one"},
	lib.SQLITE_CORRUPT:  {Advice: "the file is damaged: restore it from a backup"},
}

// classify tells what a driver error means.
func classify(err error) sqlstore.Fault {
	code, ok := errorCode(err)
	if !ok {
		return sqlstore.Fault{}
	}
	if code == lib.SQLITE_CONSTRAINT_FOREIGNKEY {
		return sqlstore.Fault{Kind: model.ErrNotFound, Advice: "what it belongs to was deleted"}
	}
	return faults[code&0xff]
}

// errorCode returns the extended result code.
func errorCode(err error) (int, bool) {
	var e *driver.Error
	if !errors.As(err, &e) {
		return 0, false
	}
	return e.Code(), true
}

func isBusy(err error) bool {
	code, ok := errorCode(err)
	return ok && code&0xff == lib.SQLITE_BUSY
}

// explain adds kind and advice to a driver error.
func explain(err error) error {
	f := classify(err)
	if f.Kind == nil {
		return err
	}
	return fmt.Errorf("%w: %w (%s)", f.Kind, err, f.Advice)
}
