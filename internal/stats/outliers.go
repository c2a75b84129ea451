package stats

import (
	"math"
	"slices"
)

// OutlierFences returns between which values of ascending finite ones lie that are
// no outliers: the adjusted boxplot of M. Hubert and E. Vandervieren ("An adjusted
// boxplot for skewed distributions", Comput. Stat. Data Anal. 52(12), 2008). With
// the quartiles Q1 and Q3, IQR = Q3−Q1 and the medcouple M as measure of skew,
//
//	[Q1 − 1.5·e^(−4M)·IQR, Q3 + 1.5·e^(3M)·IQR]   where M ≥ 0,
//	[Q1 − 1.5·e^(−3M)·IQR, Q3 + 1.5·e^(4M)·IQR]   where M < 0,
//
// which are Tukey's fences if M is 0. Of few values M is mostly chance, and would
// move the fences: it counts as far as it exceeds its standard error for normal
// values, 1.12/√n (G. Brys, M. Hubert and A. Struyf, "A robust measure of
// skewness", J. Comput. Graph. Stat. 13(4), 2004). About 0.7 % of normal values lie
// outside without being anything else; docs/methods.md has the share of other
// distributions. Values outside are worth a look, and no reason to drop them.
//
// Fewer than four values have no outliers: the fences are the least and the
// largest; without values both are 0.
func OutlierFences(sorted []float64) (lo, hi float64) {
	if len(sorted) == 0 {
		return 0, 0
	}
	if len(sorted) < 4 {
		return sorted[0], sorted[len(sorted)-1]
	}
	q1, q3 := QuantileSorted(sorted, .25), QuantileSorted(sorted, .75)
	m := medcouple(thinned(sorted, 20_001))
	m = math.Copysign(max(0, math.Abs(m)-1.12/math.Sqrt(float64(len(sorted)))), m)
	below, above := -4.0, 3.0
	if m < 0 {
		below, above = -3, 4
	}
	reach := 1.5 * (q3 - q1)
	return q1 - reach*math.Exp(below*m), q3 + reach*math.Exp(above*m)
}

// thinned is at most this many quantiles of ascending values, evenly spaced from
// least to largest.
func thinned(sorted []float64, most int) []float64 {
	if len(sorted) <= most {
		return sorted
	}
	out := make([]float64, most)
	for i := range out {
		out[i] = QuantileSorted(sorted, float64(i)/float64(most-1))
	}
	return out
}

// medcouple is the measure of skew of ascending values by Brys, Hubert and
// Struyf, −1 to 1: the median of
//
//	h(a, b) = ((a − median) − (median − b)) / (a − b)
//
// over all a ≥ median ≥ b. h falls along both, so that how many of them reach a
// number is counted in a walk along the edge; bisection finds the median in 50
// walks rather than from the square of the number of values.
func medcouple(sorted []float64) float64 {
	median := QuantileSorted(sorted, .5)
	c := couples{}
	for _, x := range sorted {
		switch {
		case x < median:
			c.below = append(c.below, median-x)
		case x > median:
			c.above = append(c.above, x-median)
		default:
			c.equal++
		}
	}
	slices.Reverse(c.above)
	total := (len(c.above) + c.equal) * (len(c.below) + c.equal)
	return (c.largest((total+1)/2) + c.largest(total/2+1)) / 2
}

// couples are the values of h: of distances from the median, farthest first, and
// of values equal to it. Among m equal values h is defined as m zeros and as many
// 1 as −1.
type couples struct {
	above, below []float64
	equal        int
}

// largest is the k-th largest h, from 1.
func (c couples) largest(k int) float64 {
	lo, hi := -1.0, 1.0
	if c.reach(1) >= k {
		return 1
	}
	for range 54 {
		middle := (lo + hi) / 2
		if c.reach(middle) >= k {
			lo = middle
		} else {
			hi = middle
		}
	}
	return lo
}

// reach is how many h are at least v > −1. A distance a above and b below the
// median have h = (a−b)/(a+b).
func (c couples) reach(v float64) int {
	count := c.equal*(c.equal-1)/2 + len(c.above)*c.equal
	if v <= 0 {
		count += c.equal
	}
	j, share := 0, (1-v)/(1+v)
	for _, a := range c.above {
		for j < len(c.below) && c.below[j] > a*share {
			j++
		}
		count += len(c.below) - j
	}
	return count
}
