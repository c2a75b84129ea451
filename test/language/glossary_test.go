package language

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestGlossary holds docs/glossary.md to its form: terms in the order of the
// alphabet, each with a definition, a source, and what it was called.
func TestGlossary(t *testing.T) {
	text, err := os.ReadFile("../../docs/glossary.md")
	if err != nil {
		t.Fatal(err)
	}
	_, terms, _ := strings.Cut(string(text), "\n## Terms\n")
	terms, _, _ = strings.Cut(terms, "\n## Sources\n")
	var names []string
	for entry := range strings.SplitSeq(terms, "\n### ") {
		name, about, _ := strings.Cut(strings.TrimSpace(entry), "\n")
		if name == "" {
			continue
		}
		names = append(names, strings.ToLower(name))
		rows := strings.Split(about, "\n")
		if len(rows) != 3 || !strings.HasPrefix(rows[1], "- Source: ") || !strings.HasPrefix(rows[2], "- Until now: ") {
			t.Errorf("%s: want a definition, \"- Source: …\" and \"- Until now: …\", a line each, got\n%s", name, about)
		}
	}
	if len(names) < 50 || !slices.IsSorted(names) {
		t.Errorf("%d terms, in another order than the alphabet's: %v", len(names), names)
	}
}
