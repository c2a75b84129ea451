package stats_test

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

// Golden by hand: p = .001, .02, .03, .6 give q = .004, .04, .04, .6; three are
// selected at .05, so their intervals have level 1 − .05·3/4, and the other's 1 −
// .05·4/4.
func TestSelectedLevels(t *testing.T) {
	qs, levels, err := stats.SelectedLevels([]float64{.02, .6, .001, .03}, .95)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ q, level float64 }{{.04, .9625}, {.6, .95}, {.004, .9625}, {.04, .9625}} {
		if math.Abs(qs[i]-want.q) > 1e-12 || math.Abs(levels[i]-want.level) > 1e-12 {
			t.Errorf("SelectedLevels[%d] = %v, %v, want %v, %v", i, qs[i], levels[i], want.q, want.level)
		}
	}
	if _, levels, _ = stats.SelectedLevels([]float64{.2, .6}, .95); levels[0] != levels[1] || math.Abs(levels[0]-.975) > 1e-12 {
		t.Errorf("none of 2 is selected: levels %v, want .975", levels)
	}
	if _, levels, _ = stats.SelectedLevels([]float64{.2}, .95); math.Abs(levels[0]-.95) > 1e-12 {
		t.Errorf("of one comparison the level is %v, want .95", levels[0])
	}
	if _, _, err = stats.SelectedLevels([]float64{2}, .95); err == nil {
		t.Error("a p-value of 2 is accepted")
	}
}
