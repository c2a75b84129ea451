package variability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
)

const (
	// leastOfLevel is how many values, and leastShare what share of all, a level
	// needs to be recommended.
	leastOfLevel = 10
	leastShare   = 0.05
)

// advise is what the parts of a metric allow to advise, what helps most first.
// What is unknown allows none.
func (m *Metric) advise() {
	m.Advice = []Advice{}
	m.advisePoor()
	if m.Verdict == Unknown {
		return
	}
	m.adviseTime()
	first := explain.Best(m.Facts)
	for _, e := range m.Facts {
		// What tells the same as the best fact is named with that.
		if e.Significant && e.Omega2 >= explain.LeastExplained && !slices.Contains(m.alike(first), e.Fact) {
			m.adviseFact(e)
		}
	}
	m.adviseClusters()
	m.adviseRepetitions()
	slices.SortStableFunc(m.Advice, func(a, b Advice) int { return cmp.Compare(b.Gain, a.Gain) })
}

func (m *Metric) advice(code, fact string, gain float64, format string, args ...any) {
	m.Advice = append(m.Advice, Advice{Code: code, Fact: fact, Gain: gain, Text: fmt.Sprintf(format, args...)})
}

// adviseTime is about levels that changed: nothing else is known well then.
func (m *Metric) adviseTime() {
	if m.Course == nil {
		return
	}
	for i, c := range m.Course.Changes {
		if i == 3 {
			m.advice("level_changed", "", 1, "and %d more changes of the level are in the table", len(m.Course.Changes)-i)
			return
		}
		m.advice("level_changed", "", 1, "the level changed %s by %s: find out what happened, and measure again or analyse the parts apart", whenOf(c), num.Signed(c.Relative))
	}
	if d := m.Course.Drift; d != nil && d.Significant && len(m.Course.Changes) == 0 {
		m.advice("drift", "", 1, "the level drifts, by %s from begin to end: find out why, or measure the variants of a comparison in turns", num.Signed(d.Relative))
	}
}

// ids are facts that name what was measured; there is nothing to choose among
// their levels.
var ids = append([]string{frame.FactSubject, frame.FactTrial, frame.FactBlock, frame.FactRun, frame.FactRepetition, factSource}, frame.Machines...)

// adviseFact is about one fact that explains something.
func (m *Metric) adviseFact(e explain.Effect) {
	share := num.Fraction(e.Omega2)
	switch {
	case e.Fact == explain.FactWeekday:
		m.advice("measure_longer", e.Fact, e.Omega2, "measure whole weeks: the day of week explains %s of the variance%s", share, m.soFar(14, "two weeks"))
	case e.Fact == explain.FactHour:
		m.advice("measure_longer", e.Fact, e.Omega2, "measure around the clock, for whole days: the hour of day explains %s of the variance%s", share, m.soFar(2, "two days"))
	case e.Derived: // a day or a week does not come again
	case explain.Machines(e.Fact):
		if e.Omega2 >= 0.2 {
			m.advice("more_nodes", e.Fact, e.Omega2*0.9, "measure more %ss rather than the same ones oftener: the %s explains %s of the variance", e.Fact, e.Fact, share)
		}
	case slices.Contains(ids, e.Fact):
	default:
		m.advice("report_fact", e.Fact, e.Omega2, "report the %s with each result: it explains %s of the variance%s", e.Fact, share, m.alikeTo(e.Fact))
		m.adviseLevel(e)
	}
}

// soFar says that the measurement is shorter than it ought to be.
func (m *Metric) soFar(days float64, least string) string {
	if m.From != nil && m.To.Sub(*m.From) < time.Duration(days*24)*time.Hour-time.Hour {
		return fmt.Sprintf(", and these are only %.1f days; measure at least %s", m.To.Sub(*m.From).Hours()/24, least)
	}
	return ""
}

// alike are the facts that cannot be told apart from one.
func (m *Metric) alike(fact string) []string {
	var same []string
	for _, c := range m.Confounded {
		if c.A == fact {
			same = append(same, c.B)
		} else if c.B == fact {
			same = append(same, c.A)
		}
	}
	return same
}

// alikeTo says which facts cannot be told apart from one.
func (m *Metric) alikeTo(fact string) string {
	same := m.alike(fact)
	if len(same) == 0 {
		return ""
	}
	return fmt.Sprintf(" (or the %s, which cannot be told apart from it here)", orOf(same))
}

// better reports whether a value is better than another; false where it is not known.
func (m *Metric) better(v, than float64) bool {
	return m.Better == model.Higher && v > than || m.Better == model.Lower && v < than
}

// adviseLevel recommends a level of which the COV lies clearly below that of all:
// the whole interval. Of several it is the best by its mean, or else the most
// frequent.
func (m *Metric) adviseLevel(e explain.Effect) {
	i := slices.IndexFunc(m.Groups, func(g explain.Grouping) bool { return g.Fact == e.Fact })
	if i < 0 || m.COVCI == nil {
		return
	}
	var to *explain.Group
	for k := range m.Groups[i].Groups {
		g := &m.Groups[i].Groups[k]
		if g.N < leastOfLevel || g.Share < leastShare || g.COVCI == nil || g.COVCI[1] >= m.COVCI[0] {
			continue
		}
		if to == nil || m.better(g.Mean, to.Mean) {
			to = g
		}
	}
	if to == nil {
		return
	}
	less := ""
	if m.better(m.Mean, to.Mean) && m.Mean != 0 {
		less = fmt.Sprintf(", though its mean is worse by %s", num.Percent(100*math.Abs(to.Mean/m.Mean-1)))
	}
	turned, gone := m.confoundedBy(e, to)
	if turned != nil {
		m.advice("compare_within", e.Fact, e.Omega2+0.01, "do not choose %s %s by its mean or COV: beside the %s it is %s than the others (by %s), which is the other way round than over all values", e.Fact, to.Level, turned.Fact, map[bool]string{true: "higher", false: "lower"}[turned.Apart > 0], num.Percent(100*math.Abs(turned.Apart/m.Mean)))
		return
	}
	alone := ""
	if gone != nil {
		alone = fmt.Sprintf("; beside the %s it makes no difference that shows", gone.Fact)
	}
	m.advice("take_level", e.Fact, e.Omega2+0.01, "take %s %s: the COV falls from %s to %s%s%s%s", e.Fact, to.Level, num.Fraction(*m.COV), num.Fraction(*to.COV), less, m.alikeTo(e.Fact), alone)
}

// adviseClusters is about what nodes a cluster is made of.
func (m *Metric) adviseClusters() {
	if m.Clusters == nil || len(m.Clusters.Mixes) == 0 {
		return
	}
	if x := m.Clusters.Mixes[0]; x.R2 >= 0.2 && x.SlopeCI != nil && (x.SlopeCI[0] > 0 || x.SlopeCI[1] < 0) {
		m.advice("same_mix", x.Fact, x.R2*0.9, "compare clusters of the same mix, and report it: the share of %s %s explains %s of what the means of clusters differ by", x.Fact, x.Level, num.Fraction(x.R2))
	}
}

// usualTarget is the precision that advice is about, where it is among the targets.
const usualTarget = 0.05

// within is the interval that is wanted: "±5 %".
func (n Needed) within() string {
	return "±" + strings.Replace(num.Fraction(n.Target), ".0 %", " %", 1)
}

// adviseRepetitions is about how many values are missing.
func (m *Metric) adviseRepetitions() {
	if len(m.Repetitions) == 0 || m.Verdict == Changes {
		return
	}
	i := max(0, slices.IndexFunc(m.Repetitions, func(n Needed) bool { return n.Target == usualTarget }))
	n := m.Repetitions[i]
	within := n.within()
	noun := m.Repeated.Noun()
	switch {
	case n.MoreMedianNodes != nil && *n.MoreMedianNodes > 0:
		m.adviseNodes(*n.MoreMedianNodes, n.MoreMedian, within+" of the median")
	case n.MedianNodes == nil && n.MoreNodes != nil && *n.MoreNodes > 0:
		m.adviseNodes(*n.MoreNodes, n.MoreMean, within+" of the mean")
	case n.MoreMedian != nil && *n.MoreMedian > 0:
		m.advice("more_repetitions", "", 0.02, "%s for %s of the median%s", moreOf(*n.MoreMedian, noun), within, map[bool]string{true: " (by extrapolation)"}[n.Why != ""])
	case n.MoreMedian == nil && n.MoreMean != nil && *n.MoreMean > 0:
		m.advice("more_repetitions", "", 0.02, "%s for %s of the mean", moreOf(*n.MoreMean, noun), within)
	}
}

// adviseNodes is about how many nodes are missing; or repetitions, if these can do.
func (m *Metric) adviseNodes(nodes int, repetitions *int, of string) {
	or := fmt.Sprintf("; no number of %ss of these %d is enough", m.Repeated.Noun(), m.Dependence.Groups)
	if repetitions != nil {
		or = fmt.Sprintf(", or %s on these %d", moreOf(*repetitions, m.Repeated.Noun()), m.Dependence.Groups)
	}
	m.advice("more_nodes", "", 0.02, "%s for %s%s", moreOf(nodes, m.Dependence.LimitedBy), of, or)
}

func moreOf(n int, noun string) string {
	return num.Count(n, "more "+noun)
}

// leastBeside is the error of a difference beside another fact.
const leastBeside = 0.01

// confoundedBy asks for the difference of a level beside each other fact that explains
// something. turned is one beside which the level is on the other side of the rest
// (E. H. Simpson, "The interpretation of interaction in contingency tables", J. Royal
// Stat. Soc. B 13(2), 1951); gone one beside which it is no other than the rest.
func (m *Metric) confoundedBy(e explain.Effect, to *explain.Group) (turned, gone *explain.Besides) {
	rest := m.Mean - to.Mean // has the sign of the others' mean less that of the level
	same := m.alike(e.Fact)
	for _, other := range m.Facts {
		if !other.Significant || other.Omega2 < explain.LeastExplained || other.Fact == e.Fact || slices.Contains(same, other.Fact) {
			continue
		}
		b := m.x.Beside(m.x.Fact(e.Fact), to.Level, m.x.Fact(other.Fact))
		switch {
		case !b.OK:
		case b.P <= leastBeside && b.Apart*rest > 0:
			return &b, nil
		case b.P > leastBeside && gone == nil:
			gone = &b
		}
	}
	return nil, gone
}
