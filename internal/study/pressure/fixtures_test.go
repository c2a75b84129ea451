package pressure

import (
	"math"
	"math/rand/v2"
	"testing"
)

// near fails the test unless both are the same but for rounding.
func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= 1e-9*math.Max(1, math.Abs(want))) && !(math.IsNaN(got) && math.IsNaN(want)) {
		t.Errorf("%s = %.12g, want %.12g", what, got, want)
	}
}

// seriesOf is a series of periods of this length from time 0.
func seriesOf(step float64, means ...float64) Series {
	s := make(Series, len(means))
	for i, m := range means {
		s[i] = Period{Begin: float64(i) * step, End: float64(i+1) * step, Mean: m}
	}
	return s
}

// draw is a random pressure of each second: phases of different shapes, from idle to above the limit.
func draw(rng *rand.Rand, n int) []float64 {
	var out []float64
	for len(out) < n {
		length, a, b := 1+rng.IntN(1+rng.IntN(120)), rng.Float64()*1.2, rng.Float64()*1.2
		shape, every := rng.IntN(7), 2+rng.IntN(9)
		balance := rng.Float64() * 100
		for k := range length {
			x := a
			switch shape {
			case 0: // on and off
				if k%every == 0 {
					x = 0
				}
			case 1: // a ramp
				x = a + (b-a)*float64(k)/float64(length)
			case 2: // bursts
				if x = a / 3; rng.IntN(every) == 0 {
					x = 3
				}
			case 3: // a bucket: three times the base rate while it lasts
				if x = 1; balance > 2 {
					x = 3
				}
				balance -= x - 1
			case 4: // at the limit
				x = []float64{.94, .95, .96, 1}[rng.IntN(4)]
			case 5: // idle
				x = 0
			case 6: // noise
				x = a * (1 + .1*rng.NormFloat64())
			}
			out = append(out, max(x, 0))
		}
	}
	return out[:n]
}
