// Package kvtest is the suite that every implementation of kv.Store passes, and
// the servers it runs on: Redis and MariaDB, each in a temporary directory, on
// loopback, ended with the test. Memory is a store in the process itself.
package kvtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

// Subject is an implementation of kv.Store.
type Subject struct {
	// Open returns a store in which scalebench has left nothing.
	Open func(t *testing.T) kv.Store
	// Upserts: the store cannot tell whether it inserts or replaces.
	Upserts bool
	// BlindUpdates: it cannot tell either whether an update finds a record.
	BlindUpdates bool
	// Stall keeps the server of a store from answering what asks for records,
	// until release is called.
	Stall func(t *testing.T, store kv.Store) (release func())
	// Stop ends the server for good. It is called last.
	Stop func(t *testing.T, store kv.Store)
}

// set is small, and still loaded in several batches.
var set = kv.Dataset{Records: 2503, Shape: kv.Shape{Fields: 3, FieldSize: 21}}

// tiny is a set of one record.
var tiny = kv.Dataset{Records: 1, Shape: kv.Shape{Fields: 2, FieldSize: 16}}

// Run tests that the implementation does what package kv says. Subtests share
// the server, one after the other.
func Run(t *testing.T, s Subject) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Subject)
	}{
		{"loads every record", testLoads},
		{"loads large records", testLarge},
		{"keeps a data set that is there", testKeeps},
		{"replaces another data set", testReplaces},
		{"replaces a data set that was added to", testAddedTo},
		{"removes what was inserted", testInserted},
		{"counts what is gone", testLost},
		{"begins again after a load that was cut off", testCutOff},
		{"drops what it made", testDrops},
		{"names no record that is not there", testMissing},
		{"updates one field", testUpdates},
		{"inserts", testInserts},
		{"notices wrong values", testWrong},
		{"does every workload", testWorkloads},
		{"carries a load", testPool},
		{"gives up when the time is over", testTimeout},
		{"gives up when told to", testCancel},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, s) })
	}
	t.Run("says what happened when the server ends", func(t *testing.T) { testStop(t, s) })
}

// prepare loads a set into a store and fails the test where that fails.
func prepare(t testing.TB, store kv.Store, set kv.Dataset) (fresh bool) {
	t.Helper()
	l, err := kv.Load(t.Context(), store, set, 0)
	if err != nil {
		t.Fatal(err)
	}
	return l.Fresh
}

// Drop removes from a store everything that Load has written.
func Drop(ctx context.Context, store kv.Store) error {
	a, err := store.Admin(ctx)
	if err != nil {
		return err
	}
	return errors.Join(a.Drop(ctx), a.Close())
}

// admin opens a connection that is closed with the test.
func admin(t *testing.T, store kv.Store) kv.Admin {
	t.Helper()
	a, err := store.Admin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { noError(t, a.Close()) })
	return a
}

// connect opens a session that is closed with the test.
func connect(t *testing.T, store kv.Store, set kv.Dataset) kv.Session {
	t.Helper()
	s, err := store.Connect(t.Context(), set.Shape)
	if err != nil {
		t.Fatal(err)
	}
	// A session that an operation has ended need not close in peace.
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// read reads a record and returns a copy that the caller may keep.
func read(ctx context.Context, s kv.Session, set kv.Dataset, record int64) (kv.Record, error) {
	r := make(kv.Record, set.Fields)
	err := s.Read(ctx, set.Key(record), r)
	return r, err
}

func count(t *testing.T, store kv.Store) int64 {
	t.Helper()
	n, err := admin(t, store).Count(t.Context())
	noError(t, err)
	return n
}

func find(t *testing.T, store kv.Store) string {
	t.Helper()
	description, err := admin(t, store).Find(t.Context())
	noError(t, err)
	return description
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Error(err)
	}
}

// Benchmark measures one client that does one operation after the other: the
// time is the server's and the way to it as well as the client's, so compare
// figures of one server only.
func Benchmark(b *testing.B, store kv.Store) {
	set := kv.DefaultDataset()
	prepare(b, store, set)
	for name, workload := range map[string]string{"read": "w2", "update": "w1"} {
		b.Run(name, func(b *testing.B) {
			client := open(b, store, set, workload)
			b.ReportAllocs()
			for b.Loop() {
				if err := client.Do(b.Context(), 0); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// Secret is the password in the URLs of CheckURLs.
const Secret = "pw1234"

// CheckURLs tests what a constructor makes of URLs: stores with these names, by
// URL; and, of those refused, by reason, errors of kind model.ErrUsage that do
// not show Secret.
func CheckURLs[S kv.Store](t *testing.T, create func(url string) (S, error), names, refused map[string]string) {
	t.Helper()
	for url, want := range names {
		s, err := create(url)
		if err != nil || s.Name() != want {
			t.Errorf("New(%s) = %v, %v, want %s", url, s, err, want)
		}
	}
	for reason, url := range refused {
		s, err := create(url)
		if !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: New = %v, %v, want ErrUsage", reason, s, err)
		}
		if strings.Contains(fmt.Sprint(err), Secret) {
			t.Errorf("%s: the password is shown: %v", reason, err)
		}
	}
}

// CheckDenied tests that a server denies a store access, that the error names
// this reason, and that it does not show the password, which contains secret.
func CheckDenied(t *testing.T, store kv.Store, secret string) {
	t.Helper()
	_, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
	if !errors.Is(err, model.ErrDenied) || load.KindOf(err) != load.ErrConnect {
		t.Errorf("Connect = %v, want ErrDenied of kind connect", err)
	}
	_, loadErr := kv.Load(t.Context(), store, kv.DefaultDataset(), 0)
	if !errors.Is(loadErr, model.ErrDenied) {
		t.Errorf("Load = %v, want ErrDenied", loadErr)
	}
	if text := fmt.Sprint(err, loadErr, store.Name()); strings.Contains(text, secret) {
		t.Errorf("the password is shown: %s", text)
	}
}
