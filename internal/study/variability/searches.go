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
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// Searches is what values have that were searched for, as the capacity of a server
// is: an interval each, or only a lower bound.
type Searches struct {
	// AtLeast is how many values are only lower bounds. With any, mean, median and quantiles
	// of the metric and its groups are lower bounds, too, and COVs and intervals are null.
	AtLeast int `json:"at_least"`
	// Median takes lower bounds to be as the values above them ([stats.NewDistribution]).
	// MedianLo and MedianHi are its interval, which supposes nothing of them; null where they
	// leave it open.
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
	}
	if ci, err := x.medianInterval(min(1, m.Dependence.EffectiveN/float64(f.Len()))); err == nil && f.Len() >= fewest {
		out.MedianLo, out.MedianHi = num.IfFinite(ci.Lo), num.IfFinite(ci.Hi)
	}
	x.doubtBounds(m, out)
	return out
}

// medianInterval supposes nothing of what lower bounds stand for: its lower end is that if all
// are the values, and its upper end that if all values are above the others. worth is what
// share of the values is independent.
func (x *examined) medianInterval(worth float64) (stats.Interval, error) {
	values := x.Frame.Values
	low, err := stats.NewDistribution(values, nil)
	if err != nil {
		return stats.Interval{}, err //nolint:wrapcheck // asked for an interval
	}
	above, most := slices.Clone(values), slices.Max(values)
	for i, bound := range x.bounds {
		if bound {
			above[i] = most
		}
	}
	high, err := stats.NewDistribution(above, x.bounds)
	if err != nil {
		return stats.Interval{}, err //nolint:wrapcheck // asked for an interval
	}
	out, err := low.Interval(.5, x.Level, worth)
	if err != nil {
		return out, err //nolint:wrapcheck // asked for an interval
	}
	upper, err := high.Interval(.5, x.Level, worth)
	out.Hi = upper.Hi
	return out, err //nolint:wrapcheck // asked for an interval
}

// bounded reports whether some values are only lower bounds.
func (m *Metric) bounded() bool { return m.Searches != nil && m.Searches.AtLeast > 0 }

// withoutBounds leaves out what lower bounds do not tell. Each of mean and quantiles is a
// lower bound, too, for it grows with every value; COVs, intervals and what rests on them are
// no bound on either side.
func (m *Metric) withoutBounds() {
	if !m.bounded() {
		return
	}
	m.SD, m.COV, m.COVCI, m.MeanCI, m.MedianCI = nil, nil, nil, nil, nil
	m.Bands = explain.BandSearch{Why: m.Bands.Why}
	m.Facts, m.Confounded, m.Cutoffs, m.Slots, m.Decomposition, m.Course = []explain.Effect{}, nil, nil, nil, nil, nil
	m.Outliers, m.Repetitions, m.Baseline, m.Clusters = explain.Outliers{}, []Needed{}, nil, nil
	for _, g := range m.Groups {
		for i := range g.Groups {
			g.Groups[i].COV, g.Groups[i].COVCI = nil, nil
		}
	}
}

// poor are the poor nodes, if nothing but lower bounds speaks against the values. Rows that
// something else on the node disturbed are no reason to take another node.
func (x *examined) poor() []explain.Poor {
	if slices.ContainsFunc(x.Doubts, func(d model.Doubt) bool {
		return d.Severity == model.Problem && d.Code != frame.FactCensored
	}) {
		return nil
	}
	rest, others := observe.NotDisturbedBy(x.Frame, func(kind string) bool {
		return slices.Contains([]string{"others", "swap", "oom", "pause"}, kind)
	})
	if others == 0 {
		return x.Poor()
	}
	return explain.New(rest, x.Question).Poor()
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
	var without []string // levels without a line
	for i, group := range g.Groups {
		var values []float64
		var bounds []bool
		known := 0
		for row, v := range m.Searches.Values {
			if fact.Level(row) == group.Level {
				values, bounds = append(values, v.Value), append(bounds, v.AtLeast)
				if !v.AtLeast {
					known++
				}
			}
		}
		d, err := stats.NewDistribution(values, bounds)
		if err != nil || len(d.X) == 0 || i >= mostShares {
			without = append(without, group.Level)
			continue
		}
		l := chart.Layer{Mark: chart.Step, Name: fmt.Sprintf("%s (%d)", group.Level, group.N),
			Role: cmp.Or(role[group.Level], chart.Series(i))}
		if known < group.N {
			l.Name = fmt.Sprintf("%s (%d, %d lower bounds)", group.Level, group.N, group.N-known)
		}
		l.Add(d.X[0], 0)
		l.AddShares(d.X, d.Share)
		c.Layers = append(c.Layers, l)
	}
	if len(c.Layers) == 0 {
		return doc.Block{}
	}
	about := "Lower bounds are taken to be as the values above them: a line ends below 100 % if the largest are bounds"
	if len(without) > 0 {
		about += "; without a line: " + listOf(without)
	}
	return plot(about, c)
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
		do := "redeploy " + p.Node
		if m.manyPoor() {
			do = "look for what these nodes share"
		}
		t.Add(doc.Say(p.Node), clock(p.Since, ""), m.value(p.Now), m.value(p.Expected),
			doc.Of(p.Relative, num.Signed(p.Relative)), doc.Say(do))
	}
	return doc.Block{Table: t}
}

// manyPoor reports whether several nodes are poor, and more than a quarter of all: what they
// share may be the cause, or the others became better.
func (m *Metric) manyPoor() bool {
	return m.Subjects != nil && len(m.Poor) > 1 && 4*len(m.Poor) > m.Subjects.N
}

func (m *Metric) poorNames() (out []string) {
	for _, p := range m.Poor {
		out = append(out, p.Node)
	}
	return out
}

// advisePoor names the poor nodes, the worst first.
func (m *Metric) advisePoor() {
	if m.manyPoor() {
		m.advice("redeploy", "", 1, "before you redeploy, look for what %s share: %d of %d nodes became worse than the "+
			"others, the worst one since %s", num.List(m.poorNames()), len(m.Poor), m.Subjects.N, num.Clock(*m.Poor[0].Since))
		return
	}
	s := m.scale()
	for i, p := range m.Poor[:min(len(m.Poor), mostNamed)] {
		rest := ""
		if more := len(m.Poor) - mostNamed; i == mostNamed-1 && more > 0 {
			rest = "; the table has " + num.Count(more, "more node")
		}
		if m.To.Sub(*m.From) < 48*time.Hour {
			rest += "; less than two days were measured: a daily cycle of this node alone could also cause this"
		}
		m.advice("redeploy", "", 1, "redeploy %s: it is worse by %s than before, since %s (%s, not %s)%s", p.Node,
			num.Fraction(math.Abs(p.Relative)), num.Clock(*p.Since), s.Value(p.Now, 0), s.Value(p.Expected, 0), rest)
		m.Advice[len(m.Advice)-1].Node = p.Node
	}
}
