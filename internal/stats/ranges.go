package stats

import (
	"math"
	"slices"
)

// A series with an autocorrelation of .99 takes the ranges of two stretches of n values
// apart by more than farFactor/n times both ranges with an error below farError, which
// falls with the fourth power of the distance; a random walk or a steady drift that
// goes on from one to the other never by more than leastFar times. docs/compare.md has
// the rates.
const (
	farFactor = 36
	leastFar  = .5
	farError  = .05
)

// RangesApart is the interval of b−a for series whose ranges lie far apart, however much
// their neighbours depend on each other, and its p-value; not ok where they do not lie
// so far apart. Neither may be empty.
func RangesApart(a, b []float64, level float64) (difference Interval, p float64, ok bool) {
	lo, hi := slices.Min(b)-slices.Max(a), slices.Max(b)-slices.Min(a)
	ranges := slices.Max(a) - slices.Min(a) + slices.Max(b) - slices.Min(b)
	gap := max(lo, -hi)
	far := max(leastFar, farFactor/float64(min(len(a), len(b)))) * ranges
	by := far * math.Pow(farError/(1-level), .25)
	if !(gap > by) {
		return Interval{}, 0, false
	}
	return Interval{Lo: lo - by, Hi: hi + by}, farError * math.Pow(far/gap, 4), true
}
