package sqlkv_test

import (
	"context"
	"errors"
	neturl "net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/load/sqlkv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
	"github.com/scalebench/scalebench/test/servers/pgtest"
)

func openPostgres(t *testing.T, rawURL string) *sqlkv.Store {
	t.Helper()
	s, err := sqlkv.NewPostgres(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestPostgresStore is all that can share a server, for starting one takes a while.
func TestPostgresStore(t *testing.T) {
	server := pgtest.Start(t)
	t.Run("other's table", func(t *testing.T) { testPostgresOthersTable(t, server) })
	t.Run("not loaded", func(t *testing.T) { testPostgresNotLoaded(t, server) })
	t.Run("table gone", func(t *testing.T) {
		url := server.Database()
		testTableGone(t, openPostgres(t, url), func(statement string) { server.Exec(url, statement) })
	})
	t.Run("full", func(t *testing.T) { testPostgresFull(t, server) })
	urls := map[kv.Store]string{}
	kvtest.Run(t, kvtest.Subject{
		Open: func(t *testing.T) kv.Store {
			url := server.Database()
			s := openPostgres(t, url)
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

// testPostgresOthersTable: what happens to have one of our names is left alone.
func testPostgresOthersTable(t *testing.T, server *pgtest.Server) {
	url := server.Database()
	testOthers(t, openPostgres(t, url), func(statement string) { server.Exec(url, statement) })
	server.Exec(url, "CREATE SEQUENCE scalebench_kv")
	if _, err := kv.Load(t.Context(), openPostgres(t, url), kv.DefaultDataset(), 0); !errors.Is(err, model.ErrUsage) {
		t.Errorf("a sequence of that name: Load = %v, want ErrUsage", err)
	}
}

// testPostgresFull: limits of a user and of a database are known, and connections of
// others, whoever they are; what is refused is told in the server's words.
func testPostgresFull(t *testing.T, server *pgtest.Server) {
	for name, limit := range map[string]string{"user": "ALTER ROLE of_user CONNECTION LIMIT 5", "database": "ALTER DATABASE %s CONNECTION LIMIT 5"} {
		t.Run(name, func(t *testing.T) {
			url := server.Database()
			u, err := neturl.Parse(url)
			if err != nil {
				t.Fatal(err)
			}
			database := strings.Trim(u.Path, "/")
			for _, statement := range []string{"CREATE ROLE of_" + name + " LOGIN", "ALTER DATABASE " + database + " OWNER TO of_" + name, strings.ReplaceAll(limit, "%s", database)} {
				server.Exec(url, statement)
			}
			url = strings.Replace(url, "postgres@", "of_"+name+"@", 1)
			for range 2 {
				other, err := pgx.Connect(t.Context(), url)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = other.Close(context.Background()) })
			}
			kvtest.CheckFull(t, openPostgres(t, url), 5, 2)
		})
	}
}

// testPostgresNotLoaded: the reason is named.
func testPostgresNotLoaded(t *testing.T, server *pgtest.Server) {
	store := openPostgres(t, server.Database())
	_, err := store.Connect(t.Context(), kv.DefaultDataset().Shape)
	if load.KindOf(err) != load.ErrConnect || !strings.Contains(err.Error(), "no records were loaded") {
		t.Errorf("Connect = %v, want that no records were loaded", err)
	}
}

// TestPostgresDenied: a wrong password is named as the reason, and not shown.
func TestPostgresDenied(t *testing.T) {
	server := pgtest.Start(t)
	url := server.URL()
	server.RequirePassword("s3cret/word")
	right := openPostgres(t, strings.Replace(url, "postgres@", "postgres:s3cret%2Fword@", 1))
	if err := kvtest.Drop(t.Context(), right); err != nil {
		t.Errorf("with the password: %v", err)
	}
	kvtest.CheckDenied(t, openPostgres(t, strings.Replace(url, "postgres@", "postgres:wr0ng%2Fword@", 1)), "wr0ng")
}

func TestPostgresNew(t *testing.T) {
	kvtest.CheckURLs(t, sqlkv.NewPostgres, map[string]string{
		"postgres://me:pw1234@db.example:5433/bench?sslmode=disable&sslpassword=pw1234": "postgres://me@db.example:5433/bench",
	}, map[string]string{
		"scheme":    "mysql://me:pw1234@db.example/bench",
		"no URL":    "postgres://me:pw1234@db.example:port/bench",
		"parameter": "postgres://me:pw1234@db.example/bench?sslmode=pw1234",
		"keywords":  "host=db.example password=pw1234",
	})
}

func BenchmarkPostgres(b *testing.B) {
	store, err := sqlkv.NewPostgres(pgtest.Start(b).Database())
	if err != nil {
		b.Fatal(err)
	}
	kvtest.Benchmark(b, store)
}
