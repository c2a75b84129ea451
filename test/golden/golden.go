// Package golden compares what a test got with a file that people have read.
// `go test -update` writes the files anew.
package golden

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Updating reports whether files are to be written anew, for tests that keep
// one in another way.
func Updating() bool { return *update }

// Check compares got with a file, a path from the package's folder.
func Check[T string | []byte](t *testing.T, path string, got T) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil { //nolint:gosec // not secret
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); go test -update accepts it:\n%s", path, diff)
	}
}

// JSON compares a value, as indented JSON, with a file.
func JSON(t *testing.T, path string, value any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // files are read by people
	enc.SetIndent("", " ")
	if err := enc.Encode(value); err != nil {
		t.Fatal(err)
	}
	Check(t, path, b.Bytes())
}
