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
	// P is two-sided, from the normal approximation with corrections for ties
	// and for continuity; 1 where all values are equal.
	P float64
}

// MannWhitney tests whether values of x tend to be larger, or smaller, than
// those of y (Mann & Whitney 1947; the variance with ties as in Lehmann,
// Nonparametrics, 1975, section 1.4). The approximation is good from about 8
// values in each on. Errors: ErrTooFew without values, ErrNotFinite.
func MannWhitney(x, y []float64) (RankSum, error) {
	if err := check(x, 1); err != nil {
		return RankSum{}, fmt.Errorf("first sample: %w", err)
	}
	if err := check(y, 1); err != nil {
		return RankSum{}, fmt.Errorf("second sample: %w", err)
	}
	n, m := float64(len(x)), float64(len(y))
	sum, ties := rankSum(x, y)
	r := RankSum{U: sum - n*(n+1)/2, P: 1}
	r.A12 = r.U / (n * m)
	all := n + m
	variance := n * m / 12 * (all + 1 - ties/(all*(all-1)))
	if variance > 0 {
		z := (math.Abs(r.U-n*m/2) - .5) / math.Sqrt(variance)
		// The survival function, and not 1-CDF: that is 0 for small values.
		r.P = min(math.Erfc(z/math.Sqrt2), 1)
	}
	return r, nil
}

// rankSum is the sum of the ranks of x among x and y, equal values sharing
// theirs; ties is the sum of t³-t over groups of t equal values.
func rankSum(x, y []float64) (sum, ties float64) {
	type value struct {
		v     float64
		fromX bool
	}
	all := make([]value, 0, len(x)+len(y))
	for _, v := range x {
		all = append(all, value{v, true})
	}
	for _, v := range y {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(a, b value) int {
		switch {
		case a.v < b.v:
			return -1
		case a.v > b.v:
			return 1
		}
		return 0
	})
	for i := 0; i < len(all); {
		j, mine := i, 0
		for ; j < len(all) && all[j].v == all[i].v; j++ {
			if all[j].fromX {
				mine++
			}
		}
		t := float64(j - i)
		sum += float64(mine) * (float64(i+j+1) / 2)
		ties += t*t*t - t
		i = j
	}
	return sum, ties
}
