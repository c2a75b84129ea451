package frame

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/model"
)

// TestTally: a kind of doubt is one, with those that have it; a problem is another
// kind than a warning.
func TestTally(t *testing.T) {
	doubt := func(s model.Severity, text string) model.Doubt {
		return model.Doubt{Code: "steal", Severity: s, Text: text, Trial: 3, Steps: []int{1}}
	}
	var all Tally
	all.Add("a", []model.Doubt{doubt(model.Warning, "5 % was stolen"), doubt(model.Warning, "6 % was stolen")})
	all.Add("b", nil)
	all.Add("c", []model.Doubt{doubt(model.Warning, "7 % was stolen"), doubt(model.Problem, "90 % was stolen")})
	want := []model.Doubt{
		{Code: "steal", Severity: model.Warning, Text: "in 2 of 3 runs (a, c), such as: 5 % was stolen"},
		{Code: "steal", Severity: model.Problem, Text: "in 1 of 3 runs (c), such as: 90 % was stolen"},
	}
	if diff := cmp.Diff(want, all.Doubts(3, "run")); diff != "" {
		t.Error(diff)
	}
}
