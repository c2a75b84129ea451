package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Distribution is the share of values up to each X, where some values are only lower
// bounds: the product-limit estimate (E. L. Kaplan and P. Meier, "Nonparametric
// estimation from incomplete observations", J. Am. Stat. Assoc. 53(282), 1958). Without
// lower bounds it is the empirical distribution.
type Distribution struct {
	// X ascends. Share is that of the values at or below it; it ends below 1 where the
	// largest value is a lower bound.
	X, Share []float64

	largest   float64   // value, also of the lower bounds
	greenwood []float64 // the variance of ln(1−Share), by Greenwood's formula
}

// NewDistribution is that of values; atLeast says of which the value is only a lower
// bound. nil: of none. Errors: ErrTooFew without values, ErrNotFinite, ErrArgument.
func NewDistribution(values []float64, atLeast []bool) (Distribution, error) {
	if err := check(values, 1); err != nil {
		return Distribution{}, fmt.Errorf("distribution: %w", err)
	}
	if atLeast != nil && len(atLeast) != len(values) {
		return Distribution{}, fmt.Errorf("distribution of %d values and %d bounds: %w", len(values), len(atLeast),
			ErrArgument)
	}
	rows := make([]int, len(values))
	for i := range rows {
		rows[i] = i
	}
	slices.SortFunc(rows, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	d := Distribution{largest: slices.Max(values)}
	above, variance := 1.0, 0.0
	for from := 0; from < len(rows); {
		to, known := from, 0
		for ; to < len(rows) && values[rows[to]] == values[rows[from]]; to++ {
			if atLeast == nil || !atLeast[rows[to]] {
				known++
			}
		}
		if left, k := float64(len(rows)-from), float64(known); known > 0 {
			above *= 1 - k/left
			variance += k / left / (left - k)
			d.X, d.Share = append(d.X, values[rows[from]]), append(d.Share, 1-above)
			d.greenwood = append(d.greenwood, variance)
		}
		from = to
	}
	return d, nil
}

// Quantile is the smallest value that at least a share p is at or below; midway to the next
// where that share is just p, as the median of two values is. NaN where lower bounds leave
// it open.
func (d Distribution) Quantile(p float64) float64 {
	const rounding = 1e-12
	i := slices.IndexFunc(d.Share, func(share float64) bool { return share >= p-rounding })
	switch {
	case i < 0, d.Share[i] <= p+rounding && i+1 == len(d.X):
		return math.NaN()
	case d.Share[i] <= p+rounding:
		return (d.X[i] + d.X[i+1]) / 2
	}
	return d.X[i]
}

// Interval is that of a quantile, by the test of each value on the scale of
// log(−log) (R. Brookmeyer and J. Crowley, "A confidence interval for the median survival
// time", Biometrics 38(1), 1982). Its upper end is infinite where lower bounds leave it
// open, and the lower end at most the largest value. worth is what share of the values is
// independent, from above 0 to 1.
func (d Distribution) Interval(p, level, worth float64) (Interval, error) {
	z, err := NormalCritical(level)
	if err != nil || !(worth > 0 && worth <= 1) || !(p > 0 && p < 1) {
		return Interval{}, fmt.Errorf("interval of the quantile %v at level %v: %w", p, level, ErrArgument)
	}
	out := Interval{Lo: d.largest, Hi: math.Inf(1)}
	for i, share := range d.Share {
		lo, hi := 0., 1. // of the share, which has no error where it is all
		if above := 1 - share; above > 1e-12 {
			half := z * math.Sqrt(d.greenwood[i]/worth) / -math.Log(above)
			lo, hi = 1-math.Pow(above, math.Exp(-half)), 1-math.Pow(above, math.Exp(half))
		}
		if hi >= p {
			out.Lo = min(out.Lo, d.X[i])
		}
		if lo >= p {
			out.Hi = min(out.Hi, d.X[i])
		}
	}
	return out, nil
}
