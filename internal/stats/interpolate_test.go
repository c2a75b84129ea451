package stats_test

import (
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

func TestInterpolate(t *testing.T) {
	xs, ys := []float64{0, 1, 1, 3}, []float64{0, 10, 20, 40}
	at := 0
	for _, c := range []struct{ x, want float64 }{{-1, 0}, {0, 0}, {.5, 5}, {1, 10}, {2, 30}, {3, 40}, {9, 40}} {
		var got float64
		if got, at = stats.Interpolate(xs, ys, c.x, at); got != c.want {
			t.Errorf("at %v: %v, want %v", c.x, got, c.want)
		}
	}
}
