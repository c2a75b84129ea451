package postgres_test

import (
	"context"
	"embed"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/internal/store/postgres"
	"github.com/scalebench/scalebench/test/pgtest"
	"github.com/scalebench/scalebench/test/storetest"
)

//go:embed testdata
var testdata embed.FS

// TestOldVersion: a database of an earlier program is brought up to date and
// loses nothing, also when several open it at once.
func TestOldVersion(t *testing.T) {
	srv := pgtest.Start(t)
	for _, version := range []int{1, 3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			dump, err := testdata.ReadFile(fmt.Sprintf("testdata/version%d.sql", version))
			if err != nil {
				t.Fatal(err)
			}
			url := srv.Database()
			restore(t, url, string(dump))
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					if s, err := postgres.Open(t.Context(), url); err != nil || s.Close() != nil {
						t.Errorf("opening the old store beside others: %v", err)
					}
				})
			}
			wg.Wait()
			storetest.CheckOld(t, mustOpen(t, url), version)
		})
	}
}

// restore runs a dump; its statements have no parameters.
func restore(t *testing.T, url, dump string) {
	t.Helper()
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.PgConn().Exec(ctx, dump).ReadAll(); err != nil {
		t.Errorf("restoring the dump: %v", err)
	}
	if err := conn.Close(ctx); err != nil {
		t.Fatal(err)
	}
}
