package stats

import (
	"errors"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
)

// RepetitionsForMean returns how many independent values with this coefficient
// of variation are needed until Student's interval of their mean reaches at most
// r (a share of the mean, such as .05) to either side: the least n ≥ 2 with
// t((1+level)/2, n−1)·cov/√n ≤ r. ErrArgument if that is more than 10¹², or an
// argument outside its domain (cov ≥ 0, r > 0).
func RepetitionsForMean(cov, r, level float64) (int, error) {
	z, err := NormalCritical(level)
	if err != nil || !(level > 0) || !(cov >= 0) || !(r > 0) || !(z*cov/r < 1e6) {
		return 0, ErrArgument
	}
	// t is larger than z, so that n cannot be less than this.
	n := max(2, int(z*cov/r*(z*cov/r)))
	for ; ; n++ {
		t, err := TCritical(level, float64(n-1))
		if err != nil {
			return 0, err
		}
		if t*cov <= r*math.Sqrt(float64(n)) {
			return n, nil
		}
	}
}

// Confirm is how many repetitions give the median within R.
type Confirm struct {
	R float64 // share of the median, such as .05
	// Needed is the least size of subsets that reach it; 0: all values together do
	// not.
	Needed int
	// Extrapolated is, where Needed is 0, how many values would, if the interval
	// goes on to narrow with the root of their number, or, where many values equal
	// the median, if further ones are like these. It was not seen.
	Extrapolated int
	// Curve is the mean interval by size of the subsets; the same for all R.
	Curve []ConfirmPoint
}

// ConfirmPoint is the mean interval of the median over all subsets of a size, in
// the unit of the values.
type ConfirmPoint struct {
	Size   int
	Lo, Hi float64
}

// fewestConfirmed is the least size of subsets that CONFIRM looks at.
const fewestConfirmed = 10

// ConfirmMedian says for each precision in rs how many repetitions are needed
// until the interval of the median lies within that share of it: CONFIRM (A.
// Maricq, D. Duplyakin, I. Jimenez, C. Maltzahn, R. Stutsman and R. Ricci, "Taming
// performance variability", OSDI 2018, section 5). Subsets are drawn without
// replacement, each gets the interval of [MedianRanks], and the least size counts
// for which the mean bounds are near enough.
//
// The paper draws 200 subsets of each size. The mean over all subsets can be
// computed: the k-th of s values out of n is the i-th of all with probability
// C(i−1, k−1)·C(n−i, s−k)/C(n, s). So nothing is drawn, and the result has no scatter of
// its own. Sizes up to 200 are all tried, larger ones in steps of 5 % that are refined
// where a precision is reached.
//
// The values are supposed to be independent. Of a series that depends on its past,
// len/[EffectiveSize] times as many are needed. Errors: ErrTooFew below 10 values, ErrZeroMean
// where the median is not positive, ErrArgument.
func ConfirmMedian(xs, rs []float64, level float64) ([]Confirm, error) {
	if err := check(xs, fewestConfirmed); err != nil {
		return nil, err
	}
	for _, r := range rs {
		if !(r > 0) {
			return nil, ErrArgument
		}
	}
	sorted := ascending(xs)
	median := QuantileSorted(sorted, .5)
	if !(median > 0) {
		return nil, ErrZeroMean
	}
	curve, err := confirmCurve(sorted, level)
	if err != nil {
		return nil, err
	}
	out := make([]Confirm, len(rs))
	for i, r := range rs {
		out[i] = Confirm{R: r, Curve: curve}
		if err := out[i].find(sorted, median, level); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// confirmCurve is the mean interval for every size that is tried.
func confirmCurve(sorted []float64, level float64) ([]ConfirmPoint, error) {
	var curve []ConfirmPoint
	n := len(sorted)
	for s := fewestConfirmed; ; {
		p, err := confirmPoint(sorted, s, level)
		switch {
		case err == nil:
			curve = append(curve, p)
		case s == n || !errors.Is(err, ErrTooFew):
			return nil, err
		}
		if s == n {
			return curve, nil
		}
		step := 1
		if s >= 200 {
			step = s / 20
		}
		s = min(n, s+step)
	}
}

func confirmPoint(sorted []float64, size int, level float64) (ConfirmPoint, error) {
	lo, hi, err := MedianRanks(size, level)
	if err != nil {
		return ConfirmPoint{}, err
	}
	return ConfirmPoint{size, meanOrdered(sorted, size, lo), meanOrdered(sorted, size, hi)}, nil
}

// within is how far the interval reaches from the median, as a share of it.
func (p ConfirmPoint) within(median float64) float64 {
	return max(median-p.Lo, p.Hi-median) / median
}

// find looks for the least size that reaches c.R.
func (c *Confirm) find(sorted []float64, median, level float64) error {
	at := slices.IndexFunc(c.Curve, func(p ConfirmPoint) bool { return p.within(median) <= c.R })
	if at < 0 {
		c.Extrapolated = c.extrapolate(sorted, median, level)
		return nil
	}
	c.Needed = c.Curve[at].Size
	if at == 0 {
		return nil
	}
	for missed := c.Curve[at-1].Size; c.Needed-missed > 1; {
		middle := missed + (c.Needed-missed)/2
		p, err := confirmPoint(sorted, middle, level)
		if err != nil {
			return err
		}
		if p.within(median) <= c.R {
			c.Needed = middle
		} else {
			missed = middle
		}
	}
	return nil
}

// extrapolate goes on with 1/√n from the larger half of the sizes: one size alone
// has ranks that happen to be wide or narrow. Where many values equal the median,
// as whole numbers do, the interval does not narrow like that: it is wide until
// its ranks fall among them. Then larger samples are drawn, with replacement.
func (c *Confirm) extrapolate(sorted []float64, median, level float64) int {
	last := c.Curve[len(c.Curve)-1]
	var sum float64
	larger := c.Curve[len(c.Curve)/2:]
	for _, p := range larger {
		sum += p.within(median) * math.Sqrt(float64(p.Size))
	}
	need := math.Ceil(math.Pow(sum/float64(len(larger))/c.R, 2))
	need = math.Min(max(need, float64(last.Size+1)), 1e15)
	from, _ := slices.BinarySearch(sorted, median)
	if from+fewestConfirmed > len(sorted) || sorted[from+fewestConfirmed-1] != median {
		return int(need)
	}
	for size := float64(last.Size); size < min(need, 1e9); size *= 1.02 {
		n := int(size) + 1
		lo, hi, err := MedianRanks(n, level)
		if err == nil && (ConfirmPoint{n, meanDrawn(sorted, n, lo), meanDrawn(sorted, n, hi)}).within(median) <= c.R {
			return n
		}
	}
	return int(need)
}

// meanDrawn is the mean of the k-th of n values that are drawn from ascending ones
// with replacement: its place is Beta distributed, of many values about normal.
func meanDrawn(sorted []float64, n, k int) float64 {
	at := float64(k) / float64(n+1)
	sd := math.Sqrt(at * (1 - at) / float64(n+2))
	const points = 200
	sum := 0.0
	for i := range points {
		p := at + sd*mathext.NormalQuantile((float64(i)+.5)/points)
		sum += sorted[min(max(int(p*float64(len(sorted))), 0), len(sorted)-1)]
	}
	return sum / points
}

// meanOrdered is the mean, over all subsets of that size of ascending values, of
// the subset's k-th value (from 1). Where many ranks matter, some thousand of them
// stand for all.
func meanOrdered(sorted []float64, size, k int) float64 {
	n, s, r := float64(len(sorted)), float64(size), float64(k)
	if size == len(sorted) {
		return sorted[k-1]
	}
	mean := r * (n + 1) / (s + 1)
	sd := math.Sqrt(r*(s-r+1)*(n+1)*(n-s)/(s+2)) / (s + 1)
	first := max(k, int(mean-10*sd)-10)
	last := min(len(sorted)-size+k, int(mean+10*sd)+10)
	stride := 1 + (last-first)/2000
	mode := min(max(int(mean), first), last)
	likely := logOrdered(len(sorted), size, k, mode)
	var sum, weights float64
	for i := first; i <= last; i += stride {
		w := math.Exp(logOrdered(len(sorted), size, k, i) - likely)
		sum += w * (sorted[i-1] - sorted[mode-1])
		weights += w
	}
	return sorted[mode-1] + sum/weights
}

// logOrdered is the logarithm of the number of subsets with value i (from 1) as
// their k-th.
func logOrdered(n, size, k, i int) float64 {
	return logChoose(i-1, k-1) + logChoose(n-i, size-k)
}
