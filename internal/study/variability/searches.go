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
	Median   *float64        `json:"median"`
	MedianLo *float64        `json:"median_lo"`
	MedianHi *float64        `json:"median_hi"`
	Values   []SearchedValue `json:"values"` // a search each
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

// searches is what the values have beside themselves; nil where they were not searched
// for.
func (x *examined) searches(m *Metric) *Searches {
	f := x.Frame
	if f.Ends == nil && x.bounds == nil {
		return nil
	}
	out := &Searches{Values: make([]SearchedValue, f.Len())}
	node := f.Fact(frame.FactSubject)
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
	x.doubtBounds(m, out)
	return out
}

// doubtBounds says what lower bounds mean for the answer.
func (x *examined) doubtBounds(m *Metric, k *Searches) {
	if k.AtLeast > 0 {
		x.Doubts.Problem(frame.FactCensored, "%d of %s are only lower bounds, so mean and COV are not known; %s; search "+
			"again with room above them (max)", k.AtLeast, num.Count(m.N, "value"), k.medianWords(m.scale()))
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
		l.AddShares(d.X, d.Share)
		c.Layers = append(c.Layers, l)
	}
	if len(c.Layers) == 0 {
		return doc.Block{}
	}
	return plot("A line ends below 100 % where the largest values are only lower bounds; the table has all levels", c)
}

// poorTable names the poor nodes, with what to do.
func (m *Metric) poorTable() doc.Block {
	if len(m.Poor) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{doc.Label("node", "node"), doc.Label("since", "worse since"),
		doc.Number("now", "is"), doc.Number("expected", "expected"), doc.Number("relative", "difference"),
		{Key: "do", Head: "what to do"}}}
	for _, p := range m.Poor {
		t.Add(doc.Say(p.Node), clock(p.Since, ""), m.value(p.Now), m.value(p.Expected),
			doc.Of(p.Relative, num.Signed(p.Relative)), doc.Say("redeploy "+p.Node))
	}
	return doc.Block{Table: t}
}

// advisePoor names the poor nodes, the worst first.
func (m *Metric) advisePoor() {
	if slices.ContainsFunc(m.x.Doubts, func(d model.Doubt) bool {
		return d.Severity == model.Problem && d.Code != frame.FactCensored
	}) {
		return
	}
	s := m.scale()
	for i, p := range m.Poor[:min(len(m.Poor), mostNamed)] {
		rest := ""
		if more := len(m.Poor) - mostNamed; i == mostNamed-1 && more > 0 {
			rest = "; the table has " + num.Count(more, "more node")
		}
		m.advice("redeploy", "", 1, "redeploy %s: it is worse by %s than before, since %s (%s, not %s)%s", p.Node,
			num.Fraction(math.Abs(p.Relative)), num.Clock(*p.Since), s.Value(p.Now, 0), s.Value(p.Expected, 0), rest)
		m.Advice[len(m.Advice)-1].Node = p.Node
	}
}
