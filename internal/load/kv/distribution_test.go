package kv

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// draws is enough to see shares that are wrong by a percent.
const draws = 1_000_000

// acceptable bounds what chiSquare returns: beyond it is one of 16,000 right
// generators. Seeds are fixed, so a test that passes goes on passing.
const acceptable = 4

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// countDraws draws and counts.
func countDraws(t *testing.T, n int64, draw func() int64) []int64 {
	t.Helper()
	counts := make([]int64, n)
	for range draws {
		i := draw()
		if i < 0 || i >= n {
			t.Fatalf("%d was drawn of %d", i, n)
		}
		counts[i]++
	}
	return counts
}

// TestDistributions: each is drawn as its exact shares say.
func TestDistributions(t *testing.T) {
	const n = 1000
	uniform := make([]float64, n)
	reversed := make([]float64, n)
	for i, p := range zipfShares(n) {
		uniform[i], reversed[n-1-i] = 1./n, p
	}
	for d, shares := range map[Distribution][]float64{
		Uniform: uniform,
		Zipfian: scrambledShares(newScrambled(n)),
		Zipf:    zipfShares(n),
		Latest:  reversed,
	} {
		choose := newChooser(d, n, func() int64 { return n }, newRand(7))
		z := chiSquare(countDraws(t, n, choose), times(shares, draws))
		if math.Abs(z) > acceptable {
			t.Errorf("%s: χ² is %.1f standard deviations off", d, z)
		}
		sum := 0.0
		for _, p := range shares {
			sum += p
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("%s: the shares add up to %v", d, sum)
		}
	}
}

// TestChiSquareNotices: the test above would notice a distribution that is not
// the right one, even if it is near.
func TestChiSquareNotices(t *testing.T) {
	const n = 1000
	g, rng := newGray(n, zeta(n)), newRand(7)
	counts := countDraws(t, n, func() int64 { return g.rank(rng.Float64()) })
	if z := chiSquare(counts, times(grayShares(g, n), draws)); math.Abs(z) > acceptable {
		t.Errorf("Gray's method is %.1f standard deviations from its own shares", z)
	}
	if z := chiSquare(counts, times(zipfShares(n), draws)); z < 5*acceptable {
		t.Errorf("Gray's method is only %.1f standard deviations from the exact shares", z)
	}
}

// TestGrayIsApproximate has the figures that gray's comment is about.
func TestGrayIsApproximate(t *testing.T) {
	for _, test := range []struct {
		n                    int64
		rank3, last, distant float64
	}{
		{1_000, 1.1705, .9647, .0161},
		{1_000_000, 1.1940, .9836, .0110},
	} {
		exact := zipfShares(test.n)
		approx := grayShares(newGray(test.n, zeta(test.n)), int(test.n))
		last := test.n - 1
		near(t, "share of rank 3 to the exact one", approx[2]/exact[2], test.rank3)
		near(t, "share of the last rank to the exact one", approx[last]/exact[last], test.last)
		near(t, "distance", distance(approx, exact), test.distant)
	}
}

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > .0001 {
		t.Errorf("%s = %.4f, want %.4f", what, got, want)
	}
}

// TestScrambledShares has the figures that scrambled's comment is about.
func TestScrambledShares(t *testing.T) {
	near(t, "ζ of ten billion", zeta(scrambledItems-1), scrambledZeta)
	g := newGray(scrambledItems, scrambledZeta)
	near(t, "share of ranks beyond ten million", (1-math.Pow(10_000_000/g.items, 1-theta))/g.eta, .3145)
	near(t, "share of the first rank", 1/scrambledZeta, .0378)
	near(t, "share of the first of a million", 1/zeta(1_000_000), .0650)
}

// TestZipfSizes: small numbers of records, and ones that cannot be added up.
func TestZipfSizes(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 10, 1_000_000_000} {
		z, rng := newZipf(n), newRand(uint64(n))
		// The first ranks one by one, the others by powers of two.
		cell := func(rank int64) int64 {
			if rank < 8 {
				return rank
			}
			return 5 + int64(math.Log2(float64(rank)))
		}
		cells := cell(n-1) + 1
		expected := make([]float64, cells)
		for c := range cells {
			from, to := c, c+1
			if c >= 8 {
				from, to = 1<<(c-5), min(1<<(c-4), n)
			}
			expected[c] = draws * (zeta(to) - zeta(from)) / zeta(n)
		}
		counts := countDraws(t, cells, func() int64 { return cell(z.rank(rng)) })
		if z := chiSquare(counts, expected); cells > 1 && math.Abs(z) > acceptable {
			t.Errorf("%d records: χ² is %.1f standard deviations off", n, z)
		}
	}
}

// TestLatestMoves: the newest record is the most popular one at every moment,
// although there is one more after every hundred draws.
func TestLatestMoves(t *testing.T) {
	const loaded, perInsert = 50, 5000
	known := int64(loaded)
	choose := newChooser(Latest, loaded, func() int64 { return known }, newRand(3))
	last := int64(loaded + draws/perInsert)
	counts, expected := make([]int64, last+1), make([]float64, last+1)
	for i := range draws {
		if i%perInsert == 0 {
			known++
			for age, p := range zipfShares(known) {
				expected[age] += p * perInsert
			}
		}
		counts[known-1-choose()]++
	}
	if z := chiSquare(counts, expected); math.Abs(z) > acceptable {
		t.Errorf("χ² is %.1f standard deviations off", z)
	}
}

func TestDistributionCheck(t *testing.T) {
	if err := Distribution("zipfy").Check(); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Check = %v, want ErrUsage", err)
	}
}

func BenchmarkChoosers(b *testing.B) {
	for _, d := range []Distribution{Uniform, Zipfian, Zipf, Latest} {
		b.Run(string(d), func(b *testing.B) {
			choose := newChooser(d, 1_000_000, func() int64 { return 1_000_000 }, newRand(1))
			for b.Loop() {
				choose()
			}
		})
	}
}
