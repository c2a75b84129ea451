package variability

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
)

const (
	// openMetrics is up to how many metrics have their parts on the page; those of
	// more are folded.
	openMetrics = 3
	// mostSections is how many metrics have a section, and mostRows how many a row in
	// the table of all: a page of five thousand sections neither loads nor is read.
	mostSections, mostRows = 15, 1000
	// mostAdvised is how much advice is given about a metric, and mostWarned how many
	// warnings, where they are not of one metric; JSON has all.
	mostAdvised, mostWarned = 10, 30
)

// Overview is the ID of the section that has a table of all metrics, where there
// are several.
const Overview = "overview"

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	shown := r.largest(mostSections)
	d := &doc.Document{Title: r.title, Answer: r.answer(), Verdict: r.worst().tag(), Data: r.flat(), Warnings: r.warnings(shown)}
	if len(r.Metrics) == 1 {
		d.More = r.Metrics[0].advised()
	}
	for _, text := range r.Told {
		d.More = append(d.More, num.Sentence(text))
	}
	if len(r.Metrics) > 1 {
		d.Sections = append(d.Sections, r.all(shown))
	}
	for _, i := range shown {
		d.Sections = append(d.Sections, r.section(i))
	}
	if r.Together != nil {
		d.Sections = append(d.Sections, togetherSection(r.Together))
	}
	d.Sections = append(d.Sections, reading(r.Level))
	return d
}

// all is the section with the table of all metrics. It says what a page of many
// leaves out.
func (r *Result) all(shown []int) doc.Section {
	rows := r.largest(mostRows)
	s := doc.Section{ID: Overview, Title: "All metrics", Blocks: []doc.Block{{Table: r.overview(rows, shown)}}}
	var parts []string
	if len(rows) < len(r.Metrics) {
		s.Title = "Metrics"
		parts = append(parts, fmt.Sprintf("These are the %s of %s metrics that vary most.", num.Grouped(mostRows), num.Grouped(int64(len(r.Metrics)))))
	}
	if len(shown) < len(r.Metrics) {
		parts = append(parts, fmt.Sprintf("The %d that vary most have a section below. Name another with --metric; --format json and csv have all of each.", len(shown)))
	}
	s.Intro = strings.Join(parts, " ")
	return s
}

// largest are so many metrics, by their index: all, or of more those with the
// largest COVs, in their order.
func (r *Result) largest(most int) []int {
	out := make([]int, len(r.Metrics))
	for i := range out {
		out[i] = i
	}
	if len(out) <= most {
		return out
	}
	size := func(i int) float64 {
		if v := r.Metrics[i].COV; v != nil {
			return *v
		}
		return 0
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(size(b), size(a)) })
	out = out[:most]
	slices.Sort(out)
	return out
}

// warnings are those of all metrics, one of several once, with links to those that
// are shown; and before the rest those of none. Of many the first are told.
func (r *Result) warnings(shown []int) []doc.Warning {
	var out []doc.Warning
	at, of := make(map[string]int), make(map[string]bool)
	for i := range r.Metrics {
		for _, w := range r.Metrics[i].Warnings {
			of[r.about(i, w)] = true
			k, told := at[w]
			if !told {
				k, out = len(out), append(out, doc.Warning{Text: w})
				at[w] = k
			}
			if _, has := slices.BinarySearch(shown, i); has {
				out[k].Links = append(out[k].Links, doc.Link{Href: href(i), Text: r.Metrics[i].Name()})
			}
		}
	}
	var whole []doc.Warning
	for _, x := range r.Doubts {
		if !of[x.Text] {
			whole = append(whole, doc.Warning{Text: x.Text})
		}
	}
	// Of many metrics those that are shown, and what is said of most, come first.
	if more := len(out) - mostWarned; len(r.Metrics) > mostSections && more > 0 {
		slices.SortStableFunc(out, func(a, b doc.Warning) int { return cmp.Compare(len(b.Links), len(a.Links)) })
		out = append(out[:mostWarned], doc.Warning{Text: num.Count(more, "more warning") +
			": the JSON and CSV forms have those of each metric"})
	}
	return append(out, whole...)
}

// advised is the advice about a metric, what helps most first; of much the rest is
// counted.
func (m *Metric) advised() []string {
	var out []string
	for i, a := range m.Advice {
		if more := len(m.Advice) - i; i == mostAdvised && more > 1 {
			return append(out, fmt.Sprintf("And %s more pieces of advice: --format json has them.", num.Grouped(int64(more))))
		}
		out = append(out, num.Sentence(a.Text))
	}
	return out
}

func href(i int) string { return fmt.Sprintf("#v%d", i) }

// answer is the sentence about all metrics.
func (r *Result) answer() string {
	if len(r.Metrics) == 1 {
		return r.Metrics[0].Text
	}
	count := make(map[Verdict]int)
	var most *Metric
	for i := range r.Metrics {
		m := &r.Metrics[i]
		count[m.Verdict]++
		if m.COV != nil && m.Verdict != Unknown && (most == nil || *m.COV > *most.COV) {
			most = m
		}
	}
	var parts []string
	for _, x := range append(verdicts[1:len(verdicts):len(verdicts)], verdicts[0]) { // what is unknown comes last
		switch n := count[x.Verdict]; n {
		case 0:
		case 1:
			parts = append(parts, "1 "+x.one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, x.many))
		}
	}
	text := fmt.Sprintf("Of %d metrics %s.", len(r.Metrics), strings.Join(parts, ", "))
	if most != nil {
		text += " " + most.Text
	}
	return text
}

// verdictWords is a verdict with what one metric does and what several do.
type verdictWords struct {
	Verdict
	tone      doc.Tone
	one, many string
}

// verdicts are all, the worst first.
var verdicts = []verdictWords{
	{Unknown, doc.Doubt, "is unknown", "are unknown"}, {Changes, doc.Bad, "changes its level", "change their level"},
	{Bands, doc.Bad, "falls into bands", "fall into bands"}, {Varies, doc.Note, "varies", "vary"},
	{Unclear, doc.Doubt, "is unclear", "are unclear"}, {Steady, doc.Good, "is steady", "are steady"},
}

// worst is the verdict of all metrics.
func (r *Result) worst() Verdict {
	for _, x := range verdicts {
		if slices.ContainsFunc(r.Metrics, func(m Metric) bool { return m.Verdict == x.Verdict }) {
			return x.Verdict
		}
	}
	return Steady
}

// words are those of a verdict.
func (v Verdict) words() verdictWords {
	for _, x := range verdicts {
		if x.Verdict == v {
			return x
		}
	}
	return verdictWords{}
}

func (v Verdict) tag() doc.Tag { return doc.Tag{Word: string(v), Tone: v.words().tone} }

// section is all about one metric.
func (r *Result) section(i int) doc.Section {
	m := &r.Metrics[i]
	s := doc.Section{ID: href(i)[1:], Kind: "Metric", Title: m.Name(), Tag: m.Verdict.tag()}
	if m.COV != nil {
		s.Words = "COV " + num.Fraction(*m.COV) + percentInterval(m.COVCI)
	}
	var head []doc.Block
	if len(r.Metrics) > 1 {
		s.Intro = m.Text
		if len(m.Advice) > 0 {
			head = append(head, doc.Block{List: &doc.List{Items: m.advised()}})
		}
	}
	parts := m.parts(r.Level)
	if len(r.Metrics) > openMetrics {
		s.Blocks = append(head, doc.Block{Fold: &doc.Fold{ID: s.ID + "-all", Title: "All about " + m.Name(), Blocks: parts}})
		return s
	}
	s.Blocks = append(head, parts...)
	return s
}

// parts are tables and figures of a metric, each below what it answers.
func (m *Metric) parts(level float64) []doc.Block {
	out := []doc.Block{{Table: m.spreadTable(level)}}
	if m.N < fewest || m.Equal() {
		return out
	}
	part := func(title, intro string, blocks ...doc.Block) {
		blocks = slices.DeleteFunc(blocks, doc.Block.Empty)
		if len(blocks) > 0 {
			out = append(out, doc.Block{Part: &doc.Section{Title: title, Intro: intro, Blocks: blocks}})
		}
	}
	part("Over time", "", m.seriesFigure(), m.changesTable(), m.courseWords())
	part("Poor nodes", "These nodes are worse than they were. The common course of all nodes is taken out.", m.poorTable())
	part("Bands and distribution", m.bandWords(), m.histogramFigure(), m.bandTable(), m.cutoffTable())
	part("What explains it", "How much of the variance each fact explains (omega squared). p is corrected over all facts (Holm); marked are those of which it is at most "+strconv.FormatFloat(m.x.Alpha, 'g', 3, 64)+".", m.factTable(), m.factRemarks())
	for _, g := range m.Groups {
		part("By "+m.nameOf(g.Fact), "", m.boxFigure(g), m.sharesFigure(g), m.groupTable(g))
	}
	part("Decomposition by time", "", m.decompositionTable(), m.decompositionWords(), m.heatFigure())
	m.slotParts(part)
	part("How often to measure", "", m.neededTable(), m.neededFigure())
	part("Outliers", "", m.outlierWords(), m.outlierTable())
	part("Clusters", "", m.clusterTable(), m.meansFigure(), m.clusterFigure(), m.mixTable())
	return out
}

// reading says how to read the page.
func reading(level float64) doc.Section {
	alarm := num.Percent(100 * (1 - level))
	return doc.Section{ID: doc.Reading, Title: "How to read this", Show: doc.Page, Blocks: []doc.Block{{List: &doc.List{Items: []string{
		"The COV (coefficient of variation) is the standard deviation as a share of the mean. Intervals are at " + num.Percent(100*level) + ". Those of mean, median, COV and bands, and of the COVs of groups, heed that rows may depend on each other; those of what facts explain take rows as independent, those of clusters, and of the COVs of metrics of the same repetitions, take clusters and repetitions as that.",
		"Bands are ranges in which the values lie together, with gaps between them. The mean of all lies in none of them: report the bands.",
		"Of a metric that is pure noise, any alarm (bands, a fact that explains, a change of the level, a drift) is raised in at most " + alarm + " of cases. Each metric is judged by itself: of twenty metrics one may raise one by chance.",
		"A fact that explains much need not be the cause: what was not recorded may be behind both. Facts that tell the same of each row cannot be told apart.",
		"Facts are tested over what is independent: ten nodes with a hundred rows each are ten processors, not a thousand.",
		"Outliers are named, and count as all other values do.",
	}}}}}
}
