package variability

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// fewest is how many values are described at all: of fewer there is no interval
// of anything.
const fewest = 5

// metric makes all parts of the answer about one frame.
func (x *examined) metric(p *Params, base *frame.Frame) Metric {
	f := x.Frame
	m := Metric{Key: f.Key, Unit: f.Unit, Better: f.Better, N: f.Len(), Zone: x.Zone.String(), Facts: []explain.Effect{}, Constant: x.Constant, x: x}
	if f.Len() > 0 {
		m.From, m.To = x.At(0), x.At(f.Len()-1)
		x.measure(p, base, &m)
	} else {
		x.Doubts.Problem("no_values", "there is no value")
	}
	m.judge(x)
	x.disturbed(p, &m)
	m.Poor = x.poor()
	m.withoutBounds()
	m.advise()
	m.Text = m.sentence()
	m.Doubts = slices.Clone(x.Doubts)
	for i := range m.Doubts {
		if m.Doubts[i].Workload == "" {
			m.Doubts[i].Workload = f.Workload
		}
	}
	m.Warnings = model.Texts(m.Doubts)
	return m
}

// measure fills the parts; those that need what is not there stay empty, with a
// doubt where it is not plain why.
func (x *examined) measure(p *Params, base *frame.Frame, m *Metric) {
	m.Subjects = x.Subjects()
	m.Dependence = x.Dependence()
	m.Spread = x.Spread(m.Dependence)
	m.Searches = x.searches(m)
	switch {
	case m.N < fewest:
		x.Doubts.Problem("too_few_values", "%s cannot be described: %d are needed for intervals, and about 20 to tell what explains them", num.Count(m.N, "value"), fewest)
		m.Repetitions = x.repetitions(p, m)
		return
	case m.Equal():
		x.constant(m)
		m.Bands.Why = "all values are equal"
		x.positive(m)
		m.Repetitions = x.repetitions(p, m)
		return
	}
	x.positive(m)
	x.totals(p)
	m.Facts = x.Effects()
	if m.Course = x.Course(m.Facts); m.Course.Changed() { // which makes neighbours alike
		m.Dependence = x.WithinLevels(m.Course)
		m.Spread, m.Facts = x.Spread(m.Dependence), x.Effects()
	}
	if x.Ended() != nil {
		return
	}
	x.reliable(m)
	x.unheeded(m)
	m.Confounded = x.Confounded(m.Facts)
	m.Bands = x.Bands(m.Dependence, m.Course)
	m.Cutoffs = x.cutoffs(p.Cutoffs, m.Dependence.EffectiveN)
	x.asked = p.byOf(x.Frame)
	m.Groups = x.groupings(x.asked, m.Facts)
	m.Slots = x.slots(x.asked, m.Groups)
	m.Decomposition = x.Decomposition()
	m.Outliers = x.Outliers(m.Bands.Bands)
	m.Repetitions = x.repetitions(p, m)
	m.Baseline = x.baseline(p, m, base)
	m.Clusters = x.Clusters(p.Cluster, m.Facts)
	x.unbalanced(m)
}

// constant doubts equal values where nothing says that they were measured more than
// once, or where their digits are few.
func (x *examined) constant(m *Metric) {
	switch {
	case !x.Distinct():
		x.Doubts.Warn("constant", "all values are %v, and no time or other column tells the rows apart: either "+
			"nothing varies, or the benchmark does not see it, or the rows are copies of one", m.Min)
	case m.COVCI == nil:
		x.Doubts.Warn("constant", "all values are %v: either nothing varies, or it is less than these digits show",
			m.Min)
	}
}

// totals finds values that only rise, as counters do, and refuses a verdict.
func (x *examined) totals(p *Params) {
	if p.Rate {
		return
	}
	if d, ok := x.Frame.TotalDoubt("take its rate with --rate"); ok {
		d.Workload = ""
		x.Doubts.Add(d)
	}
}

// cutoffs divide the values where the user says.
func (x *examined) cutoffs(at []float64, effective float64) []explain.Cutoff {
	var out []explain.Cutoff
	for _, c := range at {
		cut := x.Cut(c, effective)
		if cut.Lower.N == 0 || cut.Upper.N == 0 {
			x.Doubts.Warn("cutoff", "all values are on one side of the cutoff %v", c)
		}
		out = append(out, cut)
	}
	return out
}

// unheeded doubts intervals where rows of one level of some fact are alike and no
// interval heeds it.
func (x *examined) unheeded(m *Metric) {
	if e, worth, ok := x.Unheeded(m.Dependence, m.Facts, ids); ok {
		x.Doubts.Warn(doubtAlike, "rows of one %s are alike (it explains %s of the variance): if its %d levels are a "+
			"sample of others, as nodes are, %s are worth about %.0f independent ones, and intervals are too narrow; call "+
			"the column node to have that heeded", e.Fact, num.Fraction(e.Omega2), e.Levels, num.Count(m.N, "value"), worth)
		if d, ok := x.AsSample(m.Dependence, e.Fact, worth); ok {
			s := x.Spread(d)
			m.sample = &s
		}
	}
}

// positive doubts what is relative to a mean that is not above 0, or to values
// of both signs.
func (x *examined) positive(m *Metric) {
	switch {
	case m.COV == nil:
		x.Doubts.Problem("no_cov", "the mean is %.4g, not above 0, so that there is no COV: take a metric that is a quantity, not a difference", m.Mean)
	case m.Min < 0:
		x.Doubts.Warn("negative", "some values are below 0 (the least is %.4g): a COV means little of values that may be negative", m.Min)
	}
}

// tailed is how many times as far the COV of long-tailed values may be above its
// interval: of lognormal values with σ = 2 the whole interval of 240 lies at half of
// the truth or below in one of twenty cases.
const tailed = 3

// mostCOV is what the COV is at or below, if its interval is narrower than it should
// be for what is in doubt: a long tail, or rows that are alike by a fact that may be a
// sample. known is false where there is no such number.
func (m *Metric) mostCOV() (cov float64, known bool) {
	if m.COVCI == nil {
		return 0, false
	}
	cov, known = m.COVCI[1], true
	if m.sample != nil {
		if m.sample.COVCI == nil {
			return 0, false
		}
		cov = max(cov, m.sample.COVCI[1])
	}
	if m.doubted(doubtTail) != "" {
		cov *= tailed
	}
	return cov, known
}

// doubted is the text of the first doubt of one of these kinds; "": there is none.
func (m *Metric) doubted(codes ...string) string {
	for _, d := range m.x.Doubts {
		if slices.Contains(codes, d.Code) {
			return d.Text
		}
	}
	return ""
}

// Doubts that an interval is too narrow.
const (
	doubtTail  = "heavy_tail"
	doubtAlike = "alike"
)

// fewEffective is below how many independent values intervals rest on suppositions
// more than on the values.
const fewEffective = 10

// fewInTime is the same of rows that depend on those before them: how much they do is
// then known badly, too.
const fewInTime = 30

// reliable doubts intervals that the values do not carry.
func (x *examined) reliable(m *Metric) {
	if m.COV != nil && m.COVCI == nil {
		x.Doubts.Warn("no_interval", "the COV has no interval: %s", m.noInterval())
	}
	if skewness, kurtosis, long := stats.LongTail(x.Sorted); long && m.COVCI != nil {
		x.Doubts.Warn(doubtTail, "the values have a long tail (skewness %.1f, kurtosis %.1f), so that the interval of the COV may be too narrow: rare values far out make the COV, and too few of them may be among these", skewness, kurtosis)
	}
	d := m.Dependence
	switch {
	case d.EffectiveN >= fewInTime, d.EffectiveN >= fewEffective && (!d.Dependent || d.Clustered != nil):
	case d.Clustered != nil:
		x.Doubts.Warn("few_effective", "the rows of one %s are alike, so that %s are worth %.1f independent ones: "+
			"intervals hold if the %s differ as normal values do; measure more of these", d.LimitedBy, num.Count(m.N, "value"),
			d.EffectiveN, d.Units())
	case d.EffectiveN < float64(m.N):
		x.Doubts.Warn("few_effective", "%s depend on those before them, and are worth %.1f independent ones: intervals "+
			"may be too narrow; measure for longer", num.Count(m.N, "value"), d.EffectiveN)
	default:
		x.Doubts.Warn("few_effective", "%s are few: intervals hold if they are about normal; %d are better",
			num.Count(m.N, "value"), fewEffective)
	}
}

// mostNamed is how many facts, or pairs of them, are named in one kind of doubt or
// in one sentence; of a hundred that tell the same the others are counted.
const mostNamed = 5

// unbalanced doubts facts that could not be told apart, and groups that are few.
func (x *examined) unbalanced(m *Metric) {
	for _, c := range m.Confounded[:min(len(m.Confounded), mostNamed)] {
		x.Doubts.Warn("confounded", "%s and %s tell nearly the same of each value (Cramér's V %.2f): what one explains may be due to the other", c.A, c.B, c.V)
	}
	if more := len(m.Confounded) - mostNamed; more > 0 {
		x.Doubts.Warn("confounded", "%s of facts tell nearly the same of each value; the JSON form names them",
			num.Count(more, "more pair"))
	}
	untested := 0
	for _, e := range m.Facts {
		if !e.GoesWith() {
			continue
		}
		if untested++; untested <= mostNamed {
			x.Doubts.Warn("untested", "%s goes with %s of the variance, and cannot be tested: %s", e.Fact, num.Fraction(e.Omega2), e.Why)
		}
	}
	if more := untested - mostNamed; more > 0 {
		x.Doubts.Warn("untested", "%s of 20 %% of the variance or more, and cannot be tested; the table of facts has them",
			map[bool]string{true: "1 more fact goes with a share", false: num.Count(more, "more fact") +
				" go with shares"}[more == 1])
	}
	for _, g := range m.Groups {
		few := 0
		for _, one := range g.Groups {
			if one.N < fewest {
				few++
			}
		}
		if few > 0 {
			x.Doubts.Warn("small_groups", "%d of %d groups by %s have fewer than %d values: their COVs have no interval", few, len(g.Groups), g.Fact, fewest)
		}
	}
}

// judge chooses the verdict.
func (m *Metric) judge(x *examined) {
	problem := slices.ContainsFunc(x.Doubts, func(d model.Doubt) bool { return d.Severity == model.Problem })
	switch {
	case problem:
		m.Verdict = Unknown
	case m.Course.Changed():
		m.Verdict = Changes
	case m.Bands.Found:
		m.Verdict = Bands
	case m.Equal():
		m.Verdict = Steady
	case m.COVCI == nil:
		m.Verdict = Unknown
	case m.COVCI[0] > steadyCOV:
		m.Verdict = Varies
	case m.COVCI[1] > steadyCOV:
		m.Verdict = Unclear
		m.SettledBy = settledBy(*m.COV, *m.COVCI)
	default:
		m.Verdict = Steady
		if most, known := m.mostCOV(); !known || most > steadyCOV {
			m.Verdict = Unknown
		}
	}
}

// mostTimes is how many times as many values are advised at most.
const mostTimes = 100

// settledBy is about how many times as many values would put the interval of the COV on
// one side of the limit, if the COV stays: its ends come nearer, on the scale of
// logarithms, with the root of their number.
func settledBy(cov float64, ci explain.Interval) *float64 {
	end := ci[0]
	if cov <= steadyCOV {
		end = ci[1]
	}
	root := math.Log(end/cov) / math.Log(steadyCOV/cov)
	if times := root * root; times > 1 && times <= mostTimes {
		return &times
	}
	return nil
}
