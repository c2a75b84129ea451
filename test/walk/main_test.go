package walk

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

func TestMain(m *testing.M) { program.Main(m, 0, os.Exit) }

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
