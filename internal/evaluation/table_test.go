package evaluation

import (
	"fmt"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestTableTaken: a value that is there already is named by its line, in trials
// of few nodes as of many, in any order.
func TestTableTaken(t *testing.T) {
	table := &Table{Workload: "w", Metric: "m", Better: model.Higher}
	line := 1
	add := func(node string, phase model.Phase, trial int) int {
		line++
		return table.Add(node, phase, trial, float64(line), line)
	}
	for i := range 1000 {
		if taken := add(fmt.Sprint("n", i), model.Serial, 1); taken != 0 {
			t.Fatalf("node %d: taken in line %d, want not", i, taken)
		}
	}
	// Trial 2 has one node of the thousand: the last.
	if first, again := add("n999", model.Serial, 2), add("n999", model.Serial, 2); first != 0 || again != 1002 {
		t.Errorf("n999 in trial 2: taken in %d, then in %d, want 0, 1002", first, again)
	}
	if got := add("n0", model.Serial, 1); got != 2 {
		t.Errorf("n0 in trial 1: taken in line %d, want 2", got)
	}
	if got := add("n0", model.Parallel, 1); got != 0 {
		t.Errorf("n0, parallel: taken in line %d, want not", got)
	}
	f := table.Finding(quick)
	if f.Nodes != 1 || f.Pairs[0].Node != "n0" || f.Pairs[0].Serial != 2 {
		t.Errorf("pairs %+v, want n0 with 2", f.Pairs)
	}
	wantWarning(t, f, "nodes n1, n10, n100, n101, n102 and 994 more: serial value only; left out")
}
