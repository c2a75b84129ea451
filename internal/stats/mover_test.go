package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestDifferenceOfMeasured: of two means the interval is that of Welch's test, which SciPy
// gives. Without degrees of freedom it is that of Zou and Donner, which is wider.
func TestDifferenceOfMeasured(t *testing.T) {
	rng := rand.New(rand.NewPCG(29, 5))
	for range 200 {
		xs, ys := make([]float64, 2+rng.IntN(10)), make([]float64, 2+rng.IntN(10))
		for _, s := range [][]float64{xs, ys} {
			mean, sd := 10*rng.Float64(), rng.Float64()
			for i := range s {
				s[i] = mean + sd*rng.NormFloat64()
			}
		}
		a, b := measured(t, xs), measured(t, ys)
		want, err := WelchT(xs, ys, DefaultLevel)
		got := a.Minus(b, DefaultLevel)
		if err != nil || math.Abs(got.Lo-want.Difference.Lo) > 1e-9 || math.Abs(got.Hi-want.Difference.Hi) > 1e-9 {
			t.Errorf("%v less %v = %v, want %v, %v", xs, ys, got, want.Difference, err)
		}
		a.Degrees = 0
		half := math.Hypot(a.Value-a.CI.Lo, b.Value-b.CI.Lo)
		if wide := a.Minus(b, DefaultLevel); math.Abs((wide.Hi-wide.Lo)/2-half) > 1e-9 {
			t.Errorf("without degrees of freedom: %v, want a half width of %v", wide, half)
		}
	}
}

// measured is the mean of values with its interval.
func measured(t *testing.T, xs []float64) Measured {
	t.Helper()
	e, err := meanOf(xs)
	if err != nil {
		t.Fatal(err)
	}
	ci, err := e.Interval(DefaultLevel)
	if err != nil {
		t.Fatal(err)
	}
	return Measured{Value: e.Mean, CI: ci, Degrees: e.Degrees}
}
