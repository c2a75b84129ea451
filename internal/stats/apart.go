package stats

import (
	"math"
)

// Apart returns the indices of the few values that lie apart from the rest, the
// farthest first: of at least three values one, or fewer than half. It removes the value that is
// farthest from the mean of the others, again and again, and tests each by
// Student's t with the Bonferroni correction for the values that are left; the last
// that is significant at this level and at least worth away from the others counts,
// with all before it (B. Rosner, "Percentage points for a generalized ESD
// many-outlier procedure", Technometrics 25(2), 1983). So neither one outlier nor
// several of them hide each other.
//
// noise is the error of each value by itself, as its SD, where replicates tell it:
// it counts beside the scatter of the others as [Pool] has it. floor is the least SD
// to believe.
func Apart(xs []float64, noise Noise, floor, worth, level float64) ([]int, error) {
	if err := check(xs, 3); err != nil {
		return nil, err
	}
	sorted, rows := SortRows(xs)
	// What is left is a range of the sorted values, about their median.
	r := rangeOf{values: make([]float64, len(xs)), to: len(xs)}
	for k, x := range sorted {
		r.values[k] = x - sorted[len(xs)/2]
		r.sum += r.values[k]
		r.squares += r.values[k] * r.values[k]
	}
	var out []int
	found := 0
	for range max(1, (len(xs)-2)/2) {
		at, far, p := r.farthest(noise, floor)
		if p*float64(r.to-r.from) < level && far > worth {
			found = len(out) + 1
		}
		out = append(out, int(rows[at]))
		r.remove(at)
	}
	return out[:found], nil
}

// rangeOf is a range of sorted values with its sum and its sum of squares.
type rangeOf struct {
	values       []float64
	from, to     int
	sum, squares float64
}

// remove takes away the first or the last value.
func (r *rangeOf) remove(at int) {
	r.sum -= r.values[at]
	r.squares -= r.values[at] * r.values[at]
	if at == r.from {
		r.from++
	} else {
		r.to--
	}
}

// farthest is which value lies farthest from the mean of the others, how far, and
// how probable that is by chance: 1 where it is near.
func (r *rangeOf) farthest(noise Noise, floor float64) (at int, far, p float64) {
	const near = 3 // standard errors, which chance has in every set
	n := float64(r.to - r.from - 1)
	p = 1
	for _, i := range []int{r.from, r.to - 1} {
		v := r.values[i]
		mean := (r.sum - v) / n
		d := math.Abs(v - mean)
		if d <= far && i != r.from {
			continue
		}
		at, far, p = i, d, 1
		between := max(0, r.squares-v*v-n*mean*mean) / (n - 1)
		e, _ := Pool(Estimate{Var: noise.SD * noise.SD, Degrees: noise.Degrees}, Estimate{Var: between, Degrees: n - 1},
			apartPool)
		e.Mean, e.Var = v, max(e.Var, floor*floor, leastApart*leastApart)*(1+1/n)
		if d > near*math.Sqrt(e.Var) {
			p = e.P(mean)
		}
	}
	return at, far, p
}

// leastApart is the error that running sums of logarithms may have.
const leastApart = 1e-6

// apartPool is the level of the test that lets replicates lend their degrees of
// freedom to the scatter of values: see [Pool].
const apartPool = 0.25
