package sqlite_test

import (
	"os"
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

func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store.db")
	s := mustOpen(b, path)
	storetest.BenchmarkRead(b, s, func() int64 {
		// The log goes into the file before that is measured.
		if _, err := raw(b, path).Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			b.Fatal(err)
		}
		return info.Size()
	})
}

func BenchmarkCampaign(b *testing.B) {
	storetest.BenchmarkCampaign(b, mustOpen(b, filepath.Join(b.TempDir(), "store.db")))
}
