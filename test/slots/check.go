package slots

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/internal/store/sqlite"
)

// Read returns the records of a run in the store of a data directory, by key.
func Read(t testing.TB, dir string, run model.RunID) map[string]store.Job {
	t.Helper()
	st, err := sqlite.OpenAsIs(context.Background(), filepath.Join(dir, "scalebench.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = st.Close() }()
	list, err := st.RunJobs(context.Background(), run)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]store.Job)
	for _, j := range list {
		if _, twice := all[j.Key]; twice {
			t.Errorf("item %s has two records that count", j.Key)
		}
		all[j.Key] = j
	}
	return all
}

// Check fails unless each of the items has one record, and the files that the records name
// were written by the executions of their items.
func Check(t testing.TB, records map[string]store.Job, items int, files string) {
	t.Helper()
	if len(records) != items {
		t.Errorf("%d items have a record, want %d", len(records), items)
	}
	for i := range items {
		key := strconv.Itoa(i)
		j, ok := records[key]
		if !ok {
			t.Fatalf("item %s is lost", key)
		}
		if files == "" || j.Outcome != jobs.Done {
			continue
		}
		text, err := os.ReadFile(filepath.Join(files, j.Output))
		if err != nil || string(text) != key {
			t.Fatalf("the result of item %s is %q, %v", key, text, err)
		}
	}
}
