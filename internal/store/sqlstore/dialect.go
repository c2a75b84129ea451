package sqlstore

import (
	"context"
	"database/sql"
	"io/fs"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// Dialect is what differs between databases.
type Dialect struct {
	// Goose names the database to goose; Migrations holds its *.sql files.
	Goose      goose.Dialect
	Migrations fs.FS
	// GooseOptions are added to those of the migration run (locks).
	GooseOptions []goose.ProviderOption
	// LockMigration keeps other processes from migrating until unlock is
	// called; nil where GooseOptions do that.
	LockMigration func(context.Context) (unlock func() error, err error)
	// TableExists is a query with one parameter, the name of a table, that
	// returns one boolean.
	TableExists string
	// Numbered: placeholders are $1, $2, …; otherwise every one is "?".
	Numbered bool
	// ForShare is appended to the query that reads the steps (alias s) of the
	// results to store. It must keep BeginAttempt and DeleteRun of these steps
	// waiting until the transaction ends; empty where writers exclude each
	// other anyway.
	ForShare string
	// Snapshot are the options of a transaction that only reads and sees one
	// moment.
	Snapshot *sql.TxOptions
	// Committers is how many batches may be in their transactions at once.
	Committers int
	// Classify tells what a driver error means.
	Classify func(error) Fault
}

// Fault is what a driver error means for the caller.
type Fault struct {
	// Kind is an error kind of package model, or nil: a defect, of the
	// program or of the data, that waiting does not repair.
	Kind error
	// Advice says what a person can do about it; may be empty.
	Advice string
	// Retry: the transaction had no effect and may succeed when repeated at
	// once (serialization failure, deadlock).
	Retry bool
}

// bind writes the placeholders of a query, all "?", in the form of the
// dialect. Queries in this package have no "?" of another meaning.
func (d *Dialect) bind(query string) string {
	if !d.Numbered {
		return query
	}
	var b strings.Builder
	b.Grow(len(query) + len(query)/8)
	n := 0
	for _, c := range []byte(query) {
		if c != '?' {
			b.WriteByte(c)
			continue
		}
		n++
		b.WriteByte('$')
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}
