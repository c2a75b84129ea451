package stats

import (
	"math"
	"slices"
)

// bestParts returns the cuts, of several proposals and none at all, that describe a
// series best: as levels with noise of which neighbours depend on each other, or as
// such noise alone. Steps make neighbours alike, and values that wander look like
// steps; what leaves less for the same number of parameters is right. The description
// is an AR(1) process about the mean of each part, and its cost
//
//	n·ln Σ(r_i − φ·r_{i−1})² + 3·ln n·|cuts|,
//
// r_i a value less the mean of its part: Schwarz' criterion with a place, a level and
// a choice for each cut (S. Chakar, E. Lebarbier, C. Lévy-Leduc and S. Robin, "A
// robust approach for estimating change-points in the mean of an AR(1) process",
// Bernoulli 23(2), 2017). gain is by how much the best costs less than no cut.
func bestParts(xs []float64, proposals [][]int) (best []int, gain float64) {
	none := costOfParts(xs, nil)
	least := none
	for _, cuts := range proposals {
		cuts = placed(xs, cuts)
		if cost := costOfParts(xs, cuts); cost < least {
			best, least = cuts, cost
		}
	}
	return best, none - least
}

// clearGain is the gain of cuts from which a series of n values has changes without
// any further test. Series without changes, of whatever dependence up to a random
// walk, reach it in fewer cases than the level: docs/methods.md has how many.
func clearGain(level float64, n int) float64 { return 1 - 1.5*math.Log(level) + 60/float64(n) }

// leastWorth is how many independent values a series between its cuts is worth at
// least to tell changes from values that wander, unless the cuts describe it better.
const leastWorth = 20

// costOfParts is the cost of a description.
func costOfParts(xs []float64, cuts []int) float64 {
	n := float64(len(xs))
	var products, before, all float64
	rests := restsOf(xs, cuts)
	for i, r := range rests[1:] {
		products += r * rests[i]
		before += rests[i] * rests[i]
		all += r * r
	}
	left := all
	if before > 0 {
		phi := min(max(products/before, 0), 1)
		left -= phi * (2*products - phi*before)
	}
	return n*math.Log(max(left, math.SmallestNonzeroFloat64)) + 3*math.Log(n)*float64(len(cuts))
}

// restsOf are the values less the mean of their part.
func restsOf(xs []float64, cuts []int) []float64 {
	out, from := make([]float64, len(xs)), 0
	for _, to := range append(slices.Clone(cuts), len(xs)) {
		m := mean(xs[from:to])
		for i := from; i < to; i++ {
			out[i] = xs[i] - m
		}
		from = to
	}
	return out
}

// farOut is how many SDs of the noise a value lies at most from the level about it.
const farOut = 3

// fenced are values in units of their noise, drawn in to [farOut] about the running
// median of so many that the shortest level is most of them: one outlier would
// otherwise count as much as a level. The noise is that of the upper quartile of the
// differences of neighbours, to which a second band of values belongs. Where that is 0,
// values become ranks.
func fenced(xs []float64) []float64 {
	steps := make([]float64, len(xs)-1)
	for i := range steps {
		steps[i] = math.Abs(xs[i+1] - xs[i])
	}
	const ofNormal = 1.627 // the upper quartile of the difference of two values with SD 1
	quartile, err := Quantiles(steps, .75)
	if err != nil || !(quartile[0] > 0) || math.IsInf(quartile[0], 1) {
		return ranks(xs)
	}
	noise := quartile[0] / ofNormal
	out, window, first := make([]float64, len(xs)), make([]float64, 0, 2*shortestLevel-1), xs[0]
	for i, x := range xs {
		window = append(window[:0], xs[max(0, i-shortestLevel+1):min(len(xs), i+shortestLevel)]...)
		slices.Sort(window)
		level := (window[(len(window)-1)/2] + window[len(window)/2]) / 2
		out[i] = (min(max(x, level-farOut*noise), level+farOut*noise) - first) / noise
	}
	return out
}

// placed moves each cut to where the two parts at it differ most.
func placed(xs []float64, cuts []int) []int {
	out := slices.Clone(cuts)
	for range 2 {
		for i := range out {
			from, to := around(out, i, len(xs))
			out[i] = from + division(xs[from:to])
		}
	}
	return out
}

// division is where the values before differ most from those after, with
// [shortestLevel] or more on either side.
func division(xs []float64) int {
	sums := runningSums(centered(xs))
	at, most := shortestLevel, -1.0
	for k := shortestLevel; k <= len(xs)-shortestLevel; k++ {
		if d := divided(sums[k], k, len(xs)); d > most {
			at, most = k, d
		}
	}
	return at
}
