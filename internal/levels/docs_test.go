package levels

import (
	"os"
	"strings"
	"testing"
)

// TestDocs: the file of the page is read, and the levels that it shows are printed.
func TestDocs(t *testing.T) {
	page, err := os.ReadFile("../../docs/levels.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string) string {
		_, after, _ := strings.Cut(string(page), "```"+kind+"\n")
		text, _, found := strings.Cut(after, "```\n")
		if !found {
			t.Fatalf("the page has no block of %s", kind)
		}
		return text
	}
	set := map[string]string{"gib": "100"}
	own, err := parse(t, block("yaml")).Levels(set)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Find("aws-gp2")
	if err != nil {
		t.Fatal(err)
	}
	builtin := levelsOf(t, "aws-gp2", set)
	for _, size := range []float64{4096, 1 << 18, 1 << 20} {
		if a, b := own.At(size, 1), builtin.At(size, 1); a.Ops != b.Ops {
			t.Errorf("at %v bytes the file has %v op/s, aws-gp2 %v", size, a.Ops, b.Ops)
		}
	}
	if _, text, _ := show(t, m, set); strings.TrimSpace(text) != strings.TrimSpace(block("text")) {
		t.Errorf("the page shows\n%s\nwant\n%s", block("text"), text)
	}
}
