package kv

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
)

// Record is the values of a record's fields, in order.
type Record [][]byte

// Row is a record and the key it is stored under.
type Row struct {
	Key    string
	Fields Record
}

// What a session says of a record. Both are wrapped in the errors of sessions,
// and neither ends the session.
var (
	// ErrMissing: there is no record under this key, or not all of it.
	ErrMissing = errors.New("no such record")
	// ErrExists: there is a record under this key already.
	ErrExists = errors.New("the record exists already")
)

// Store is a data store under test. It keeps what it is given under names that
// begin with "scalebench_" (where the product has none but keys, they begin
// with "scalebench:"), and never touches anything else.
//
// Errors that cannot be of kind model.ErrUsage or model.ErrDenied are of kind
// model.ErrUnavailable; none of them, nor Name, holds a password.
type Store interface {
	// Name says which store this is, for people: a URL without secrets.
	Name() string
	// Connect opens a connection for operations that are measured. Its errors
	// carry a load.Error of kind ErrConnect. The shape says what is stored.
	Connect(ctx context.Context, shape Shape) (Session, error)
	// Admin opens a connection for what is not measured.
	Admin(ctx context.Context) (Admin, error)
	// Loader opens a connection that writes the records of a new data set.
	Loader(ctx context.Context, shape Shape) (Loader, error)
}

// Shape is what the schema of a store depends on.
type Shape struct {
	// Fields is how many each record has; they are called field0, field1, …
	// where a store names them.
	Fields int
	// FieldSize is the size of each in bytes. Values are printable ASCII.
	FieldSize int
}

// Names are what the fields are called.
func (s Shape) Names() []string {
	names := make([]string, s.Fields)
	for i := range names {
		names[i] = "field" + strconv.Itoa(i)
	}
	return names
}

// Foreign is the error of kind model.ErrUsage for a table of records that is
// there and was made by somebody else; instead says what else can be named.
func Foreign(table, instead string) error {
	return fmt.Errorf("%w: scalebench has not made the table %s that is there; rename it, or name another %s", model.ErrUsage, table, instead)
}

// Session does one operation at a time, over a connection of its own, without
// retrying anything. Errors carry a load.Error, or wrap [ErrMissing] or
// [ErrExists]. When ctx is done an operation ends, with kind ErrTimeout.
type Session interface {
	// Read copies all fields of a record into as many slices, each of which it
	// cuts or grows to the size of what it has read.
	Read(ctx context.Context, key string, into Record) error
	// Update replaces one field of a record that there is. A store that cannot
	// tell may write a part of one that there was not, of which Read then says
	// [ErrMissing].
	Update(ctx context.Context, key string, field int, value []byte) error
	// Insert writes a record that there was not. A store that cannot tell
	// may replace one that there was.
	Insert(ctx context.Context, key string, record Record) error
	Close() error
}

// Admin prepares a store and cleans up after it.
type Admin interface {
	// Find returns what Finish was told when the data set was complete; "" if
	// there is none, or one that is not complete.
	Find(ctx context.Context) (description string, err error)
	// Count counts the records that there are; 0 if there is no data set.
	Count(ctx context.Context) (int64, error)
	// Create makes an empty data set in place of any that there was.
	Create(ctx context.Context, shape Shape) error
	// Finish marks the data set as complete, and has the store do now what
	// it would do sooner or later after so many inserts, so that it does not
	// disturb a measurement.
	Finish(ctx context.Context, description string) error
	// Drop removes the data set and everything else that Create made. It is
	// no error if there is nothing.
	Drop(ctx context.Context) error
	Close() error
}

// Loader writes batches of records.
type Loader interface {
	// Load writes rows, none of which is there. It does not keep them.
	Load(ctx context.Context, rows []Row) error
	Close() error
}
