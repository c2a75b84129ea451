package pressure

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// NormalisedSize bounds the size for which a provider counts an operation once, from the mean size of operations
// and the ratio of its count to ours, more than 1 (paper, 5.3): N operations with B bytes count at least B/nd and less
// than N + B/nd, so mean/ratio ≤ nd < mean/(ratio−1). A ratio of 1 has no upper bound, a smaller one no bounds
// (NaN): who counts fewer operations merges them, or counts others.
func NormalisedSize(mean, ratio float64) (lo, hi float64) {
	if !(ratio >= 1) || !(mean > 0) {
		return math.NaN(), math.NaN()
	}
	return mean / ratio, mean / (ratio - 1)
}

// Counts are operations, bytes and the provider's normalised operations of one period; any unit of time.
type Counts struct {
	Ops, Bytes, Consumed float64
	end                  float64 // of the period, Unix s
}

// SizeEstimate is what the counts of two sources tell.
type SizeEstimate struct {
	// Ratio is the provider's operations to ours.
	Ratio float64 `json:"ratio"`
	// Size is the interval of the normalised size in bytes; null: the counts do not tell.
	Size    *stats.Interval `json:"size"`
	Periods int             `json:"periods"`
}

// groupPeriods is how many periods a group has at least: fewer show their noise badly.
const groupPeriods = 8

// EstimateSize bounds the normalised size at a confidence level from periods of two sources, whose clocks and counts
// differ a little. One period cannot show such noise: its counts are taken as exact. Otherwise the bounds are the
// confidence limits of the ratios of totals ([stats.Fieller]), of groups of periods by mean size. Sizes that differ
// give different intervals, and the normalised size lies in all: their intersection is the answer, at a
// level for all of them together (Bonferroni). If they have none in common, all periods are one group.
//
// The intersection of single periods would be wrong: the largest of many noisy lower bounds is too large.
// Periods without operations do not count. The size is not known if the ratio does not reliably exceed 1.
func EstimateSize(all []Counts, level float64) SizeEstimate {
	var known []Counts
	var ops, consumed float64
	for _, c := range all {
		if c.Ops > 0 && c.Bytes > 0 && c.Consumed > 0 { // no NaN
			known = append(known, c)
			ops, consumed = ops+c.Ops, consumed+c.Consumed
		}
	}
	slices.SortStableFunc(known, func(a, b Counts) int { return cmp.Compare(a.Bytes/a.Ops, b.Bytes/b.Ops) })
	out := SizeEstimate{Ratio: consumed / ops, Periods: len(known)}
	for groups := max(1, min(len(known)/groupPeriods, 4)); ; groups = 1 {
		in := stats.Interval{Hi: math.Inf(1)}
		for g := range groups {
			lo, hi := groupSize(known[g*len(known)/groups:(g+1)*len(known)/groups], 1-(1-level)/float64(groups))
			in.Lo, in.Hi = max(in.Lo, lo), min(in.Hi, hi) // NaN if one is
		}
		if in.Lo < in.Hi && !math.IsInf(in.Hi, 1) {
			out.Size = &in
			return out
		}
		if groups == 1 {
			return out
		}
	}
}

// groupSize bounds the normalised size from periods of one group. It is NaN if the provider reliably counts fewer
// operations than we do. Hi is +Inf if it does not reliably count more.
func groupSize(group []Counts, level float64) (lo, hi float64) {
	var ops, bytes, consumed, more []float64
	for _, c := range group {
		ops, bytes = append(ops, c.Ops), append(bytes, c.Bytes)
		consumed, more = append(consumed, c.Consumed), append(more, c.Consumed-c.Ops)
	}
	switch len(group) {
	case 0:
		return math.NaN(), math.NaN()
	case 1:
		return NormalisedSize(bytes[0]/ops[0], consumed[0]/ops[0])
	}
	if r := ratio(consumed, ops, level); r.Hi < 1 {
		return math.NaN(), math.NaN()
	}
	lo, hi = ratio(bytes, consumed, level).Lo, math.Inf(1)
	if r := ratio(bytes, more, level); r.Lo > 0 {
		hi = r.Hi
	}
	return lo, hi
}

// ratio is the interval of the ratio of two totals; of pairs without scatter it is a point. It ends at +Inf, or begins
// at 0, if the data leave it without bounds.
func ratio(num, den []float64, level float64) stats.Interval {
	out, err := stats.Fieller(num, den, level)
	if errors.Is(err, stats.ErrNoSpread) { // all pairs have the same ratio
		return stats.Interval{Lo: num[0] / den[0], Hi: num[0] / den[0]}
	}
	if err != nil {
		return stats.Interval{Hi: math.Inf(1)}
	}
	return out
}
