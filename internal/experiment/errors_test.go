package experiment

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/golden"
)

// parseAny parses a job file or an experiment file, by its ending.
func parseAny(name string, src []byte) error {
	var err error
	if filepath.Ext(name) == ".json" {
		_, err = ParseJob(name, src)
	} else {
		_, err = Parse(name, src, testKinds(), nil)
	}
	return err
}

// Every file in testdata/errors is wrong; beside it stands what is said about
// it, word for word.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.[yj]*[nl]")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			src, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := parseAny(filepath.Base(file), src)
			if !errors.Is(got, model.ErrUsage) {
				t.Fatalf("parsing %s: %v, want a model.ErrUsage", file, got)
			}
			golden.Check(t, file+".want", got.Error()+"\n")
		})
	}
}

// Programs find position and path of each error.
func TestErrorFields(t *testing.T) {
	_, err := Parse("dir/f.yaml", []byte(valid+"trails: 3\n"), testKinds(), nil)
	var one *model.InputError
	if !errors.As(err, &one) {
		t.Fatalf("Parse = %v, want a *model.InputError", err)
	}
	if one.File != "dir/f.yaml" || one.Line != 9 || one.Col != 1 || one.Path != "trails" || one.Flag != "" {
		t.Errorf("error is %+v, want dir/f.yaml:9:1, path trails", one)
	}
}

// A file with thousands of errors gets a bounded message.
func TestManyErrors(t *testing.T) {
	var b strings.Builder
	b.WriteString(valid)
	for i := range 3000 {
		b.WriteString("k" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + strings.Repeat("y", i/50) + ": 1\n")
	}
	_, err := Parse("f.yaml", []byte(b.String()), testKinds(), nil)
	if err == nil {
		t.Fatal("Parse succeeded")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != model.MaxInputErrors+1 || !strings.HasPrefix(lines[model.MaxInputErrors], "f.yaml: and ") {
		t.Errorf("%d lines, the last %q; want %d and the number of the others", len(lines), lines[len(lines)-1], model.MaxInputErrors+1)
	}
}
