package layers

import (
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// edge is one import clause.
type edge struct {
	file string // relative to the module's root, for the message
	from string // package, as the table of tiers writes it
	path string // what it imports, as written
	test bool   // the file is a _test file
}

// moduleRoot returns the directory of go.mod and the module's path.
func moduleRoot(t *testing.T) (dir, module string) {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil {
			first, _, _ := strings.Cut(string(data), "\n")
			return dir, strings.TrimSpace(strings.TrimPrefix(first, "module "))
		}
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			t.Fatalf("looking for go.mod: %v", err)
		}
		dir = filepath.Dir(dir)
	}
}

// loadEdges reads the import clauses of all Go files below root, of every
// build tag. Directories that the go command ignores, and modules of their
// own (tools/), are left out.
func loadEdges(t *testing.T, root string) []edge {
	t.Helper()
	var edges []edge
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return skipDir(root, file, d.Name())
		}
		if filepath.Ext(file) != ".go" {
			return nil
		}
		found, err := fileEdges(root, file)
		edges = append(edges, found...)
		return err
	})
	if err != nil {
		t.Fatalf("reading imports: %v", err)
	}
	return edges
}

func skipDir(root, dir, name string) error {
	if dir == root {
		return nil
	}
	if name == "testdata" || name == "vendor" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return fs.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return fs.SkipDir
	}
	return nil
}

// fileEdges returns one edge an import, and one with an empty path for a file
// without imports, so that its package is still placed.
func fileEdges(root, file string) ([]edge, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(root, file)
	if err != nil {
		return nil, err
	}
	rel = filepath.ToSlash(rel)
	base := edge{file: rel, from: packageName(path.Dir(rel)), test: strings.HasSuffix(rel, "_test.go")}
	edges := []edge{base}
	for _, spec := range parsed.Imports {
		e := base
		if e.path, err = strconv.Unquote(spec.Path.Value); err != nil {
			return nil, fmt.Errorf("%s: %w", rel, err)
		}
		edges = append(edges, e)
	}
	return edges, nil
}

// packageName writes a directory of the module as the table does.
func packageName(dir string) string { return strings.TrimPrefix(dir, "internal/") }
