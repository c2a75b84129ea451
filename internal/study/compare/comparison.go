package compare

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// compare is one metric of both sides, without its verdict.
func (p *Params) compare(m matched) Comparison {
	c := Comparison{Workload: m.key.Workload, Metric: m.key.Metric, Phase: m.key.Phase, Unit: m.a.Unit, Better: p.direction(m), Level: p.Level}
	l := &laying{Params: p, matched: m, typical: !p.Means, subject: subjectOf(m.a, m.b), notes: &c.doubts}
	c.doubtSide(m.nameA, m.a, m.b, m.together)
	c.doubtSide(m.nameB, m.b, m.a, m.together)
	if l.typical && min(slices.Min(m.a.Values), slices.Min(m.b.Values)) <= 0 {
		l.typical = false
		c.doubts.Warn("not_positive", "some values are not above 0, so that they have no logarithm: means are compared")
	}
	c.A, c.B = describe(m.nameA, m.a), describe(m.nameB, m.b)
	c.rowsA, c.rowsB = m.a.Values, m.b.Values
	l.decide(&c)
	l.tests(&c)
	c.besides = l.summaries
	c.besides(&c, l.Level)
	l.periods(&c)
	l.mixes(&c)
	l.otherConfiguration(&c)
	c.calm = p.calmly(m, &c)
	return c
}

// doubtSide takes over what is doubtful of a side: with its name, but for what both parts of
// one source have in common.
func (c *Comparison) doubtSide(name string, f, other *frame.Frame, together bool) {
	for _, d := range f.Doubts {
		both := together && slices.ContainsFunc(other.Doubts, func(o model.Doubt) bool { return o.Text == d.Text })
		if !both && !strings.HasPrefix(d.Text, name+": ") {
			d.Text = name + ": " + d.Text
		}
		if d.Code != frame.FactCensored { // see heedBounds
			c.doubts.Add(d)
		}
	}
	if d, ok := f.TotalDoubt("compare its rate: give the differences of its values by the seconds between them"); ok {
		d.Text = name + ": " + d.Text
		c.doubts.Add(d)
	}
}

// direction is which is better by the measurements, or else by the user.
func (p *Params) direction(m matched) model.Better {
	return cmp.Or(m.a.Better, m.b.Better, model.Better(p.Better))
}

// describe is what there is of one side.
func describe(name string, f *frame.Frame) Side {
	s := Side{Name: name, Rows: f.Len(), bounds: lowerBounds(f)}
	if x, err := stats.Mean(f.Values); err == nil {
		s.Mean = &x
		if sd, err := stats.SampleSD(f.Values); err == nil && x > 0 {
			cov := sd / x
			s.COV = &cov
		}
	}
	if x, err := stats.Quantile(f.Values, .5); err == nil {
		s.Median = &x
	}
	return s
}

// widest is the estimate of the layout with the widest interval. One that has no
// interval counts most of all: its dependence leaves too little.
func (l *laying) widest(level float64) (best estimate, failed error) {
	for _, x := range l.layouts() {
		e, err := l.estimate(l.independent(x), level)
		if failed == nil && (err != nil || best.method == "" || e.width() > best.width()) {
			best, failed = e, err
		}
	}
	return best, failed
}

// decide takes the estimate that decides over.
func (l *laying) decide(c *Comparison) {
	best, failed := l.widest(l.Level)
	c.layout, c.A.N, c.B.N = best.layout, len(best.A), len(best.B)
	c.Of, c.Paired, c.Successive = best.Of, best.Paired, best.Successive
	c.By = best.describe()
	if failed != nil {
		l.cannot(c, failed)
		return
	}
	c.again = func(level float64) (estimate, error) { return l.estimate(best.layout, level) }
	c.set(best)
	if few := min(c.A.N, c.B.N); best.method == methodT || best.method == methodPairedT {
		c.doubts.Warn("few_values", "only %s: the interval rests on their scatter being about normal; 6 or more do not need that", num.Count(few, map[bool]string{true: "pair", false: "value"}[best.Paired]))
	}
}

// cannot says why there is no interval.
func (l *laying) cannot(c *Comparison, err error) {
	few := min(c.A.N, c.B.N)
	switch {
	case errors.Is(err, errOnce):
		c.doubts.Problem("few_trials", "all of a side was measured in one trial: what changes from trial to trial "+
			"for all nodes at once is not known; measure %d trials or more of each, or give --%s %s if nothing "+
			"changes between trials", fewest, map[bool]string{true: "pair", false: "cluster"}[c.Paired], c.Of)
	case errors.Is(err, stats.ErrTooFew) && c.layout.Correlation > 0:
		c.doubts.Problem("too_few", "%s of a side depend so much on their neighbours (correlation %.2f) that they count for fewer than %d; measure longer", num.Count(few, "value"), c.layout.Correlation, fewest-1)
	case errors.Is(err, stats.ErrTooFew) && c.Paired:
		c.doubts.Problem("too_few", "%s of values (of the same %s): too few for a conclusion; measure %d or more", num.Count(few, "pair"), frame.InWords(c.Of), fewValues)
	case errors.Is(err, stats.ErrTooFew):
		c.doubts.Problem("too_few", "%s of a side (by %s): too few for a conclusion; measure %d or more of each", num.Count(few, "independent value"), frame.InWords(c.Of), fewValues)
	case errors.Is(err, stats.ErrNoSpread):
		c.doubts.Problem("no_spread", "the values show no scatter, or next to none, so that it is not known what lies between two ticks of the clock that measured them; measure longer, or in a finer unit")
	default:
		c.doubts.Problem("no_interval", "there is no interval: %v", err)
	}
}

// set takes the deciding estimate over.
func (c *Comparison) set(e estimate) {
	c.Method, c.P = e.method, &e.p
	c.CI, c.Possible, c.Ratio = nil, nil, nil
	if e.difference {
		c.difference = &e.ci
		return
	}
	possible := c.drifting(e.ci)
	c.CI, c.Ratio, c.Possible = &e.ci, &e.ratio, &possible
}

// widen asks again at another level.
func (c *Comparison) widen(level float64) {
	e, err := c.again(level)
	if err != nil {
		c.doubts.Problem("no_interval", "there is no interval at the level that so many comparisons need: %v", err)
		c.CI, c.Possible = nil, nil
		return
	}
	c.Level = level
	c.set(e)
	c.besides(c, level)
}
