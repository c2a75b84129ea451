package observe

import (
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestCoreSpeed: a core that is busy alone has its whole speed, one of all the
// share that was calibrated, and between them it is linear.
func TestCoreSpeed(t *testing.T) {
	for _, c := range []struct {
		name     string
		busy     float64 // cores, of 4
		together float64
		want     float64
		ok       bool
	}{
		{"alone", .6, .9, 1, true},
		{"one", 1, .9, 1, true},
		{"two and a half", 2.5, .9, .95, true},
		{"all", 4, .9, .9, true},
		{"not calibrated", 4, 0, 0, false},
	} {
		d := oneTask(map[string]float64{"cpu.user": 12 * c.busy, "cpu.idle": 12 * (4 - c.busy)})
		d.Nodes[0].Facts = model.Facts{Cores: 4, CoresTogether: c.together}
		got, ok := Of(d).CoreSpeed("w", model.Parallel)
		if ok != c.ok || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: CoreSpeed = %v, %v, want %v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
	if _, ok := Of(oneTask(nil)).CoreSpeed("w", model.Serial); ok {
		t.Error("a phase without a task has a speed")
	}
}
