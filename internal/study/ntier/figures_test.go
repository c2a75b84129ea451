package ntier

import (
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/timeline"
)

// TestFastLines: a line of parts of a second says how long these are, and lies over the
// same time as one of seconds.
func TestFastLines(t *testing.T) {
	lines := []timeline.Line{{Name: "rate", Step: 1, Y: []float64{1, 2}},
		{Name: "processor of db", Unit: "%", Step: .5, Y: []float64{9, 8, 7, 6}}}
	panels := timelineFigure(timeline.Timeline{Lines: lines, Run: [2]float64{0, 2}, End: 2}, 10).Figure.Panels
	for i, want := range []struct {
		title string
		x     []float64
	}{{"rate", []float64{.5, 1.5}}, {"processor of db, each 500 ms", []float64{.25, .75, 1.25, 1.75}}} {
		c := panels[i].Chart
		if c.Title != want.title || !slices.Equal(c.Layers[1].X, want.x) {
			t.Errorf("panel %d is %q at %v, want %q at %v", i, c.Title, c.Layers[1].X, want.title, want.x)
		}
	}
}

// TestStageColours: stages that follow each other, or lie in each other, have colours of
// their own.
func TestStageColours(t *testing.T) {
	for _, row := range [][]string{
		{"set_up", "reset", "await", "start", "healthy", "warm", "run", "collect", "stop", "collect"}, {"set_up", "await", "start"}, {"set_up", "start"}, {"healthy", "run"},
		{"run", "limit"}, {"run", "signals", "collect"}, {"signals", "stop"}, {"await", "tables", "ramp_up", "run", "ramp_down"}, {"tables", "run"}, {"await", "ramp_up"}, {"await", "run"},
	} {
		for i := 1; i < len(row); i++ {
			if a, b := stageColours[row[i-1]], stageColours[row[i]]; a == b {
				t.Errorf("%s and %s have both colour %d", row[i-1], row[i], a)
			}
		}
	}
}
