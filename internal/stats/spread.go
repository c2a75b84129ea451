package stats

import (
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Spread describes how far measurements vary, in their own unit.
type Spread struct {
	N                      int
	Mean, Median, Min, Max float64
	SD                     float64 // sample SD, divisor N−1
	COV                    float64 // SD/Mean
}

// NewSpread describes at least one value, ascending. The coefficient of variation
// is not defined of fewer than two values (ErrTooFew; nor is SD) and where the
// mean is not positive (ErrZeroMean): the fields concerned are then 0, all others
// hold. Values that do not ascend are an ErrArgument.
func NewSpread(sorted []float64) (Spread, error) {
	if err := checkSorted(sorted, 1); err != nil {
		return Spread{}, err
	}
	n := len(sorted)
	s := Spread{N: n, Median: QuantileSorted(sorted, .5), Min: sorted[0], Max: sorted[n-1], Mean: sorted[0]}
	if s.Min < s.Max {
		s.Mean, s.SD = meanStdDev(sorted)
	}
	_, errMean := finite(s.Mean)
	_, errSD := finite(s.SD)
	switch {
	case errMean != nil || errSD != nil:
		return Spread{}, errors.Join(errMean, errSD)
	case n < 2:
		return s, ErrTooFew
	}
	var err error
	s.COV, err = ratioToMean(s.SD, s.Mean)
	return s, err
}

// meanStdDev are mean and sample SD of values that differ. Where squares overflow
// or vanish, those of scaled values are.
func meanStdDev(xs []float64) (mean, sd float64) {
	if mean, sd = stat.MeanStdDev(xs, nil); sd > 0 && !math.IsInf(sd, 1) {
		return mean, sd
	}
	units, scale := scaled(xs)
	mean, sd = stat.MeanStdDev(units, nil)
	return mean * scale, sd * scale
}

// checkSorted is check for values that must ascend.
func checkSorted(sorted []float64, least int) error {
	if err := check(sorted, least); err != nil {
		return err
	}
	if !slices.IsSorted(sorted) {
		return ErrArgument
	}
	return nil
}

// ratioToMean is sd/mean, which needs a positive mean.
func ratioToMean(sd, mean float64) (float64, error) {
	if !(mean > 0) {
		return 0, ErrZeroMean
	}
	return finite(sd / mean)
}

// COV returns the coefficient of variation of at least two values, sample SD
// (divisor n−1) over mean (J. Schad, J. Dittrich and J.-A. Quiané-Ruiz, "Runtime
// measurements in the cloud", PVLDB 3(1), 2010, section 3.3). Errors: ErrTooFew;
// ErrZeroMean where the mean is not positive; ErrNotFinite.
func COV(xs []float64) (float64, error) {
	if err := check(xs, 2); err != nil {
		return 0, err
	}
	if constant(xs) { // what is left is rounding
		return ratioToMean(0, xs[0])
	}
	mean, sd := meanStdDev(xs)
	return ratioToMean(sd, mean)
}

// COVInterval returns the interval at this level for the coefficient of variation
// of the population that at least five independent values are drawn from. It is
// D. G. Bonett's interval for the standard deviation of values that need not be
// normal ("Approximate confidence interval for standard deviation of nonnormal
// distributions", Comput. Stat. Data Anal. 50(3), 2006), with what the scatter of
// the mean adds:
//
//	COV·√c·exp(∓ z·c·√(((κ − (n−3)/n)/(n−1))/4 + (COV² − γ·COV)/n)),  c = n/(n−z),
//
// κ the kurtosis about the trimmed mean (a share of 1/(2√(n−4)) at each end), γ
// the skewness. Of up to 1000 values it is widened to the BCa bootstrap interval
// ([BCa] has the sources), which is better where a few values lie in another band
// and worse where there are few values. docs/methods.md shows how often both
// together hold the truth. Of very long tails (lognormal with σ = 1) the sample
// does not tell the coefficient of variation, and neither does the interval.
//
// Errors: ErrTooFew, ErrZeroMean, ErrNoSpread where all values are equal,
// ErrUnbounded where some are negative and the mean could be 0, ErrArgument.
func COVInterval(xs []float64, level float64, seed uint64) (Interval, error) {
	iv, err := covInterval(xs, level)
	if err != nil {
		return Interval{}, err
	}
	if len(xs) > mostResampled {
		return iv, nil
	}
	// Without a bootstrap interval the other stands alone.
	if boot, err := bootstrapCOV(xs, level, seed); err == nil {
		iv = Interval{min(iv.Lo, boot.Lo), max(iv.Hi, boot.Hi)}
	}
	return iv, nil
}

// mostResampled is up to how many values COVInterval uses the bootstrap.
const mostResampled = 1000

// covStream separates the random numbers of COVInterval from those of other users of
// the same seed.
const covStream = 0xc0f

// bootstrapCOV is the BCa interval of the coefficient of variation.
func bootstrapCOV(xs []float64, level float64, seed uint64) (Interval, error) {
	mean, n := stat.Mean(xs, nil), float64(len(xs))
	off := make([]float64, len(xs)) // from the mean, in units of it
	var sum, squares float64
	for i, x := range xs {
		off[i] = x/mean - 1
		sum += off[i]
		squares += off[i] * off[i]
	}
	of := func(sum, squares, n float64) float64 {
		return math.Sqrt(max(0, squares-sum*sum/n)/(n-1)) / (1 + sum/n)
	}
	jackknife := make([]float64, len(xs))
	for i, d := range off {
		jackknife[i] = of(sum-d, squares-d*d, n-1)
	}
	rng, boot := rand.New(rand.NewPCG(seed, covStream)), make([]float64, 2000)
	for i := range boot {
		var sum, squares float64
		for range off {
			d := off[rng.IntN(len(off))]
			sum += d
			squares += d * d
		}
		boot[i] = of(sum, squares, n)
	}
	return bcaFrom(boot, of(sum, squares, n), jackknife, level)
}

func covInterval(xs []float64, level float64) (Interval, error) {
	if err := check(xs, 5); err != nil {
		return Interval{}, err
	}
	z, err := NormalCritical(level)
	n := float64(len(xs))
	if err != nil || !(level > 0) || z >= n {
		return Interval{}, ErrArgument
	}
	cov, err := COV(xs)
	if err != nil {
		return Interval{}, err
	}
	if cov <= noSpread {
		return Interval{}, ErrNoSpread
	}
	if t, err := TCritical(level, n-1); err != nil || slices.Min(xs) < 0 && t*cov >= math.Sqrt(n) {
		return Interval{}, cmp.Or(err, ErrUnbounded)
	}
	mean := stat.Mean(xs, nil)
	middle := trimmedMean(xs) - mean
	var squares, cubes, fourth float64 // of the distances in units of SD
	for _, x := range xs {
		d := (x - mean) / (cov * mean)
		squares += d * d
		cubes += d * d * d
		m := d - middle/(cov*mean)
		fourth += m * m * m * m
	}
	kurtosis := n * fourth / (squares * squares)
	skewness := cubes / n / math.Pow(squares/n, 1.5)
	variance := (kurtosis-(n-3)/n)/(n-1)/4 + (cov*cov-skewness*cov)/n
	c := n / (n - z)
	reach := z * c * math.Sqrt(max(variance, 0))
	return Interval{math.Exp(-reach), math.Exp(reach)}.times(cov * math.Sqrt(c))
}

// LongTail says that ascending values have a tail of which [COVInterval] does not
// know enough: a skewness above 2, or a kurtosis above 9 to which one value adds a
// quarter. In normal values that is never so, in lognormal ones with σ = 1, where
// the interval fails, mostly from fifty values on (docs/methods.md).
func LongTail(sorted []float64) (skewness, kurtosis float64, long bool) {
	n := float64(len(sorted))
	mean, sd := stat.PopMeanStdDev(sorted, nil)
	if n < 5 || !(sd > 0) {
		return 0, 0, false
	}
	for _, x := range sorted {
		d := (x - mean) / sd
		skewness += d * d * d / n
		kurtosis += d * d * d * d / n
	}
	far := max(mean-sorted[0], sorted[len(sorted)-1]-mean) / sd
	return skewness, kurtosis, skewness > 2 || kurtosis > 9 && far*far*far*far > kurtosis*n/4
}

// trimmedMean is the mean without a share of 1/(2√(n−4)) at each end. Of very
// many values that share is none to speak of, and the mean will do.
func trimmedMean(xs []float64) float64 {
	if len(xs) > 100_000 {
		return stat.Mean(xs, nil)
	}
	sorted := ascending(xs)
	n := float64(len(sorted))
	cut := min(int(n/(2*math.Sqrt(n-4))), (len(sorted)-1)/2)
	return stat.Mean(sorted[cut:len(sorted)-cut], nil)
}

// MedianRanks returns the ranks (1 to n) of the order statistics that hold the
// median with a probability of at least level, whatever the distribution: the
// narrowest that leave at most (1−level)/2 on either side (H. A. David and H. N.
// Nagaraja, Order Statistics, 2003, section 7.1). The probabilities are exact
// binomial ones for every n. Errors: ErrTooFew where even least and largest value
// do not hold it (n < 6 at 95 %), ErrArgument.
func MedianRanks(n int, level float64) (lo, hi int, err error) {
	if !(level > 0 && level < 1) {
		return 0, 0, ErrArgument
	}
	tail := (1 - level) / 2
	z, err := NormalQuantile(1 - tail)
	if err != nil {
		return 0, 0, err
	}
	// The normal approximation is at most a few ranks off.
	lo = max(0, int(float64(n)/2-z*math.Sqrt(float64(n))/2))
	for lo > 0 && binomialHalf(lo-1, n) > tail {
		lo--
	}
	for lo < n && binomialHalf(lo, n) <= tail {
		lo++
	}
	if lo == 0 || n-lo+1 < lo {
		return 0, 0, ErrTooFew
	}
	return lo, n - lo + 1, nil
}

// binomialHalf is P(B ≤ k) for n throws of a coin, k at most n/2: the terms fall
// from k down.
func binomialHalf(k, n int) float64 {
	term, sum := 1.0, 1.0
	for i := k; i > 0 && term > 1e-17*sum; i-- {
		term *= float64(i) / float64(n-i+1)
		sum += term
	}
	return sum * math.Exp(logChoose(n, k)-float64(n)*math.Ln2)
}

// logChoose is the logarithm of the binomial coefficient.
func logChoose(n, k int) float64 { return logFactorial(n) - logFactorial(k) - logFactorial(n-k) }

func logFactorial(n int) float64 {
	l, _ := math.Lgamma(float64(n) + 1)
	return l
}
