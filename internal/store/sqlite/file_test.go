package sqlite_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/storetest"
)

func mustOpen(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	return storetest.Open(t, sqlite.Open, path)
}

// start opens a store with a fixture in it; its first attempts have begun.
func start(t testing.TB, path string, nodes, steps int) (*sqlite.Store, storetest.Fixture) {
	t.Helper()
	s := mustOpen(t, path)
	return s, storetest.Started(t, s, nodes, steps)
}

// raw opens the file without the store.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func execute(t *testing.T, db *sql.DB, statement string) {
	t.Helper()
	if _, err := db.Exec(statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// TestModes: other users cannot read what commands printed.
func TestModes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "store.db")
	start(t, path, 1, 1) // leaves the -wal and -shm files in place
	want := map[string]os.FileMode{
		filepath.Dir(dir): 0o700, dir: 0o700, path: 0o600, path + "-wal": 0o600, path + "-shm": 0o600,
	}
	for name, mode := range want {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != mode {
			t.Errorf("mode of %s = %o, want %o", name, got, mode)
		}
	}
}

// TestPaths: characters that mean something in a URI are only a name here.
func TestPaths(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"plain.db", "with space", "a?mode=memory", "50%41.db", "#hash", "ü&=;", ":memory:"} {
		path := filepath.Join(dir, name)
		start(t, path, 1, 1)
		if _, err := os.Stat(path); err != nil {
			t.Errorf("Open(%q) did not make this file: %v", name, err)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 7*3 { // each with -wal and -shm
		t.Errorf("%d files, want 21: %v", len(entries), entries)
	}
}

func TestOpenRefuses(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	foreign := filepath.Join(dir, "foreign.db")
	execute(t, raw(t, foreign), "CREATE TABLE runs (id TEXT)")
	newer := filepath.Join(dir, "newer.db")
	if err := mustOpen(t, newer).Close(); err != nil {
		t.Fatal(err)
	}
	execute(t, raw(t, newer), "INSERT INTO scalebench_schema (version_id, is_applied) VALUES (999, 1)")

	tests := []struct {
		name, path string
		kind       error
		want       string
	}{
		{"text", write("text", strings.Repeat("this is not a database\n", 100)), model.ErrUsage, "not a scalebench store"},
		{"foreign", foreign, model.ErrUsage, "another program"},
		{"newer", newer, model.ErrUsage, "schema version 999"},
		{"below a file", filepath.Join(write("file", ""), "store.db"), model.ErrUnavailable, "not a directory"},
		{"a directory", dir, model.ErrUnavailable, "directory"},
	}
	for _, tt := range tests {
		s, err := sqlite.Open(context.Background(), tt.path)
		if !errors.Is(err, tt.kind) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: Open = %v, want %v, saying %q", tt.name, err, tt.kind, tt.want)
		}
		if s != nil {
			t.Errorf("%s: Open returned a store with its error", tt.name)
		}
	}
}

// TestOpenAsIs: nothing is made, and no schema is brought up to date, by whoever
// only wants to look.
func TestOpenAsIs(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "store.db")
	if _, err := sqlite.OpenAsIs(t.Context(), missing); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("it was made")
	}
	older := filepath.Join(t.TempDir(), "store.db")
	execute(t, raw(t, older), "PRAGMA application_id = 0x53434c42")
	before, err := os.ReadFile(older)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenAsIs(t.Context(), older); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("a store of an older schema: %v", err)
	}
	after, err := os.ReadFile(older)
	if err != nil || !bytes.Equal(before[100:], after[100:]) { // the header may say by now that there is a log
		t.Errorf("a store of an older schema was changed (%v)", err)
	}
	current := filepath.Join(t.TempDir(), "store.db")
	_, f := start(t, current, 1, 1)
	s, err := sqlite.OpenAsIs(t.Context(), current)
	if err != nil {
		t.Fatal(err)
	}
	if run, err := s.Run(t.Context(), "running"); run.ID != f.Run.ID || err != nil {
		t.Errorf("the store has %v, %v", run.ID, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestOpenedTogether: a new file that several open at once becomes one store
// for them all; none takes another's half-made tables for a foreign database.
func TestOpenedTogether(t *testing.T) {
	const openers, rounds = 4, 25
	for range rounds {
		path := filepath.Join(t.TempDir(), "store.db")
		var wg sync.WaitGroup
		for range openers {
			wg.Go(func() {
				s, err := sqlite.Open(context.Background(), path)
				if err != nil {
					t.Error(err)
					return
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}

// TestLockedByAnother: a process that keeps the file locked makes writes
// unavailable and reads go on; when it is done, so do writes.
func TestLockedByAnother(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	_, f := start(t, path, 1, 1)
	s, err := sqlite.OpenWaiting(context.Background(), path, 50*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	db := raw(t, path)
	db.SetMaxOpenConns(1)
	execute(t, db, "BEGIN IMMEDIATE")
	if _, err := s.PutResult(context.Background(), f.Result(0, 0, 1)); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("PutResult beside a lock: %v, want model.ErrUnavailable", err)
	}
	if _, err := s.Data(context.Background(), f.Run.ID); err != nil {
		t.Errorf("Data beside a lock: %v", err)
	}
	execute(t, db, "ROLLBACK")
	if stored, err := s.PutResult(context.Background(), f.Result(0, 0, 1)); !stored || err != nil {
		t.Errorf("PutResult after the lock = %v, %v, want true", stored, err)
	}
}

// TestOneBadInABatch: a row that the database refuses fails alone, whatever it
// was delivered with, and not as something that waiting would repair.
func TestOneBadInABatch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "store.db")
	s, f := start(t, path, 40, 1)
	results := f.Results()
	bad := results[17].Task
	execute(t, raw(t, path), `CREATE TRIGGER stop BEFORE INSERT ON results WHEN NEW.task = '`+string(bad)+`'
		BEGIN SELECT RAISE(ABORT, 'refused'); END`)
	var wg sync.WaitGroup
	for _, r := range results {
		wg.Go(func() {
			stored, err := s.PutResult(context.Background(), r)
			if stored != (r.Task != bad) || (err != nil) != (r.Task == bad) || errors.Is(err, model.ErrUnavailable) {
				t.Errorf("PutResult(%s) = %v, %v", r.Task, stored, err)
			}
		})
	}
	wg.Wait()
	storetest.CheckStored(t, s, f, append(results[:17:17], results[18:]...), false)
}

// TestDurable: the settings on which "acknowledged means on disk" rests.
func TestDurable(t *testing.T) {
	settings, err := sqlite.WriterSettings(context.Background(), filepath.Join(t.TempDir(), "store.db"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "1"} // 2 is FULL
	if d := cmp.Diff(want, settings); d != "" {
		t.Errorf("the writer's settings (-want +got):\n%s", d)
	}
}
