package texts

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/scalebench/scalebench/"

// showing are the packages that show texts, and the one that makes them.
var showing = []string{"internal/caveat", "internal/doc", "internal/doc/render", "internal/study/legacy"}

// listed is a package as `go list` prints it.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// packages lists those of the program with all that they import, compiled.
func packages(t *testing.T) map[string]listed {
	t.Helper()
	const fields = "-json=ImportPath,Dir,Export,GoFiles"
	cmd := exec.CommandContext(t.Context(), "go", "list", "-export", "-deps", fields, "./cmd/scalebench")
	cmd.Dir = "../.."
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]listed)
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all[p.ImportPath] = p
	}
}

// check type-checks files and returns what it refuses.
func check(t *testing.T, all map[string]listed, path string, files []string) []finding {
	t.Helper()
	c := checker{text: module + "internal/caveat.Text", fset: token.NewFileSet(), info: &types.Info{
		Types: make(map[ast.Expr]types.TypeAndValue), Uses: make(map[*ast.Ident]types.Object),
	}}
	var parsed []*ast.File
	for _, name := range files {
		f, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		parsed = append(parsed, f)
	}
	config := types.Config{Importer: importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(all[path].Export)
	})}
	if _, err := config.Check(path, c.fset, parsed, c.info); err != nil {
		t.Fatalf("type-checking %s: %v", path, err)
	}
	for _, f := range parsed {
		ast.Inspect(f, c.visit)
	}
	return c.found
}

// TestTexts: no package of the program uses a sentence as data.
func TestTexts(t *testing.T) {
	all := packages(t)
	for path, p := range all {
		name, ours := strings.CutPrefix(path, module)
		if !ours || slices.Contains(showing, name) {
			continue
		}
		var files []string
		for _, f := range p.GoFiles {
			files = append(files, filepath.Join(p.Dir, f))
		}
		for _, f := range check(t, all, path, files) {
			t.Error(f)
		}
	}
}

// TestChecker: each way of using a sentence as data is found, and no other.
func TestChecker(t *testing.T) {
	const name = "testdata/data.go"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := make(map[string]bool)
	for i, line := range strings.Split(string(text), "\n") {
		if _, word, ok := strings.Cut(line, " // "); ok {
			want[fmt.Sprintf("%d %s", i+1, word)] = true
		}
	}
	for _, f := range check(t, packages(t), "data", []string{name}) {
		matched := false
		for key := range want {
			line, word, _ := strings.Cut(key, " ")
			if fmt.Sprint(f.pos.Line) == line && strings.Contains(f.what, word) {
				delete(want, key)
				matched = true
			}
		}
		if !matched {
			t.Errorf("refused without a reason: %v", f)
		}
	}
	for key := range want {
		t.Errorf("not refused: %s", key)
	}
}
