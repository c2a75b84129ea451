package ntier

import (
	"testing"
)

// TestStageColours: stages that follow each other, or lie in each other, have colours of
// their own.
func TestStageColours(t *testing.T) {
	for _, row := range [][]string{
		{"set_up", "reset", "await", "start", "healthy", "warm", "run", "collect", "stop", "collect"}, {"set_up", "await", "start"}, {"set_up", "start"}, {"healthy", "run"},
		{"run", "limit"}, {"run", "signals", "collect"}, {"signals", "stop"}, {"await", "tables", "ramp_up", "run", "ramp_down"}, {"tables", "run"}, {"await", "ramp_up"}, {"await", "run"},
	} {
		for i := 1; i < len(row); i++ {
			if a, b := stageColour(row[i-1]), stageColour(row[i]); a == b {
				t.Errorf("%s and %s have both colour %d", row[i-1], row[i], a)
			}
		}
	}
}
