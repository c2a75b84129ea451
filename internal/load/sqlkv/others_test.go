package sqlkv_test

import (
	"errors"
	"testing"

	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/kvtest"
)

// testTableGone: records of a table that is gone are missing, whatever is done to them.
func testTableGone(t *testing.T, store kv.Store, execute func(statement string)) {
	t.Helper()
	set := kv.Dataset{Records: 10, Shape: kv.Shape{Fields: 1, FieldSize: 16}}
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	session, err := store.Connect(t.Context(), set.Shape)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close() }()
	execute("DROP TABLE scalebench_kv")
	for name, err := range map[string]error{
		"read":   session.Read(t.Context(), set.Key(0), set.Record(0)),
		"update": session.Update(t.Context(), set.Key(0), 0, set.Record(0)[0]),
		"insert": session.Insert(t.Context(), set.Key(10), set.Record(10)),
	} {
		if !errors.Is(err, kv.ErrMissing) {
			t.Errorf("%s of a table that is gone = %v, want ErrMissing", name, err)
		}
	}
	if l, err := kv.Load(t.Context(), store, set, 0); err != nil || l.Missing != set.Records {
		t.Errorf("Load after that = %+v, %v", l, err)
	}
}

// testOthers: tables and views of our names that others have made are neither dropped nor
// written to, whichever of the two names they have, and though they look like ours. execute
// fails the test where a statement fails.
func testOthers(t *testing.T, store kv.Store, execute func(statement string)) {
	t.Helper()
	set := kv.Dataset{Records: 10, Shape: kv.Shape{Fields: 1, FieldSize: 16}}
	for name, c := range map[string]struct{ make, still, drop []string }{
		"records alone": {
			[]string{"CREATE TABLE scalebench_kv (precious INT)"},
			[]string{"SELECT precious FROM scalebench_kv"},
			[]string{"DROP TABLE scalebench_kv"},
		},
		"state alone": {
			[]string{"CREATE TABLE scalebench_kv_state (precious INT)"},
			[]string{"SELECT precious FROM scalebench_kv_state"},
			[]string{"DROP TABLE scalebench_kv_state"},
		},
		"both, the state as ours and empty": {
			[]string{"CREATE TABLE scalebench_kv (precious INT)",
				"CREATE TABLE scalebench_kv_state (description VARCHAR(255))"},
			[]string{"SELECT precious FROM scalebench_kv", "SELECT description FROM scalebench_kv_state"},
			[]string{"DROP TABLE scalebench_kv", "DROP TABLE scalebench_kv_state"},
		},
		"both, with a description as ours": {
			[]string{"CREATE TABLE scalebench_kv (k INT)",
				"CREATE TABLE scalebench_kv_state (description VARCHAR(255))",
				"INSERT INTO scalebench_kv_state VALUES ('" + set.String() + "')"},
			[]string{"SELECT k FROM scalebench_kv", "SELECT description FROM scalebench_kv_state"},
			[]string{"DROP TABLE scalebench_kv", "DROP TABLE scalebench_kv_state"},
		},
		"a view": {
			[]string{"CREATE VIEW scalebench_kv AS SELECT 1 AS precious"},
			[]string{"SELECT precious FROM scalebench_kv"},
			[]string{"DROP VIEW scalebench_kv"},
		},
	} {
		for _, statement := range c.make {
			execute(statement)
		}
		if _, err := kv.Load(t.Context(), store, set, 0); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: Load = %v, want ErrUsage", name, err)
		}
		if err := kvtest.Drop(t.Context(), store); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: Drop = %v, want ErrUsage", name, err)
		}
		for _, statement := range append(c.still, c.drop...) {
			execute(statement)
		}
	}
	// One of theirs beside one of ours: neither is touched.
	if _, err := kv.Load(t.Context(), store, set, 0); err != nil {
		t.Fatal(err)
	}
	execute("DROP TABLE scalebench_kv")
	execute("CREATE TABLE scalebench_kv (precious INT)")
	if _, err := kv.Load(t.Context(), store, set, 0); !errors.Is(err, model.ErrUsage) {
		t.Errorf("theirs beside ours: Load = %v, want ErrUsage", err)
	}
	execute("SELECT precious FROM scalebench_kv")
	execute("SELECT description FROM scalebench_kv_state")
	execute("DROP TABLE scalebench_kv")
	if err := kvtest.Drop(t.Context(), store); err != nil {
		t.Errorf("Drop of ours = %v", err)
	}
}
