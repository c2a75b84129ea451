package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSpreadOfAnyMagnitude: squares of values beyond 1e154 are no numbers, those of
// values below 1e-162 are 0.
func TestSpreadOfAnyMagnitude(t *testing.T) {
	of := []float64{.5, 1, 1.25, 1.5, 2}
	want, err := NewSpread(of)
	if err != nil {
		t.Fatal(err)
	}
	for _, exponent := range []int{-1000, -600, 0, 600, 1000} {
		xs := slices.Clone(of)
		for i := range xs {
			xs[i] = math.Ldexp(xs[i], exponent)
		}
		got, err := NewSpread(xs)
		closeTo(t, "COV of the spread", got.COV, err, want.COV, 1e-14)
		closeTo(t, "SD", math.Ldexp(got.SD, -exponent), nil, want.SD, 1e-14)
		cov, err := COV(xs)
		closeTo(t, "COV", cov, err, want.COV, 1e-14)
	}
}

// TestCOVIntervalAboutZero: where the mean could be 0, the coefficient of variation
// has no upper bound; values that cannot be negative have a mean above 0.
func TestCOVIntervalAboutZero(t *testing.T) {
	_, err := COVInterval([]float64{-1, 2, 3, -4, 5, 6, -7, 8, 3, 2, 1}, .95, 1)
	if !errors.Is(err, ErrUnbounded) {
		t.Errorf("COVInterval of values about 0: %v, want %v", err, ErrUnbounded)
	}
	if _, err := COVInterval([]float64{0, 0, 0, 0, 0, 9}, .95, 1); err != nil {
		t.Errorf("COVInterval of values that are not negative: %v", err)
	}
	if _, err := COVInterval([]float64{-1, 20, 30, 25, 28, 22, 21, 20}, .95, 1); err != nil {
		t.Errorf("COVInterval of values with a mean above 0: %v", err)
	}
}

// TestBandsOfTinySteps: half of the least step that there is is 0.
func TestBandsOfTinySteps(t *testing.T) {
	var xs []float64
	for i := range 60 {
		xs = append(xs, float64(i/6)*math.SmallestNonzeroFloat64)
	}
	if _, err := bandsOf(xs, 1); err != nil {
		t.Error(err)
	}
}

// TestSixBands: more than five levels are found, each as a band.
func TestSixBands(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	var xs []float64
	for range 600 {
		xs = append(xs, 100*math.Pow(1.3, float64(random.IntN(6)))*(1+.01*random.NormFloat64()))
	}
	slices.Sort(xs)
	found, err := bandsOf(xs, 1)
	if err != nil || len(found.Cuts)+1 != 6 {
		t.Errorf("%d bands at %v, %v, want 6", len(found.Cuts)+1, found.Cuts, err)
	}
}

// TestExtrapolatedForWholeNumbers: the median of whole numbers is known as soon as
// the ranks of its interval lie among those that equal it. Samples of that size
// are the oracle.
func TestExtrapolatedForWholeNumbers(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	draw := func(n int) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			if float64(i) < .54*float64(n) {
				xs[i] = 1
			}
		}
		return xs
	}
	got, err := ConfirmMedian(draw(500), []float64{.05}, .95)
	if err != nil || got[0].Needed != 0 {
		t.Fatalf("ConfirmMedian = %+v, %v, want an extrapolation", got[0], err)
	}
	below := func(n int) float64 { // the mean of the interval's lower end, from 1 down
		lo, _, err := MedianRanks(n, .95)
		if err != nil {
			t.Fatal(err)
		}
		const samples = 2000
		zeros := 0
		for range samples {
			count := 0
			for range n {
				if random.Float64() >= .54 {
					count++
				}
			}
			if count >= lo {
				zeros++
			}
		}
		return float64(zeros) / samples
	}
	n := got[0].Extrapolated
	if at, before := below(n), below(n*8/10); at > .065 || before < .055 {
		t.Errorf("%d values are said to suffice: the mean interval reaches %.3f below the median with them, and %.3f with a fifth less, want .05", n, at, before)
	}
}
