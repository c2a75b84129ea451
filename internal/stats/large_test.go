package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// everyCut is bestCut as the definition has it.
func everyCut(sorted []float64) (cut int, within float64) {
	within = math.Inf(1)
	for k := 2; k <= len(sorted)-2; k++ {
		if w := squaresAbout(sorted[:k]) + squaresAbout(sorted[k:]); w < within {
			cut, within = k, w
		}
	}
	return cut, within
}

// TestBestCut: the cut, and what is left, to the last bit, of values of every
// kind: far apart, close together, many equal, a wide range.
func TestBestCut(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	kinds := map[string]func() float64{
		"normal":     rng.NormFloat64,
		"two groups": func() float64 { return float64(rng.IntN(2)) + .05*rng.NormFloat64() },
		"ties":       func() float64 { return float64(rng.IntN(4)) },
		"close":      func() float64 { return 1 + 1e-9*rng.Float64() },
		"wide":       func() float64 { return math.Exp(10 * rng.NormFloat64()) },
	}
	for name, value := range kinds {
		for range 300 {
			xs := make([]float64, 4+rng.IntN(60))
			for i := range xs {
				xs[i] = value()
			}
			slices.Sort(xs)
			cut, within := bestCut(xs)
			if wantCut, wantWithin := everyCut(xs); cut != wantCut || within != wantWithin {
				t.Fatalf("%s: bestCut(%v) = %d, %v, want %d, %v", name, xs, cut, within, wantCut, wantWithin)
			}
		}
	}
}

// TestJackknifeOfMany: the ratios are those of the definition,
// up to rounding.
func TestJackknifeOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	num, den := make([]float64, 10_001), make([]float64, 10_001)
	for i := range num {
		den[i] = 1000 * math.Exp(rng.NormFloat64())
		num[i] = den[i] * rng.Float64()
	}
	got := jackknifeRatios(num, den)
	for _, i := range []int{0, 1, len(num) / 2, len(num) - 1} {
		var n, d float64
		for j := range num {
			if j != i {
				n, d = n+num[j], d+den[j]
			}
		}
		if math.Abs(got[i]-n/d) > 1e-12*n/d {
			t.Errorf("without pair %d the ratio is %v, want %v", i, got[i], n/d)
		}
	}
}

// TestBCaOfMany: of many pairs the interval is that of Fieller's theorem,
// which is exact for these pairs.
func TestBCaOfMany(t *testing.T) {
	num, den := pairsOf(50_000)
	got, err := BCa(num, den, .95, 2000, 3)
	if err != nil {
		t.Fatal(err)
	}
	want, err := Fieller(num, den, .95)
	if err != nil {
		t.Fatal(err)
	}
	// 2000 resamples know a bound to about a twentieth of the half width.
	if tolerance := .12 * (want.Hi - want.Lo); math.Abs(got.Lo-want.Lo) > tolerance || math.Abs(got.Hi-want.Hi) > tolerance {
		t.Errorf("BCa = %v, Fieller %v", got, want)
	}
}

func BenchmarkBCa(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			num, den := pairsOf(n)
			for b.Loop() {
				if _, err := BCa(num, den, .95, 200, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkTwoGroups(b *testing.B) {
	for _, n := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			xs, _ := pairsOf(n)
			for b.Loop() {
				if _, err := TwoGroups(xs); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// pairsOf returns n pairs of capacities.
func pairsOf(n int) (num, den []float64) {
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	num, den = make([]float64, n), make([]float64, n)
	for i := range num {
		den[i] = 1000 * (1 + .05*rng.NormFloat64())
		num[i] = den[i] * (.7 + .02*rng.NormFloat64())
	}
	return num, den
}

// TestPoissonWeights: mean and variance are 1, as those of how often a pair is
// drawn.
func TestPoissonWeights(t *testing.T) {
	w := poissonWeights()
	mean, _ := Mean(w)
	sd, _ := PopulationSD(w)
	if len(w) != 1<<16 || math.Abs(mean-1) > 1e-4 || math.Abs(sd-1) > 1e-3 {
		t.Errorf("%d weights, mean %v, SD %v, want 65536, 1, 1", len(w), mean, sd)
	}
}
