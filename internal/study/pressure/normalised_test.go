package pressure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/stats"
)

func TestNormalisedSize(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct{ mean, ratio, lo, hi float64 }{
		{64, 4, 16, 64. / 3}, // docs/methods.md, Service levels
		{64, 1.25, 51.2, 256},
		{64, 1, 64, inf},
		{64, .99, nan, nan},
		{0, 4, nan, nan},
		{64, nan, nan, nan},
	}
	for _, tt := range tests {
		lo, hi := NormalisedSize(tt.mean, tt.ratio)
		near(t, "lo", lo, tt.lo)
		if hi != tt.hi {
			near(t, "hi", hi, tt.hi)
		}
	}
}

func TestEstimateSize(t *testing.T) {
	alike := func(n int, c Counts) (all []Counts) {
		for range n {
			all = append(all, c)
		}
		return all
	}
	nan := math.NaN()
	tests := []struct {
		name    string
		all     []Counts
		lo, hi  float64
		periods int
	}{
		{"one period", alike(1, Counts{100, 6400, 400, 0}), 16, 64. / 3, 1},
		{"without scatter", alike(20, Counts{100, 6400, 400, 0}), 16, 64. / 3, 20},
		{"two mixes", append(alike(20, Counts{100, 6400, 400, 0}), alike(20, Counts{100, 1800, 200, 0})...), 16, 18, 40},
		{"no operations", append(alike(2, Counts{}), alike(1, Counts{100, 6400, 400, 0})...), 16, 64. / 3, 1},
		{"not more", alike(20, Counts{100, 6400, 100, 0}), nan, nan, 20},
		{"fewer", alike(20, Counts{100, 6400, 90, 0}), nan, nan, 20},
		{"nothing", nil, nan, nan, 0},
		{"within noise", []Counts{{100, 6400, 103, 0}, {100, 6400, 98, 0}, {100, 6400, 102, 0}}, nan, nan, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := EstimateSize(tt.all, .95)
			size := stats.Interval{Lo: nan, Hi: nan}
			if got.Size != nil {
				size = *got.Size
			}
			near(t, "lo", size.Lo, tt.lo)
			near(t, "hi", size.Hi, tt.hi)
			if got.Periods != tt.periods {
				t.Errorf("%d periods, want %d", got.Periods, tt.periods)
			}
		})
	}
}

// TestEstimateSizeHoldsTheTruth draws mixes of sizes, whose counts at the provider differ by noise.
func TestEstimateSizeHoldsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 11))
	wrong, unknown, narrow := 0, 0, 0
	const trials = 1000
	for range trials {
		nd := float64(int(4) << rng.IntN(7)) // KiB
		sizes := make([]float64, 1+rng.IntN(4))
		for i := range sizes {
			sizes[i] = float64(int(4) << rng.IntN(9))
		}
		noise, all := []float64{0, .01, .05}[rng.IntN(3)], make([]Counts, 1+rng.IntN(60))
		if noise > 0 && len(all) == 1 {
			noise = 0 // one period cannot show its noise
		}
		for i := range all {
			for _, size := range sizes {
				n := math.Floor(rng.ExpFloat64() * 1000)
				all[i].Ops, all[i].Bytes = all[i].Ops+n, all[i].Bytes+n*size
				all[i].Consumed += n * math.Ceil(size/nd)
			}
			all[i].Consumed *= 1 + noise*rng.NormFloat64()
		}
		got := EstimateSize(all, .95)
		switch {
		case got.Size == nil:
			unknown++
		case nd < got.Size.Lo*(1-1e-9) || nd > got.Size.Hi*(1+1e-9):
			wrong++
		case got.Size.Hi < 2*got.Size.Lo:
			narrow++
		}
	}
	if wrong > trials/20 {
		t.Errorf("%d of %d intervals miss the normalised size", wrong, trials)
	}
	if unknown > trials/2 || narrow < trials/10 {
		t.Errorf("%d of %d are not known, %d are narrow", unknown, trials, narrow)
	}
	t.Logf("%d wrong, %d unknown, %d narrow", wrong, unknown, narrow)
}
