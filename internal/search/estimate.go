package search

import "math"

// credible is how probable the boundary is in the interval, as believed. What
// is promised is 95 %; the rest covers boundaries and errors that are not
// quite like any that the belief knows. docs/capacity-search.md shows how
// often the interval holds the truth.
const credible = .98

// estimate is the median of the belief, between the loads of its cell by their
// logarithms, and the interval of whole cells that leaves at most half of
// 1−credible on each side. The estimate is NaN outside the grid.
func (b *belief) estimate(g grid) (estimate, low, high float64) {
	estimate = math.NaN()
	if k, share := b.quantile(.5); k > 0 && k < len(b.logs) {
		estimate = math.Exp(b.logs[k-1] + share*(b.logs[k]-b.logs[k-1]))
		estimate = min(max(estimate, g.loads[k-1]), g.loads[k]) // of rounding
	}
	high = math.Inf(1)
	if k, _ := b.quantile((1 - credible) / 2); k > 0 {
		low = g.loads[k-1]
	}
	if k, _ := b.quantile((1 + credible) / 2); k < len(b.logs) {
		high = g.loads[k]
	}
	return estimate, low, high
}

// unknown is a result in which nothing is known.
func unknown() Result {
	nan := math.NaN()
	return Result{Passed: nan, Failed: nan, Estimate: nan, Low: nan, High: nan}
}
