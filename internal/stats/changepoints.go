package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Change is where a series goes over to another level.
type Change struct {
	Index         int     // first value of the new level
	Before, After float64 // medians of the parts on either side, up to the next changes
	// P is the probability of so clear a change anywhere in the two parts if there
	// is none; at least 1/(number of permutations + 1).
	P float64
}

const (
	// shortestLevel is how many values a level has at least. Fewer are outliers.
	shortestLevel = 5
	// mostBins is how many means of neighbours stand for a longer series.
	mostBins = 2000
	// mostArcs is the same for the test of the whole, which takes the square.
	mostArcs = 200
	// leastLevel is the smallest level that permutations can reach in some seconds.
	leastLevel = 1e-5
	// changeStream separates the random numbers of ChangePoints from those of other
	// users of the same seed.
	changeStream = 0xc4a9
)

// ChangePoints returns where the level of a series changes, by index. level is the
// probability of any false alarm in a series without changes, such as .05:
//
//  1. Values far out are drawn in ([fenced]), so that an outlier counts no more than
//     any other large value; more than 2000 become means of neighbours.
//  2. [edPELT] and [levelPELT] propose changes for several amounts of dependence. Those
//     that, with dependence of the rest, describe the series better than dependence
//     alone ([bestParts]) are the parts within which dependence is estimated, from
//     differences ([dependenceOf]).
//  3. Is there any change at all? Either that description is better by far, or the
//     part of the series that differs most from the rest (A. B. Olshen, E. S.
//     Venkatraman, R. Lucito and M. Wigler, "Circular binary segmentation",
//     Biostatistics 5(4), 2004) does so more than those of the series with its blocks
//     permuted. This keeps the rate of false alarms.
//  4. The least significant of the proposed changes is struck out, until each that is
//     left is significant between its neighbours: its difference against the largest
//     of any division of that part, its blocks permuted. Dependence is estimated
//     between those left, and they are proposed again, until they stay.
//  5. Of a series that was put together, the index is refined on its own values.
//
// Only changes of level count, not of spread alone. Slow drift ([Drift]) and what
// repeats with the hour have other levels from time to time and are reported as
// such: take them out first. docs/methods.md tells how often there are false
// alarms, and how large a step is found. Values without scatter have no changes.
// Errors: ErrTooFew below 10 values, ErrNotFinite, ErrArgument for a level below
// 10⁻⁵.
func ChangePoints(xs []float64, level float64, seed uint64) ([]Change, error) {
	if !(level >= leastLevel && level < 1) {
		return nil, fmt.Errorf("change points at level %v, want at least %v: %w", level, leastLevel, ErrArgument)
	}
	if err := check(xs, 2*shortestLevel); err != nil {
		return nil, fmt.Errorf("change points: %w", err)
	}
	if constant(xs) {
		return nil, nil
	}
	rng := rand.New(rand.NewPCG(seed, changeStream))
	scores := fenced(xs)
	bins, size := binned(scores, mostBins)
	p := permutation{rng: rng, level: level}
	indices, ps := p.search(bins)
	if size > 1 {
		refine(scores, indices, size)
	}
	return describeChanges(xs, indices, ps), nil
}

// mostSearches is how often changes are looked for again with the dependence between
// those found.
const mostSearches = 5

// search finds the changes of values. Changes make neighbours alike, and dependence
// hides changes: both are estimated together, again until they stay.
func (p permutation) search(scores []float64) (indices []int, ps []float64) {
	proposed := func(tau float64) [][]int {
		penalty := 3 * math.Log(float64(len(scores))) * tau
		return [][]int{edPELT(scores, penalty, shortestLevel), levelPELT(scores, penalty, shortestLevel)}
	}
	var proposals [][]int
	for tau := dependenceOf(scores, nil).tau; ; tau = max(1, tau/2) {
		proposals = append(proposals, proposed(tau)...)
		if tau <= 1 {
			break
		}
	}
	arcs, size := binned(scores, mostArcs)
	_, from, length := widestArc(runningSums(centered(arcs)), max(1, shortestLevel/size))
	arc := slices.DeleteFunc([]int{from * size, (from + length) * size}, func(c int) bool {
		return c < shortestLevel || c > len(scores)-shortestLevel
	})
	proposals = append(proposals, arc)
	cuts, gain := bestParts(scores, proposals)
	p.dependence = dependenceOf(scores, cuts)
	if gain <= clearGain(p.level, len(scores)) &&
		(gain <= 0 && float64(len(scores)) < leastWorth*p.tau || !p.anyChange(arcs, size, cuts)) {
		return nil, nil
	}
	for range mostSearches {
		candidates, _ := bestParts(scores, append(proposed(p.tau), cuts))
		if len(candidates) == 0 {
			candidates = arc
		}
		before := indices
		indices, ps = p.confirmed(scores, candidates)
		if slices.Equal(indices, before) {
			break
		}
		cuts, p.dependence = indices, dependenceOf(scores, indices)
	}
	return indices, ps
}

// describeChanges adds the medians.
func describeChanges(xs []float64, indices []int, ps []float64) []Change {
	ends := append(slices.Clone(indices), len(xs))
	medians, from := make([]float64, len(ends)), 0
	for i, to := range ends {
		medians[i], from = Median(xs[from:to]), to
	}
	changes := make([]Change, len(indices))
	for i, at := range indices {
		changes[i] = Change{Index: at, Before: medians[i], After: medians[i+1], P: ps[i]}
	}
	return changes
}

// binned are means of size neighbours each, at most this many; those left over at
// the end belong to the last.
func binned(xs []float64, most int) (bins []float64, size int) {
	size = (len(xs) + most - 1) / most
	if size == 1 {
		return xs, 1
	}
	bins = make([]float64, len(xs)/size)
	for i := range bins {
		to := (i + 1) * size
		if i == len(bins)-1 {
			to = len(xs)
		}
		bins[i] = mean(xs[i*size : to])
	}
	return bins, size
}

// refine moves each index, of bins, to the value within two bins at which the means
// of the drawn-in values ([fenced]) on either side differ most.
func refine(scores []float64, indices []int, size int) {
	for i, c := range indices {
		from, to := 0, len(scores)
		if i > 0 {
			from = indices[i-1] // refined already
		}
		if i+1 < len(indices) {
			to = indices[i+1] * size
		}
		part := scores[from:to]
		lo := max(from+shortestLevel, (c-2)*size)
		hi := min(to-shortestLevel, (c+2)*size)
		center := mean(part)
		var sum, most float64
		for k, x := range scores[from:hi] {
			if at := from + k; at >= lo {
				if d := divided(sum, k, len(part)); d > most {
					most, indices[i] = d, at
				}
			}
			sum += x - center
		}
	}
}

// divided is how much the first k of n values differ from the others, squared and
// in units of their variance, if sum is theirs and that of all is 0.
func divided(sum float64, k, n int) float64 {
	return sum * sum * float64(n) / (float64(k) * float64(n-k))
}
