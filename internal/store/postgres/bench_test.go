package postgres_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/test/servers/pgtest"
	"github.com/scalebench/scalebench/test/storetest"
)

func BenchmarkPutResult(b *testing.B) {
	srv := pgtest.Start(b)
	storetest.Benchmark(b, func(b *testing.B) store.Store { return mustOpen(b, srv.Database()) })
}

func BenchmarkRead(b *testing.B) {
	url := pgtest.Start(b).Database()
	s := mustOpen(b, url)
	storetest.BenchmarkRead(b, s, func() (size int64) {
		conn, err := pgx.Connect(context.Background(), url)
		if err != nil {
			b.Fatal(err)
		}
		defer func() { _ = conn.Close(context.Background()) }()
		if err := conn.QueryRow(context.Background(), "SELECT pg_database_size(current_database())").Scan(&size); err != nil {
			b.Fatal(err)
		}
		return size
	})
}

func BenchmarkCampaign(b *testing.B) {
	storetest.BenchmarkCampaign(b, mustOpen(b, pgtest.Start(b).Database()))
}
