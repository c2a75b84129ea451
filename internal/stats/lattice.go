package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// lattice is where values can lie because of how they were recorded: a clock counts
// ticks, a display rounds. Heaps on it are no modes of what was measured.
type lattice struct {
	// step is the distance of two places, in the unit of the values, or of their
	// reciprocals; 0: it is finer than matters.
	step float64
	// reciprocal: the reciprocals lie on it, as those of rates do that were computed
	// from durations in ticks.
	reciprocal bool
	// heaps are the values of each place by their first and last index, with the
	// place; nil: values lie on the places exactly.
	heaps []heap
}

// heap is the ascending values from lo up to before hi, and the place that they are of.
type heap struct {
	lo, hi int
	place  float64
}

// What a lattice with tolerance must show. Its places are known from the heaps
// themselves, so that few wide heaps lie on one by chance.
const (
	// finestStep is the step, as a share of the deviation, that does no harm to a test.
	finestStep = .02
	// heapGap is how many times as wide as gaps within heaps those between them are.
	heapGap = 3
	// latticeChance is the chance at most that so many heaps would lie so near to a
	// lattice though none made them.
	latticeChance = .05
	// widestHeap is how far values lie from their place, as a share of the step.
	widestHeap = .2
	// coarsestDigit is the unit of the last digit, as a share of the step, up to which
	// heaps of one or two digits tell their places; of rates, at least three of them.
	coarsestDigit, coarsestOfRates = .1, .25
)

// latticeOf is the lattice of ascending values, if its step is at least this share of
// their deviation: ticks with a tolerance, the exact step ([stepOf]), or ticks of the
// reciprocals where these leave fewer places empty.
func latticeOf(sorted []float64, finest float64) lattice {
	digit := stepOf(sorted, 0)
	best, found := ticksOf(sorted, digits{unit: digit}, finest)
	if !found {
		best.step = stepOf(sorted, finest)
	}
	if !(sorted[0] > 0) {
		return best
	}
	of := make([]float64, len(sorted))
	for i, x := range sorted {
		of[len(of)-1-i] = 1 / x
	}
	digit = decimalStep(sorted, 0)
	ticks, found := ticksOf(of, digits{unit: digit, reciprocal: true}, finest)
	if ticks.reciprocal = true; found && (best.step <= 0 || ticks.span(of) < best.span(sorted)) {
		return ticks
	}
	return best
}

// digits are those in which values were recorded: the unit of the last one, of the
// reciprocals' values where these are asked; 0: finer than matters.
type digits struct {
	unit       float64
	reciprocal bool
}

// at is by how much the last digit moves a value, or reciprocal.
func (d digits) at(y float64) float64 {
	if d.reciprocal {
		return d.unit * y * y
	}
	return d.unit
}

// tell reports whether so many heaps tell their places though digits are as coarse.
func (d digits) tell(coarse, step float64, heaps int) bool {
	return coarse > 0 && (coarse <= coarsestDigit*step || d.reciprocal && heaps > 2 && coarse <= coarsestOfRates*step)
}

// span is how many steps lie between the first place and the last.
func (l lattice) span(sorted []float64) float64 {
	return math.Round((sorted[len(sorted)-1] - sorted[0]) / l.step)
}

// multiples reports whether all values lie on a lattice, but for their rounding.
func multiples(sorted []float64, step, from float64) bool {
	for _, x := range sorted {
		if k := (x - from) / step; math.Abs(k-math.Round(k)) > 1e-6 {
			return false
		}
	}
	return true
}

// ticksOf is the likeliest lattice of which the heaps of ascending values are the
// places.
func ticksOf(sorted []float64, digit digits, finest float64) (best lattice, found bool) {
	chance := latticeChance
	_, sd := stat.PopMeanStdDev(sorted, nil)
	cuts := heapCuts(sorted, finest)
	for _, cut := range cuts {
		heaps := heapsOf(sorted, cut)
		step, c := fitLattice(sorted, heaps, digit)
		if c *= float64(len(cuts)); c < chance && step > finest*sd {
			best, found, chance = lattice{step: step, heaps: heaps}, true, c
		}
	}
	return best, found
}

// heapCuts are gaps from which on values may be in different heaps: all narrower ones
// are much narrower.
func heapCuts(sorted []float64, finest float64) (cuts []float64) {
	_, sd := stat.PopMeanStdDev(sorted, nil)
	least := finest * sd / 2
	var wide []float64
	narrow := 0.0 // the widest that is too narrow to count
	for i := 1; i < len(sorted); i++ {
		if gap := sorted[i] - sorted[i-1]; gap > least {
			wide = append(wide, gap)
		} else {
			narrow = max(narrow, gap)
		}
	}
	slices.Sort(wide)
	for _, gap := range wide {
		if gap >= heapGap*narrow {
			cuts = append(cuts, gap)
		}
		narrow = gap
	}
	return cuts
}

// heapsOf divides ascending values at gaps of at least this width.
func heapsOf(sorted []float64, cut float64) (heaps []heap) {
	lo := 0
	for i := 1; i <= len(sorted); i++ {
		if i == len(sorted) || sorted[i]-sorted[i-1] >= cut {
			heaps = append(heaps, heap{lo: lo, hi: i, place: stat.Mean(sorted[lo:i], nil)})
			lo = i
		}
	}
	return heaps
}

// fitLattice moves heaps to the places of a lattice. chance is that of so many heaps
// so near to one without a cause; 0 where they are no wider than their digits explain.
func fitLattice(sorted []float64, heaps []heap, digit digits) (step, chance float64) {
	at, step := counts(heaps)
	offset, step := latticeLine(heaps, at, step)
	if !(step > 0) {
		return 0, 1
	}
	free := latticeFit{sorted: sorted, heaps: heaps, at: at, step: step, offset: offset}
	free.measure(digit)
	zero := free.throughZero()
	zero.measure(digit)
	best := free
	if zero.chance <= free.chance {
		best = zero
	}
	for i := range heaps {
		heaps[i].place = best.offset + best.step*best.at[i]
	}
	return best.step, best.chance
}

// counts are how many steps lie between the heaps and the first, and the step, as far
// as the distances of neighbours tell it.
func counts(heaps []heap) (at []float64, step float64) {
	far := make([]float64, len(heaps)-1)
	for i := range far {
		far[i] = heaps[i+1].place - heaps[i].place
	}
	sum, steps := 0.0, 0.0
	for _, d := range slices.Sorted(slices.Values(far)) {
		k := 1.0
		if steps > 0 {
			k = max(1, math.Round(d*steps/sum))
		}
		sum, steps = sum+d, steps+k
	}
	step = sum / steps
	at = make([]float64, len(heaps))
	for i, d := range far {
		at[i+1] = at[i] + max(1, math.Round(d/step))
	}
	return at, step
}

// latticeLine is the line of the heaps' places over their numbers; the step stays
// where there is one heap.
func latticeLine(heaps []heap, at []float64, step float64) (offset, slope float64) {
	if len(heaps) < 2 {
		return heaps[0].place, step
	}
	var places []float64
	for _, h := range heaps {
		places = append(places, h.place)
	}
	return stat.LinearRegression(at, places, nil, false)
}

// latticeFit is heaps beside the places of a lattice.
type latticeFit struct {
	sorted       []float64
	heaps        []heap
	at           []float64 // of each heap: its place is offset + step·at
	step, offset float64
	zero         bool // the offset is 0: numbers are of ticks
	chance       float64
}

// throughZero is the same lattice with places that are multiples of the step, as
// durations in ticks are.
func (f latticeFit) throughZero() latticeFit {
	first := math.Round(f.offset / f.step)
	z := latticeFit{sorted: f.sorted, heaps: f.heaps, at: slices.Clone(f.at), zero: true}
	products, squares := 0.0, 0.0
	for i := range z.at {
		z.at[i] += first
		products += z.at[i] * f.heaps[i].place
		squares += z.at[i] * z.at[i]
	}
	z.step = products / squares
	return z
}

// measure computes the chance of the fit. A lattice with any offset goes through two
// heaps, one through 0 through a single heap: each further one is a trial. Where heaps
// are far from 0, a small error of the step moves the place that is nearest to it.
func (f *latticeFit) measure(digit digits) {
	f.chance = 1
	if len(f.heaps) < 2 || f.zero && f.at[0] < 0 || !(f.step > 0) || math.IsInf(f.step, 0) {
		return
	}
	far, beyond, coarse := 0.0, 0.0, 0.0 // from the places; more than digits explain; of digits
	for i, h := range f.heaps {
		place := f.offset + f.step*f.at[i]
		d, unit := max(place-f.sorted[h.lo], f.sorted[h.hi-1]-place), digit.at(place)
		if !f.zero {
			unit *= .6 // a rounded value; that of two truncated ones is off by one digit
		}
		far, coarse = max(far, d), max(coarse, unit)
		beyond = max(beyond, d-1.001*unit)
	}
	trials := len(f.heaps) - 2
	if f.zero && f.at[0] >= 1 {
		trials++
	}
	switch {
	case trials < 1 || far > widestHeap*f.step:
	case beyond <= 0 && digit.tell(coarse, f.step, len(f.heaps)):
		f.chance = 0
	default:
		f.chance = math.Pow(4*max(far, coarse)/f.step, float64(len(f.heaps)-2))
		if f.zero && f.at[0] >= 1 {
			f.chance *= min(1, 4*max(far, coarse)/f.step*(2*f.at[0]+1))
		}
	}
}

// stepOf returns the step in which ascending values were recorded: the least
// distance of neighbours if all distances are multiples of it, which is so of two
// different values, or else the decimal step. 0 if there is none, or it is less than
// this share of the deviation, or of the ninth digit.
func stepOf(sorted []float64, finest float64) float64 {
	if least := leastDistance(sorted); least > finestOf(sorted, finest) && multiples(sorted, least, sorted[0]) {
		return least
	}
	return decimalStep(sorted, finest)
}

// decimalStep is the largest power of ten of which all values are multiples.
func decimalStep(sorted []float64, finest float64) float64 {
	least := leastDistance(sorted)
	if least == 0 {
		return 0
	}
	finest = finestOf(sorted, finest)
	for step := math.Pow(10, math.Floor(math.Log10(least*(1+1e-9)))); step > finest; step /= 10 {
		if multiples(sorted, step, 0) {
			return step
		}
	}
	return 0
}

// finestOf is which step is too fine, by its share of the deviation.
func finestOf(sorted []float64, share float64) float64 {
	_, sd := stat.PopMeanStdDev(sorted, nil)
	return max(share*sd, 1e-9*math.Abs(sorted[0]), 1e-9*math.Abs(sorted[len(sorted)-1]))
}

// leastDistance is that of different neighbours; 0 where all are equal.
func leastDistance(sorted []float64) (least float64) {
	for i := 1; i < len(sorted); i++ {
		if d := sorted[i] - sorted[i-1]; d > 0 && (least == 0 || d < least) {
			least = d
		}
	}
	return least
}

// spread returns the values with those of one place side by side over the step, as
// many to either side. Of positive values none becomes 0 or less.
func (l lattice) spread(sorted []float64) []float64 {
	out := slices.Clone(sorted)
	if l.step <= 0 {
		return out
	}
	positive := sorted[0] > 0
	for _, h := range l.places(sorted) {
		below := l.step / 2
		if positive {
			below = min(below, h.place/2)
		}
		for k := h.lo; k < h.hi; k++ {
			x := h.place - below + (below+l.step/2)*(float64(k-h.lo)+.5)/float64(h.hi-h.lo)
			if l.reciprocal {
				out[len(out)-1-k] = 1 / x
			} else {
				out[k] = x
			}
		}
	}
	return out
}

// places are the heaps of the lattice, of the reciprocals where these lie on it.
func (l lattice) places(sorted []float64) []heap {
	if l.heaps != nil {
		return l.heaps
	}
	var out []heap
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && sorted[j]-sorted[i] < l.step/2 {
			j++
		}
		out = append(out, heap{i, j, sorted[i]})
		i = j
	}
	return out
}

// words end the reason why there are no bands.
func (l lattice) words() string {
	switch {
	case l.step <= 0:
		return ""
	case l.reciprocal:
		return fmt.Sprintf("; the values are recorded as 1 over steps of %.3g, and within a step nothing is seen",
			l.step)
	}
	return fmt.Sprintf("; the values are recorded in steps of %.3g, and within a step nothing is seen", l.step)
}
