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
	d.Sections = []doc.Section{
		{ID: "comparison", Title: "Comparison", Blocks: append([]doc.Block{{Table: r.table()}}, r.remarks()...)},
		{ID: "differences", Title: "By how much", Intro: fmt.Sprintf("By how much each metric differs from %s, with its interval. The line is no difference, the band the margin of %s.", r.Base, num.Percent(r.Margin)), Blocks: []doc.Block{r.ratios()}},
		{ID: "values", Title: "What was measured", Show: doc.Page, Blocks: r.distributions()},
	}
	if pairs := r.pairs(); len(pairs) > 0 {
		d.Sections = append(d.Sections, doc.Section{ID: "pairs", Title: "Pairs", Show: doc.Page, Intro: "The ratio of each pair, in their order.", Blocks: pairs})
	}
	d.Sections = append(d.Sections, doc.Section{ID: "tests", Title: "Other tests", Show: doc.Page, Intro: "They do not decide. Where one of them disagrees, look at the distributions.", Blocks: []doc.Block{{Table: r.tests()}}})
	return d
}

// overall is the worst of the verdicts: worse first, then what is not known.
func (r *Result) overall() doc.Tag {
	for _, v := range []Verdict{Worse, Unknown, Unclear, Higher, Lower, Better} {
		if slices.ContainsFunc(r.Comparisons, func(c Comparison) bool { return c.Verdict == v }) {
			return doc.Tag{Word: string(v), Tone: v.Tone()}
		}
	}
	return doc.Tag{Word: string(Equivalent), Tone: Equivalent.Tone()}
}

// mostUnclear is how many unclear metrics have their own warning.
const mostUnclear = 3

// warnings are those of all comparisons, each once, with the metric where there
// are several.
func (r *Result) warnings() []doc.Warning {
	var out []doc.Warning
	where := make(map[string][]string)
	var order []string
	unclear := 0
	for _, c := range r.Comparisons {
		if c.Verdict == Unclear {
			unclear++
		}
	}
	if unclear > mostUnclear {
		out = append(out, doc.Warning{Text: fmt.Sprintf("%d are unclear: neither a difference nor that there is none can be shown; needed in JSON and CSV is how many values would settle each", unclear)})
	}
	for _, c := range r.Comparisons {
		for _, d := range c.doubts {
			if d.Code == codeUnclear && unclear > mostUnclear {
				continue
			}
			if where[d.Text] == nil {
				order = append(order, d.Text)
			}
			where[d.Text] = append(where[d.Text], c.named(len(r.Others) > 1))
		}
	}
	for _, w := range order {
		text := w
		if n := len(where[w]); n < len(r.Comparisons) {
			text = num.List(where[w]) + ": " + w
		}
		out = append(out, doc.Warning{Text: text})
	}
	return out
}

// table is the answer for people: a row a metric.
func (r *Result) table() *doc.Table {
	several := len(r.Others) > 1
	b := "compared"
	if !several {
		b = r.Others[0]
	}
	t := &doc.Table{Columns: []doc.Column{
		{Key: "metric", Head: "metric"},
		doc.Numbers("a", r.Base + "\nmedian ±COV"), doc.Numbers("b", b + "\nmedian ±COV"),
		doc.Numbers("change", "change"), doc.Numbers("ci", "interval"),
		{Key: "p", Head: map[bool]string{true: "q", false: "p"}[r.tested() > 1], Right: true, Tip: "two-sided probability of so large a difference by chance; q: corrected for the number of comparisons"},
		{Key: "n", Head: "n", Right: true, Tip: "independent values of both sides, or pairs"},
		{Key: "verdict", Head: "verdict"},
	}, Stack: [][]string{{"change", "ci"}, {"p", "n"}, {"a", "b"}}}
	if several {
		t.Columns = slices.Insert(t.Columns, 1, doc.Column{Key: "who", Head: "of"})
	}
	for _, c := range r.Comparisons {
		cells := []doc.Cell{doc.Say(c.key().Name())}
		if several {
			cells = append(cells, doc.Say(c.B.Name))
		}
		change, interval := c.changeText()
		p := c.P
		if r.tested() > 1 {
			p = c.Q
		}
		t.Add(append(cells, doc.Of(c.A.Median, c.side(c.A)), doc.Of(c.B.Median, c.side(c.B)),
			doc.Of(c.Ratio, change).As(doc.Strong), doc.Of(nil, interval), doc.Optional(p, probability),
			doc.Of(nil, c.count()), doc.Say(string(c.Verdict)).As(c.Verdict.Tone()))...)
	}
	for _, g := range r.Geomeans {
		cells := []doc.Cell{doc.Say("geometric mean of " + num.Count(g.N, "metric") + strings.TrimSuffix(" in "+g.Unit, " in "))}
		if several {
			cells = append(cells, doc.Say(g.B))
		}
		t.Add(append(cells, doc.Cell{}, doc.Cell{}, doc.Of(g.Ratio, num.SignedPercent(percent(g.Ratio))).As(doc.Strong), doc.Cell{}, doc.Cell{}, doc.Cell{}, doc.Cell{})...)
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

// remarks say how it was done.
func (r *Result) remarks() []doc.Block {
	var out []doc.Block
	for _, text := range r.how() {
		out = append(out, doc.Remark(text))
	}
	return out
}

// ratios is the figure of all intervals, as differences in percent.
func (r *Result) ratios() doc.Block {
	margin := 1 + r.Margin/100
	low, high := percent(1/margin), percent(margin)
	var rows []chart.Row
	var at, lo, hi, y chart.Values
	var roles []chart.Role
	for i, c := range r.Comparisons {
		row := chart.Row{Name: c.key().Name(), Tag: string(c.Verdict), Role: c.Verdict.role()}
		if len(r.Others) > 1 {
			row.Name, row.Sub = c.B.Name, c.key().Name()
		}
		if c.Ratio != nil && c.CI != nil {
			row.Value, row.Note = c.changeText()
			at, roles = append(at, percent(*c.Ratio)), append(roles, c.Verdict.role())
			lo, hi, y = append(lo, percent(c.CI.Lo)), append(hi, percent(c.CI.Hi)), append(y, float64(i))
		}
		rows = append(rows, row)
	}
	return doc.Plot("", "", chart.Chart{
		Title: "Difference from " + r.Base, X: chart.Axis{Label: "difference from " + r.Base, Unit: "%", Lo: &low, Hi: &high, Tight: true, Signed: true},
		Y: chart.Axis{Kind: chart.Rows, Rows: rows},
		Layers: []chart.Layer{
			{Mark: chart.Band, Role: chart.Window, X: chart.Values{low}, X2: chart.Values{high}, Y: chart.Values{0}, Y2: chart.Values{float64(len(rows) - 1)}, Name: "margin of " + num.Percent(r.Margin)},
			{Mark: chart.Rule, Role: chart.Reference, X: chart.Values{0}, Name: "no difference"},
			{Mark: chart.Rule, Role: chart.Interval, X: lo, X2: hi, Y: y},
			{Mark: chart.Point, X: at, Y: y, Roles: roles},
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
	out := slices.Clone(r.Comparisons)
	slices.SortStableFunc(out, func(a, b Comparison) int {
		return order(a.Verdict) - order(b.Verdict)
	})
	return out[:min(len(out), mostFigures)]
}

func order(v Verdict) int {
	return slices.Index([]Verdict{Worse, Better, Higher, Lower, Unclear, Unknown, Equivalent}, v)
}

// distributions are a box of each side for each metric, of the rows as they were
// measured.
func (r *Result) distributions() []doc.Block {
	f := doc.Figure{Columns: 2, Note: "Boxes: quartiles and median; whiskers: the farthest values within 1.5 times the box."}
	for _, c := range r.shown() {
		name := func(s Side) string { return fmt.Sprintf("%s (%s)", s.Name, num.Count(s.Rows, "value")) }
		f.Panels = append(f.Panels, doc.Panel{Title: c.key().Name(), Words: string(c.Verdict), Role: c.Verdict.role(), Chart: chart.Chart{
			Title: c.key().Name(), X: chart.Axis{Unit: c.Unit, Tight: true},
			Y:      chart.Axis{Kind: chart.Rows, Rows: []chart.Row{{Name: name(c.A)}, {Name: name(c.B)}}},
			Layers: []chart.Layer{{Mark: chart.Box, Y: chart.Values{0, 1}, Boxes: []chart.Summary{chart.Summarize(c.rowsA, chart.Tukey), chart.Summarize(c.rowsB, chart.Tukey)}}},
		}})
	}
	return []doc.Block{{Figure: &f}}
}

// pairs are the ratios of paired values in their order.
func (r *Result) pairs() []doc.Block {
	f := doc.Figure{Columns: 2, Note: "A point a pair; the band is the interval of the ratio of all, and 1 is no difference."}
	for _, c := range r.shown() {
		if !c.Paired || c.Ratio == nil || c.CI == nil || len(c.layout.A) < 2 {
			continue
		}
		var x, y chart.Values
		for i, a := range c.layout.A {
			x, y = append(x, float64(i+1)), append(y, c.layout.B[i]/a)
		}
		layers := []chart.Layer{
			{Mark: chart.Rule, Role: chart.Reference, Y: chart.Values{1}, Text: []string{"no difference"}},
			{Mark: chart.Band, Role: chart.Interval, Y: chart.Values{c.CI.Lo}, Y2: chart.Values{c.CI.Hi}, Name: "interval"},
		}
		axes := [2]chart.Axis{{Label: "pair", Whole: true, Tight: true}, {Label: "ratio", Tight: true}}
		f.Panels = append(f.Panels, doc.Panel{Title: c.key().Name(), Words: c.count(), Role: c.Verdict.role(), Chart: chart.Chart{
			Title: "Ratio of each pair: " + c.key().Name(), X: axes[0], Y: axes[1], Layers: append(layers, chart.Scatter(axes[0], axes[1], chart.Dots{X: x, Y: y})...)}})
	}
	if len(f.Panels) == 0 {
		return nil
	}
	return []doc.Block{{Figure: &f}}
}

// tests are the usual tests beside the one that decides.
func (r *Result) tests() *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "metric", Head: "metric"}, {Key: "decides", Head: "decides"},
		{Key: "t", Head: "t test\np", Right: true, Tip: "Welch's, or the paired one"}, {Key: "ranks", Head: "ranks\np", Right: true, Tip: "Mann-Whitney, or Wilcoxon's signed ranks"},
		{Key: "a12", Head: "A12", Right: true, Tip: "share of pairs in which B is higher"}, {Key: "shift", Head: "shift", Right: true, Tip: "Hodges-Lehmann, in the unit"},
		doc.Numbers("means", "ratio of means"),
	}}
	for _, c := range r.Comparisons {
		scale := num.For(c.Unit, deref(c.A.Median), deref(c.B.Median))
		welch, ranks, shift, means := num.Missing, num.Missing, num.Missing, num.Missing
		if c.T != nil {
			welch = probability(c.T.P)
		}
		if c.Ranks != nil {
			ranks = probability(c.Ranks.P)
		}
		if c.Shift != nil {
			shift = scale.Value(*c.Shift, 0) + within(c.ShiftCI, scale)
		}
		if c.MeanRatio != nil {
			means = num.Scale{Factor: 1}.Number(*c.MeanRatio, 0) + within(c.MeanRatioCI, num.Scale{Factor: 1})
		}
		t.Add(doc.Say(c.key().Name()), doc.Say(cmp.Or(methodWords[c.Method], c.Method)), doc.Of(nil, welch), doc.Of(nil, ranks),
			doc.Optional(c.A12, func(x float64) string { return strconv.FormatFloat(x, 'f', 2, 64) }), doc.Of(nil, shift), doc.Of(nil, means))
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

// within prints an interval behind its value, where there is one.
func within(i *stats.Interval, scale num.Scale) string {
	if i == nil {
		return ""
	}
	return " " + scale.Interval(i.Lo, i.Hi)
}

// dataColumns are the columns of the CSV form, a row a comparison, and their keys in
// JSON. Names and order are a contract; new ones are added at the end.
var dataColumns = []string{
	"a=a_name", "b=b_name", "workload", "metric", "phase", "unit", "better", "rows_a=a_rows", "rows_b=b_rows", "n_a=a_n", "n_b=b_n",
	"mean_a=a_mean", "mean_b=b_mean", "median_a=a_median", "median_b=b_median", "cov_a=a_cov", "cov_b=b_cov",
	"ratio", "ratio_lo=ci_lo", "ratio_hi=ci_hi", "level", "p", "q", "verdict",
	"method", "of", "paired", "successive", "needed", "a12", "shift", "mean_ratio", "warnings",
}
