package stats

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Estimate is a mean with how well it is known: the variance of the mean, and
// the degrees of freedom of that variance.
type Estimate struct{ Mean, Var, Degrees float64 }

// Known reports whether the estimate has a variance to compute with.
func (e Estimate) Known() bool { return e.Degrees > 0 && e.Mean > 0 && !math.IsInf(e.Var, 0) }

// fewestBatches is how many batches a variance is estimated from at least.
const fewestBatches = 4

// BatchMeans returns the mean of a stationary series, of which xs are the means
// of successive batches of equal length, with its variance (A. M. Law,
// Simulation Modeling and Analysis, 9.5.3). Batches that depend on each other
// tell less than independent ones: with the autocorrelation r of neighbours
// ([Autocorrelation]), n batches are worth n·(1−r)/(1+r) (Law, 4.4, for an AR(1)
// process).
func BatchMeans(xs []float64, r float64) (Estimate, error) {
	if err := check(xs, fewestBatches); err != nil {
		return Estimate{}, fmt.Errorf("batch means: %w", err)
	}
	mean, variance := stat.MeanVariance(xs, nil)
	worth := max(2, float64(len(xs))*(1-r)/(1+r))
	v, err := finite(variance / worth)
	return Estimate{Mean: mean, Var: v, Degrees: worth - 1}, err
}

// Autocorrelation is that of neighbours in series of one process, each about its
// own mean, 0 to 0.9. It is corrected for its bias, −(1+4r)/n (M. G. Kendall,
// "Note on bias in the estimation of autocorrelation", Biometrika 41, 1954), and
// is 0 where it would be negative: neighbours that make up for each other may do
// so by chance. One series of 20 values knows it badly, so series are taken
// together; 0 without scatter.
func Autocorrelation[S ~[]float64](series ...S) float64 {
	var products, squares, values float64
	for _, xs := range series {
		mean := stat.Mean(xs, nil)
		for i, x := range xs {
			squares += (x - mean) * (x - mean)
			if i > 0 {
				products += (x - mean) * (xs[i-1] - mean)
			}
		}
		values += float64(len(xs))
	}
	if !(squares > 0) {
		return 0
	}
	r := products / squares
	return max(0, min(r+(1+4*r)*float64(len(series))/values, .9))
}

// Sum is the sum of independent estimates, each times its weight; the degrees
// of freedom are Satterthwaite's (F. E. Satterthwaite, "An approximate
// distribution of estimates of variance components", Biometrics Bulletin 2(6),
// 1946).
func Sum(parts []Estimate, weights []float64) Estimate {
	var out Estimate
	squares := 0.0
	for i, p := range parts {
		w := weights[i]
		out.Mean += w * p.Mean
		v := w * w * p.Var
		out.Var += v
		if v > 0 {
			squares += v * v / p.Degrees
		}
	}
	if squares > 0 {
		out.Degrees = out.Var * out.Var / squares
	} else if len(parts) > 0 { // no part has a variance
		out.Degrees = slices.MinFunc(parts, func(a, b Estimate) int { return cmp.Compare(a.Degrees, b.Degrees) }).Degrees
	}
	return out
}

// Ratio is the ratio of two independent means with the variance of their
// residual num − R·den, relative to the square of den's mean: about the variance
// of the ratio.
func Ratio(num, den Estimate) (Estimate, error) {
	if !num.Known() || !den.Known() {
		return Estimate{}, fmt.Errorf("ratio of estimates: %w", errors.Join(ErrTooFew, ErrZeroMean))
	}
	r := num.Mean / den.Mean
	e := Sum([]Estimate{num, den}, []float64{1, r})
	_, err := finite(r)
	return Estimate{Mean: r, Var: e.Var / (den.Mean * den.Mean), Degrees: e.Degrees}, err
}

// Interval is Student's interval at this level.
func (e Estimate) Interval(level float64) (Interval, error) {
	t, err := TCritical(level, e.Degrees)
	if err != nil {
		return Interval{}, err
	}
	half := t * math.Sqrt(e.Var)
	return Interval{e.Mean - half, e.Mean + half}.times(1)
}

// P is the two-sided probability of an estimate so far from this mean, if it is the
// true one, by Student's t.
func (e Estimate) P(mean float64) float64 {
	return tTails((e.Mean-mean)/math.Sqrt(e.Var), e.Degrees)
}

// Pool combines two estimates of one mean's variance: within replicates, and
// between them. Where replicates differ more than what is seen within them
// explains, by a one-sided F test at this level, the one between them counts
// alone; otherwise both estimate the same, and count by their degrees of
// freedom (T. A. Bancroft, "Analysis and inference for incompletely specified
// models involving the use of preliminary test(s) of significance", Biometrics
// 20(3), 1964). differ reports which it was. The mean is that of within.
func Pool(within, between Estimate, level float64) (out Estimate, differ bool) {
	switch {
	case !(between.Degrees > 0):
		return within, false
	case !(within.Degrees > 0):
		return between, true
	}
	limit, err := FQuantile(1-level, between.Degrees, within.Degrees)
	if err != nil || between.Var > limit*within.Var {
		return Estimate{within.Mean, between.Var, between.Degrees}, true
	}
	degrees := within.Degrees + between.Degrees
	v := (within.Degrees*within.Var + between.Degrees*between.Var) / degrees
	return Estimate{within.Mean, v, degrees}, false
}
