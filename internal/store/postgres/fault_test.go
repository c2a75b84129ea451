package postgres_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/postgres"
	"github.com/scalebench/scalebench/test/servers/pgtest"
	"github.com/scalebench/scalebench/test/storetest"
)

func mustOpen(t testing.TB, url string) *postgres.Store {
	t.Helper()
	return storetest.Open(t, postgres.Open, url)
}

// start opens a store with a fixture in it; its first attempts have begun.
func start(t testing.TB, url string, nodes, steps int) (*postgres.Store, storetest.Fixture) {
	t.Helper()
	s := mustOpen(t, url)
	return s, storetest.Started(t, s, nodes, steps)
}

// TestServerKilled crashes the server several times in the middle of a
// delivery. Callers see model.ErrUnavailable and nothing else, the same store
// goes on after each restart, and in the end every result is there once.
func TestServerKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	srv := pgtest.Start(t)
	s, f := start(t, srv.Database(), 100, 20)
	results := f.Results()
	var down sync.RWMutex // held while the server is down
	var failures, count atomic.Int64
	kill := make(chan struct{}, 1)
	wait := func() {
		failures.Add(1)
		down.RLock()
		defer down.RUnlock()
	}
	acked := func(model.Result) {
		if n := count.Add(1); n%500 == 250 {
			kill <- struct{}{}
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- storetest.Deliver(ctx, s, results, 16, wait, acked) }()
	for running := true; running; {
		select {
		case <-kill:
			down.Lock()
			srv.Kill()
			srv.Restart()
			down.Unlock()
		case err := <-done:
			if err != nil {
				t.Fatal(err)
			}
			running = false
		}
	}
	if failures.Load() == 0 {
		t.Error("no delivery met a dead server: the test proves nothing")
	}
	t.Logf("%d deliveries failed and were repeated", failures.Load())
	storetest.CheckStored(t, s, f, results, false)
}

// TestServerStopped: while the server is away everything is unavailable, and
// the error says where it should be.
func TestServerStopped(t *testing.T) {
	srv := pgtest.Start(t)
	url := srv.Database()
	s, f := start(t, url, 1, 1)
	srv.Stop()
	_, putErr := s.PutResult(t.Context(), f.Result(0, 0, 1))
	_, dataErr := s.Data(t.Context(), f.Run.ID)
	_, openErr := postgres.Open(t.Context(), url)
	for what, err := range map[string]error{"PutResult": putErr, "Data": dataErr, "Open": openErr} {
		if !errors.Is(err, model.ErrUnavailable) || !strings.Contains(err.Error(), "postgres://postgres@/test1") {
			t.Errorf("%s without a server: %v, want model.ErrUnavailable naming the database", what, err)
		}
	}
	srv.Restart()
	if stored, err := putUntilUp(t, s, f.Result(0, 0, 1)); !stored || err != nil {
		t.Errorf("PutResult after the restart = %v, %v, want true", stored, err)
	}
}

// putUntilUp allows for one failure a pooled connection: each learns of the
// restart by itself.
func putUntilUp(t *testing.T, s *postgres.Store, r model.Result) (stored bool, err error) {
	for range 10 {
		if stored, err = s.PutResult(t.Context(), r); !errors.Is(err, model.ErrUnavailable) {
			break
		}
	}
	return stored, err
}

// TestReadOnlyServer: a database that became read-only (a standby, a failing
// disk) is unavailable for writing, and can be read.
func TestReadOnlyServer(t *testing.T) {
	srv := pgtest.Start(t)
	url := srv.Database()
	start(t, url, 1, 1)
	readOnly := func(value string) {
		srv.Exec(srv.URL(), "ALTER DATABASE test1 SET default_transaction_read_only = "+value)
	}
	readOnly("on")
	s := mustOpen(t, url)
	r := storetest.New(1, 1, 1).Result(0, 0, 1)
	if _, err := s.PutResult(t.Context(), r); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("PutResult: %v, want model.ErrUnavailable", err)
	}
	if _, err := s.BeginAttempt(t.Context(), r.Step); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("BeginAttempt: %v, want model.ErrUnavailable", err)
	}
	if _, err := s.Data(t.Context(), r.Run); err != nil {
		t.Errorf("Data: %v", err)
	}
}

// TestSynchronousCommit: a server that promises less than we do is overruled,
// one that promises more is not.
func TestSynchronousCommit(t *testing.T) {
	srv := pgtest.Start(t)
	for _, tt := range []struct{ server, want string }{{"off", "on"}, {"remote_apply", "remote_apply"}} {
		srv.Exec(srv.URL(), "ALTER ROLE postgres SET synchronous_commit = "+tt.server)
		if got := postgres.SynchronousCommit(t, srv.URL()); got != tt.want {
			t.Errorf("server has %s: our sessions have %s, want %s", tt.server, got, tt.want)
		}
	}
}

// TestOpenedTogether: a new database that several open at once becomes one store
// for them all.
func TestOpenedTogether(t *testing.T) {
	url := pgtest.Start(t).Database()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if s, err := postgres.Open(t.Context(), url); err != nil || s.Close() != nil {
				t.Errorf("opening the new store beside others: %v", err)
			}
		})
	}
	wg.Wait()
	start(t, url, 1, 1)
}

func TestNewerSchema(t *testing.T) {
	srv := pgtest.Start(t)
	url := srv.Database()
	start(t, url, 1, 1)
	srv.Exec(url, "INSERT INTO scalebench.scalebench_schema (version_id, is_applied) VALUES (999, true)")
	_, err := postgres.Open(t.Context(), url)
	if !errors.Is(err, model.ErrUsage) || !strings.Contains(err.Error(), "schema version 999") {
		t.Errorf("Open = %v, want model.ErrUsage naming the version", err)
	}
}

// TestSearchPath: tables go where the URL says.
func TestSearchPath(t *testing.T) {
	srv := pgtest.Start(t)
	url := srv.Database()
	srv.Exec(url, "CREATE SCHEMA elsewhere")
	start(t, url+"&search_path=elsewhere", 1, 1)
	srv.Exec(url, "SELECT 1 FROM elsewhere.runs")
	start(t, url, 1, 1) // another store in the same database
	srv.Exec(url, "SELECT 1 FROM scalebench.runs")
}

// TestSecrets: no error shows a password, whatever went wrong.
func TestSecrets(t *testing.T) {
	const secret = "s3cr3t/w#rd"
	urls := []string{
		"postgres://user:s3cr3t%2Fw%23rd@127.0.0.1:1/db",                     // refused
		"postgres://user:s3cr3t%2Fw%23rd@127.0.0.1:1/db?sslmode=nonsense",    // bad parameter
		"postgres://user@127.0.0.1:1/db?password=s3cr3t%2Fw%23rd&sslmode=no", // in the query
		"postgres://user:s3cr3t/w#rd@127.0.0.1:1/db",                         // not escaped
		"postgres://user:s3cr3t%zz@host/db",                                  // badly escaped
		"postgres://user:s3cr3t@host:port/db",
		"postgres:// user:s3cr3t@host/db",
		"user=x password=s3cr3t host=127.0.0.1",
		"mysql://user:s3cr3t@host/db",
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	for _, url := range urls {
		s, err := postgres.Open(ctx, url)
		if err == nil {
			t.Errorf("Open(%q) succeeded", url)
			_ = s.Close()
			continue
		}
		for _, part := range []string{secret, "s3cr3t", "w%23rd", "w#rd"} {
			if strings.Contains(err.Error(), part) {
				t.Errorf("Open(%q): the error shows the password: %v", url, err)
			}
		}
		if !errors.Is(err, model.ErrUsage) && !errors.Is(err, model.ErrUnavailable) {
			t.Errorf("Open(%q): %v has no kind", url, err)
		}
	}
}

func TestWrongPassword(t *testing.T) {
	srv := pgtest.Start(t)
	srv.RequirePassword("right")
	host := srv.URL()
	with := func(password string) string { return strings.Replace(host, "postgres@", "postgres:"+password+"@", 1) }
	_, err := postgres.Open(t.Context(), with("wr0ng"))
	if !errors.Is(err, model.ErrDenied) || strings.Contains(err.Error(), "wr0ng") {
		t.Errorf("Open with a wrong password: %v, want model.ErrDenied without it", err)
	}
	mustOpen(t, with("right"))
	_, err = postgres.Open(t.Context(), strings.Replace(with("right"), "/postgres?", "/nowhere?", 1))
	if !errors.Is(err, model.ErrUsage) {
		t.Errorf("Open of a database that does not exist: %v, want model.ErrUsage", err)
	}
}
