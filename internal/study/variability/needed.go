package variability

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// mostConfirmed is of how many values CONFIRM is asked: by then it has long said
// what it can, and further ones are thinned out evenly.
const mostConfirmed = 20_000

// repetitions are how many repetitions, or nodes, it takes for each target.
func (x *examined) repetitions(p *Params, m *Metric) []Needed {
	targets := p.Targets
	if len(targets) == 0 {
		targets = defaultTargets
	}
	targets = slices.Compact(slices.Sorted(slices.Values(targets)))
	out := make([]Needed, len(targets))
	for i, t := range targets {
		out[i].Target = t / 100
	}
	m.Repeated = x.Repeated()
	known := m.COV != nil && m.N >= 3
	total := m.doubted(frame.CodeTotal) != ""
	for i := range out {
		switch {
		case total:
			out[i].Why = "the values are running totals"
		case !known:
			out[i].Why = "there is no COV"
		case m.Dependence.OfNodes():
			x.nodesNeeded(m, &out[i])
		}
	}
	if known && !total && !m.Dependence.OfNodes() {
		x.repetitionsNeeded(m, out)
	}
	return out
}

// repetitionsNeeded counts what is independent: rows, what these are worth where
// they depend on each other in time, or groups of which the rows are alike, such as
// repetitions. It takes so many times more repetitions as it takes more of these.
func (x *examined) repetitionsNeeded(m *Metric, out []Needed) {
	now, cov := m.Dependence.EffectiveN, *m.COV
	var values []float64
	if c := m.Dependence.Clustered; c != nil {
		now, values = float64(c.Groups), c.Means
		if precision, err := c.Precision(x.Level); err == nil {
			t, _ := stats.TQuantile((1+x.Level)/2, now-1)
			cov = precision * math.Sqrt(now) / t
		}
	} else {
		values = x.Independent(min(now, mostConfirmed))
	}
	in := func(n int) (all, more *int) {
		scaled := int(math.Ceil(float64(n)*float64(m.Repeated.N)/now - 1e-9))
		missing := max(0, scaled-m.Repeated.N)
		return &scaled, &missing
	}
	rs := make([]float64, len(out))
	for i := range out {
		rs[i] = out[i].Target
		if n, err := stats.RepetitionsForMean(cov, rs[i], x.Level); err == nil {
			out[i].Mean, out[i].MoreMean = in(n)
		}
	}
	confirmed, err := stats.ConfirmMedian(values, rs, x.Level)
	for i := range out {
		switch {
		case err != nil:
			out[i].Why = "too few independent values to tell for the median"
		case confirmed[i].Needed > 0:
			n := confirmed[i].Needed
			if len(confirmed[i].Curve) > 0 {
				x.curve = confirmed[i].Curve
			}
			out[i].Median, out[i].MoreMedian = in(n)
		case confirmed[i].Extrapolated > 0:
			out[i].Median, out[i].MoreMedian = in(confirmed[i].Extrapolated)
			out[i].Why = "median by extrapolation"
		default:
			out[i].Why = "the values do not tell for the median"
		}
	}
}

// nodesNeeded counts nodes, and repetitions of these nodes where these can do. The
// interval of the median is supposed to become narrow as that of the mean does.
func (x *examined) nodesNeeded(m *Metric, out *Needed) {
	c := m.Dependence.Clustered
	need := func(r float64) (nodes, moreNodes, all, more *int) {
		groups, values, err := c.Needed(r, x.Level)
		if err != nil {
			return nil, nil, nil, nil
		}
		missing := max(0, groups-c.Groups)
		if values > 0 {
			n := int(math.Ceil(float64(values)*float64(c.Groups)*float64(m.Repeated.N)/float64(c.N) - 1e-9))
			left := max(0, n-m.Repeated.N)
			all, more = &n, &left
		}
		return &groups, &missing, all, more
	}
	out.Nodes, out.MoreNodes, out.Mean, out.MoreMean = need(out.Target)
	have, err := c.Precision(x.Level)
	if far, ok := reach(m.Median, m.MedianCI); ok && far > 0 && err == nil {
		out.MedianNodes, out.MoreMedianNodes, out.Median, out.MoreMedian = need(out.Target * have / far)
	} else {
		out.Why = fmt.Sprintf("%s do not tell for the median", num.Count(c.Groups, m.Dependence.LimitedBy))
	}
	if out.Nodes != nil && out.Mean == nil {
		out.Why = strings.TrimPrefix(out.Why+fmt.Sprintf("; no number of repetitions of these %s is enough",
			num.Count(c.Groups, m.Dependence.LimitedBy)), "; ")
	}
}

// reach is how far the interval of a median reaches from it, as a share of it; ok is
// false without one.
func reach(median float64, ci *explain.Interval) (far float64, ok bool) {
	if ci == nil || !(median > 0) {
		return 0, false
	}
	return max(median-ci[0], ci[1]-median) / median, true
}

// moreNodes says why the median is not known within a target, a share of it, where
// that takes more nodes; "" where it is known, or repetitions will do.
func (m *Metric) moreNodes(target float64) string {
	if !m.Dependence.OfNodes() || m.COV == nil {
		return ""
	}
	noun := m.Dependence.LimitedBy
	nodes := num.Count(m.Dependence.Groups, noun)
	far, ok := reach(m.Median, m.MedianCI)
	if !ok {
		return fmt.Sprintf("%s are too few for an interval of the median, however often they measure: more %ss are needed", nodes, noun)
	}
	n := Needed{Target: target}
	m.x.nodesNeeded(m, &n)
	if far <= target*(1+1e-9) || n.Median != nil || n.MoreMedianNodes == nil {
		return ""
	}
	return fmt.Sprintf("the median is known within %.3g %%, and no number of repetitions of these %s makes that %.3g %%: more %ss are needed, about %s", 100*far, nodes, 100*target, noun, num.Grouped(int64(*n.MoreMedianNodes)))
}

// baseline compares the COV with that of the same metric elsewhere; nil without
// one.
func (x *examined) baseline(p *Params, m *Metric, base *frame.Frame) *Baseline {
	if base == nil {
		return nil
	}
	if slices.Contains(base.Bounds(), true) {
		x.Doubts.Warn("no_baseline", "some values of the baseline are only lower bounds, so that its COV is not known")
		return nil
	}
	y := explain.New(base, x.Question)
	s := y.Spread(y.Dependence())
	if s.COV == nil || m.COV == nil {
		x.Doubts.Warn("no_baseline", "the COV of the baseline or of this metric is not defined, so that they are not compared")
		return nil
	}
	b := &Baseline{Source: p.base, N: base.Len(), Mean: s.Mean, COV: *s.COV, COVCI: s.COVCI}
	if b.COV > 0 {
		ratio := *m.COV / b.COV
		b.Ratio = &ratio
	} else {
		x.Doubts.Warn("constant_baseline", "the baseline does not vary at all, so that there is no ratio to it")
	}
	if b.Ratio != nil && b.COVCI != nil && m.COVCI != nil {
		// The logarithms of both are independent: their errors add as squares.
		lo := math.Hypot(math.Log(*m.COV/m.COVCI[0]), math.Log(b.COVCI[1]/b.COV))
		hi := math.Hypot(math.Log(m.COVCI[1] / *m.COV), math.Log(b.COV/b.COVCI[0]))
		if ci := (explain.Interval{*b.Ratio * math.Exp(-lo), *b.Ratio * math.Exp(hi)}); ci[0] > 0 && !math.IsInf(ci[1], 0) {
			b.RatioCI = &ci
		}
	}
	if base.Unit != m.Unit {
		x.Doubts.Warn("baseline_unit", "the baseline is in %q and this metric in %q: their COVs have no unit and are compared, their means are not", base.Unit, m.Unit)
	}
	return b
}
