package compare

import (
	"math"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// tests are the usual tests beside the one that decides, of the same values; each is
// left out where it cannot be computed, and all that suppose independent values where
// these are not.
func (l *laying) tests(c *Comparison) {
	a, b := c.layout.A, c.layout.B
	if c.Method == "" || c.layout.Once {
		return
	}
	independent := c.layout.Correlation == 0
	if c.Paired {
		favour := stats.PairedA12(b, a)
		c.A12 = &favour
		if independent {
			l.testPairs(c, a, b)
		}
		return
	}
	if r, err := stats.MannWhitney(b, a); err == nil {
		c.A12 = &r.A12
		if independent {
			c.Ranks = &RankTest{Statistic: r.U, P: r.P}
		}
	}
	if !independent {
		return
	}
	if w, err := stats.WelchT(b, a, l.Level); err == nil {
		c.T = &TTest{T: w.T, Degrees: w.Degrees, P: w.P, Difference: w.Difference}
	}
	if _, ci, err := stats.A12Interval(b, a, l.Level); err == nil {
		c.A12CI = &ci
	}
	ua, ub := stats.Unrounded(a, b)
	if shift, ci, err := stats.HodgesLehmann(ub, ua, l.Level); err == nil {
		c.Shift, c.ShiftCI = &shift, &ci
	}
}

// testPairs are the usual tests of pairs.
func (l *laying) testPairs(c *Comparison, a, b []float64) {
	if t, err := stats.PairedT(b, a, l.Level); err == nil {
		c.T = &TTest{T: t.T, Degrees: t.Degrees, P: t.P, Difference: t.Difference}
	}
	if r, err := stats.WilcoxonSignedRank(b, a); err == nil {
		c.Ranks = &RankTest{Statistic: r.W, P: r.P}
	}
	if shift, ci, err := stats.PairedShift(b, a, l.Level); err == nil {
		c.Shift, c.ShiftCI = &shift, &ci
	}
}

// summaries are by what factor the mean and the percentiles of B may differ from those
// of A. The mean is that of --means, of values that depend on each other as much.
func (l *laying) summaries(c *Comparison, level float64) {
	c.Summaries, c.MeanRatio, c.MeanRatioCI = nil, nil, nil
	x := *l
	x.typical, x.notes = false, &model.Doubts{}
	switch means, err := x.widest(level); {
	case err == nil && !means.difference:
		c.MeanRatio, c.MeanRatioCI = &means.ratio, &means.ci
	case c.A.Mean != nil && c.B.Mean != nil && *c.A.Mean > 0:
		ratio := *c.B.Mean / *c.A.Mean
		c.MeanRatio = &ratio
	}
	if !l.typical || c.CI == nil {
		return
	}
	c.Summaries = append(c.Summaries, Summary{Name: "mean", CI: c.MeanRatioCI})
	x.a, x.b = l.deviations(l.a), l.deviations(l.b)
	c.Summaries = append(c.Summaries, l.percentiles(*c.CI, &x, level)...)
}

// deviations are the rows of a frame with their distance from the median in place of
// their values, on the scale of logarithms.
func (l *laying) deviations(f *frame.Frame) *frame.Frame {
	out := *f
	out.Values = l.scaled(f.Values)
	middle := stats.Median(out.Values)
	for i, x := range out.Values {
		out.Values[i] = math.Abs(x - middle)
	}
	return &out
}

// scatterError is the error with which both sides are taken to scatter differently.
const scatterError = .05

// tails are the percentiles that users of a tail mean.
var tails = []struct {
	name  string
	share float64
}{{"p1", .01}, {"p5", .05}, {"p10", .1}, {"p90", .9}, {"p95", .95}, {"p99", .99}}

// percentiles are by what factor percentiles may differ, where both sides scatter
// differently: by what typical values do, and by what the mean deviations do as often
// as the percentile is one from the median. Where they scatter alike, percentiles
// differ as typical values do. Where deviations that depend on each other leave that
// open, they may differ by what the interval leaves, or by any amount where there is
// none. scatter has the deviations as values.
func (l *laying) percentiles(typical stats.Interval, scatter *laying, level float64) []Summary {
	e, err := scatter.widest(level)
	if err != nil || e.p > scatterError {
		var differ bool
		if e, differ, err = scatter.leftOpen(e, err, level); !differ {
			return nil
		}
	}
	var out []Summary
	if err != nil { // they may differ by any amount
		for _, t := range tails {
			out = append(out, Summary{Name: t.name})
		}
		return out
	}
	a, b := stats.Average(scatter.a.Values), stats.Average(scatter.b.Values)
	more := e.ci // by how much the mean deviation of B exceeds that of A
	if !e.difference {
		by := math.Sqrt(a * b)
		more = stats.Interval{Lo: by * math.Log(e.ci.Lo), Hi: by * math.Log(e.ci.Hi)}
	}
	for _, t := range tails {
		lo, hi := 0.0, 0.0
		for i, f := range []*frame.Frame{l.a, l.b} {
			xs, mean := l.scaled(f.Values), []float64{a, b}[i]
			q, err := stats.Quantile(xs, t.share)
			if err == nil && mean > 0 {
				k := (q - stats.Median(xs)) / mean
				lo, hi = min(lo, k*more.Lo, k*more.Hi), max(hi, k*more.Lo, k*more.Hi)
			}
		}
		ci := exp(stats.Interval{Lo: math.Log(typical.Lo) + lo, Hi: math.Log(typical.Hi) + hi})
		out = append(out, Summary{Name: t.name, CI: &ci})
	}
	return out
}

// mostDependence is by what factor an interval of independent values is too narrow at
// most: neighbours have the correlation .95, the most that is assumed ([correlation]),
// and Student's quantile is that of two degrees of freedom.
const mostDependence = 13.7

// leftOpen reports whether mean deviations differ that heeding dependence leaves open:
// what is left may be too few values to tell even much of a difference. Taken as
// independent, deviations look different too often, so that what does not look so then
// is alike. An estimate that dependence leaves too few values for is as wide as the most
// of it makes it.
func (l *laying) leftOpen(e estimate, failed error, level float64) (out estimate, differ bool, err error) {
	if failed == nil && e.Correlation == 0 && e.Successive <= 1 {
		return e, false, nil
	}
	x := *l
	x.alone = true
	one, err := x.widest(level)
	switch {
	case err == nil && failed != nil && !one.difference:
		return one.wider(mostDependence), one.p <= scatterError, nil
	case err == nil:
		return e, one.p <= scatterError, failed
	}
	if w, err := stats.WelchT(l.b.Values, l.a.Values, level); err == nil {
		return e, w.P <= scatterError, failed
	}
	a, b := stats.Average(l.a.Values), stats.Average(l.b.Values)
	return e, math.Abs(a-b) > 1e-9*max(a, b), failed
}
