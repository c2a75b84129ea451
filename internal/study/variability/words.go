package variability

import (
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/model"
)

// unclearWords say what would settle an unclear verdict.
func (m *Metric) unclearWords() string {
	limit := num.Fraction(steadyCOV)
	if m.SettledBy == nil {
		return fmt.Sprintf("; the interval reaches from below %s to above: the COV is so near that more values "+
			"hardly tell on which side it is", limit)
	}
	what := "values"
	if m.Dependence.Clustered != nil {
		what = m.Dependence.Units()
	}
	return fmt.Sprintf("; whether that is above %s is unclear, and about %.2g times as many %s would tell", limit,
		*m.SettledBy, what)
}

// noInterval is why the COV has no interval.
func (m *Metric) noInterval() string {
	switch {
	case m.Min < 0:
		return "some values are below 0, and the mean might be 0"
	case m.Dependence.EffectiveN < fewInTime:
		return fmt.Sprintf("%s are worth only %.1f independent ones, which give it no upper end", num.Count(m.N, "value"),
			m.Dependence.EffectiveN)
	}
	return "these values give it no upper end"
}

// sentence is the answer about a metric.
func (m *Metric) sentence() string {
	if m.Verdict == Unknown {
		for _, d := range m.x.Doubts {
			if d.Severity == model.Problem {
				return "It is not known how much " + m.Name() + " varies: " + d.Text + "."
			}
		}
		if m.COVCI != nil {
			return fmt.Sprintf("It is not known how much %s varies: it seems to be %s%s, but %s.", m.Name(), num.Fraction(*m.COV), percentInterval(m.COVCI), m.doubted(doubtAlike, doubtTail))
		}
		return "It is not known how much " + m.Name() + " varies: the COV has no interval, for " + m.noInterval() + "."
	}
	ci := percentInterval(m.COVCI)
	if m.COVCI == nil {
		ci = ", without an interval: " + m.noInterval()
	}
	text := fmt.Sprintf("%s varies by %s (COV%s) over %s%s", m.Name(), num.Fraction(*m.COV), ci, num.Count(m.N, "value"),
		m.period())
	switch {
	case m.Equal():
		text = fmt.Sprintf("%s is the same in all of %s%s", m.Name(), num.Count(m.N, "value"), m.period())
		if m.COVCI != nil {
			text += fmt.Sprintf(" (by its digits the COV is at most %s)", num.Fraction(m.COVCI[1]))
		}
	case m.Verdict == Unclear:
		text += m.unclearWords()
	case m.Course.Changed():
		text += "; " + changeWords(m.Course)
	case m.Bands.Found:
		text += fmt.Sprintf("; the values fall into %d bands", len(m.Bands.Bands))
		if by := m.Bands.By; by != nil {
			text += ", which " + explainsWords(by) + " tells"
		}
	}
	if e := m.best(); e != nil {
		text += fmt.Sprintf("; the %s explains %s of the variance%s", factName(*e), num.Fraction(e.Omega2), m.alikeTo(e.Fact))
	} else if i := slices.IndexFunc(m.Facts, explain.Effect.GoesWith); i >= 0 {
		text += fmt.Sprintf("; the %s goes with %s of the variance, which cannot be tested here", m.nameOf(m.Facts[i].Fact), num.Fraction(m.Facts[i].Omega2))
	} else if len(m.Facts) > 0 && !m.Course.Changed() && !m.Bands.Found {
		text += "; no recorded fact explains it"
	}
	if m.note != "" {
		text += "; " + m.note
	}
	return text + "."
}

// explainsWords name the fact, and those that it cannot be told apart from.
func explainsWords(e *explain.Explains) string {
	if len(e.Same) == 0 {
		return "the " + e.Fact
	}
	return "the " + e.Fact + " (or the " + orOf(e.Same) + ")"
}

func (m *Metric) period() string {
	if m.From == nil || !m.To.After(*m.From) {
		return ""
	}
	return " in " + num.Span(m.To.Sub(*m.From))
}

// percentInterval is " [23.1, 25.0]" of fractions, or nothing.
func percentInterval(ci *explain.Interval) string {
	if ci == nil {
		return ""
	}
	return " " + num.PercentInterval(100*ci[0], 100*ci[1])
}

// orOf is ", or the" between names; of many, how many others there are.
func orOf(names []string) string {
	if more := len(names) - mostNamed; more > 1 {
		return strings.Join(names[:mostNamed], ", or the ") + ", or one of " + num.Grouped(int64(more)) + " others"
	}
	return strings.Join(names, ", or the ")
}
