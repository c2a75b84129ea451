package postgres_test

import (
	"context"
	_ "embed"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/test/pgtest"
	"github.com/scalebench/scalebench/test/storetest"
)

//go:embed testdata/version1.sql
var version1 string

// TestOldVersion: a database of an earlier program is brought up to date and
// loses nothing.
func TestOldVersion(t *testing.T) {
	url := pgtest.Start(t).Database()
	restore(t, url, version1)
	storetest.CheckVersion1(t, mustOpen(t, url))
}

// restore runs a dump, whose statements have no parameters.
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
