package stats

import (
	"fmt"
	"math"
	"slices"
)

// RankSum is the result of a Mann-Whitney test.
type RankSum struct {
	// U counts the pairs (x, y) with x > y; ties count half. A12 = U/(n·m) is
	// the probability that an x exceeds a y.
	U, A12 float64
	// P is two-sided; 1 where all values are equal.
	P float64
	// Exact says that P comes from the exact distribution of U: the smaller
	// sample has at most 8 values, and none are equal. Otherwise it is the normal
	// approximation with corrections for ties and for continuity.
	Exact bool
}

// fewRanks is the size of the smaller sample up to which P is exact, as SciPy's
// "auto" has it; mostPairs bounds the work.
const (
	fewRanks  = 8
	mostPairs = 1 << 20
)

// MannWhitney tests whether values of x tend to be larger, or smaller, than
// those of y (Mann & Whitney 1947; the variance with ties as in Lehmann,
// Nonparametrics, 1975, section 1.4). Errors: ErrTooFew without values,
// ErrNotFinite.
func MannWhitney(x, y []float64) (RankSum, error) {
	xs, ys, err := twoAscending(x, y, 1)
	if err != nil {
		return RankSum{}, err
	}
	n, m := float64(len(x)), float64(len(y))
	u, ties := countAbove(xs, ys)
	r := RankSum{U: u, A12: u / (n * m), P: 1}
	r.Exact = ties == 0 && min(len(x), len(y)) <= fewRanks && n*m <= mostPairs
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	switch {
	case r.Exact:
		sum := 0.0
		for _, p := range distributionOfU(len(x), len(y), int(min(u, n*m-u))) {
			sum += p
		}
		r.P = min(2*sum, 1)
	case variance > 0:
		z := (math.Abs(r.U-n*m/2) - .5) / math.Sqrt(variance)
		// The survival function, and not 1-CDF: that is 0 for small values.
		r.P = min(math.Erfc(z/math.Sqrt2), 1)
	}
	return r, nil
}

// countAbove counts the pairs of ascending x and y with x > y, equal ones half;
// ties is the sum of t³−t over groups of t equal values of both.
func countAbove(x, y []float64) (u, ties float64) {
	for i, j := 0, 0; i < len(x) || j < len(y); {
		v := math.Inf(1)
		if i < len(x) {
			v = x[i]
		}
		if j < len(y) {
			v = min(v, y[j])
		}
		i0, j0 := i, j
		for ; i < len(x) && x[i] == v; i++ {
		}
		for ; j < len(y) && y[j] == v; j++ {
		}
		u += float64(i-i0) * (float64(j0) + float64(j-j0)/2)
		t := float64(i - i0 + j - j0)
		ties += t*t*t - t
	}
	return u, ties
}

// distributionOfU returns P(U = 0 … most). The number of orders with U = u is
// the coefficient of q^u in the Gaussian binomial Π(1−q^(m+i))/(1−q^i), i = 1 …
// n, n ≤ m (Mann & Whitney 1947); the factors alternate, and each is divided by
// (m+i)/i, so that nothing overflows.
func distributionOfU(n, m, most int) []float64 {
	n, m = min(n, m), max(n, m)
	ps := make([]float64, most+1)
	ps[0] = 1
	for i := 1; i <= n; i++ {
		for u := most; u >= m+i; u-- {
			ps[u] -= ps[u-m-i]
		}
		for u := i; u <= most; u++ {
			ps[u] += ps[u-i]
		}
		for u := range ps {
			ps[u] *= float64(i) / float64(m+i)
		}
	}
	return ps
}

// twoAscending checks two samples of at least so many values and returns them in
// ascending order.
func twoAscending(x, y []float64, least int) (xs, ys []float64, err error) {
	if err := check(x, least); err != nil {
		return nil, nil, fmt.Errorf("first sample: %w", err)
	}
	if err := check(y, least); err != nil {
		return nil, nil, fmt.Errorf("second sample: %w", err)
	}
	return ascending(x), ascending(y), nil
}

// ascending returns the values in ascending order: themselves where they are.
func ascending(xs []float64) []float64 {
	if slices.IsSorted(xs) {
		return xs
	}
	out := slices.Clone(xs)
	slices.Sort(out)
	return out
}
