package observe

import (
	"math"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// TestCounterRate: which readings count for a task of 3 s.
func TestCounterRate(t *testing.T) {
	for _, c := range []struct {
		name    string
		offsets []float64 // s
		values  []float64
		want    float64 // 0: refused
	}{
		{"just around the task", []float64{-.03, 1, 2, 3.03}, []float64{0, 10, 20, 30.6}, 10},
		{"long before the start", []float64{-1, .5, 2.5}, []float64{0, 100, 120}, 10},
		{"less than half", []float64{-1, .9, 2, 4}, []float64{0, 9, 20, 20}, 0},
		{"one reading", []float64{1}, []float64{5}, 0},
		{"reset", []float64{0, 3}, []float64{50, 3}, 0},
		{"lengths differ", []float64{0, 3}, []float64{50}, 0},
	} {
		h := model.HostSeries{Counter: true, Values: c.values}
		for _, s := range c.offsets {
			h.Offsets = append(h.Offsets, int64(s*1e9))
		}
		got, ok := counterRate(h, 3*time.Second)
		if ok != (c.want > 0) || math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s: %v, %v, want %v", c.name, got, ok, c.want)
		}
	}
}
