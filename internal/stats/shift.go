package stats

import (
	"fmt"
	"math"
)

// HodgesLehmann returns by how much x is shifted against y, the median of all
// differences x−y, with its interval, in the unit of the values (J. L. Hodges
// and E. L. Lehmann, "Estimates of location based on rank tests", Ann. Math.
// Stat. 34(2), 1963). It is not the difference of the medians, and hardly moves
// with outliers.
//
// The ends are two of the differences. Their ranks come from the exact
// distribution of U where both samples have fewer than 50 values and none are
// equal (L. E. Moses; R's wilcox.test does the same), otherwise from its normal
// approximation. Those hold if the samples differ in their place only. Where
// Brunner and Munzel's standard error of A12, which supposes nothing of their
// scatter, is larger, they are as much further apart.
//
// Errors: ErrTooFew where so few values cannot give this level (95 % needs 4 and
// 4), ErrNotFinite, ErrNoSpread where neither sample shows scatter.
func HodgesLehmann(x, y []float64, level float64) (shift float64, ci Interval, err error) {
	defer annotate(&err, "shift")
	xs, ys, err := twoAscending(x, y, 2)
	if err != nil {
		return 0, Interval{}, err
	}
	if xs[0] == xs[len(xs)-1] && ys[0] == ys[len(ys)-1] {
		return 0, Interval{}, ErrNoSpread
	}
	rank, err := rankOfU(xs, ys, level)
	if err != nil {
		return 0, Interval{}, err
	}
	s := &selector{pairs: differences{xs, ys}}
	shift, n := s.middle(), s.pairs.size()
	supposed := math.Sqrt(float64(len(x)+len(y)+1) / 12 / n) // of A12
	seen := math.Sqrt(superiority(xs, ys, shift).Var)
	rank = max(1, math.Floor(n/2-(n/2-rank)*max(1, seen/supposed)))
	ci, err = Interval{s.at(rank), s.at(n + 1 - rank)}.times(1)
	return shift, ci, err
}

// LogShift returns by what factor x exceeds y, with its interval: the shift of
// the logarithms, see [HodgesLehmann]. For values that scatter by a factor, such
// as durations, it holds where the ratio of means does not. A value that is not
// positive is an ErrArgument; the other errors are those of HodgesLehmann.
func LogShift(x, y []float64, level float64) (ratio float64, ci Interval, err error) {
	return ofLogarithms(x, y, level, HodgesLehmann)
}

// ofLogarithms is the factor that a shift of the logarithms means.
func ofLogarithms(x, y []float64, level float64, shift func(x, y []float64, level float64) (float64, Interval, error)) (ratio float64, ci Interval, err error) {
	lx, errX := logarithms(x)
	if errX != nil {
		return 0, Interval{}, fmt.Errorf("first sample: %w", errX)
	}
	ly, errY := logarithms(y)
	if errY != nil {
		return 0, Interval{}, fmt.Errorf("second sample: %w", errY)
	}
	by, iv, err := shift(lx, ly, level)
	if err != nil {
		return 0, Interval{}, err
	}
	ci, err = Interval{math.Exp(iv.Lo), math.Exp(iv.Hi)}.times(1)
	return math.Exp(by), ci, err
}

// logarithms of values that must be positive.
func logarithms(xs []float64) ([]float64, error) {
	out := make([]float64, len(xs))
	for i, x := range xs {
		if x <= 0 {
			return nil, fmt.Errorf("value %d is %v, a logarithm needs more than 0: %w", i, x, ErrArgument)
		}
		out[i] = math.Log(x) // NaN and infinities stay what they are
	}
	return out, nil
}

// exactShift is the size from which on U is taken to be normal, as in R.
const exactShift = 50

// rankOfU is the rank of the difference at which the interval begins: so many
// values of U are less likely than (1−level)/2 together.
func rankOfU(x, y []float64, level float64) (float64, error) {
	z, err := NormalCritical(level)
	if err != nil {
		return 0, err
	}
	n, m := float64(len(x)), float64(len(y))
	tail := (1 - level) / 2
	_, ties := countAbove(x, y)
	rank := math.Floor(n*m/2 - z*math.Sqrt(n*m/12*(n+m+1)))
	if ties == 0 && max(n, m) < exactShift {
		rank = quantileRank(distributionOfU(len(x), len(y), len(x)*len(y)), tail)
	}
	if rank < 1 && distributionOfU(len(x), len(y), 0)[0] > tail {
		return 0, fmt.Errorf("%v and %v values for an interval at level %v: %w", n, m, level, ErrTooFew)
	}
	return max(rank, 1), nil
}

// quantileRank is the least value with at least this probability up to it.
func quantileRank(ps []float64, tail float64) float64 {
	rank, below := 0.0, 0.0
	for _, p := range ps {
		if below += p; below >= tail*(1+1e-12) {
			break
		}
		rank++
	}
	return rank
}
