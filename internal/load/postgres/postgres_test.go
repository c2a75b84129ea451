package postgres_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/postgres"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/pgtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, rawURL string) *postgres.Store {
	t.Helper()
	s, err := postgres.New(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestStore is all that can share a server, for starting one takes a while.
func TestStore(t *testing.T) {
	server := pgtest.Start(t)
	t.Run("other's table", func(t *testing.T) { testOthersTable(t, server) })
	t.Run("not loaded", func(t *testing.T) { testNotLoaded(t, server) })
	urls := map[kv.Store]string{}
	kvtest.Run(t, kvtest.Subject{
		Open: func(t *testing.T) kv.Store {
			url := server.Database()
			s := open(t, url)
			urls[s] = url
			return s
		},
		Stall: func(t *testing.T, s kv.Store) func() { return lock(t, urls[s]) },
		Stop:  func(*testing.T, kv.Store) { server.Kill() },
	})
}

// lock keeps everybody from the table of records. The server cannot be stopped
// with a signal, for it is one process a connection.
func lock(t *testing.T, url string) (release func()) {
	t.Helper()
	ctx := context.Background() // the test's context is done when it is cleaned up
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Exec(ctx, "BEGIN; LOCK TABLE scalebench_kv IN ACCESS EXCLUSIVE MODE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

// testOthersTable: a table that happens to have our name is left alone.
func testOthersTable(t *testing.T, server *pgtest.Server) {
	url := server.Database()
	server.Exec(url, "CREATE TABLE scalebench_kv (precious text)")
	store := open(t, url)
	_, err := kv.Load(t.Context(), store, kv.DefaultDataset(), kv.LoadOptions{})
	if !errors.Is(err, model.ErrUsage) {
		t.Errorf("Load = %v, want ErrUsage", err)
	}
	if err := kv.Drop(t.Context(), store); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Drop = %v, want ErrUsage", err)
	}
	server.Exec(url, "SELECT precious FROM scalebench_kv")
}

// testNotLoaded: the reason is named.
func testNotLoaded(t *testing.T, server *pgtest.Server) {
	store := open(t, server.Database())
	_, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
	if load.KindOf(err) != load.ErrConnect || !strings.Contains(err.Error(), "no records were loaded") {
		t.Errorf("Connect = %v, want that no records were loaded", err)
	}
}

// TestDenied: a wrong password is named as the reason, and not shown.
func TestDenied(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL()
	server.RequirePassword("s3cret/word")
	right := open(t, strings.Replace(url, "postgres@", "postgres:s3cret%2Fword@", 1))
	if err := kv.Drop(t.Context(), right); err != nil {
		t.Errorf("with the password: %v", err)
	}
	kvtest.CheckDenied(t, open(t, strings.Replace(url, "postgres@", "postgres:wr0ng%2Fword@", 1)), "wr0ng")
}

func TestNew(t *testing.T) {
	kvtest.CheckURLs(t, postgres.New, map[string]string{
		"postgres://me:pw1234@db.example:5433/bench?sslmode=disable&sslpassword=pw1234": "postgres://me@db.example:5433/bench",
	}, map[string]string{
		"scheme":    "mysql://me:pw1234@db.example/bench",
		"no URL":    "postgres://me:pw1234@db.example:port/bench",
		"parameter": "postgres://me:pw1234@db.example/bench?sslmode=pw1234",
		"keywords":  "host=db.example password=pw1234",
	})
}

func BenchmarkStore(b *testing.B) {
	store, err := postgres.New(pgtest.Start(b).Database())
	if err != nil {
		b.Fatal(err)
	}
	kvtest.Benchmark(b, store)
}
