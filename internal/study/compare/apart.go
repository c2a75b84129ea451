package compare

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// A series with an autocorrelation of .99 takes the ranges of two stretches of n values
// apart by more than farFactor/n times both ranges with an error below farError, which
// falls with the fourth power of the distance; a random walk or a steady drift that
// goes on from A to B never by more than leastFar times. docs/compare.md has the rates.
const (
	farFactor = 36
	leastFar  = .5
	farError  = .05
)

// farApart is the interval of series whose ranges lie far apart, however much their
// neighbours depend on each other: of ratios, or of differences where values are not above
// 0; not ok where they do not lie so far apart.
func farApart(e estimate, level float64) (_ estimate, ok bool) {
	a, b := slices.Clone(e.A), slices.Clone(e.B)
	positive := min(slices.Min(a), slices.Min(b)) > 0
	if positive {
		for _, xs := range [][]float64{a, b} {
			for i, x := range xs {
				xs[i] = math.Log(x)
			}
		}
	}
	if e.Paired {
		for i := range b {
			b[i] -= a[i]
		}
		clear(a)
	}
	lo, hi := slices.Min(b)-slices.Max(a), slices.Max(b)-slices.Min(a)
	ranges := slices.Max(a) - slices.Min(a) + slices.Max(b) - slices.Min(b)
	gap := max(lo, -hi)
	far := max(leastFar, farFactor/float64(min(len(a), len(b)))) * ranges
	by := far * math.Pow(farError/(1-level), .25)
	if !(gap > by) {
		return e, false
	}
	e.method, e.p = methodRanges, farError*math.Pow(far/gap, 4)
	e.ci, e.difference = stats.Interval{Lo: lo - by, Hi: hi + by}, !positive
	if positive {
		e.ratio, e.ci = math.Exp(stats.Average(b)-stats.Average(a)), exp(e.ci)
	}
	return e, true
}
