package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestOrder: quantiles and the rows by value are those of sorting, of values in any
// order.
func TestOrder(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, value := range map[string]func(i, n int) float64{
		"normal":   func(int, int) float64 { return random.NormFloat64() },
		"wide":     func(int, int) float64 { return math.Exp(50*random.NormFloat64()) * random.NormFloat64() },
		"few":      func(int, int) float64 { return float64(random.IntN(3) - 1) },
		"zeros":    func(i, _ int) float64 { return math.Copysign(0, float64(i%2)-.5) },
		"constant": func(int, int) float64 { return 7 },
		"sorted":   func(i, _ int) float64 { return float64(i) },
		"reversed": func(i, n int) float64 { return float64(n - i) },
		"organ":    func(i, n int) float64 { return math.Abs(float64(i) - float64(n)/2) },
		"saw":      func(i, _ int) float64 { return float64(i % 100) },
	} {
		for _, n := range []int{1, 2, 3, 31, 33, 64, 1000, 20_001} {
			xs, want := make([]float64, n), make([]int32, n)
			for i := range xs {
				xs[i], want[i] = value(i, n), int32(i)
			}
			slices.SortStableFunc(want, func(a, b int32) int { return cmp.Compare(xs[a], xs[b]) })
			before := slices.Clone(xs)
			sorted, rows := SortRows(xs)
			if !slices.Equal(rows, want) || !slices.IsSorted(sorted) {
				t.Errorf("%s, %d values: other rows than by sorting", name, n)
			}
			for i, row := range rows {
				if sorted[i] != xs[row] {
					t.Fatalf("%s, %d values: value %d is %v, and that of its row %v", name, n, i, sorted[i], xs[row])
				}
			}
			ps := []float64{.5, 0, 1, .05, .25, .75, .95, .999}
			got, err := Quantiles(xs, ps...)
			for i, p := range ps {
				if want := QuantileSorted(sorted, p); err != nil || got[i] != want {
					t.Errorf("%s, %d values: quantile %v is %v, %v, want %v", name, n, p, got, err, want)
				}
			}
			if !slices.Equal(before, xs) {
				t.Errorf("%s, %d values: they were changed", name, n)
			}
		}
	}
}

func TestQuantilesRefuse(t *testing.T) {
	for _, bad := range [][]float64{{-.1}, {1.1}, {math.NaN()}} {
		if _, err := Quantiles([]float64{1, 2}, bad...); err == nil {
			t.Errorf("Quantiles(%v) is not refused", bad)
		}
	}
	if _, err := Quantile(nil, .5); err == nil {
		t.Error("no values are not refused")
	}
}

func BenchmarkSortRows(b *testing.B) {
	random := rand.New(rand.NewPCG(3, 4))
	xs := make([]float64, 1_000_000)
	for i := range xs {
		xs[i] = random.NormFloat64()
	}
	b.SetBytes(int64(8 * len(xs)))
	for b.Loop() {
		SortRows(xs)
	}
}
