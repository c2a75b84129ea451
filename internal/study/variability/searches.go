package variability

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Searches is what values have that were searched for, as the capacity of a server
// is: an interval each, or only a lower bound.
type Searches struct {
	// AtLeast is how many values are only lower bounds. Mean and COV take them as values,
	// and are then not known.
	AtLeast int `json:"at_least"`
	// Median heeds the lower bounds ([stats.NewDistribution]), MedianLo and MedianHi are its
	// interval; null where they leave it open.
	Median   *float64 `json:"median"`
	MedianLo *float64 `json:"median_lo"`
	MedianHi *float64 `json:"median_hi"`
	// ErrorShare is what share of the variance the values' own intervals make up at most;
	// null without intervals or scatter.
	ErrorShare *float64        `json:"error_share"`
	Values     []SearchedValue `json:"values"` // a search each
}

// SearchedValue is one of them; Lo and Hi are its interval.
type SearchedValue struct {
	Time    *time.Time `json:"time"`
	Node    string     `json:"node,omitempty"`
	Value   float64    `json:"value"`
	Lo      *float64   `json:"lo"`
	Hi      *float64   `json:"hi"`
	AtLeast bool       `json:"at_least,omitempty"`
}

// mostError is from what share of the variance on the searches' own errors are doubted.
const mostError = .5

// searches is what the values have beside themselves; nil where they were not searched
// for.
func (x *examined) searches(m *Metric) *Searches {
	f := x.Frame
	if f.Ends == nil && x.bounds == nil {
		return nil
	}
	out := &Searches{Values: make([]SearchedValue, f.Len())}
	node, squares, known := f.Fact(frame.FactSubject), 0.0, 0
	for i, v := range f.Values {
		s := SearchedValue{Time: x.At(i), Value: v, AtLeast: x.bounds != nil && x.bounds[i]}
		if node != nil {
			s.Node = node.Level(i)
		}
		if s.AtLeast {
			out.AtLeast++
		}
		if f.Ends != nil && f.Ends[i] != [2]float64{} {
			s.Lo, s.Hi = &f.Ends[i][0], &f.Ends[i][1]
			half := (*s.Hi - *s.Lo) / 2
			squares, known = squares+half*half, known+1
		}
		out.Values[i] = s
	}
	if d, err := stats.NewDistribution(f.Values, x.bounds); err == nil {
		out.Median = num.IfFinite(d.Quantile(.5))
		worth := min(1, m.Dependence.EffectiveN/float64(f.Len()))
		if ci, err := d.Interval(.5, x.Level, worth); err == nil && f.Len() >= fewest {
			out.MedianLo, out.MedianHi = num.IfFinite(ci.Lo), num.IfFinite(ci.Hi)
		}
	}
	if z, err := stats.NormalCritical(.95); err == nil && known > 0 && m.SD != nil && *m.SD > 0 {
		share := min(1, squares/float64(known)/(z*z)/(*m.SD**m.SD))
		out.ErrorShare = &share
	}
	x.doubtSearches(m, out)
	return out
}

// doubtSearches says what lower bounds and wide intervals mean for the answer.
func (x *examined) doubtSearches(m *Metric, k *Searches) {
	if k.AtLeast > 0 {
		x.Doubts.Problem(frame.FactCensored, "%d of %s are only lower bounds, so mean and COV are not known; %s; search "+
			"again with room above them (max)", k.AtLeast, num.Count(m.N, "value"), k.medianWords(m.scale()))
	}
	if k.ErrorShare != nil && *k.ErrorShare >= mostError && m.N >= fewest {
		x.Doubts.Warn("search_error", "%s; the targets themselves vary less: use a finer resolution or longer windows",
			k.errorWords())
	}
}

// medianWords say where the median is.
func (k *Searches) medianWords(s num.Scale) string {
	switch {
	case k.Median != nil && k.MedianLo != nil && k.MedianHi != nil:
		return fmt.Sprintf("the median is %s %s", s.Value(*k.Median, 0), s.Interval(*k.MedianLo, *k.MedianHi))
	case k.Median != nil && k.MedianLo != nil:
		return fmt.Sprintf("the median is %s, and at least %s", s.Value(*k.Median, 0), s.Value(*k.MedianLo, 0))
	case k.MedianLo != nil:
		return "the median is at least " + s.Value(*k.MedianLo, 0)
	}
	return "the median is not known"
}

// errorWords say how much of the variance is the searches' own; empty: it is not known.
func (k *Searches) errorWords() string {
	if k == nil || k.ErrorShare == nil {
		return ""
	}
	return "the searches' own intervals make up at most " + num.Fraction(*k.ErrorShare) + " of the variance"
}

// mostLabels is how many levels a label has that is grouped by without being asked for.
const mostLabels = 12

// ofTargets are the facts to group by: those asked for, or else the labels of targets that
// were searched.
func (x *examined) ofTargets(by []string) []string {
	if len(by) > 0 || x.Frame.Ends == nil && x.bounds == nil || x.Fact(frame.FactSubject) == nil {
		return by
	}
	others := append([]string{frame.FactDisturbed, frame.FactVersion, frame.FactFile}, ids...)
	for _, f := range x.Frame.Facts {
		if fact := x.Fact(f.Name); fact != nil && fact.Used <= mostLabels && !explain.Passing(f.Name) &&
			!slices.Contains(others, f.Name) {
			by = append(by, f.Name)
		}
	}
	return by
}

// mostIntervals is how many values have their own interval drawn.
const mostIntervals = 2000

// ownIntervals are those of the values over time.
func (m *Metric) ownIntervals() []chart.Layer {
	if m.Searches == nil || m.N > mostIntervals {
		return nil
	}
	l := chart.Layer{Mark: chart.Rule, Role: chart.Interval, Name: "interval of a search"}
	for i, v := range m.Searches.Values {
		if v.Lo != nil {
			l.AddRange(m.place(i), *v.Lo, *v.Hi)
		}
	}
	if len(l.X) == 0 {
		return nil
	}
	return []chart.Layer{l}
}

// mostShares is how many levels have a line: as many as there are colours.
const mostShares = 8

// sharesFigure is the share of searches up to each value, by the levels of a fact (the
// paper on black-box throughput, fig. 3). It heeds lower bounds.
func (m *Metric) sharesFigure(g explain.Grouping) doc.Block {
	fact := m.x.Fact(g.Fact)
	if m.Searches == nil || fact == nil {
		return doc.Block{}
	}
	most := 100.0
	c := chart.Chart{Title: "Share of searches up to each value, by " + m.nameOf(g.Fact), Height: 240,
		X: chart.Axis{Unit: m.Unit, Label: m.Metric, Tight: true}, Y: chart.Axis{Unit: "%", Hi: &most}}
	role := m.levelRoles(g.Fact)
	for i, group := range g.Groups[:min(len(g.Groups), mostShares)] {
		var values []float64
		var bounds []bool
		for row, v := range m.Searches.Values {
			if fact.Level(row) == group.Level {
				values, bounds = append(values, v.Value), append(bounds, v.AtLeast)
			}
		}
		d, err := stats.NewDistribution(values, bounds)
		if err != nil || len(d.X) == 0 {
			continue
		}
		l := chart.Layer{Mark: chart.Step, Name: fmt.Sprintf("%s (%d)", group.Level, group.N),
			Role: cmp.Or(role[group.Level], chart.Series(i))}
		l.Add(d.X[0], 0)
		for k, x := range d.X {
			l.Add(x, 100*d.Share[k])
		}
		c.Layers = append(c.Layers, l)
	}
	if len(c.Layers) == 0 {
		return doc.Block{}
	}
	b := plot("A line ends below 100 % where the largest values are only lower bounds", c)
	if more := len(g.Groups) - mostShares; more > 0 {
		b.Figure.Note = num.Count(more, "more level") + ": see the table."
	}
	return b
}

// poorTable names the poor nodes, with what to do.
func (m *Metric) poorTable() doc.Block {
	if len(m.Poor) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{
		doc.Label("node", "node"), doc.Label("why", "worse than"), doc.Label("since", "since"),
		doc.Number("before", "was, or\nothers are"), doc.Number("now", "is"), doc.Number("relative", "difference"),
		{Key: "do", Head: "what to do"}}}
	for _, p := range m.Poor {
		t.Add(doc.Say(p.Node), doc.Say(worseThan(p)), clock(p.Since, ""), m.value(p.Before), m.value(p.Now),
			doc.Of(p.Relative, num.Signed(p.Relative)), doc.Say("redeploy "+p.Node))
	}
	return doc.Block{Table: t}
}

// worseThan is what a poor node is compared with, in words.
func worseThan(p explain.Poor) string {
	if p.Why == explain.PoorFell {
		return "its own history"
	}
	return fmt.Sprintf("%d peers", p.Peers)
}

// advisePoor names the poor nodes, the worst first.
func (m *Metric) advisePoor() {
	if slices.ContainsFunc(m.x.Doubts, func(d model.Doubt) bool {
		return d.Severity == model.Problem && d.Code != frame.FactCensored
	}) {
		return
	}
	s := m.scale()
	for i, p := range m.Poor {
		if i == mostNamed {
			m.advice("redeploy", "", 1, "redeploy %s in the table of poor nodes, too", num.Count(len(m.Poor)-i, "more node"))
			return
		}
		than := fmt.Sprintf("than its %d peers", p.Peers)
		if p.Since != nil {
			than = "than before, since " + num.Clock(*p.Since)
		}
		m.advice("redeploy", "", 1, "redeploy %s: it is worse by %s %s (%s, not %s)", p.Node,
			num.Fraction(math.Abs(p.Relative)), than, s.Value(p.Now, 0), s.Value(p.Before, 0))
		m.Advice[len(m.Advice)-1].Node = p.Node
	}
}
