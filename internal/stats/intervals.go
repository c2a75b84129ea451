package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
)

// Interval is a closed interval with finite bounds, Lo ≤ Hi. In JSON it is
// [lo, hi], or null where its ends are no numbers.
type Interval struct{ Lo, Hi float64 }

// MarshalJSON implements json.Marshaler.
func (i Interval) MarshalJSON() ([]byte, error) {
	if math.IsNaN(i.Lo) || math.IsNaN(i.Hi) {
		return []byte("null"), nil
	}
	return json.Marshal([2]float64{i.Lo, i.Hi})
}

// Contains reports whether x lies in the interval.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Moments is what Fieller's interval needs to know of n pairs.
type Moments struct {
	N                int
	MeanNum, MeanDen float64
	VarNum, VarDen   float64 // sample variances, divisor n−1
	Cov              float64 // sample covariance, divisor n−1
}

// noSpread is the scatter about the fitted ratio, relative to the largest
// value, below which only rounding is left.
const noSpread = 1e-12

// Fieller returns the interval at this confidence level (0 < level < 1) for
// mean(num)/mean(den) of at least two pairs (E. C. Fieller, "Some problems in
// interval estimation", J. R. Stat. Soc. B 16(2), 1954). The pairs are
// supposed to be independent of each other and the residuals num − R·den to
// be normal; num and den themselves need not be.
//
// Errors: ErrUnbounded if the denominator does not differ from zero at this
// level; ErrNoSpread if all pairs have the same ratio.
func Fieller(num, den []float64, level float64) (Interval, error) {
	n, d, scale, err := scaledPairs(num, den)
	if err != nil {
		return Interval{}, fmt.Errorf("Fieller interval: %w", err)
	}
	iv, err := moments(n, d).Fieller(level)
	if err != nil {
		return Interval{}, err
	}
	return iv.times(scale)
}

// Fieller is the function Fieller for pairs with only their moments known.
// With variances v = s²/n and covariance c = cov/n,
//
//	A = m_d² − t²·v_d,  B = m_n·m_d − t²·c,  C = m_n² − t²·v_n,
//	R = (B ± √(B² − A·C)) / A,  t = t((1+level)/2, n−1).
//
// A ≤ 0 means that the set of ratios which the data allow has no bounds.
func (m Moments) Fieller(level float64) (Interval, error) {
	if m.N < 2 {
		return Interval{}, fmt.Errorf("Fieller interval of %d pairs: %w", m.N, ErrTooFew)
	}
	t, err := TCritical(level, float64(m.N-1))
	if err != nil {
		return Interval{}, fmt.Errorf("Fieller interval: %w", err)
	}
	if m.VarNum == 0 && m.VarDen == 0 {
		return Interval{}, fmt.Errorf("Fieller interval: %w", ErrNoSpread)
	}
	k := t * t / float64(m.N)
	return fiellerRoots(m.MeanNum, m.MeanDen, k*m.VarNum, k*m.VarDen, k*m.Cov)
}

// fiellerRoots are the ends of the set of ratios from both means and t² times
// their variances and covariance.
func fiellerRoots(num, den, varNum, varDen, cov float64) (Interval, error) {
	a := den*den - varDen
	b := num*den - cov
	c := num*num - varNum
	if !(a > 0) {
		return Interval{}, fmt.Errorf("Fieller interval: %w", ErrUnbounded)
	}
	// The estimate itself always lies between the roots, so that with A > 0
	// they are real; only rounding can make the discriminant negative.
	root := math.Sqrt(math.Max(0, b*b-a*c))
	return Interval{(b - root) / a, (b + root) / a}.times(1)
}

// times scales the interval by a positive factor and checks the bounds.
func (i Interval) times(f float64) (Interval, error) {
	lo, errLo := finite(i.Lo * f)
	hi, errHi := finite(i.Hi * f)
	if err := errors.Join(errLo, errHi); err != nil {
		return Interval{}, err
	}
	return Interval{lo, hi}, nil
}

// moments computes the moments of checked pairs.
func moments(num, den []float64) Moments {
	m := Moments{N: len(num), Cov: stat.Covariance(num, den, nil)}
	m.MeanNum, m.VarNum = stat.MeanVariance(num, nil)
	m.MeanDen, m.VarDen = stat.MeanVariance(den, nil)
	return m
}

// scaledPairs checks at least two pairs with more than one ratio, and scales
// them to at most 1, so that squares neither overflow nor vanish: a ratio of
// them is to be multiplied by scale.
func scaledPairs(num, den []float64) (n, d []float64, scale float64, err error) {
	if err := checkPairs(num, den, 2); err != nil {
		return nil, nil, 0, err
	}
	n, scaleN := scaled(num)
	d, scaleD := scaled(den)
	switch {
	case scaleD == 0 || stat.Mean(d, nil) == 0:
		return nil, nil, 0, ErrZeroMean
	case sameRatio(n, d):
		return nil, nil, 0, ErrNoSpread
	}
	return n, d, scaleN / scaleD, nil
}

// scaled returns the values divided by a power of two so that the largest
// magnitude is between 1/2 and 1, and that power: 0 when all values are zero.
// A power of two changes no digit.
func scaled(xs []float64) ([]float64, float64) {
	most := 0.0
	for _, x := range xs {
		most = math.Max(most, math.Abs(x))
	}
	out := make([]float64, len(xs))
	if most == 0 {
		return out, 0
	}
	_, exponent := math.Frexp(most)
	for i, x := range xs {
		out[i] = math.Ldexp(x, -exponent)
	}
	return out, math.Ldexp(1, exponent)
}

// sameRatio reports whether every pair has the ratio of the means, up to
// rounding. The pairs are scaled to at most 1.
func sameRatio(num, den []float64) bool {
	ratio := stat.Mean(num, nil) / stat.Mean(den, nil)
	for i := range num {
		if math.Abs(num[i]-ratio*den[i]) > noSpread*math.Max(1, math.Abs(ratio)) {
			return false
		}
	}
	return true
}

// DefaultLevel is the confidence level of intervals for which the user names no
// other.
const DefaultLevel = 0.95

// DefaultResamples is how many bootstrap samples an interval is made of.
const DefaultResamples = 10_000

// bcaStream separates the random numbers of BCa from those of other users of
// the same seed.
const bcaStream = 0xbca

// BCa returns the bias-corrected and accelerated bootstrap interval at this
// level for mean(num)/mean(den) of at least two pairs (B. Efron, "Better
// bootstrap confidence intervals", J. Am. Stat. Assoc. 82(397), 1987; Efron
// and Tibshirani, An Introduction to the Bootstrap, chapter 14). Whole pairs
// are drawn, so that what the two values of a pair have in common stays in
// common. The same seed gives the same interval.
//
// Errors: ErrNoSpread when all pairs have the same ratio, or when the
// resamples lie to one side of the estimate; ErrUnbounded when the
// acceleration leaves no quantile to read.
func BCa(num, den []float64, level float64, resamples int, seed uint64) (iv Interval, err error) {
	defer annotate(&err, "BCa interval")
	if !(level > 0 && level < 1) || resamples < 100 {
		return Interval{}, fmt.Errorf("level %v and %d resamples, want 0 to 1 and at least 100: %w", level,
			resamples, ErrArgument)
	}
	n, d, scale, err := scaledPairs(num, den)
	if err != nil {
		return Interval{}, err
	}
	boot := resampleRatios(n, d, resamples, seed)
	if iv, err = bcaFrom(boot, stat.Mean(n, nil)/stat.Mean(d, nil), jackknifeRatios(n, d), level); err != nil {
		return Interval{}, err
	}
	return iv.times(scale)
}

// manyPairs is from where on pairs are not drawn one by one: at random places of
// so much memory that takes minutes.
const manyPairs = 100_000

// resampleRatios returns the ratio of means of each bootstrap sample.
func resampleRatios(num, den []float64, resamples int, seed uint64) []float64 {
	if len(num) > manyPairs {
		return weightedRatios(num, den, resamples, seed)
	}
	rng := rand.New(rand.NewPCG(seed, bcaStream))
	pairs := make([][2]float64, len(num)) // side by side in memory
	for i := range num {
		pairs[i] = [2]float64{num[i], den[i]}
	}
	out := make([]float64, resamples)
	for i := range out {
		var sumN, sumD float64
		for range pairs {
			p := &pairs[rng.IntN(len(pairs))]
			sumN += p[0]
			sumD += p[1]
		}
		out[i] = sumN / sumD
	}
	return out
}

// weightedRatios is the bootstrap for many pairs: how often each is drawn is
// Poisson distributed with mean 1, which in samples of n pairs is the same up to
// 1/n (J. A. Hanley and B. MacGibbon, "Creating non-parametric bootstrap samples
// using Poisson frequencies", Comput. Methods Programs Biomed. 83(1), 2006).
// There are at most 10⁹ pairs in all resamples together, and at least 200
// resamples: of so many pairs the interval is narrow anyway.
func weightedRatios(num, den []float64, resamples int, seed uint64) []float64 {
	weights := poissonWeights()
	source := rand.NewPCG(seed, bcaStream)
	out := make([]float64, min(resamples, max(200, 1_000_000_000/len(num))))
	for i := range out {
		var sumN, sumD float64
		var random uint64
		for k, n := range num {
			if k%4 == 0 {
				random = source.Uint64()
			}
			w := weights[uint16(random)]
			random >>= 16
			sumN += w * n
			sumD += w * den[k]
		}
		out[i] = sumN / sumD
	}
	return out
}

// poissonWeights turns 16 random bits into a Poisson variate of mean 1.
func poissonWeights() []float64 {
	const cells = 1 << 16
	out := make([]float64, 0, cells)
	p, below := math.Exp(-1), 0.0
	for k := 0; len(out) < cells; k++ {
		below += p
		p /= float64(k + 1)
		for len(out) < cells && (float64(len(out))+.5)/cells < below {
			out = append(out, float64(k))
		}
	}
	return out
}

// summedAnew is up to how many pairs the sums of all but one are made anew for
// each: that takes the square of their number. Subtracting one pair from the
// sum of all gives the same except the last digits; results of so few pairs
// have been stored with all of theirs.
const summedAnew = 10_000

// jackknifeRatios returns the ratio of means without each pair in turn.
func jackknifeRatios(num, den []float64) []float64 {
	out := make([]float64, len(num))
	if len(num) > summedAnew {
		n, d := exactSum(num), exactSum(den)
		for i := range num {
			out[i] = n.without(num[i]) / d.without(den[i])
		}
		return out
	}
	for i := range num {
		var sumN, sumD float64
		for j := range num {
			if j != i {
				sumN += num[j]
				sumD += den[j]
			}
		}
		out[i] = sumN / sumD
	}
	return out
}

// compensated is a sum with what rounding took from it (Neumaier, "Rundungs-
// fehleranalyse einiger Verfahren zur Summation endlicher Summen", Z. Angew.
// Math. Mech. 54, 1974).
type compensated struct{ sum, lost float64 }

func exactSum(xs []float64) compensated {
	var c compensated
	for _, x := range xs {
		next := c.sum + x
		if math.Abs(c.sum) >= math.Abs(x) {
			c.lost += (c.sum - next) + x
		} else {
			c.lost += (x - next) + c.sum
		}
		c.sum = next
	}
	return c
}

// without is the sum without x.
func (c compensated) without(x float64) float64 { return (c.sum - x) + c.lost }

// bcaFrom reads the interval off the bootstrap distribution: with z0 = Φ⁻¹ of
// the share of resamples below the estimate (ties count half) and a = Σd³ /
// 6(Σd²)^1.5, d = mean(jackknife) − jackknife, the bounds are the quantiles
// at Φ(z0 + (z0+z)/(1−a(z0+z))), z = ∓Φ⁻¹((1+level)/2).
func bcaFrom(boot []float64, estimate float64, jackknife []float64, level float64) (Interval, error) {
	if err := check(boot, 2); err != nil {
		return Interval{}, fmt.Errorf("a resample has no ratio: %w", err)
	}
	if err := check(jackknife, 2); err != nil {
		return Interval{}, fmt.Errorf("the ratio rests on one pair: %w", err)
	}
	z0, err := NormalQuantile(shareBelow(boot, estimate))
	if err != nil {
		return Interval{}, fmt.Errorf("all resamples on one side of the estimate: %w", ErrNoSpread)
	}
	a, err := acceleration(jackknife)
	if err != nil {
		return Interval{}, err
	}
	z, err := NormalCritical(level)
	if err != nil {
		return Interval{}, err
	}
	sorted := ascending(boot)
	var bounds [2]float64
	for i, zz := range []float64{z0 - z, z0 + z} {
		divisor := 1 - a*zz
		if divisor <= 0 {
			return Interval{}, ErrUnbounded
		}
		bounds[i] = QuantileSorted(sorted, NormalCDF(z0+zz/divisor))
	}
	return Interval{bounds[0], bounds[1]}.times(1)
}

// shareBelow is the share of values below x, equal ones counting half. With few
// pairs many resamples are the sample itself in another order; they are equal
// to the estimate even if the order of summation has changed a last digit.
func shareBelow(xs []float64, x float64) float64 {
	tie := noSpread * math.Abs(x)
	var twice int
	for _, v := range xs {
		switch {
		case math.Abs(v-x) <= tie:
			twice++
		case v < x:
			twice += 2
		}
	}
	return float64(twice) / float64(2*len(xs))
}

// acceleration is how fast the standard error changes with the estimate.
func acceleration(jackknife []float64) (float64, error) {
	mean := stat.Mean(jackknife, nil)
	var squares, cubes float64
	for _, v := range jackknife {
		d := mean - v
		squares += d * d
		cubes += d * d * d
	}
	if squares == 0 {
		return 0, fmt.Errorf("no pair moves the ratio: %w", ErrNoSpread)
	}
	return cubes / (6 * math.Pow(squares, 1.5)), nil
}
