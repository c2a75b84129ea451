package walk

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/scalebench/scalebench/internal/cli"
)

// TestMain lets the test binary be scalebench itself, as a copy of it by that
// name on the PATH.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"scalebench": func() {
		env, err := cli.OSEnv()
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(cli.Main(env))
	}})
}

const root = "../.."

// plainWidth is how wide a line may be where there is no terminal.
const plainWidth = 100

// elsewhere is the page that test/studies walks, for it builds the program anew.
const elsewhere = "docs/studies.md"

// pages are the pages that newcomers read, by their path from the root; those
// that begin with the README come first.
func pages(t *testing.T) []string {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md"}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) < 5 {
		t.Fatalf("pages of docs: %v, %v", docs, err)
	}
	for _, name := range docs {
		names = append(names, "docs/"+filepath.Base(name))
	}
	return names
}

func read(t *testing.T, page string) Page {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	return Read(string(text))
}
