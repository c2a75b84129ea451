package stats

import (
	"math"
	"math/bits"
	"slices"
)

// mostDrifting is of how many values all pairs are looked at. Longer series are put
// together as medians of neighbours.
const mostDrifting = 1500

// Drift returns by how much a series rises or falls steadily: the Theil–Sen slope,
// in units of xs per unit of times, as its interval at this level (P. K. Sen,
// "Estimates of the regression coefficient based on Kendall's tau", J. Am. Stat.
// Assoc. 63(324), 1968), and the two-sided p of Mann and Kendall's test of no
// trend. times ascend. The variance of Kendall's S has the correction for ties, and
// that for autocorrelation of K. H. Hamed and A. R. Rao ("A modified Mann-Kendall
// trend test for autocorrelated data", J. Hydrology 204, 1998): with ρ(i) the
// significant autocorrelations of the ranks of what the trend leaves,
//
//	V·(1 + 2/(n(n−1)(n−2))·Σ (n−i)(n−i−1)(n−i−2)·ρ(i)),
//
// or by the τ of [ChangePoints], whichever is more: by the first alone, one AR(1)
// series with φ = 0.5 in five has a trend (docs/methods.md). More than 1500 values
// count as 1500 medians of neighbours.
//
// A step looks like a trend: look for [ChangePoints] first. Errors: ErrTooFew below
// 10 values; ErrLength; ErrNoSpread where all values or all times are equal;
// ErrArgument.
func Drift(times, xs []float64, level float64) (slope Interval, p float64, err error) {
	if err := checkPairs(times, xs, 10); err != nil {
		return Interval{}, 0, err
	}
	z, err := NormalCritical(level)
	switch {
	case err != nil || !(level > 0):
		return Interval{}, 0, ErrArgument
	case !slices.IsSorted(times):
		return Interval{}, 0, ErrArgument
	case constant(times) || constant(xs):
		return Interval{}, 0, ErrNoSpread
	}
	times, xs = mediansOf(times), mediansOf(xs)
	slopes, s := pairSlopes(times, xs)
	if len(slopes) < 2 {
		return Interval{}, 0, ErrTooFew
	}
	slices.Sort(slopes)
	variance := kendallVariance(xs) * dependentTrend(times, xs, QuantileSorted(slopes, .5))
	if variance == 0 {
		return Interval{}, 0, ErrNoSpread
	}
	root := math.Sqrt(variance)
	p = min(1, math.Erfc((math.Abs(s)-1)/root/math.Sqrt2)) // with continuity
	last := float64(len(slopes) - 1)
	middle, reach := last/2, z*root/2
	slope = Interval{
		QuantileSorted(slopes, max(0, (middle-reach)/last)),
		QuantileSorted(slopes, min(1, (middle+reach)/last)),
	}
	slope, err = slope.times(1)
	return slope, p, err
}

// mediansOf are medians of equally many neighbours, at most [mostDrifting].
func mediansOf(xs []float64) []float64 {
	if len(xs) <= mostDrifting {
		return xs
	}
	out := make([]float64, mostDrifting)
	for i := range out {
		out[i] = Median(xs[i*len(xs)/mostDrifting : (i+1)*len(xs)/mostDrifting])
	}
	return out
}

// Median is that of values in any order, which stay in it; NaN: there are none.
func Median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	if !slices.IsSorted(xs) {
		xs = slices.Clone(xs)
		middle := (len(xs) - 1) / 2
		selectRanks(xs, 0, []int{middle, middle + 1}, 2*bits.Len(uint(len(xs))))
	}
	return QuantileSorted(xs, .5)
}

// pairSlopes are the slopes of all pairs of different times, and Kendall's S: how
// many of them rise, less those that fall.
func pairSlopes(times, xs []float64) (slopes []float64, s float64) {
	slopes = make([]float64, 0, len(xs)*(len(xs)-1)/2)
	for i := range xs {
		for j := range i {
			if times[j] == times[i] {
				continue
			}
			slope := (xs[i] - xs[j]) / (times[i] - times[j])
			slopes = append(slopes, slope)
			if slope != 0 {
				s += math.Copysign(1, slope)
			}
		}
	}
	return slopes, s
}

// kendallVariance is that of S for independent values, with its correction for ties
// (M. G. Kendall and J. D. Gibbons, Rank Correlation Methods, 1990, section 4.4).
func kendallVariance(xs []float64) float64 {
	of := func(n float64) float64 { return n * (n - 1) * (2*n + 5) / 18 }
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	v, tied := of(float64(len(xs))), 1.0
	for i := 1; i <= len(sorted); i++ {
		if i < len(sorted) && sorted[i] == sorted[i-1] {
			tied++
			continue
		}
		v -= of(tied)
		tied = 1
	}
	return v
}

// dependentTrend is by how much autocorrelation raises the variance of S, at least
// 1.
func dependentTrend(times, xs []float64, slope float64) float64 {
	rest := make([]float64, len(xs))
	for i, x := range xs {
		rest[i] = x - slope*(times[i]-times[0])
	}
	if constant(rest) {
		return 1
	}
	ofRest := ranks(rest)
	return max(hamedRao(ofRest), dependenceOf(ofRest, nil).tau)
}

// hamedRao is the factor of Hamed and Rao for the ranks of what a trend leaves.
func hamedRao(ranks []float64) float64 {
	n := float64(len(ranks))
	r, err := acf(ranks, len(ranks)-1)
	if err != nil {
		return 1
	}
	limit, sum := 1.96/math.Sqrt(n), 0.0
	for i, v := range r[1:] {
		if math.Abs(v) > limit {
			k := float64(i + 1)
			sum += (n - k) * (n - k - 1) * (n - k - 2) * v
		}
	}
	return 1 + 2*sum/(n*(n-1)*(n-2))
}

// leastDrift is from how many values on a common drift can be seen.
const leastDrift = 8

// driftReach is how far a drift may be believed to go on: so many times as long as it
// was seen, from the middle of one series to that of the other. Series of one length,
// one right after the other, are one such time apart.
const driftReach = 2

// CommonDrift is by how much values change from the middle of series a to that of b, if
// they go on as they do within both: the common slope over their times, by analysis of
// covariance, over the time between them, but at most driftReach times as long as the
// longer of them took: that is over. It is significant at level .01. Neighbours may depend on each
// other: the square of the slope's error is (1+r)/(1−r) times as large, with r the
// [Autocorrelation] of what the slope leaves. Times and values have the same length, and
// are in the order of time.
func CommonDrift(ta, a, tb, b []float64) (by, over float64, significant bool) {
	n := float64(len(a) + len(b))
	if n < leastDrift {
		return 0, 0, false
	}
	var tt, ty float64
	for _, s := range [][2][]float64{{ta, a}, {tb, b}} {
		mt, my := Average(s[0]), Average(s[1])
		for i, at := range s[0] {
			tt += (at - mt) * (at - mt)
			ty += (at - mt) * (s[1][i] - my)
		}
	}
	t, err := TQuantile(.995, n-3)
	if err != nil || !(tt > 0) {
		return 0, 0, false
	}
	slope := ty / tt
	restA, squaresA := restOf(ta, a, slope)
	restB, squaresB := restOf(tb, b, slope)
	r := Autocorrelation(restA, restB)
	most := driftReach * max(slices.Max(ta)-slices.Min(ta), slices.Max(tb)-slices.Min(tb))
	over = max(-most, min(Average(tb)-Average(ta), most))
	return slope * over, over, slope*slope*tt*(n-3) > t*t*(squaresA+squaresB)*(1+r)/(1-r)
}

// restOf is what a slope leaves of a series, and the sum of its squares.
func restOf(times, xs []float64, slope float64) (rest []float64, squares float64) {
	mt, mx := Average(times), Average(xs)
	rest = make([]float64, len(xs))
	for i, x := range xs {
		rest[i] = x - mx - slope*(times[i]-mt)
		squares += rest[i] * rest[i]
	}
	return rest, squares
}
