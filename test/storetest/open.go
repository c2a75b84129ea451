package storetest

import (
	"context"
	"testing"

	"github.com/scalebench/scalebench/internal/store"
)

// Open opens a store and closes it with the test.
func Open[S interface{ Close() error }](t testing.TB, open func(context.Context, string) (S, error), where string) S {
	t.Helper()
	s, err := open(context.Background(), where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing the store: %v", err)
		}
	})
	return s
}

// Started is a fixture in a store; its first attempts have begun.
func Started(t testing.TB, s store.Store, nodes, steps int) Fixture {
	t.Helper()
	f := New(1, nodes, steps)
	if err := f.Start(context.Background(), s); err != nil {
		t.Fatal(err)
	}
	return f
}
