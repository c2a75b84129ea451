package postgres_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/test/pgtest"
	"github.com/scalebench/scalebench/test/storetest"
)

func BenchmarkPutResult(b *testing.B) {
	srv := pgtest.Start(b)
	storetest.Benchmark(b, func(b *testing.B) store.Store { return mustOpen(b, srv.Database()) })
}
