package compare

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestDriftOverAGap: a wander within the sides is no drift that goes on for hours, and
// does not withdraw a difference that no wander comes to; a drift that goes on from one
// side to the other is still no difference.
func TestDriftOverAGap(t *testing.T) {
	n := *rates
	later := func(shape func(rng *rand.Rand) func(at float64) float64, gaps float64) world {
		return func(rng *rand.Rand, factor float64) (a, b []row) {
			size, step := 10+rng.IntN(30), 10+100*rng.Float64()
			took := step * float64(size)
			both := shape(rng)
			for i := range size {
				at := step * float64(i)
				value := func(at, factor float64) row {
					return row{at: at, value: factor * 100 * both(at/took) * math.Exp(.003*rng.NormFloat64())}
				}
				a, b = append(a, value(at, 1)), append(b, value(at+took*(1+gaps), factor))
			}
			return a, b
		}
	}
	wave := func(rng *rand.Rand) func(at float64) float64 {
		phase, turns := 2*math.Pi*rng.Float64(), .6+rng.Float64()
		return func(at float64) float64 { return 1 + .04*math.Sin(phase+2*math.Pi*turns*at) }
	}
	line := func(rng *rand.Rand) func(at float64) float64 {
		slope := .1 * (rng.Float64() - .5)
		slope += math.Copysign(.03, slope)
		return func(at float64) float64 { return math.Exp(slope * at) }
	}
	warm := func(*rand.Rand) func(at float64) float64 {
		return func(at float64) float64 { return 1 - .2*math.Exp(-2*at) }
	}
	for name, c := range map[string]struct {
		draw        world
		factor      float64
		least, most float64 // of those called different
		far         bool
	}{
		"a wave, and a day later 60 % less": {later(wave, 100), .4, .97, 1, true},
		"and twice as much":                 {later(wave, 1000), 2, .97, 1, true},
		"a wave, one after the other":       {later(wave, 0), .4, .97, 1, false},
		"a wave is no difference":           {later(wave, 100), 1, 0, .05, true},
		"a drift, 60 % less":                {later(line, 100), .4, .97, 1, true},
		"a drift goes on":                   {later(line, 0), 1, 0, .05, false},
		"a drift goes on after a pause":     {later(line, .8), 1, 0, .05, false},
		"sides warm up":                     {later(warm, 0), 1, 0, .05, false},
	} {
		told := judged(t, n, c.draw, c.factor, 5, nil)
		t.Logf("%s: %d of %d are called different", name, told.differ(), n)
		if share := float64(told.differ()) / float64(n); share < c.least || share > c.most {
			t.Errorf("%s: %.1f %% are called different, want %.0f to %.0f %%", name, 100*share, 100*c.least, 100*c.most)
		}
		a, b := c.draw(newRNG(1), c.factor)
		for _, sides := range [][2][]row{{a, b}, {b, a}} {
			got := asked(t, New(), sides[0], sides[1])
			i := slices.IndexFunc(got.Doubts, func(d model.Doubt) bool { return d.Code == "periods" })
			if i < 0 || strings.Contains(got.Doubts[i].Text, "longer than a side took") != c.far {
				t.Errorf("%s: doubts %v; want periods, and that they are far apart: %v", name, got.Doubts, c.far)
			}
		}
	}
}
