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
//  1. Values become their ranks, so that an outlier counts no more than any other
//     large value; more than 2000 are put together as means of neighbours' ranks.
//  2. How much values depend on their neighbours is estimated from differences, to
//     which a step adds next to nothing ([dependenceOf]).
//  3. Is there any change at all? The part of the series that differs most from the
//     rest (A. B. Olshen, E. S. Venkatraman, R. Lucito and M. Wigler, "Circular
//     binary segmentation", Biostatistics 5(4), 2004) is compared with those of the
//     series with its blocks permuted. This test alone keeps the rate of false
//     alarms.
//  4. [edPELT] proposes changes. The least significant is struck out, until each
//     that is left is significant between its neighbours: its rank sum against the
//     largest of any division of that part, its blocks permuted.
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
	scores := rankScores(xs, rng)
	bins, size := binned(scores, mostBins)
	proposed := func(d dependence) []int {
		return edPELT(bins, 3*math.Log(float64(len(bins)))*d.tau, shortestLevel)
	}
	// Steps that are clear even if all is dependence are not to count as such.
	p := permutation{rng: rng, level: level, dependence: dependenceOf(bins, nil)}
	clear := proposed(p.dependence)
	p.dependence = dependenceOf(bins, clear)
	arcs, arcSize := binned(bins, mostArcs)
	from, to, ok := p.anyChange(arcs, arcSize, clear)
	if !ok {
		return nil, nil
	}
	candidates := proposed(p.dependence)
	if len(candidates) == 0 {
		candidates = slices.DeleteFunc([]int{from, to}, func(c int) bool { return c < shortestLevel || c > len(bins)-shortestLevel })
	}
	indices, ps := p.confirmed(bins, candidates)
	if size > 1 {
		refine(scores, indices, size)
	}
	return describeChanges(xs, indices, ps), nil
}

// describeChanges adds the medians.
func describeChanges(xs []float64, indices []int, ps []float64) []Change {
	ends := append(slices.Clone(indices), len(xs))
	medians, from := make([]float64, len(ends)), 0
	for i, to := range ends {
		medians[i], from = medianOf(xs[from:to]), to
	}
	changes := make([]Change, len(indices))
	for i, at := range indices {
		changes[i] = Change{Index: at, Before: medians[i], After: medians[i+1], P: ps[i]}
	}
	return changes
}

// rankScores are the ranks of values, less their mean, as shares of their number.
// Those of many values are relative to 4096 of them, drawn at random.
func rankScores(xs []float64, rng *rand.Rand) []float64 {
	const many, drawn = 50_000, 4096
	if len(xs) <= many {
		out := ranks(xs)
		for i := range out {
			out[i] = (out[i]-.5)/float64(len(xs)) - .5
		}
		return out
	}
	sample := make([]float64, drawn)
	for i := range sample {
		sample[i] = xs[rng.IntN(len(xs))]
	}
	slices.Sort(sample)
	equal := make([]int, drawn+1) // how many from there on are the same
	for i := drawn - 1; i >= 0; i-- {
		equal[i] = 1
		if i+1 < drawn && sample[i] == sample[i+1] {
			equal[i] += equal[i+1]
		}
	}
	places := newPlaces(sample)
	out := make([]float64, len(xs))
	for i, x := range xs {
		below, found := places.find(x)
		twice := 2 * below
		if found {
			twice += equal[below]
		}
		out[i] = float64(twice)/(2*drawn) - .5
	}
	return out
}

// places finds values among ascending ones as slices.BinarySearch does. Millions of
// searches are several times as fast, for each begins in a cell of equal width.
type places struct {
	sorted    []float64
	first     []int // of each cell, and the end
	lo, scale float64
}

func newPlaces(sorted []float64) places {
	p := places{sorted: sorted, first: make([]int, 4*len(sorted)+1), lo: sorted[0]}
	if scale := float64(len(p.first)-1) / (sorted[len(sorted)-1] - p.lo); !math.IsInf(scale, 1) {
		p.scale = scale // otherwise all are in one cell
	}
	for _, x := range sorted {
		p.first[p.cell(x)+1]++
	}
	for i := range p.first[1:] {
		p.first[i+1] += p.first[i]
	}
	return p
}

// cell does not fall as x rises, whatever is rounded.
func (p places) cell(x float64) int {
	return int(min(max(0, (x-p.lo)*p.scale), float64(len(p.first)-2)))
}

func (p places) find(x float64) (at int, found bool) {
	c := p.cell(x)
	at, end := p.first[c], p.first[c+1]
	if end-at > 8 {
		at, found = slices.BinarySearch(p.sorted[at:end], x)
		return p.first[c] + at, found
	}
	for at < end && p.sorted[at] < x {
		at++
	}
	return at, at < end && p.sorted[at] == x
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

// refine moves each index, of bins, to the value within two bins at which the ranks
// on either side differ most.
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
