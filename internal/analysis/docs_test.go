package analysis

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// csvBlock is an example file in a Markdown text.
var csvBlock = regexp.MustCompile("(?s)```csv\n(.*?)```")

// TestDocumentedCSV reads every example of docs/methods.md.
func TestDocumentedCSV(t *testing.T) {
	text, err := os.ReadFile("../../docs/methods.md")
	if err != nil {
		t.Fatal(err)
	}
	want := []model.Verdict{model.VerdictDegraded, model.VerdictDegraded, model.VerdictUnknown}
	blocks := csvBlock.FindAllStringSubmatch(string(text), -1)
	if len(blocks) != len(want) {
		t.Fatalf("docs/methods.md has %d CSV examples, want %d", len(blocks), len(want))
	}
	for i, b := range blocks {
		fs, err := CDIFromCSV(strings.NewReader(b[1]), "example.csv", quick)
		if err != nil || len(fs) != 1 || fs[0].Verdict != want[i] {
			t.Errorf("example %d: %+v, %v, want one finding, %s", i+1, fs, err, want[i])
		}
	}
}
