package sqlite_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/storetest"
)

func TestConformance(t *testing.T) {
	defer goleak.VerifyNone(t)
	storetest.Run(t, func(t testing.TB) func() (store.Store, error) {
		path := filepath.Join(t.TempDir(), "store.db")
		return func() (store.Store, error) { return sqlite.Open(context.Background(), path) }
	})
}
