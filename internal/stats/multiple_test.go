package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestAdjustedAgreesWithStatsmodels(t *testing.T) {
	for _, c := range cases(t, readSamples(t).Multiple) {
		bh, errBH := BenjaminiHochberg(c.P)
		holm, errHolm := Holm(c.P)
		for i := range c.P {
			closeTo(t, "Benjamini-Hochberg", bh[i], errBH, c.BH[i], 1e-13)
			closeTo(t, "Holm", holm[i], errHolm, c.Holm[i], 1e-13)
		}
	}
	for _, p := range []float64{-.1, 1.1, math.NaN()} {
		if _, err := Holm([]float64{.5, p}); !errors.Is(err, ErrArgument) {
			t.Errorf("Holm with p = %v: %v, want ErrArgument", p, err)
		}
		if _, err := BenjaminiHochberg([]float64{p}); !errors.Is(err, ErrArgument) {
			t.Errorf("BenjaminiHochberg with p = %v: %v, want ErrArgument", p, err)
		}
	}
	if got, err := Holm(nil); err != nil || len(got) != 0 {
		t.Errorf("Holm of none = %v, %v", got, err)
	}
}

// TestFalseDiscoveries: of ten comparisons, half of them of equal things, at most
// q of what is called different is so by chance.
func TestFalseDiscoveries(t *testing.T) {
	const runs, q = 2000, .1
	rng := rand.New(rand.NewPCG(8, 9))
	var share, anyFalse float64
	for range runs {
		ps := make([]float64, 10)
		for i := range ps {
			z := rng.NormFloat64()
			if i >= 5 {
				z += 3
			}
			ps[i] = 2 * NormalCDF(-math.Abs(z))
		}
		bh, _ := BenjaminiHochberg(ps)
		holm, _ := Holm(ps)
		var wrong, called, holmWrong float64
		for i := range ps {
			if bh[i] <= q {
				called++
				if i < 5 {
					wrong++
				}
			}
			if holm[i] <= q && i < 5 {
				holmWrong = 1
			}
		}
		share += wrong / max(1, called)
		anyFalse += holmWrong
	}
	if share /= runs; share > q || share < q/4 {
		t.Errorf("the share of false discoveries is %.3f, want q/2 = %.3f", share, q/2)
	}
	if anyFalse /= runs; anyFalse > q {
		t.Errorf("Holm calls equal things different in %.3f of the runs, want at most %v", anyFalse, q)
	}
}
