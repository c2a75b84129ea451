package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestUnrounded: equal values are spread over their step, others stay, and nothing is
// spread of what was not rounded.
func TestUnrounded(t *testing.T) {
	for name, c := range map[string]struct{ x, y, want []float64 }{
		"steps of 10":      {[]float64{20, 10, 20}, []float64{10, 30}, []float64{10, 17.5, 22.5}},
		"not rounded":      {[]float64{3.1, 1.2}, []float64{2.7}, []float64{3.1, 1.2}},
		"arithmetic":       {[]float64{.1 + .2, .3}, []float64{.4}, []float64{.275, .325}},
		"far from others":  {[]float64{90, 90}, []float64{10, 11}, []float64{90 - 8100.0/121/4, 90 + 8100.0/121/4}},
		"zeros and others": {[]float64{0, 0, 5}, []float64{-5}, []float64{0, 0, 5}},
	} {
		got, _ := Unrounded(c.x, c.y)
		for i := range got {
			if !(math.Abs(got[i]-c.want[i]) < 1e-9) {
				t.Errorf("%s: %v, want %v", name, got, c.want)
				break
			}
		}
	}
}

// TestRoundingBias: the mean of values that were rounded to a step is off by about no more,
// beside what chance makes; of values that scatter by a step it hardly is.
func TestRoundingBias(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		sd, step, at := .2+.8*rng.Float64(), 1., 100+rng.Float64()
		x := make([]float64, 4000)
		for i := range x {
			x[i] = step * math.Round((at+sd*rng.NormFloat64())/step)
		}
		bias := RoundingBias(x, x) / 2 * Average(x)
		if off := math.Abs(Average(x) - at); off > 1.25*bias+5*sd/math.Sqrt(float64(len(x))) {
			t.Errorf("SD %v at %v: off by %v, want at most %v", sd, at, off, bias)
		}
		if sd > .6 && bias > .001 {
			t.Errorf("SD %v: bias %v", sd, bias)
		}
	}
	same := slices.Repeat([]float64{5}, 9)
	if got := RoundingBias(same, []float64{4, 5, 6}) * 5; !(got >= .5) {
		t.Errorf("equal values are off by %v, want half a step", got)
	}
}
