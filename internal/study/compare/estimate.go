package compare

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// The tests that decide, as JSON has them.
const (
	methodShift       = "hodges-lehmann"        // of logarithms
	methodSignedShift = "hodges-lehmann paired" // of the logarithms of ratios
	methodT           = "welch"                 // of logarithms; too few values for ranks
	methodPairedT     = "paired t"              // of the logarithms of ratios
	methodMeans       = "fieller"               // of means
	methodPairedMeans = "fieller paired"
	methodEffective   = "effective size"
	methodEqual       = "no scatter" // each side has one value
	methodDifference  = "difference of means"
	methodRanges      = "ranges"     // of series whose ranges lie far apart
	methodDigits      = "resolution" // each side has one value, of so many digits
)

// fewValues is how many values of each side, or pairs, are enough for an interval
// that does not rest on their distribution; fewOrders is in how many orders the
// values of two such samples can be, which counts where one sample is larger.
const (
	fewValues = 6
	fewOrders = 900 // of 6 and 6: 924
)

// orders is in how many orders values of two samples can be: n+m over n; of pairs,
// for the limit of fewOrders, only whether they are enough.
func orders(n, m int, paired bool) float64 {
	if paired {
		return map[bool]float64{true: fewOrders}[n >= fewValues]
	}
	out := 1.0
	for i := 1; i <= min(n, m); i++ {
		out *= float64(max(n, m)+i) / float64(i)
	}
	return out
}

// estimate is what a test says of a layout.
type estimate struct {
	layout
	method string
	ratio  float64
	ci     stats.Interval
	p      float64
	// difference: there is no ratio, and ci is that of the difference of means.
	difference bool
}

// width is that of the interval on the scale of ratios.
func (e estimate) width() float64 {
	if e.difference || !(e.ci.Lo > 0) {
		return math.Inf(1)
	}
	return math.Log(e.ci.Hi / e.ci.Lo)
}

// estimate is the deciding test of a layout: for typical values Hodges and
// Lehmann's shift of the logarithms with its interval, and with too few values for
// that Student's of the mean logarithm; otherwise Fieller's ratio of means.
func (l *laying) estimate(x layout, level float64) (estimate, error) {
	e := estimate{layout: x, p: 1}
	n, m := len(x.A), len(x.B)
	switch {
	case x.Once:
		return e, errOnce
	case min(n, m) < 2, min(n, m) < fewest && !x.Trials:
		return e, fmt.Errorf("%d and %d values: %w", n, m, stats.ErrTooFew)
	}
	switch equal := constant(x.A) && constant(x.B); {
	case equal && x.A[0] == 0:
		return l.fromZero(e)
	case x.A[0] > 0 && (equal || x.Paired && l.typical && constant(l.series(x)[0])):
		return l.without(e)
	}
	var err error
	switch few := orders(n, m, x.Paired) < fewOrders; {
	case x.Correlation > 0:
		e, err = l.dependent(e, level)
	case l.typical && few:
		e, err = l.normal(e, level)
	case l.typical:
		e, err = l.shift(e, level)
	default:
		e, err = l.means(e, level)
	}
	if err == nil && (e.width() < 1e-12 || e.ci.Lo == e.ci.Hi) && !slices.Contains(counts, l.a.Unit) {
		err = stats.ErrNoSpread
	}
	if err == nil && !e.difference && !x.Paired {
		by := math.Exp(stats.RoundingBias(x.A, x.B))
		e.ci.Lo, e.ci.Hi = e.ci.Lo/by, e.ci.Hi*by
		e = e.wider(x.Crossing)
	}
	return e, err
}

// errOnce is the error where all of a side was measured in one trial.
var errOnce = errors.New("all of a side was measured in one trial")

func constant(xs []float64) bool { return len(xs) == 0 || slices.Min(xs) == slices.Max(xs) }

// counts are units of what is counted and not timed: equal values are exact.
var counts = []string{"allocs/op", "B/op"}

// without is the estimate where neither side scatters, as counts do, or no ratio of
// a pair: it is exact, and the number of orders alone says how sure it is that there
// is one. What is measured is as exact as its last digit, where rows are not copies.
func (l *laying) without(e estimate) (estimate, error) {
	e.method, e.ratio = methodEqual, e.B[0]/e.A[0]
	e.ci = stats.Interval{Lo: e.ratio, Hi: e.ratio}
	if !slices.Contains(counts, l.a.Unit) {
		half := stats.HalfDigit(e.A[0], e.B[0])
		if !l.constants() || !(e.A[0] > half) || e.B[0] < 0 {
			return e, stats.ErrNoSpread
		}
		e.method = methodDigits
		e.ci = stats.Interval{Lo: max(0, e.B[0]-half) / (e.A[0] + half), Hi: (e.B[0] + half) / (e.A[0] - half)}
	}
	switch n, m := len(e.A), len(e.B); {
	case e.ratio == 1:
	case e.Paired:
		e.p = math.Pow(.5, float64(n-1)) // all signs alike
	default:
		e.p = 2 / orders(n, m, false) // all of one side above the other
	}
	return e, nil
}

// constants reports whether each side was measured again and again with one value, and
// does not hold copies of one row.
func (l *laying) constants() bool {
	return constant(l.a.Values) && constant(l.b.Values) && l.a.Distinct() && l.b.Distinct()
}

// fromZero is the estimate where every value of A is 0 and those of B are equal, as
// of what a program does not allocate: there is no ratio, unless nothing changed.
func (l *laying) fromZero(e estimate) (estimate, error) {
	if e.B[0] != 0 {
		e, err := l.without(e)
		e.difference, e.ci = true, stats.Interval{Lo: e.B[0], Hi: e.B[0]}
		return e, err
	}
	e.method, e.ratio, e.ci = methodEqual, 1, stats.Interval{Lo: 1, Hi: 1}
	return e, nil
}

// shift is Hodges and Lehmann's estimate; the t test where there are too few values for
// ranks at this level.
func (l *laying) shift(e estimate, level float64) (estimate, error) {
	out := e
	var err error
	if e.Paired {
		out.method = methodSignedShift
		out.ratio, out.ci, err = stats.PairedLogShift(e.B, e.A, level)
	} else {
		a, b := stats.Unrounded(e.A, e.B)
		out.method = methodShift
		out.ratio, out.ci, err = stats.LogShift(b, a, level)
	}
	switch {
	case errors.Is(err, stats.ErrTooFew):
		return l.normal(e, level)
	case err != nil:
		return e, err
	case e.Paired:
		r, err := stats.WilcoxonSignedRank(l.scaled(e.B), l.scaled(e.A))
		out.p = r.P
		return out, err
	}
	r, err := stats.MannWhitney(e.B, e.A)
	out.p = r.P
	return out, err
}

// normal is the ratio of geometric means with Student's interval, which needs
// logarithms that are about normal. Two values tell so little of their variance that
// Welch's interval beside ten others misses the truth in one of ten cases: the wider one
// of his and that by one variance, as Student has it, counts.
func (l *laying) normal(e estimate, level float64) (estimate, error) {
	b, a := l.scaled(e.B), l.scaled(e.A)
	if e.Paired {
		t, err := stats.PairedT(b, a, level)
		e.method, e.p, e.ratio, e.ci = methodPairedT, t.P, math.Exp(t.MeanX-t.MeanY), exp(t.Difference)
		return e, err
	}
	w, err := stats.WelchT(b, a, level)
	e.method, e.p, e.ratio, e.ci = methodT, w.P, math.Exp(w.MeanX-w.MeanY), exp(w.Difference)
	if n, m := float64(len(b)), float64(len(a)); err == nil && min(n, m) == 2 {
		squares := n*(n-1)*varianceOfMean(b) + m*(m-1)*varianceOfMean(a)
		one := stats.Estimate{Mean: w.MeanX - w.MeanY, Var: squares / (n + m - 2) * (1/n + 1/m), Degrees: n + m - 2}
		ci, failed := one.Interval(level)
		ci, e.p, err = exp(ci), max(e.p, one.P(0)), failed
		e.ci = stats.Interval{Lo: min(e.ci.Lo, ci.Lo), Hi: max(e.ci.Hi, ci.Hi)}
	}
	return e, err
}

// dependent is the estimate of series with neighbours that depend on each other. What
// lies further apart than dependence takes series is told, however few independent
// values they are worth.
func (l *laying) dependent(e estimate, level float64) (estimate, error) {
	out, err := l.effective(e, level)
	if err != nil || out.difference || out.ci.Contains(1) {
		if far, ok := farApart(e, level); ok {
			return far, nil
		}
	}
	return out, err
}

// farApart is the interval of series whose ranges lie far apart, however much their
// neighbours depend on each other: of ratios, or of differences where values are not above
// 0; not ok where they do not lie so far apart.
func farApart(e estimate, level float64) (estimate, bool) {
	a, b := slices.Clone(e.A), slices.Clone(e.B)
	positive := min(slices.Min(a), slices.Min(b)) > 0
	if positive {
		for _, xs := range [][]float64{a, b} {
			for i, x := range xs {
				xs[i] = math.Log(x)
			}
		}
	}
	if e.Paired {
		for i := range b {
			b[i] -= a[i]
		}
		clear(a)
	}
	ci, p, ok := stats.RangesApart(a, b, level)
	if !ok {
		return e, false
	}
	e.method, e.p, e.ci, e.difference = methodRanges, p, ci, !positive
	if positive {
		e.ratio, e.ci = math.Exp(stats.Average(b)-stats.Average(a)), exp(e.ci)
	}
	return e, true
}

// effective is the ratio of means, for typical values of geometric ones, where n
// values count for n·(1−r)/(1+r) ([stats.BatchMeans]).
func (l *laying) effective(e estimate, level float64) (estimate, error) {
	e.method = methodEffective
	var parts []stats.Estimate
	for _, s := range l.series(e.layout) {
		if float64(len(s))*(1-e.Correlation)/(1+e.Correlation) < fewest-1 {
			return e, fmt.Errorf("%d values with the correlation %.2f: %w", len(s), e.Correlation, stats.ErrTooFew)
		}
		one, err := stats.BatchMeans(s, e.Correlation)
		if err != nil {
			return e, err
		}
		parts = append(parts, one)
	}
	total, at := parts[0], 0.0 // of pairs: B−A
	var err error
	switch {
	case !e.Paired && l.typical:
		total = stats.Sum([]stats.Estimate{parts[1], parts[0]}, []float64{1, -1})
	case !e.Paired:
		total, err = stats.Ratio(parts[1], parts[0])
		at = 1
	case !l.typical: // relative to the mean of A, which is as sure as its many values
		mean := stats.Average(e.A)
		total.Mean, total.Var, at = 1+total.Mean/mean, total.Var/(mean*mean), 1
	}
	if err != nil {
		return e, err
	}
	if e.ci, err = total.Interval(level); err != nil {
		return e, err
	}
	e.ratio, e.p = total.Mean, total.P(at)
	if l.typical {
		e.ratio, e.ci = math.Exp(e.ratio), exp(e.ci)
	}
	return e, nil
}

func exp(i stats.Interval) stats.Interval {
	return stats.Interval{Lo: math.Exp(i.Lo), Hi: math.Exp(i.Hi)}
}

// means is the ratio of means; where the base's mean is not clearly above zero,
// there is none, and the difference of means decides.
func (l *laying) means(e estimate, level float64) (estimate, error) {
	var err error
	if e.Paired {
		e.method = methodPairedMeans
		if e.ratio, err = stats.RatioOfMeans(e.B, e.A); err == nil {
			e.ci, err = stats.Fieller(e.B, e.A, level)
		}
	} else {
		e.method = methodMeans
		e.ratio, e.ci, err = stats.RatioOfIndependentMeans(e.B, e.A, level)
	}
	if err != nil && !errors.Is(err, stats.ErrUnbounded) && !errors.Is(err, stats.ErrZeroMean) {
		return e, err
	}
	ratio := err == nil && e.ci.Lo > 0 && stats.Average(e.A) > 0
	var difference stats.Interval
	if e.Paired { // the t test has the probability that belongs to Fieller's interval at the ratio 1
		var t stats.TTest
		t, err = stats.PairedT(e.B, e.A, level)
		e.p, difference = t.P, t.Difference
	} else {
		var w stats.TTest
		w, err = stats.WelchT(e.B, e.A, level)
		e.p, difference = w.P, w.Difference
	}
	if !ratio {
		e.method, e.difference, e.ci = methodDifference, true, difference
	}
	return e, err
}
