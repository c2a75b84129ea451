package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/test/storetest"
)

func BenchmarkPutResult(b *testing.B) {
	storetest.Benchmark(b, func(b *testing.B) store.Store {
		return mustOpen(b, filepath.Join(b.TempDir(), "store.db"))
	})
}
