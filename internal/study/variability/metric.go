package variability

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// fewest is how many values are described at all: of fewer there is no interval
// of anything.
const fewest = 5

// metric makes all parts of the answer about one frame.
func (x *examined) metric(p *Params, base *frame.Frame) Metric {
	f := x.f
	m := Metric{Key: f.Key, Unit: f.Unit, Better: f.Better, N: f.Len(), Zone: x.zone.String(), Facts: []Effect{}, Constant: x.constant, x: x}
	if f.Len() > 0 {
		m.From, m.To = x.at(0), x.at(f.Len()-1)
		x.measure(p, base, &m)
	} else {
		x.doubts.Problem("no_values", "there is no value")
	}
	m.judge(x)
	x.disturbed(p, &m)
	m.advise()
	m.Text = m.sentence()
	m.Doubts = slices.Clone(x.doubts)
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
	m.Subjects = x.subjects()
	m.Dependence = x.dependence()
	m.Spread = x.spread(m.Dependence)
	switch {
	case m.N < fewest:
		x.doubts.Problem("too_few_values", "%s cannot be described: %d are needed for intervals, and about 20 to tell what explains them", num.Count(m.N, "value"), fewest)
		m.Repetitions = x.repetitions(p, m)
		return
	case m.Range == 0:
		x.doubts.Warn("constant", "all values are %v: either nothing varies, or the benchmark does not see it", m.Min)
		m.Bands.Why = "all values are equal"
		x.positive(m)
		m.Repetitions = x.repetitions(p, m)
		return
	}
	x.positive(m)
	x.reliable(m)
	m.Facts = x.effects()
	if x.ended() != nil {
		return
	}
	x.unheeded(m)
	m.Course = x.course(m.Facts)
	m.Confounded = x.confounded(m.Facts)
	m.Bands = x.bands(m.Dependence, m.Course)
	m.Cutoffs = x.cutoffs(p.Cutoffs, m.Dependence.EffectiveN)
	m.Groups = x.groupings(p.byOf(x.f), m.Facts)
	m.Decomposition = x.decomposition()
	m.Outliers = x.outliers(m.Bands.Bands)
	m.Repetitions = x.repetitions(p, m)
	m.Baseline = x.baseline(p, m, base)
	m.Clusters = x.clusters(p, m.Facts)
	x.unbalanced(m)
}

// positive doubts what is relative to a mean that is not above 0, or to values
// of both signs.
func (x *examined) positive(m *Metric) {
	switch {
	case m.COV == nil:
		x.doubts.Problem("no_cov", "the mean is %.4g, not above 0, so that there is no COV: take a metric that is a quantity, not a difference", m.Mean)
	case m.Min < 0:
		x.doubts.Warn("negative", "some values are below 0 (the least is %.4g): a COV means little of values that may be negative", m.Min)
	}
}

// fewEffective is below how many independent values intervals rest on suppositions
// more than on the values.
const fewEffective = 10

// fewInTime is the same of rows that depend on those before them: how much they do is
// then known badly, too.
const fewInTime = 30

// reliable doubts intervals that the values do not carry.
func (x *examined) reliable(m *Metric) {
	if skewness, kurtosis, long := stats.LongTail(x.sorted); long && m.COVCI != nil {
		x.doubts.Warn("heavy_tail", "the values have a long tail (skewness %.1f, kurtosis %.1f), so that the interval of the COV may be too narrow: rare values far out make the COV, and too few of them may be among these", skewness, kurtosis)
	}
	d := m.Dependence
	switch {
	case d.EffectiveN >= fewInTime, d.EffectiveN >= fewEffective && (!d.Dependent || d.clustered != nil):
	case d.clustered != nil:
		x.doubts.Warn("few_effective", "the rows of one %s are alike, so that %s are worth %.1f independent ones: intervals hold if the %s differ as normal values do; measure more of these", d.LimitedBy, countOf(m.N, "value"), d.EffectiveN, d.units())
	case d.EffectiveN < float64(m.N):
		x.doubts.Warn("few_effective", "%s depend on those before them, and are worth %.1f independent ones: intervals may be too narrow; measure for longer", countOf(m.N, "value"), d.EffectiveN)
	default:
		x.doubts.Warn("few_effective", "%s are few: intervals hold if they are about normal; %d are better", countOf(m.N, "value"), fewEffective)
	}
}

// mostNamed is how many facts, or pairs of them, are named in one kind of doubt or
// in one sentence; of a hundred that tell the same the others are counted.
const mostNamed = 5

// orOf is ", or the" between names; of many, how many others there are.
func orOf(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		return strings.Join(names[:mostNamed], ", or the ") + ", or one of " + num.Grouped(int64(more)) + " others"
	}
	return strings.Join(names, ", or the ")
}

// unbalanced doubts facts that could not be told apart, and groups that are few.
func (x *examined) unbalanced(m *Metric) {
	for _, c := range m.Confounded[:min(len(m.Confounded), mostNamed)] {
		x.doubts.Warn("confounded", "%s and %s tell nearly the same of each value (Cramér's V %.2f): what one explains may be due to the other", c.A, c.B, c.V)
	}
	if more := len(m.Confounded) - mostNamed; more > 0 {
		x.doubts.Warn("confounded", "%s of facts tell nearly the same of each value; the JSON form names them", countOf(more, "more pair"))
	}
	untested := 0
	for _, e := range m.Facts {
		if !e.goesWith() {
			continue
		}
		if untested++; untested <= mostNamed {
			x.doubts.Warn("untested", "%s goes with %s of the variance, and cannot be tested: %s", e.Fact, num.Fraction(e.Omega2), e.Why)
		}
	}
	if more := untested - mostNamed; more > 0 {
		x.doubts.Warn("untested", "%s of 20 %% of the variance or more, and cannot be tested; the table of facts has them", map[bool]string{true: "1 more fact goes with a share", false: countOf(more, "more fact") + " go with shares"}[more == 1])
	}
	for _, g := range m.Groups {
		few := 0
		for _, one := range g.Groups {
			if one.N < fewest {
				few++
			}
		}
		if few > 0 {
			x.doubts.Warn("small_groups", "%d of %d groups by %s have fewer than %d values: their COVs have no interval", few, len(g.Groups), g.Fact, fewest)
		}
	}
}

// spread is mean, median, SD and COV with intervals that heed how much the rows
// depend on each other.
func (x *examined) spread(d Dependence) Spread {
	s, err := stats.NewSpread(x.sorted)
	out := Spread{Mean: s.Mean, Median: s.Median, Min: s.Min, Max: s.Max, Range: s.Max - s.Min, Intervals: "independent rows"}
	if s.N < 2 {
		return out
	}
	out.SD = &s.SD
	if err == nil {
		out.COV = &s.COV
	}
	if s.SD > 0 {
		x.intervals(&out, s, d)
	}
	return out
}

// intervals fills those of mean, median and COV.
func (x *examined) intervals(out *Spread, s stats.Spread, d Dependence) {
	n := float64(s.N)
	held := d.heldBy(x.level)
	if lo, hi, err := stats.MedianRanks(max(1, int(held)), x.level); err == nil {
		e := math.Floor(held)
		at := func(rank int) float64 { return x.sorted[min(s.N-1, int((float64(rank)-0.5)/e*n))] }
		out.MedianCI = &Interval{at(lo), at(hi)}
	}
	if c := d.clustered; c != nil {
		out.Intervals = fmt.Sprintf("rows of %d %s, worth %.0f independent ones", c.Groups, d.units(), d.EffectiveN)
		out.MeanCI = interval(c.MeanInterval(x.level))
		if ci := interval(c.COVInterval(x.level)); ci != nil && out.COV != nil {
			out.COVCI = &Interval{min(ci[0], s.COV), max(ci[1], s.COV)}
		}
		return
	}
	t, err := stats.TQuantile((1+x.level)/2, d.EffectiveN-1)
	if err == nil {
		half := t * s.SD / math.Sqrt(d.EffectiveN)
		out.MeanCI = &Interval{s.Mean - half, s.Mean + half}
	}
	if out.COV == nil {
		return
	}
	out.COVCI = x.covInterval(x.sorted)
	if c := d.ofTimes; c != nil && out.COVCI != nil {
		if ci := interval(c.COVInterval(x.level)); ci != nil {
			out.COVCI = &Interval{min(out.COVCI[0], ci[0]), max(out.COVCI[1], ci[1])}
		}
	}
	if d.EffectiveN < n {
		out.Intervals = fmt.Sprintf("rows that depend on each other, worth %.0f independent ones", d.EffectiveN)
		x.covInTime(out, n, d)
	}
}

// covFactor is by how much the interval of a COV is wider where n values are worth
// fewer for their mean, as they depend on those before them. Variances of an AR(1)
// process, of which n values are worth n/τ for the mean, are worth 2τn/(τ²+1) (M. B.
// Priestley, Spectral Analysis and Time Series, 1981, section 5.3), with Student's t
// of so many. ok is false where they are worth none.
func covFactor(n, effective, level float64) (factor float64, ok bool) {
	tau := n / effective
	worth := n * 2 * tau / (tau*tau + 1)
	z, errZ := stats.NormalQuantile((1 + level) / 2)
	t, errT := stats.TQuantile((1+level)/2, worth-1)
	return math.Sqrt(n/worth) * t / z, errZ == nil && errT == nil
}

// covInTime makes the interval of the COV heed that rows depend on those before
// them, by [covFactor]. Drawing blocks keeps most of what
// neighbours have in common, of whatever kind. The wider interval counts.
func (x *examined) covInTime(out *Spread, n float64, d Dependence) {
	effective := d.EffectiveN
	if d.ofTimes != nil { // which heeds how alike rows of one time are
		n, effective = float64(d.ofTimes.Groups), float64(d.ofTimes.Groups)*d.ofSeries
	}
	factor, ok := covFactor(n, effective, x.level)
	if !ok {
		out.COVCI = nil
		return
	}
	out.COVCI = widen(out.COVCI, *out.COV, factor)
	if d.Block < 2 || out.COVCI == nil {
		return
	}
	if ci, err := stats.BlockInterval(x.f.Values, covStatistic, d.Block, x.level, 400, seed); err == nil && ci.Lo > 0 {
		out.COVCI = &Interval{min(out.COVCI[0], ci.Lo), max(out.COVCI[1], ci.Hi)}
		out.Intervals += fmt.Sprintf("; of the COV with a bootstrap of blocks of %d rows", d.Block)
	}
}

// covStatistic is the COV as a statistic of a resample.
func covStatistic(xs []float64) float64 {
	v, err := stats.COV(xs)
	if err != nil {
		return math.NaN()
	}
	return v
}

// covInterval is that of ascending values that are independent; nil where there is
// none.
func (x *examined) covInterval(sorted []float64) *Interval {
	return interval(stats.COVInterval(sorted, x.level, seed))
}

// widen makes an interval wider by a factor, on the scale of logarithms.
func widen(ci *Interval, middle, factor float64) *Interval {
	if ci == nil || factor <= 1 {
		return ci
	}
	out := Interval{middle * math.Pow(ci[0]/middle, factor), middle * math.Pow(ci[1]/middle, factor)}
	if !(out[0] >= 0) || math.IsInf(out[1], 0) || math.IsNaN(out[1]) {
		return nil
	}
	return &out
}

// judge chooses the verdict.
func (m *Metric) judge(x *examined) {
	problem := slices.ContainsFunc(x.doubts, func(d model.Doubt) bool { return d.Severity == model.Problem })
	switch {
	case problem:
		m.Verdict = Unknown
	case m.Course.changed():
		m.Verdict = Changes
	case m.Bands.Found:
		m.Verdict = Bands
	case m.COV != nil && *m.COV == 0:
		m.Verdict = Steady
	case m.COVCI == nil:
		m.Verdict = Unknown
	case m.COVCI[1] <= steadyCOV:
		m.Verdict = Steady
	default:
		m.Verdict = Varies
	}
}

// sentence is the answer about a metric.
func (m *Metric) sentence() string {
	if m.Verdict == Unknown {
		for _, d := range m.x.doubts {
			if d.Severity == model.Problem {
				return "It is not known how much " + m.Name() + " varies: " + d.Text + "."
			}
		}
		return "It is not known how much " + m.Name() + " varies: the COV has no interval."
	}
	text := fmt.Sprintf("%s varies by %s (COV%s) over %s%s", m.Name(), num.Fraction(*m.COV), percentInterval(m.COVCI), countOf(m.N, "value"), m.period())
	switch {
	case *m.COV == 0:
		text = fmt.Sprintf("%s is the same in all of %s%s", m.Name(), countOf(m.N, "value"), m.period())
	case m.Course.changed():
		text += "; " + m.Course.words()
	case m.Bands.Found:
		text += fmt.Sprintf("; the values fall into %d bands", len(m.Bands.Bands))
		if by := m.Bands.By; by != nil {
			text += ", which " + by.words() + " tells"
		}
	}
	if fact := best(m.Facts); fact != "" {
		i := slices.IndexFunc(m.Facts, func(e Effect) bool { return e.Fact == fact })
		text += fmt.Sprintf("; the %s explains %s of the variance%s", m.nameOf(fact), num.Fraction(m.Facts[i].Omega2), m.alikeTo(fact))
	} else if i := slices.IndexFunc(m.Facts, Effect.goesWith); i >= 0 {
		text += fmt.Sprintf("; the %s goes with %s of the variance, which cannot be tested here", m.nameOf(m.Facts[i].Fact), num.Fraction(m.Facts[i].Omega2))
	} else if len(m.Facts) > 0 && !m.Course.changed() && !m.Bands.Found {
		text += "; no recorded fact explains it"
	}
	if m.note != "" {
		text += "; " + m.note
	}
	return text + "."
}

// words name the fact, and those that it cannot be told apart from.
func (e *Explains) words() string {
	if len(e.Same) == 0 {
		return "the " + e.Fact
	}
	return "the " + e.Fact + " (or the " + orOf(e.Same) + ")"
}

func (m *Metric) period() string {
	if m.From == nil || !m.To.After(*m.From) {
		return ""
	}
	return " in " + spanOf(m.To.Sub(*m.From))
}

// spanOf is a span as people read it.
func spanOf(d time.Duration) string {
	if days := d.Hours() / 24; days >= 2 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", days), ".0") + " days"
	}
	return num.Seconds(d.Seconds())
}

func countOf(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return num.Grouped(int64(n)) + " " + noun + "s"
}

// percentInterval is " [23.1, 25.0]" of fractions, or nothing.
func percentInterval(ci *Interval) string {
	if ci == nil {
		return ""
	}
	return " " + num.PercentInterval(100*ci[0], 100*ci[1])
}
