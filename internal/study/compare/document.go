package compare

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{
		Title: strings.Join(r.Others, ", ") + " against " + r.Base, Answer: r.answer(), More: r.Told,
		Verdict: r.overall(), Warnings: r.warnings(), Data: doc.Flatten(r, "comparisons", dataColumns...),
	}
	comparison := []doc.Block{{Table: r.table()}}
	for _, text := range r.how() {
		comparison = append(comparison, doc.Remark(text))
	}
	d.AddSection("comparison", "Comparison", "", doc.Everywhere, comparison...)
	d.AddSection("differences", "By how much", fmt.Sprintf("By how much each metric differs from %s, with its interval. "+
		"The line is no difference, the band the margin of %s.", r.Base, num.Percent(r.Margin)), doc.Everywhere, r.ratios())
	d.AddSection("values", "What was measured", "", doc.Page, r.distributions())
	if pairs := r.pairs(); !pairs.Empty() {
		d.AddSection("pairs", "Pairs", "The ratio of each pair, in their order.", doc.Page, pairs)
	}
	d.AddSection("tests", "Other tests", "They do not decide. Where one of them disagrees, look at the distributions.",
		doc.Page, doc.Block{Table: r.tests()})
	return d
}

// overall is the worst of the verdicts: worse first, then what is not known.
func (r *Result) overall() doc.Tag {
	worst := Equivalent
	for _, v := range []Verdict{Better, Lower, Higher, Unclear, Unknown, Worse} {
		if slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.Verdict == v }) {
			worst = v
		}
	}
	return doc.Tag{Word: string(worst), Tone: worst.Tone()}
}

// mostUnclear is how many unclear metrics have their own warning.
const mostUnclear = 3

// warnings are those of all comparisons, each once.
func (r *Result) warnings() []doc.Warning {
	var out []doc.Warning
	names, unclear := make([]string, len(r.Comparisons)), 0
	for i := range names {
		c := &r.Comparisons[i]
		if names[i] = c.named(len(r.Others) > 1); c.Verdict == Unclear {
			unclear++
		}
	}
	if unclear > mostUnclear {
		out = append(out, doc.Warning{Text: fmt.Sprintf("%d are unclear: neither a difference nor that there is none can be shown; needed in JSON and CSV is how many values would settle each", unclear)})
	}
	return append(out, doc.WarningsOf(names, func(i int) (texts []string) {
		for _, d := range r.Comparisons[i].doubts {
			if d.Code != codeUnclear || unclear <= mostUnclear {
				texts = append(texts, d.Text)
			}
		}
		return texts
	})...)
}

// table is the answer for people: a row a metric.
func (r *Result) table() *doc.Table {
	several, b, p := len(r.Others) > 1, "compared", "p"
	if !several {
		b = r.Others[0]
	}
	corrected := r.tested() > 1
	if corrected {
		p = "q"
	}
	t := &doc.Table{Columns: []doc.Column{
		{Key: "metric", Head: "metric"},
		doc.Number("a", r.Base+"\nmedian ±COV"), doc.Number("b", b+"\nmedian ±COV"),
		doc.Number("change", "change"), doc.Number("ci", "interval"),
		{Key: "p", Head: p, Right: true, Tip: "two-sided probability of so large a difference by chance; q: corrected " +
			"for the number of comparisons"},
		{Key: "n", Head: "n", Right: true, Tip: "independent values of both sides, or pairs"},
		{Key: "verdict", Head: "verdict"},
	}, Stack: [][]string{{"change", "ci"}, {"p", "n"}, {"a", "b"}}}
	if several {
		t.Columns = slices.Insert(t.Columns, 1, doc.Column{Key: "who", Head: "of"})
	}
	add := func(name, who string, cells ...doc.Cell) {
		if several {
			cells = slices.Insert(cells, 0, doc.Say(who))
		}
		t.Add(slices.Insert(cells, 0, doc.Say(name))...)
	}
	for _, c := range r.Comparisons {
		change, interval := c.changeText()
		p := c.P
		if corrected {
			p = c.Q
		}
		add(c.key().Name(), c.B.Name, doc.Of(c.A.Median, c.side(c.A)), doc.Of(c.B.Median, c.side(c.B)),
			doc.Of(c.Ratio, change).As(doc.Strong), doc.Of(nil, interval), doc.Optional(p, probability),
			doc.Of(nil, c.count()), doc.Say(string(c.Verdict)).As(c.Verdict.Tone()))
	}
	for _, g := range r.Geomeans {
		name := "geometric mean of " + num.Count(g.N, "metric") + strings.TrimSuffix(" in "+g.Unit, " in ")
		add(name, g.B, doc.Cell{}, doc.Cell{}, doc.Of(g.Ratio, num.SignedPercent(percent(g.Ratio))).As(doc.Strong))
	}
	return t
}

// count is how many independent values there are: "6 + 6", "12 pairs".
func (c *Comparison) count() string {
	if c.Paired {
		return num.Count(c.A.N, "pair")
	}
	return num.Grouped(int64(c.A.N)) + " + " + num.Grouped(int64(c.B.N))
}

// side prints the median with unit, and how much single values scatter.
func (c *Comparison) side(s Side) string {
	if s.Median == nil {
		return num.Missing
	}
	text := num.For(c.Unit, *s.Median).Value(*s.Median, 0)
	if s.COV != nil {
		text += " ±" + num.Percent(100**s.COV)
	}
	return text
}

// probability prints a p-value; what is too small for four digits is not 0.
func probability(p float64) string {
	if p < .0001 {
		return "<0.0001"
	}
	return strconv.FormatFloat(p, 'f', 4, 64)
}

// ratios is the figure of all intervals, as differences in percent.
func (r *Result) ratios() doc.Block {
	margin := 1 + r.Margin/100
	low, high := percent(1/margin), percent(margin)
	var rows []chart.Row
	intervals, points := chart.Layer{Mark: chart.Rule, Role: chart.Interval}, chart.Layer{Mark: chart.Point}
	for i, c := range r.Comparisons {
		row := chart.Row{Name: c.key().Name(), Tag: string(c.Verdict), Role: c.Verdict.role()}
		if len(r.Others) > 1 {
			row.Name, row.Sub = c.B.Name, c.key().Name()
		}
		if c.Ratio != nil && c.CI != nil {
			row.Value, row.Note = c.changeText()
			intervals.AddSpan(percent(c.CI.Lo), percent(c.CI.Hi), float64(i))
			points.Add(percent(*c.Ratio), float64(i))
			points.Roles = append(points.Roles, c.Verdict.role())
		}
		rows = append(rows, row)
	}
	return doc.Plot("", "", chart.Chart{
		Title: "Difference from " + r.Base, X: chart.Axis{Label: "difference from " + r.Base, Unit: "%", Lo: &low, Hi: &high, Tight: true, Signed: true},
		Y: chart.Axis{Kind: chart.Rows, Rows: rows},
		Layers: []chart.Layer{
			{Mark: chart.Band, Role: chart.Window, X: chart.Values{low}, X2: chart.Values{high}, Y: chart.Values{0}, Y2: chart.Values{float64(len(rows) - 1)}, Name: "margin of " + num.Percent(r.Margin)},
			{Mark: chart.Rule, Role: chart.Reference, X: chart.Values{0}, Name: "no difference"},
			intervals, points,
		},
	})
}

// percent is by how much a ratio differs from 1.
func percent(ratio float64) float64 { return 100 * (ratio - 1) }

// changeText is the change and its interval.
func (c *Comparison) changeText() (change, interval string) {
	if c.Ratio == nil || c.CI == nil {
		return num.Missing, ""
	}
	return num.SignedPercent(percent(*c.Ratio)), "[" + strings.TrimSuffix(num.SignedPercent(percent(c.CI.Lo)), " %") + " .. " + num.SignedPercent(percent(c.CI.Hi)) + "]"
}

// role is how a verdict is drawn.
func (v Verdict) role() chart.Role {
	switch v {
	case Better:
		return chart.Better
	case Worse:
		return chart.Bad
	case Equivalent:
		return chart.Good
	case Unknown:
		return chart.Unknown
	}
	return chart.Estimate
}

// mostFigures bounds the figures of single metrics: those that differ come first.
const mostFigures = 12

// shown are the comparisons that get figures of their own.
func (r *Result) shown() []Comparison {
	var out []Comparison
	for _, v := range []Verdict{Worse, Better, Higher, Lower, Unclear, Unknown, Equivalent} {
		for _, c := range r.Comparisons {
			if c.Verdict == v {
				out = append(out, c)
			}
		}
	}
	return out[:min(len(out), mostFigures)]
}

// distributions are a box of each side for each metric, of the rows as they were
// measured.
func (r *Result) distributions() doc.Block {
	f := doc.Figure{Columns: 2, Note: "Boxes: quartiles and median; whiskers: the farthest values within 1.5 times the box."}
	for _, c := range r.shown() {
		name := func(s Side) string { return fmt.Sprintf("%s (%s)", s.Name, num.Count(s.Rows, "value")) }
		f.Panels = append(f.Panels, doc.Panel{Title: c.key().Name(), Words: string(c.Verdict), Role: c.Verdict.role(), Chart: chart.Chart{
			Title: c.key().Name(), X: chart.Axis{Unit: c.Unit, Tight: true},
			Y:      chart.Axis{Kind: chart.Rows, Rows: []chart.Row{{Name: name(c.A)}, {Name: name(c.B)}}},
			Layers: []chart.Layer{{Mark: chart.Box, Y: chart.Values{0, 1}, Boxes: []chart.Summary{chart.Summarize(c.rowsA, chart.Tukey), chart.Summarize(c.rowsB, chart.Tukey)}}},
		}})
	}
	return doc.Block{Figure: &f}
}

// pairs are the ratios of paired values in their order.
func (r *Result) pairs() doc.Block {
	f := doc.Figure{Columns: 2, Note: "A point a pair; the band is the interval of the ratio of all, and 1 is no difference."}
	for _, c := range r.shown() {
		if !c.Paired || c.Ratio == nil || c.CI == nil || len(c.layout.A) < 2 {
			continue
		}
		var dots chart.Dots
		for i, a := range c.layout.A {
			dots.X, dots.Y = append(dots.X, float64(i+1)), append(dots.Y, c.layout.B[i]/a)
		}
		layers := []chart.Layer{
			{Mark: chart.Rule, Role: chart.Reference, Y: chart.Values{1}, Text: []string{"no difference"}},
			{Mark: chart.Band, Role: chart.Interval, Y: chart.Values{c.CI.Lo}, Y2: chart.Values{c.CI.Hi}, Name: "interval"},
		}
		x, y := chart.Axis{Label: "pair", Whole: true, Tight: true}, chart.Axis{Label: "ratio", Tight: true}
		f.Panels = append(f.Panels, doc.Panel{Title: c.key().Name(), Words: c.count(), Role: c.Verdict.role(), Chart: chart.Chart{
			Title: "Ratio of each pair: " + c.key().Name(), X: x, Y: y, Layers: append(layers, chart.Scatter(x, y, dots)...)}})
	}
	if len(f.Panels) == 0 {
		return doc.Block{}
	}
	return doc.Block{Figure: &f}
}

// tests are the usual tests beside the one that decides.
func (r *Result) tests() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "metric", Head: "metric"}, {Key: "decides", Head: "decides"},
		{Key: "t", Head: "t test\np", Right: true, Tip: "Welch's, or the paired one"}, {Key: "ranks", Head: "ranks\np", Right: true, Tip: "Mann-Whitney, or Wilcoxon's signed ranks"},
		{Key: "a12", Head: "A12", Right: true, Tip: "share of pairs in which B is higher"}, {Key: "shift", Head: "shift", Right: true, Tip: "Hodges-Lehmann, in the unit"},
		doc.Number("means", "ratio of means"),
	}}
	for _, c := range r.Comparisons {
		scale := num.For(c.Unit, deref(c.A.Median), deref(c.B.Median))
		welch, ranks := num.Missing, num.Missing
		if c.T != nil {
			welch = probability(c.T.P)
		}
		if c.Ranks != nil {
			ranks = probability(c.Ranks.P)
		}
		t.Add(doc.Say(c.key().Name()), doc.Say(cmp.Or(methodWords[c.Method], c.Method)), doc.Of(nil, welch), doc.Of(nil, ranks),
			doc.Optional(c.A12, func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }),
			doc.Of(nil, ranged(c.Shift, c.ShiftCI, scale)), doc.Of(nil, ranged(c.MeanRatio, c.MeanRatioCI,
				num.Scale{Factor: 1})))
	}
	return t
}

// methodWords are the tests that decide, for people.
var methodWords = map[string]string{
	methodShift: "Hodges and Lehmann", methodSignedShift: "Hodges and Lehmann, pairs", methodT: "Welch", methodPairedT: "Student, pairs",
	methodMeans: "Fieller", methodPairedMeans: "Fieller, pairs", methodEffective: "Student, fewer values", methodEqual: "exact",
	methodRanges: "ranges",
}

func deref(x *float64) float64 {
	if x == nil {
		return math.NaN()
	}
	return *x
}

// ranged prints a value that may be missing, and its interval behind it.
func ranged(v *float64, i *stats.Interval, scale num.Scale) string {
	text := num.Optional(v, func(x float64) string { return scale.Value(x, 0) })
	if v != nil && i != nil {
		text += " " + scale.Interval(i.Lo, i.Hi)
	}
	return text
}

// dataColumns are the columns of the CSV form, a row a comparison, and their keys in
// JSON. Names and order are a contract; new ones are added at the end.
var dataColumns = []string{
	"a=a_name", "b=b_name", "workload", "metric", "phase", "unit", "better", "rows_a=a_rows", "rows_b=b_rows", "n_a=a_n",
	"n_b=b_n",
	"mean_a=a_mean", "mean_b=b_mean", "median_a=a_median", "median_b=b_median", "cov_a=a_cov", "cov_b=b_cov",
	"ratio", "ratio_lo=ci_lo", "ratio_hi=ci_hi", "level", "p", "q", "verdict",
	"method", "of", "paired", "successive", "needed", "a12", "shift", "mean_ratio", "warnings",
}
