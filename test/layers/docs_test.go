package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// tableRow matches "| 2 | `store/sqlite`, `store/postgres` | what for |".
var tableRow = regexp.MustCompile("(?m)^\\| *(\\d+|test) *\\| *(`[^|]+`) *\\| *([^|]+?) *\\|$")

// documented reads the table of tiers out of a Markdown text.
func documented(text string) map[string]string {
	rows := map[string]string{}
	for _, m := range tableRow.FindAllStringSubmatch(text, -1) {
		for pkg := range strings.SplitSeq(m[2], ",") {
			rows[strings.Trim(pkg, " `")] = m[1]
		}
	}
	return rows
}

// TestDocumentedTable compares docs/architecture.md with the table of tiers.
func TestDocumentedTable(t *testing.T) {
	want := map[string]string{}
	for _, p := range places {
		want[p.pkg] = strconv.Itoa(int(p.tier))
		if p.tier == testTier {
			want[p.pkg] = "test"
		}
	}
	got := documented(readFile(t, "docs/architecture.md"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("docs/architecture.md shows another table than test/layers/tiers_test.go (-test +docs):\n%s", diff)
	}
}

func TestDocumented(t *testing.T) {
	const text = "x | y\n| tier | package | what for |\n|---|---|---|\n| 0 | `model` | words |\n| 2 | `a`, `b/<name>` | deeds |\n| test | `layers` | this |\n"
	want := map[string]string{"model": "0", "a": "2", "b/<name>": "2", "layers": "test"}
	if diff := cmp.Diff(want, documented(text)); diff != "" {
		t.Errorf("documented(text) (-want +got):\n%s", diff)
	}
}

// TestDependenciesDocumented holds DEPENDENCIES.md, the table of libraries and
// go.mod to each other: a direct dependency is in all three or in none.
func TestDependenciesDocumented(t *testing.T) {
	text := readFile(t, "DEPENDENCIES.md")
	var known []string
	for _, l := range libraries {
		known = append(known, l.module)
		if !strings.Contains(text, "`"+l.module+"`") {
			t.Errorf("DEPENDENCIES.md does not name %s: say what it is for and why this one", l.module)
		}
	}
	for _, module := range direct(readFile(t, "go.mod")) {
		if !slices.Contains(known, module) {
			t.Errorf("go.mod requires %s directly, which no rule knows: add it to the table in test/layers/tiers_test.go and to DEPENDENCIES.md", module)
		}
	}
}

// requirement matches a line of a require block; the comment tells direct from
// indirect.
var requirement = regexp.MustCompile(`(?m)^(?:require )?\s*([a-z0-9.-]+\.[a-z]+/\S+) v\S+(.*)$`)

// direct returns the modules that a go.mod requires without "// indirect".
func direct(gomod string) []string {
	var modules []string
	for _, m := range requirement.FindAllStringSubmatch(gomod, -1) {
		if !strings.Contains(m[2], "// indirect") {
			modules = append(modules, m[1])
		}
	}
	return modules
}

func TestDirect(t *testing.T) {
	const gomod = "module example.com/m\n\ngo 1.26.0\n\nrequire example.com/one v1.0.0\n\nrequire (\n\texample.com/two/v2 v2.0.0\n\texample.com/three v0.1.0 // indirect\n)\n"
	if diff := cmp.Diff([]string{"example.com/one", "example.com/two/v2"}, direct(gomod)); diff != "" {
		t.Errorf("direct(gomod) (-want +got):\n%s", diff)
	}
}

// readFile reads a file of the module by its path from the root.
func readFile(t *testing.T, name string) string {
	t.Helper()
	root, _ := moduleRoot(t)
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
