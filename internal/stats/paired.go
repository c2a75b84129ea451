package stats

import (
	"fmt"
	"math"
	"slices"
)

// PairedT tests whether the differences of at least two pairs have the mean 0
// (Student, "The probable error of a mean", Biometrika 6, 1908). What both values
// of a pair have in common, such as the node or the hour, does not disturb it.
// The ratio of paired means is that of [Fieller]. Errors: ErrLength, ErrTooFew,
// ErrNotFinite, ErrNoSpread where all differences are the same.
func PairedT(x, y []float64, level float64) (t TTest, err error) {
	defer annotate(&err, "paired test")
	ds, err := pairDifferences(x, y)
	if err != nil {
		return TTest{}, err
	}
	d, err := meanOf(ds)
	a, _ := meanOf(x)
	b, _ := meanOf(y)
	switch {
	case err != nil:
		return TTest{}, err
	case math.Sqrt(d.Var) <= noSpread*max(math.Abs(a.Mean), math.Abs(b.Mean)):
		return TTest{}, ErrNoSpread
	}
	return d.tTest(level, a.Mean, b.Mean)
}

// pairDifferences are x−y of at least two checked pairs.
func pairDifferences(x, y []float64) ([]float64, error) {
	if err := checkPairs(x, y, 2); err != nil {
		return nil, err
	}
	ds := make([]float64, len(x))
	for i := range x {
		ds[i] = x[i] - y[i]
	}
	return ds, check(ds, 2)
}

// SignedRank is the result of Wilcoxon's signed-rank test.
type SignedRank struct {
	// W is the sum of the ranks of those differences that are positive.
	W float64
	// P is two-sided; 1 where all differences are 0. Of at most 50 pairs without ties or
	// zeros it comes from the exact distribution of W, of others from the normal
	// approximation with corrections for ties and for continuity.
	P float64
}

// exactSigned is the number of pairs up to which the exact distribution is used,
// as SciPy has it.
const exactSigned = 50

// WilcoxonSignedRank tests whether the differences x−y of at least two pairs are
// symmetric about 0 (F. Wilcoxon, "Individual comparisons by ranking methods",
// Biometrics Bulletin 1(6), 1945). Pairs without a difference are left out, as
// there. Errors: ErrLength, ErrTooFew, ErrNotFinite.
func WilcoxonSignedRank(x, y []float64) (SignedRank, error) {
	ds, err := pairDifferences(x, y)
	if err != nil {
		return SignedRank{}, err
	}
	all := len(ds)
	ds = slices.DeleteFunc(ds, func(d float64) bool { return d == 0 })
	out := SignedRank{P: 1}
	w, ties := signedRanks(ds)
	out.W = w
	n := float64(len(ds))
	total := n * (n + 1) / 2
	variance := n*(n+1)*(2*n+1)/24 - ties/48
	switch {
	case n == 0:
	case ties == 0 && len(ds) == all && all <= exactSigned:
		sum := 0.0
		for _, p := range distributionOfW(all)[:int(min(w, total-w))+1] {
			sum += p
		}
		out.P = min(2*sum, 1)
	default:
		z := (math.Abs(w-total/2) - .5) / math.Sqrt(variance)
		out.P = min(math.Erfc(z/math.Sqrt2), 1)
	}
	return out, nil
}

// signedRanks is the sum of the ranks of the positive ones among the magnitudes,
// and the sum of t³−t over groups of t equal magnitudes.
func signedRanks(ds []float64) (w, ties float64) {
	var up, down []float64 // magnitudes
	for _, d := range ds {
		if d > 0 {
			up = append(up, d)
		} else {
			down = append(down, -d)
		}
	}
	// The ranks of the positive among all: those among themselves, and how many
	// of the others lie below.
	above, ties := countAbove(ascending(up), ascending(down))
	n := float64(len(up))
	return n*(n+1)/2 + above, ties
}

// distributionOfW returns P(W = 0, 1 … n(n+1)/2) for n different magnitudes: each
// rank counts or does not, with the same probability.
func distributionOfW(n int) []float64 {
	ps := make([]float64, n*(n+1)/2+1)
	ps[0] = 1
	for rank := 1; rank <= n; rank++ {
		for w := rank * (rank + 1) / 2; w >= 0; w-- {
			ps[w] /= 2
			if w >= rank {
				ps[w] += ps[w-rank] / 2
			}
		}
	}
	return ps
}

// PairedShift returns by how much x exceeds y in pairs, the median of the means
// of all two differences x−y (each with itself too), with its interval, in the
// unit of the values (J. L. Hodges and E. L. Lehmann, Ann. Math. Stat. 34(2),
// 1963; the interval as J. W. Tukey's, from the ranks that Wilcoxon's test leaves
// over; R's wilcox.test does the same). The differences are supposed to be
// symmetric.
//
// Errors: ErrLength, ErrNotFinite, ErrTooFew where so few pairs cannot give this
// level (95 % needs 6), ErrNoSpread where all differences are the same.
func PairedShift(x, y []float64, level float64) (shift float64, ci Interval, err error) {
	defer annotate(&err, "paired shift")
	ds, err := pairDifferences(x, y)
	if err != nil {
		return 0, Interval{}, err
	}
	slices.Sort(ds)
	if ds[0] == ds[len(ds)-1] {
		return 0, Interval{}, ErrNoSpread
	}
	rank, err := rankOfW(len(ds), level)
	if err != nil {
		return 0, Interval{}, err
	}
	s := &selector{pairs: averages{ds}}
	shift = s.middle()
	ci, err = Interval{s.at(rank), s.at(s.pairs.size() + 1 - rank)}.times(1)
	return shift, ci, err
}

// PairedLogShift returns by what factor x exceeds y in pairs, with its interval:
// [PairedShift] of the logarithms. A value that is not positive is an ErrArgument.
func PairedLogShift(x, y []float64, level float64) (ratio float64, ci Interval, err error) {
	return ofLogarithms(x, y, level, PairedShift)
}

// rankOfW is the rank of the mean at which the interval begins.
func rankOfW(n int, level float64) (float64, error) {
	z, err := NormalCritical(level)
	if err != nil {
		return 0, err
	}
	tail, k := (1-level)/2, float64(n)
	if math.Pow(2, -k) > tail {
		return 0, fmt.Errorf("%d pairs for an interval at level %v: %w", n, level, ErrTooFew)
	}
	if n >= exactShift {
		return math.Floor(k*(k+1)/4 - z*math.Sqrt(k*(k+1)*(2*k+1)/24)), nil
	}
	return quantileRank(distributionOfW(n), tail), nil
}

// averages are the means of all two of ascending values, each with itself too.
type averages struct{ ds []float64 }

func (a averages) size() float64 {
	n := float64(len(a.ds))
	return n * (n + 1) / 2
}

func (a averages) ends() (lo, hi float64) { return a.ds[0], a.ds[len(a.ds)-1] }

// count walks along the border between the means up to v and the others: the
// last partner with a mean up to v moves down as the first goes up.
func (a averages) count(v float64) (n, floor, ceil float64) {
	floor, ceil = math.Inf(-1), math.Inf(1)
	j := len(a.ds) - 1
	for i, d := range a.ds {
		for j >= 0 && d/2+a.ds[j]/2 > v {
			j--
		}
		if j >= i {
			if mean := d/2 + a.ds[j]/2; mean > floor {
				floor = mean
			}
			n += float64(j - i + 1)
		}
		if next := max(i, j+1); next < len(a.ds) {
			if mean := d/2 + a.ds[next]/2; mean < ceil {
				ceil = mean
			}
		}
	}
	return n, floor, ceil
}

// PairedA12 is the share of pairs in which x is above y, equal ones counting half.
func PairedA12(x, y []float64) float64 {
	n := 0.0
	for i := range x {
		switch {
		case x[i] > y[i]:
			n++
		case x[i] == y[i]:
			n += .5
		}
	}
	return n / float64(len(x))
}
