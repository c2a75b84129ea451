package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestSourceNames: files of one name in two folders are two sources, and one file is one,
// however it is named.
func TestSourceNames(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, path := range []string{"monday/results.csv", "tuesday/results.csv", "a/x/r.csv", "b/x/r.csv", "r.csv",
		"stdin", "old.csv"} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("value\n1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("old.csv", "linked.csv"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want []string }{
		{[]string{"monday/results.csv"}, []string{"results.csv"}},
		{[]string{"monday/results.csv", "tuesday/results.csv"}, []string{"monday/results.csv", "tuesday/results.csv"}},
		{[]string{"a/x/r.csv", "b/x/r.csv", "old.csv"}, []string{"a/x/r.csv", "b/x/r.csv", "old.csv"}},
		{[]string{"r.csv", "a/x/r.csv"}, []string{"r.csv", "x/r.csv"}},
		{[]string{"./r.csv", "r.csv"}, []string{"r.csv", "r.csv"}},
		{[]string{"old.csv", "linked.csv"}, []string{"old.csv", "old.csv"}},
		{[]string{"-", "stdin"}, []string{"stdin", "stdin (file)"}},
		{[]string{"stdin"}, []string{"stdin"}},
		{[]string{"nightly", "a/x/r.csv"}, []string{"nightly", "r.csv"}},
		{[]string{"gone/r.csv", "r.csv"}, []string{"gone/r.csv", "r.csv"}},
	} {
		if d := cmp.Diff(c.want, sourceNames(c.args)); d != "" {
			t.Errorf("sourceNames(%q) (-want +got):\n%s", c.args, d)
		}
	}
}
