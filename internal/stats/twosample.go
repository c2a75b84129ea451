package stats

import (
	"cmp"
	"math"

	"gonum.org/v1/gonum/stat"
)

// TTest is the result of a t test of two means.
type TTest struct {
	T       float64 // (mean of x − mean of y) / its standard error
	Degrees float64
	P       float64 // two-sided
	// Difference is the interval of mean of x − mean of y, in their unit.
	Difference   Interval
	MeanX, MeanY float64
}

// tTest tests whether the difference of two means is 0.
func (d Estimate) tTest(level, meanX, meanY float64) (TTest, error) {
	iv, err := d.Interval(level)
	return TTest{T: d.Mean / math.Sqrt(d.Var), Degrees: d.Degrees, P: d.P(0), Difference: iv, MeanX: meanX,
		MeanY: meanY}, err
}

// WelchT tests whether the means of two independent samples of at least two
// values differ, without supposing equal variances (B. L. Welch, "The
// generalization of Student's problem when several different population
// variances are involved", Biometrika 34, 1947). P is exact far out in the tail.
// Errors: ErrTooFew, ErrNotFinite, ErrNoSpread if neither sample shows scatter.
func WelchT(x, y []float64, level float64) (t TTest, err error) {
	defer annotate(&err, "test of two means")
	a, errX := meanOf(x)
	b, errY := meanOf(y)
	if err := cmp.Or(errX, errY); err != nil {
		return TTest{}, err
	}
	if a.Var == 0 && b.Var == 0 {
		return TTest{}, ErrNoSpread
	}
	return Sum([]Estimate{a, b}, []float64{1, -1}).tTest(level, a.Mean, b.Mean)
}

// meanOf is the mean of at least two independent values. Scatter that is only
// rounding is none.
func meanOf(xs []float64) (Estimate, error) {
	if err := check(xs, 2); err != nil {
		return Estimate{}, err
	}
	mean, variance := stat.MeanVariance(xs, nil)
	if math.Sqrt(variance) <= noSpread*math.Abs(mean) {
		variance = 0
	}
	n := float64(len(xs))
	_, err := finite(mean + variance)
	return Estimate{Mean: mean, Var: variance / n, Degrees: n - 1}, err
}

// RatioOfIndependentMeans returns mean(x)/mean(y) of two independent samples of
// at least two values with its interval: the ratios R for which a test of
// mean(x) − R·mean(y) = 0 is not significant (E. C. Fieller, 1954, see
// [Fieller]), with unequal variances and the Welch-Satterthwaite degrees of
// freedom at the estimate.
//
// Errors: ErrTooFew, ErrNotFinite, ErrNoSpread; ErrUnbounded if mean(y) does not
// differ from zero at this level.
func RatioOfIndependentMeans(x, y []float64, level float64) (ratio float64, ci Interval, err error) {
	defer annotate(&err, "ratio of means")
	num, scaleX := scaled(x) // squares neither overflow nor vanish
	den, scaleY := scaled(y)
	a, errX := meanOf(num)
	b, errY := meanOf(den)
	if err := cmp.Or(errX, errY); err != nil {
		return 0, Interval{}, err
	}
	switch {
	case b.Mean == 0:
		return 0, Interval{}, ErrZeroMean
	case a.Var == 0 && b.Var == 0:
		return 0, Interval{}, ErrNoSpread
	}
	r := a.Mean / b.Mean
	t, err := TCritical(level, Sum([]Estimate{a, b}, []float64{1, r}).Degrees)
	if err != nil {
		return 0, Interval{}, err
	}
	if ci, err = fiellerRoots(a.Mean, b.Mean, t*t*a.Var, t*t*b.Var, 0); err != nil {
		return 0, Interval{}, err
	}
	if ci, err = ci.times(scaleX / scaleY); err != nil {
		return 0, Interval{}, err
	}
	ratio, err = finite(r * (scaleX / scaleY))
	return ratio, ci, err
}

// A12Interval returns A12 = P(x > y) + P(x = y)/2, the probability that a value
// of x exceeds one of y (A. Vargha and H. D. Delaney, "A critique and
// improvement of the CL common language effect size statistics", J. Educ. Behav.
// Stat. 25(2), 2000), with an interval. The samples have at least two values
// each, and may differ in more than their place: the standard error is that of
// E. Brunner and U. Munzel, "The nonparametric Behrens-Fisher problem", Biom. J.
// 42(1), 2000 (and of E. R. DeLong et al., Biometrics 44, 1988, for the area
// under an ROC curve).
//
// Near 0 and 1 that error is too small, so the interval spans two: on the
// logarithm of the odds, and Wilson's, for as many values as have this error but
// no more than equal distributions would show. Of samples that do not overlap,
// A12 is at least (α/2)^(1/n), n the smaller size: n of the pairs are
// independent. docs/methods.md shows how often the interval holds the truth.
func A12Interval(x, y []float64, level float64) (a12 float64, ci Interval, err error) {
	xs, ys, err := twoAscending(x, y, 2)
	if err != nil {
		return 0, Interval{}, err
	}
	p := superiority(xs, ys, 0)
	n, m := float64(len(x)), float64(len(y))
	bound := math.Pow((1-level)/2, 1/min(n, m))
	t, err := TCritical(level, p.Degrees)
	switch a := p.Mean; {
	case !(level > 0 && level < 1):
		return 0, Interval{}, ErrArgument
	case a == 0:
		return a, Interval{0, 1 - bound}, nil
	case a == 1:
		return a, Interval{bound, 1}, nil
	case p.Var == 0: // for example, all values equal
		return a, Interval{}, ErrNoSpread
	case err != nil:
		return 0, Interval{}, err
	default:
		odds, half := math.Log(a/(1-a)), t*math.Sqrt(p.Var)/(a*(1-a))
		wilson := wilsonAt(a, min(a*(1-a)/p.Var, 3*n*m/(n+m)), t)
		return a, Interval{
			min(1/(1+math.Exp(half-odds)), wilson.Lo),
			max(1/(1+math.Exp(-half-odds)), wilson.Hi),
		}, nil
	}
}

// superiority is A12 of x−shift against y, both ascending, with Brunner and
// Munzel's variance and degrees of freedom. The variance is 0 where samples do
// not overlap.
func superiority(x, y []float64, shift float64) Estimate {
	meanX, varX := placements(x, y, shift)
	_, varY := placements(y, x, -shift)
	n, m := float64(len(x)), float64(len(y))
	parts := []Estimate{{meanX, varX / n, n - 1}, {0, varY / m, m - 1}}
	return Sum(parts, []float64{1, 1})
}

// placements are the shares of y that lie below each x−shift, equal ones counting
// half: their mean and sample variance. Both samples are ascending.
func placements(x, y []float64, shift float64) (mean, variance float64) {
	var below, upTo int
	var sum, squares float64 // about the middle, so that little is lost
	m := float64(len(y))
	for _, v := range x {
		// y < x−shift is asked as x−y > shift, exactly as pairs are counted.
		for below < len(y) && v-y[below] > shift {
			below++
		}
		for upTo < len(y) && v-y[upTo] >= shift {
			upTo++
		}
		p := float64(below+upTo)/(2*m) - .5
		sum += p
		squares += p * p
	}
	n := float64(len(x))
	return sum/n + .5, max(0, squares-sum*sum/n) / (n - 1)
}

// wilsonAt is Wilson's interval of a share of n values, n any positive number,
// with the quantile z, see [Wilson].
func wilsonAt(share, n, z float64) Interval {
	z2 := z * z / n
	middle := (share + z2/2) / (1 + z2)
	half := math.Sqrt(z2*share*(1-share)+z2*z2/4) / (1 + z2)
	iv := Interval{max(0, middle-half), min(1, middle+half)}
	if share == 0 {
		iv.Lo = 0
	}
	if share == 1 {
		iv.Hi = 1
	}
	return iv
}
