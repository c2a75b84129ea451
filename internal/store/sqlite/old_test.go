package sqlite_test

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/storetest"
)

//go:embed testdata
var testdata embed.FS

// restore makes a file as an earlier program left it.
func restore(t *testing.T, version int) (path string) {
	t.Helper()
	dump, err := testdata.ReadFile(fmt.Sprintf("testdata/version%d.sql", version))
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "store.db")
	execute(t, raw(t, path), string(dump))
	return path
}

// TestOldVersion: a file of an earlier program is brought up to date and
// loses nothing.
func TestOldVersion(t *testing.T) {
	for _, version := range []int{1, 3} {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			storetest.CheckOld(t, mustOpen(t, restore(t, version)), version)
		})
	}
}

// copies is how often multiply adds the results of the old run.
const copies = 120

// multiply gives an old run many tasks, each with a copy of a result.
func multiply(t *testing.T, path string) {
	t.Helper()
	numbers := fmt.Sprintf("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", copies)
	var script strings.Builder
	script.WriteString(numbers + `INSERT INTO tasks SELECT id || '/' || i, step, position + 10 * i, node, spec FROM tasks, n;`)
	script.WriteString(numbers + `INSERT INTO results SELECT id + 4 * i, task || '/' || i, attempt, outcome, error,
		started, ended, clock_offset, clock_error, exit_code FROM results, n;`)
	for table, columns := range map[string]string{
		"outputs":     "stream, total, truncated, artifact, artifact_cut, content",
		"samples":     "position, metric, unit, value, better, labels, resource, info",
		"series":      "position, metric, unit, points, offsets, counters",
		"host_series": "position, metric, unit, counter, points, offsets, readings",
		"histograms":  "position, metric, unit, encoded, second",
	} {
		fmt.Fprintf(&script, "%s INSERT INTO %s SELECT result + 4 * i, %s FROM %s, n;", numbers, table, columns, table)
	}
	execute(t, raw(t, path), script.String())
}

// TestOldVersionKilled kills a process that brings a file up to date, again and
// again: what has moved stays, the next one goes on, and nothing is lost or
// there twice.
func TestOldVersionKilled(t *testing.T) {
	skip.WithRace(t)
	path := restore(t, 3)
	multiply(t, path)
	want := storetest.Old(t, 3)
	originals := want.Results
	total := len(originals) * (copies + 1)
	kills := 0
	for left := total; left > total/3; kills++ {
		next := killOpening(t, path, left)
		if next >= left {
			t.Fatalf("%d results were left, and %d after another opening", left, next)
		}
		left = next
	}
	t.Logf("%d processes were killed", kills)

	s := mustOpen(t, path)
	d, err := s.Data(context.Background(), want.Run.ID)
	if err != nil || len(d.Results) != total {
		t.Fatalf("Data: %d results, %v, want %d", len(d.Results), err, total)
	}
	byTask := make(map[model.TaskID]model.Result)
	for _, r := range originals {
		byTask[r.Task] = r
	}
	for _, got := range d.Results {
		original := string(got.Task)
		if parts := strings.Split(original, "/"); len(parts) == 4 {
			original = strings.Join(parts[:3], "/")
		}
		want := byTask[model.TaskID(original)]
		want.Task = got.Task
		if d := cmp.Diff(want, got, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("the result of %s differs (-want +got):\n%s", got.Task, d)
		}
	}
}

// killOpening starts a process that opens the store and kills it when fewer
// results are left in the old tables; it returns how many these are then.
func killOpening(t *testing.T, path string, left int) int {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), openEnv+"="+path)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	db := raw(t, path)
	count := func(table string) (n int, err error) {
		err = db.QueryRow("SELECT COUNT(*) FROM " + table).Scan(&n)
		return n, err
	}
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for running := true; running; {
		select {
		case err := <-ended:
			t.Fatalf("the process ended by itself: %v\n%s", err, stderr.String())
		case <-tick.C:
			n, err := count("old_results")
			running = err != nil || n >= left
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended //nolint:errcheck // killed, as it was to be
	n, err := count("old_results")
	moved, movedErr := count("results")
	if err := errors.Join(err, movedErr); err != nil {
		t.Fatal(err)
	}
	if total := 4 * (copies + 1); n+moved != total {
		t.Errorf("%d results in the old table and %d in the new one, want %d together", n, moved, total)
	}
	return n
}

// openOnly is what such a process does.
func openOnly(path string) error {
	s, err := sqlite.Open(context.Background(), path)
	if err != nil {
		return err
	}
	return s.Close()
}

// TestOpenAsIs: nothing is made and nothing is brought up to date by whoever
// only wants to look.
func TestOpenAsIs(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "store.db")
	if _, err := sqlite.OpenAsIs(t.Context(), missing); !errors.Is(err, model.ErrNotFound) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("it was made")
	}
	old := restore(t, 3)
	before, err := os.ReadFile(old)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.OpenAsIs(t.Context(), old); !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("an old store: %v", err)
	}
	after, err := os.ReadFile(old)
	if err != nil || !bytes.Equal(before[100:], after[100:]) { // the header may say by now that there is a log
		t.Errorf("an old store was changed (%v)", err)
	}
	current := filepath.Join(t.TempDir(), "store.db")
	must := mustOpen(t, current)
	f := storetest.New(1, 1, 1)
	if err := f.Start(t.Context(), must); err != nil {
		t.Fatal(err)
	}
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
