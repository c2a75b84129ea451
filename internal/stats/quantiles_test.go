package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestQuantiles: the same as by sorting, bit for bit, of values in any order.
func TestQuantiles(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ps := []float64{.5, 0, 1, .05, .25, .75, .95, .999}
	for name, value := range map[string]func(i, n int) float64{
		"normal":   func(int, int) float64 { return random.NormFloat64() },
		"few":      func(int, int) float64 { return float64(random.IntN(3)) },
		"constant": func(int, int) float64 { return 7 },
		"sorted":   func(i, _ int) float64 { return float64(i) },
		"reversed": func(i, n int) float64 { return float64(n - i) },
		"organ":    func(i, n int) float64 { return math.Abs(float64(i) - float64(n)/2) },
		"saw":      func(i, _ int) float64 { return float64(i % 100) },
	} {
		for _, n := range []int{1, 2, 3, 31, 33, 64, 1000, 20_001} {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = value(i, n)
			}
			before := slices.Clone(xs)
			got, err := Quantiles(xs, ps...)
			if err != nil {
				t.Fatal(err)
			}
			for i, p := range ps {
				if want, err := Quantile(xs, p); got[i] != want || err != nil {
					t.Errorf("%s, %d values: Quantiles(%v) = %v, want %v, %v", name, n, p, got[i], want, err)
				}
			}
			if !cmp.Equal(before, xs) {
				t.Errorf("%s, %d values: they were changed", name, n)
			}
		}
	}
	for _, bad := range [][]float64{{-.1}, {1.1}, {math.NaN()}} {
		if _, err := Quantiles([]float64{1, 2}, bad...); err == nil {
			t.Errorf("Quantiles(%v) is not refused", bad)
		}
	}
	if _, err := Quantiles(nil, .5); err == nil {
		t.Error("no values are not refused")
	}
}

func BenchmarkQuantiles(b *testing.B) {
	random := rand.New(rand.NewPCG(3, 4))
	xs := make([]float64, 1_000_000)
	for i := range xs {
		xs[i] = random.NormFloat64()
	}
	b.SetBytes(int64(8 * len(xs)))
	for b.Loop() {
		if _, err := Quantiles(xs, .05, .25, .5, .75, .95); err != nil {
			b.Fatal(err)
		}
	}
}
