package variability

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
)

// scale is the unit in which the values of a metric are printed.
func (m *Metric) scale() num.Scale { return num.For(m.Unit, m.Min, m.Max) }

// value is a cell of a value in the unit of the metric.
func (m *Metric) value(v float64) doc.Cell { return doc.Of(v, m.scale().Value(v, 0)) }

func share(v float64) doc.Cell { return doc.Of(v, num.Fraction(v)) }

func cov(v *float64) doc.Cell { return doc.Optional(v, num.Fraction) }

// clock is a time, or, where it is not known, a text.
func clock(at *time.Time, text string) doc.Cell {
	if at == nil {
		return doc.Say(text)
	}
	return doc.Of(*at, num.Clock(*at))
}

// within adds an interval of fractions to a cell.
func within(c doc.Cell, ci *explain.Interval) doc.Cell {
	if ci == nil {
		return c
	}
	if len(c.Lines) == 1 {
		c.Lines = []string{c.Lines[0] + percentInterval(ci)}
	}
	return c.Within(ci[0], ci[1])
}

// dataColumns are the columns of the CSV form, and their keys in the rows of flat: a
// contract.
var dataColumns = []string{"workload", "metric", "phase", "unit", "n", "from", "to", "mean", "mean_lo=mean_ci_lo",
	"mean_hi=mean_ci_hi",
	"median", "median_lo=median_ci_lo", "median_hi=median_ci_hi", "min", "max", "sd", "cov", "cov_lo=cov_ci_lo",
	"cov_hi=cov_ci_hi",
	"effective_n=dependence_effective_n", "bands=band_count", "bands_explained_by=bands_explained_by_fact",
	"fact=best_fact",
	"explained=best_omega2", "changes=change_count", "drift=drift_relative", "outliers=outliers_n",
	"more_mean=needed_more_mean",
	"more_median=needed_more_median", "more_nodes=needed_more_nodes", "baseline_ratio", "verdict", "warnings"}

// flat is the table for programs: a row a metric.
func (r *Result) flat() *doc.Table {
	type row struct {
		*Metric
		BandCount int             `json:"band_count"`
		Best      *explain.Effect `json:"best"`
		Changes   *int            `json:"change_count"`
		Drift     *explain.Drift  `json:"drift"`
		Needed    *Needed         `json:"needed"`
	}
	rows := make([]row, len(r.Metrics))
	for i := range r.Metrics {
		m := &r.Metrics[i]
		x := row{Metric: m, BandCount: max(1, len(m.Bands.Bands)), Best: m.best()}
		if c := m.Course; c != nil {
			n := len(c.Changes)
			x.Changes = &n
			if c.Drift != nil && c.Drift.Significant {
				x.Drift = c.Drift
			}
		}
		if k := slices.IndexFunc(m.Repetitions, func(n Needed) bool { return n.Target == usualTarget }); k >= 0 {
			x.Needed = &m.Repetitions[k]
		}
		rows[i] = x
	}
	return doc.Flatten(rows, "", dataColumns...)
}

// effect is what a fact explains; nil: it is none of the metric.
func (m *Metric) effect(fact string) *explain.Effect {
	if i := slices.IndexFunc(m.Facts, func(e explain.Effect) bool { return e.Fact == fact }); i >= 0 {
		return &m.Facts[i]
	}
	return nil
}

// best is the fact that explains most; nil: none does.
func (m *Metric) best() *explain.Effect { return m.effect(explain.Best(m.Facts)) }

// overview has a row for each of some metrics, for people, with a link to those that
// are shown.
func (r *Result) overview(rows, shown []int) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "metric", Head: "metric", Wrap: 30}, doc.Number("n", "n"), doc.Number("mean", "mean"),
		{Key: "cov", Head: fmt.Sprintf("COV [%v %%]", 100*r.Level), Right: true, Interval: true},
		doc.Number("bands", "bands"), {Key: "fact", Head: "explained by", Wrap: 24}, {Key: "verdict", Head: "verdict"},
	}}
	for _, i := range rows {
		m := &r.Metrics[i]
		fact := doc.Say("")
		if e := m.best(); e != nil {
			fact = doc.Say(factName(*e) + " " + num.Fraction(e.Omega2))
		}
		tag := m.Verdict.tag()
		name := doc.Say(m.Name())
		if _, has := slices.BinarySearch(shown, i); has {
			name = name.To(href(i))
		}
		t.Add(name, doc.Int(m.N), m.value(m.Mean), within(cov(m.COV), m.COVCI), doc.Int(max(1, len(m.Bands.Bands))), fact,
			doc.Say(tag.Word).As(tag.Tone))
	}
	return t
}

// spreadTable is mean, median and the like, with their intervals.
func (m *Metric) spreadTable(level float64) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "what", Head: ""}, doc.Number("value", "value"), doc.Number("interval", fmt.Sprintf("%v %%", 100*level)),
		{Key: "note", Head: "", Wrap: 50},
	}}
	s := m.scale()
	add := func(what string, value doc.Cell, interval, note string) {
		t.Add(doc.Say(what), value, doc.Say(interval), doc.Say(note))
	}
	within := func(ci *explain.Interval) string {
		if ci == nil {
			return ""
		}
		return s.Interval(ci[0], ci[1])
	}
	bounded := m.Searches != nil && m.Searches.AtLeast > 0 // mean and COV are not known
	if bounded {
		add("lower bounds", doc.Int(m.Searches.AtLeast), "", m.Searches.medianWords(s))
	} else {
		add("mean", m.value(m.Mean).As(doc.Strong), within(m.MeanCI), "")
		add("median", m.value(m.Median).As(doc.Strong), within(m.MedianCI), "")
	}
	add("least", m.value(m.Min).As(doc.Strong), "", "")
	add("greatest", m.value(m.Max).As(doc.Strong), "", "range "+s.Value(m.Range, 0))
	if m.SD != nil && !bounded {
		add("standard deviation", m.value(*m.SD).As(doc.Strong), "", "")
	}
	if !bounded {
		add("COV", cov(m.COV).As(doc.Strong), strings.TrimSpace(percentInterval(m.COVCI)), "")
	}
	note := ""
	if d := m.Dependence; d.EffectiveN < float64(m.N) {
		note = fmt.Sprintf("worth %.0f independent ones", d.EffectiveN)
		if d.Dependent && d.Lag1 != nil {
			note += fmt.Sprintf("; autocorrelation of neighbours %.2f", *d.Lag1)
		}
	}
	add("values", doc.Int(m.N), "", note)
	if u := m.Subjects; u != nil {
		add("nodes", doc.Int(u.N), "", fmt.Sprintf("COV of their means %s, within a node %s",
			num.Optional(u.Between, num.Fraction), num.Optional(u.Within, num.Fraction)))
	}
	if b := m.Baseline; b != nil && b.Ratio != nil {
		ci := ""
		if b.RatioCI != nil {
			ci = fmt.Sprintf("[%.3g, %.3g]", b.RatioCI[0], b.RatioCI[1])
		}
		add("COV / baseline's", doc.Of(*b.Ratio, fmt.Sprintf("%.3g", *b.Ratio)), ci,
			fmt.Sprintf("%s: COV %s over %s", b.Source, num.Fraction(b.COV), num.Count(b.N, "value")))
	}
	return t
}

func (m *Metric) bandWords() string {
	switch {
	case m.Bands.Found && m.Bands.By != nil:
		return fmt.Sprintf("The values fall into %d bands, which %s tells (Cramér's V %.2f).", len(m.Bands.Bands), explainsWords(m.Bands.By), m.Bands.By.V)
	case m.Bands.Found:
		return fmt.Sprintf("The values fall into %d bands; no recorded fact tells them.", len(m.Bands.Bands))
	case m.Bands.Why != "":
		return "One band: " + m.Bands.Why + "."
	}
	return ""
}

// bandColumns are those of bands, found or cut.
func bandColumns() []doc.Column {
	return []doc.Column{
		{Key: "band", Head: "band"}, doc.Number("values", "values"), doc.Number("n", "n"),
		{Key: "share", Head: "share", Right: true, Interval: true},
		doc.Number("mean", "mean"), doc.Number("cov", "COV"), {Key: "level", Head: "mostly", Wrap: 40},
	}
}

func (m *Metric) bandRow(name string, b explain.Band, by *explain.Explains, i int) []doc.Cell {
	s, level := m.scale(), ""
	if by != nil && i < len(by.Levels) {
		level = fmt.Sprintf("%s %s (%s of it)", frame.InWords(by.Fact), by.Levels[i].Level, num.Fraction(by.Levels[i].Share))
	}
	values, mean := num.Missing, doc.Of(nil, num.Missing)
	if b.N > 0 {
		values, mean = s.Number(b.From, 0)+" to "+s.Value(b.To, 0), m.value(b.Mean)
	}
	return []doc.Cell{doc.Say(name), doc.Say(values), doc.Int(b.N), within(share(b.Share), b.ShareCI), mean, cov(b.COV),
		doc.Say(level)}
}

func (m *Metric) bandTable() doc.Block {
	if !m.Bands.Found {
		return doc.Block{}
	}
	t := &doc.Table{Columns: bandColumns()}
	for i, b := range m.Bands.Bands {
		t.Add(m.bandRow(strconv.Itoa(i+1), b, m.Bands.By, i)...)
	}
	return doc.Block{Table: t}
}

func (m *Metric) cutoffTable() doc.Block {
	if len(m.Cutoffs) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: bandColumns()}
	for _, c := range m.Cutoffs {
		at := m.scale().Value(c.At, 0)
		t.Add(m.bandRow("below "+at, c.Lower, c.By, 0)...)
		t.Add(m.bandRow("from "+at, c.Upper, c.By, 1)...)
	}
	return doc.Block{Table: t}
}

// mostFactRows is how many facts have a row.
const mostFactRows = 60

func (m *Metric) factTable() doc.Block {
	if len(m.Facts) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{
		{Key: "fact", Head: "fact"}, doc.Number("levels", "levels"), {Key: "explained", Head: "explains", Right: true,
			Interval: true, Tip: "omega squared: corrected for what chance explains"}, doc.Number("p", "p"),
		{Key: "units", Head: "tested over", Wrap: 40}, {Key: "verdict", Head: ""},
	}}
	for _, e := range m.Facts[:min(len(m.Facts), mostFactRows)] {
		word, units := doc.Say(""), e.Units
		switch {
		case e.Significant:
			word = doc.Say("explains").As(doc.Note)
		case e.P == nil:
			units = "cannot be tested: " + e.Why
		case e.Why != "":
			units = e.Why
		}
		t.Add(doc.Say(factName(e)), doc.Int(e.Levels), within(share(e.Omega2), e.CI).As(doc.Strong),
			doc.Optional(e.Adjusted, pText), doc.Say(units), word)
	}
	return doc.Block{Table: t}
}

// factName is what a fact is called for people: of those that follow from the time as
// in the paper's tables, where an hour is one of the whole time.
func factName(e explain.Effect) string {
	switch {
	case e.Derived && e.Fact == explain.FactHour:
		return hourOfDay
	case e.Derived && e.Fact == explain.FactWeekday:
		return dayOfWeek
	}
	return frame.InWords(e.Fact)
}

const (
	hourOfDay = "hour of day"
	dayOfWeek = "day of week"
)

// nameOf is the name of a fact of the metric; see [factName].
func (m *Metric) nameOf(fact string) string {
	if e := m.effect(fact); e != nil {
		return factName(*e)
	}
	return frame.InWords(fact)
}

// pText prints a p-value.
func pText(p float64) string {
	switch {
	case p < 0.0001:
		return "< 0.0001"
	case p >= 0.9995:
		return "1"
	}
	return strconv.FormatFloat(p, 'f', 4, 64)
}

// listOf is num.List of no more names than there are rows for.
func listOf(names []string) string {
	if more := len(names) - mostFactRows; more > 0 {
		names = append(slices.Clone(names[:mostFactRows]), num.Grouped(int64(more))+" more")
	}
	return num.List(names)
}

func (m *Metric) factRemarks() doc.Block {
	var same []string
	for _, c := range m.Constant {
		same = append(same, frame.InWords(c.Fact)+" "+c.Level)
	}
	var texts []string
	if more := len(m.Facts) - mostFactRows; more > 0 {
		texts = append(texts, num.Count(more, "more fact")+" explain no more than these: the JSON form has them.")
	}
	if len(same) > 0 {
		texts = append(texts, "The same in all rows: "+listOf(same)+".")
	}
	if len(m.x.Alike) > 0 {
		texts = append(texts, "With a value for nearly each row, so that nothing is explained by: "+listOf(m.x.Alike)+".")
	}
	return remark(texts)
}

func (m *Metric) groupTable(g explain.Grouping) doc.Block {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "level", Head: m.nameOf(g.Fact), Wrap: 36}, doc.Number("n", "n"), doc.Number("share", "share"),
		doc.Number("mean", "mean"), doc.Number("median", "median"),
		doc.Number("p25", "25 %"), doc.Number("p75", "75 %"), {Key: "cov", Head: "COV", Right: true, Interval: true},
	}}
	for _, x := range g.Groups {
		t.Add(doc.Say(x.Level), doc.Int(x.N), share(x.Share), m.value(x.Mean), m.value(x.Median), m.value(x.P25),
			m.value(x.P75), within(cov(x.COV), x.COVCI))
	}
	if g.Rest > 0 {
		t.Add(doc.Say("others, or not known"), doc.Int(g.Rest), share(float64(g.Rest)/float64(m.N)))
	}
	return doc.Block{Table: t}
}

// graded is a COV in the colours of Tables 3 and 4 of the paper: from 0.2 on, and
// from 0.4 on.
func graded(v *float64) doc.Cell {
	c := doc.Optional(v, func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) })
	switch {
	case v == nil:
	case *v >= 0.4:
		return c.As(doc.High)
	case *v >= 0.2:
		return c.As(doc.Notable)
	}
	return c
}

func (m *Metric) decompositionTable() doc.Block {
	d := m.Decomposition
	if d == nil {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{
		{Key: "level", Head: "level"}, doc.Number("groups", "groups"),
		{Key: "between", Head: "between\nas in Table 3", Right: true, Tip: "COV of the means of the groups"}, {Key: "in", Head: "in\nas in Table 4", Right: true, Tip: "mean of the COVs of the groups"},
		{Key: "between_corrected", Head: "between\ncorrected", Right: true, Tip: "without what noise makes of the means"},
		doc.Number("in_corrected", "in\ncorrected"), doc.Number("share", "of the\nvariance"),
	}}
	t.Add(doc.Say("all"), doc.Of(nil, ""), graded(&d.All), graded(&d.All), doc.Of(nil, ""), doc.Of(nil, ""), doc.Of(nil, ""))
	for _, l := range d.Levels {
		groups := doc.Int(l.Groups)
		if l.Skipped > 0 {
			groups.Lines = []string{fmt.Sprintf("%d (%d with one value)", l.Groups, l.Skipped)}
		}
		t.Add(doc.Say(l.Level), groups, graded(l.Between), graded(l.In), graded(l.BetweenCorrected), graded(l.InCorrected), doc.Optional(l.Share, num.Fraction))
	}
	return doc.Block{Table: t}
}

// decompositionWords say what the table cannot tell.
func (m *Metric) decompositionWords() doc.Block {
	if m.Decomposition == nil {
		return doc.Block{}
	}
	var out []string
	for _, l := range m.Decomposition.Levels {
		if l.Why != "" {
			out = append(out, num.Sentence("by "+l.Level+" "+l.Why))
		}
	}
	return remark(out)
}

// remark is a note of some sentences; empty without any.
func remark(sentences []string) doc.Block {
	if len(sentences) == 0 {
		return doc.Block{}
	}
	return doc.Remark(strings.Join(sentences, " "))
}

func (m *Metric) neededTable() doc.Block {
	more := "missing\n" + m.Repeated.Noun() + "s"
	t := &doc.Table{Columns: []doc.Column{
		{Key: "target", Head: "interval"}, doc.Number("mean", "mean:\nin all"), doc.Number("more_mean", more),
		doc.Number("median", "median:\nin all"), doc.Number("more_median", more),
	}}
	if m.Dependence.OfNodes() {
		t.Columns = append(t.Columns, doc.Number("more_nodes", "missing\nnodes: mean"),
			doc.Number("more_median_nodes", "missing\nnodes: median"))
	}
	t.Columns = append(t.Columns, doc.Column{Key: "why", Head: "", Wrap: 50})
	count := func(n *int) doc.Cell {
		if n == nil {
			return doc.Of(nil, num.Missing)
		}
		return doc.Int(*n)
	}
	for _, n := range m.Repetitions {
		cells := []doc.Cell{doc.Of(n.Target, n.within()), count(n.Mean), count(n.MoreMean), count(n.Median),
			count(n.MoreMedian)}
		if m.Dependence.OfNodes() {
			cells = append(cells, count(n.MoreNodes), count(n.MoreMedianNodes))
		}
		t.Add(append(cells, doc.Say(n.Why))...)
	}
	return doc.Block{Table: t}
}

// outlierWords are for the terminal, which does not show folds.
func (m *Metric) outlierWords() doc.Block {
	if m.Outliers.N == 0 {
		return doc.Block{}
	}
	far := m.Outliers.Rows[0]
	at := fmt.Sprintf("row %d", far.Row)
	if far.Time != nil {
		at += ", " + num.Clock(*far.Time)
	}
	if far.Node != "" {
		at += ", " + far.Node
	}
	return doc.Para(fmt.Sprintf("%s, %s of all values; the farthest is %s (%s).", num.Count(m.Outliers.N, "outlier"),
		num.Fraction(m.Outliers.Share), m.scale().Value(far.Value, 0), at)).On(doc.Terminal)
}

func (m *Metric) outlierTable() doc.Block {
	if m.Outliers.N == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{doc.Number("row", "row"), {Key: "time", Head: "time"},
		doc.Number("value", "value"), {Key: "node", Head: "node"}, {Key: "facts", Head: "", Wrap: 60}}}
	for _, o := range m.Outliers.Rows {
		var facts []string
		for _, name := range slices.Sorted(maps.Keys(o.Facts)) {
			facts = append(facts, frame.InWords(name)+" "+o.Facts[name])
		}
		t.Add(doc.Int(o.Row), clock(o.Time, ""), m.value(o.Value), doc.Say(o.Node), doc.Say(num.List(facts)))
	}
	fold := &doc.Fold{Title: fmt.Sprintf("%s, %s of all", num.Count(m.Outliers.N, "outlier"),
		num.Fraction(m.Outliers.Share)), Open: m.Outliers.N <= 5, Blocks: []doc.Block{{Table: t}}}
	if m.Outliers.N > len(m.Outliers.Rows) {
		fold.Words = fmt.Sprintf("the %d farthest", len(m.Outliers.Rows))
	}
	return doc.Block{Fold: fold}
}

func (m *Metric) clusterTable() doc.Block {
	c := m.Clusters
	if c == nil {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{doc.Number("size", "nodes"), {Key: "cov", Head: "COV of the means",
		Right: true, Interval: true}, doc.Number("independent", "if nodes were\nindependent")}}
	for _, s := range c.Sizes {
		t.Add(doc.Int(s.Size), within(cov(&s.COV), s.CI), cov(&s.Independent))
	}
	return doc.Block{Table: t}
}

func (m *Metric) mixTable() doc.Block {
	if m.Clusters == nil || len(m.Clusters.Mixes) == 0 {
		return doc.Block{}
	}
	t := &doc.Table{Columns: []doc.Column{{Key: "fact", Head: "share of", Wrap: 40},
		doc.Number("slope", "mean from none\nto all of it"), doc.Number("r2", "explains of\nthe means")}}
	s := m.scale()
	for _, x := range m.Clusters.Mixes {
		text := s.Value(x.Slope, 0)
		if x.SlopeCI != nil {
			text += " " + s.Interval(x.SlopeCI[0], x.SlopeCI[1])
		}
		t.Add(doc.Say(frame.InWords(x.Fact)+" "+x.Level), doc.Of(x.Slope, text), share(x.R2))
	}
	return doc.Block{Table: t}
}

// togetherSection is the metrics beside each other.
func togetherSection(t *explain.Together) doc.Section {
	metrics := &doc.Table{Columns: []doc.Column{{Key: "metric", Head: "metric", Wrap: 36}, doc.Number("n", t.Fact+"s"),
		{Key: "cov", Head: "COV of\ntheir means", Right: true, Interval: true}, doc.Number("within", "COV\nwithin one")}}
	for _, m := range t.Metrics {
		metrics.Add(doc.Say(m.Name), doc.Int(m.N), within(cov(m.COV), m.COVCI), cov(m.Within))
	}
	pairs := &doc.Table{Columns: []doc.Column{{Key: "a", Head: "metric", Wrap: 26}, {Key: "b", Head: "and", Wrap: 26},
		doc.Number("n", "n"), doc.Number("effective_n", "worth"), {Key: "rho", Head: "rank\ncorrelation", Right: true,
			Interval: true}, doc.Number("p", "p"), {Key: "verdict", Head: ""}}}
	for _, p := range t.Pairs {
		word := doc.Say("")
		if p.Significant {
			word = doc.Say(map[bool]string{true: "together", false: "opposite"}[p.Rho > 0]).As(doc.Note)
		}
		pairs.Add(doc.Say(p.A), doc.Say(p.B), doc.Int(p.N), doc.Of(p.EffectiveN, num.Grouped(int64(p.EffectiveN))), correlation(p), doc.Optional(p.Adjusted, pText), word)
	}
	intro := "Whether one metric is low when another is: the rank correlation (Spearman) of the means of each " + t.Fact + ", with its interval; −1: one is highest where the other is lowest (opposite), +1: both rise and fall together. Where neighbours in time are alike in both, n is worth fewer independent ones. p is corrected over all pairs (Holm)."
	if t.Omitted > 0 {
		intro += fmt.Sprintf(" Of %s these are the first %d; --metric chooses others.",
			num.Count(t.Omitted+len(t.Metrics), "metric"), len(t.Metrics))
	}
	return doc.Section{ID: "together", Title: "Metrics of the same " + t.Fact + "s", Intro: intro, Blocks: []doc.Block{{Table: metrics}, {Table: pairs}}}
}

// correlation is that of a pair with its interval.
func correlation(p explain.Pair) doc.Cell {
	text := signed(p.Rho)
	if p.RhoCI == nil {
		return doc.Of(p.Rho, text)
	}
	return doc.Of(p.Rho, text, "["+signed(p.RhoCI[0])+", "+signed(p.RhoCI[1])+"]").Within(p.RhoCI[0], p.RhoCI[1])
}

// signed is a correlation.
func signed(rho float64) string { return strings.Replace(fmt.Sprintf("%+.2f", rho), "-", "−", 1) }
