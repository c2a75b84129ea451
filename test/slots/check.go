package slots

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

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

// Check fails unless each of the items has one record.
func Check(t testing.TB, records map[string]store.Job, items int) {
	t.Helper()
	if len(records) != items {
		t.Errorf("%d items have a record, want %d", len(records), items)
	}
	for i := range items {
		if _, ok := records[strconv.Itoa(i)]; !ok {
			t.Fatalf("item %d is lost", i)
		}
	}
}
