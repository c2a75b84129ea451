package stats

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestPairedTAgreesWithSciPy(t *testing.T) {
	for _, c := range cases(t, readSamples(t).PairedT) {
		p, err := PairedT(c.X, c.Y, .95)
		closeTo(t, "T", p.T, err, c.T, 1e-10)
		closeTo(t, "P, relative", p.P/c.P, err, 1, 1e-7)
		within(t, "difference", p.Difference, err, c.CI, 1e-10)
	}
}

func TestSignedRankAgreesWithSciPy(t *testing.T) {
	for _, c := range cases(t, readSamples(t).SignedRank) {
		s, err := WilcoxonSignedRank(c.X, c.Y)
		n := 0.0
		for i := range c.X {
			if c.X[i] != c.Y[i] {
				n++
			}
		}
		closeTo(t, "the smaller sum of ranks", min(s.W, n*(n+1)/2-s.W), err, c.W, 1e-12)
		closeTo(t, "P, relative", s.P/c.P, err, 1, 1e-9)
	}
}

func TestPairedShiftAgreesWithR(t *testing.T) {
	for _, c := range cases(t, readSamples(t).Pseudomedian) {
		shift, ci, err := PairedShift(c.D, make([]float64, len(c.D)), c.Level)
		closeTo(t, "shift", shift, err, c.Shift, 1e-13)
		within(t, "interval", ci, err, c.CI, 1e-13)
	}
}

// TestSelectionOfMeans compares with all means, sorted.
func TestSelectionOfMeans(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for run := range 60 {
		ds := make([]float64, 1+rng.IntN(30))
		for i := range ds {
			if ds[i] = rng.NormFloat64(); run%2 == 0 {
				ds[i] = float64(rng.IntN(4))
			}
		}
		slices.Sort(ds)
		var all []float64
		for i := range ds {
			for j := i; j < len(ds); j++ {
				all = append(all, ds[i]/2+ds[j]/2)
			}
		}
		slices.Sort(all)
		s := &selector{pairs: averages{ds}}
		for k := 1; k <= len(all); k += 1 + rng.IntN(5) {
			if got := s.at(float64(k)); got != all[k-1] {
				t.Fatalf("mean %d of %d = %v, want %v", k, len(all), got, all[k-1])
			}
		}
	}
}

func TestPairedLogShift(t *testing.T) {
	y := []float64{1, 10, 100, 1000, 3, 30}
	x := []float64{2.1, 21, 190, 2050, 5.9, 61}
	ratio, ci, err := PairedLogShift(x, y, .95)
	closeTo(t, "factor", ratio, err, 2.03, .02)
	if !ci.Contains(2) || ci.Hi > 2.2 {
		t.Errorf("interval %v, want a narrow one about 2", ci)
	}
}

func TestPairsRefuse(t *testing.T) {
	some := []float64{1, 2, 4, 7, 11, 16}
	more := []float64{2.1, 3.1, 5.1, 8.1, 12.1, 17.1}
	for name, c := range map[string]struct {
		x, y []float64
		want error
	}{
		"lengths":    {some, some[:3], ErrLength},
		"nothing":    {nil, nil, ErrTooFew},
		"same":       {some, some, ErrNoSpread},
		"overflow":   {[]float64{1.7e308, 1, 2, 3, 4, 5}, []float64{-1.7e308, 1, 2, 3, 4, 5}, ErrNotFinite},
		"not finite": {some, []float64{1, 2, 3, 4, 5, math.Inf(1)}, ErrNotFinite},
	} {
		_, errT := PairedT(c.x, c.y, .95)
		_, _, errShift := PairedShift(c.x, c.y, .95)
		if !errors.Is(errT, c.want) || !errors.Is(errShift, c.want) {
			t.Errorf("%s: %v and %v, want %v", name, errT, errShift, c.want)
		}
	}
	if _, err := PairedT(more, some, .95); !errors.Is(err, ErrNoSpread) {
		t.Errorf("a constant difference up to rounding: %v, want ErrNoSpread", err)
	}
	if _, _, err := PairedShift(some[:5], []float64{0, 0, 0, 0, 0}, .95); !errors.Is(err, ErrTooFew) {
		t.Errorf("5 pairs at 95 %%: %v, want ErrTooFew", err)
	}
	if s, err := WilcoxonSignedRank(some, some); err != nil || s.P != 1 {
		t.Errorf("equal pairs: %+v, %v, want P 1", s, err)
	}
}

// TestPairedRates compares with testdata/rates.csv how often the intervals of
// pairs hold the truth. The pairs share a level that scatters twice as much as
// what is each one's own.
func TestPairedRates(t *testing.T) {
	r := openRates(t, "pairs")
	noises := map[string]func(*rand.Rand) float64{
		"normal":                 (*rand.Rand).NormFloat64,
		"Student's t, 2 degrees": func(r *rand.Rand) float64 { return r.NormFloat64() / math.Sqrt(r.ExpFloat64()) },
		"two levels":             func(r *rand.Rand) float64 { return float64(r.IntN(2)) + .05*r.NormFloat64() },
	}
	for _, name := range []string{"normal", "Student's t, 2 degrees", "two levels"} {
		for _, n := range []int{6, 10, 30, 100} {
			var got [2]float64
			few := map[int]int{6: 300, 10: 200, 30: 100}[n]
			rate := func(which int) func(int) float64 {
				return func(runs int) float64 {
					got = pairsHeld(noises[name], n, runs)
					return got[which]
				}
			}
			r.compare(fmt.Sprintf("%s/%d/difference", name, n), few, 5000, rate(0))
			r.compare(fmt.Sprintf("%s/%d/shift", name, n), few, 5000, rate(1))
		}
	}
}

func pairsHeld(noise func(*rand.Rand) float64, n, runs int) (held [2]float64) {
	rng := rand.New(rand.NewPCG(uint64(n), 11))
	x, y := make([]float64, n), make([]float64, n)
	for range runs {
		for i := range x {
			level := 100 + 2*rng.NormFloat64()
			x[i], y[i] = level+3+noise(rng), level+noise(rng)
		}
		if p, err := PairedT(x, y, .95); err == nil && p.Difference.Contains(3) {
			held[0] += 1 / float64(runs)
		}
		if _, ci, err := PairedShift(x, y, .95); err == nil && ci.Contains(3) {
			held[1] += 1 / float64(runs)
		}
	}
	return held
}

func BenchmarkPairs(b *testing.B) {
	for _, n := range []int{1000, 10_000_000} {
		x, y := pairsOf(n)
		b.Run(fmt.Sprintf("PairedT/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := PairedT(x, y, .95); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("PairedShift/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := PairedShift(x, y, .95); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("WilcoxonSignedRank/%d", n), func(b *testing.B) {
			for b.Loop() {
				if _, err := WilcoxonSignedRank(x, y); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
