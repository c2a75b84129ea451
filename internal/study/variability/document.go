package variability

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/num"
)

// openMetrics is up to how many metrics have their parts on the page; those of
// more are folded.
const openMetrics = 3

// Overview is the ID of the section that has a table of all metrics, where there
// are several.
const Overview = "overview"

// Document implements study.Result.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{Title: r.title, Answer: r.answer(), Verdict: r.worst().tag(), Data: r.flat()}
	for i := range r.Metrics {
		m := &r.Metrics[i]
		link := doc.Link{Href: href(i), Text: m.Name()}
		for _, w := range m.Warnings {
			k := slices.IndexFunc(d.Warnings, func(x doc.Warning) bool { return x.Text == w })
			if k < 0 {
				d.Warnings = append(d.Warnings, doc.Warning{Text: w, Links: []doc.Link{link}})
			} else {
				d.Warnings[k].Links = append(d.Warnings[k].Links, link)
			}
		}
		for _, a := range m.Advice {
			if len(r.Metrics) == 1 {
				d.More = append(d.More, sentence(a.Text))
			}
		}
	}
	for _, text := range r.Told {
		d.More = append(d.More, sentence(text))
	}
	for _, x := range r.Doubts { // those of no metric
		if !slices.ContainsFunc(r.Metrics, func(m Metric) bool {
			return slices.ContainsFunc(m.Warnings, func(w string) bool { return strings.HasSuffix(x.Text, w) })
		}) {
			d.Warnings = append(d.Warnings, doc.Warning{Text: x.Text})
		}
	}
	if len(r.Metrics) > 1 {
		d.Sections = append(d.Sections, doc.Section{ID: Overview, Title: "All metrics", Blocks: []doc.Block{{Table: r.overview()}}})
	}
	for i := range r.Metrics {
		d.Sections = append(d.Sections, r.section(i))
	}
	if r.Together != nil {
		d.Sections = append(d.Sections, r.Together.section())
	}
	d.Sections = append(d.Sections, reading(r.Level))
	return d
}

func href(i int) string { return fmt.Sprintf("#v%d", i) }

// sentence begins with a capital and ends with a full stop.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

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
	for _, v := range []Verdict{Changes, Bands, Varies, Steady, Unknown} {
		if n := count[v]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, plural(v, n)))
		}
	}
	text := fmt.Sprintf("Of %d metrics %s.", len(r.Metrics), strings.Join(parts, ", "))
	if most != nil {
		text += " " + most.Text
	}
	return text
}

// plural is what so many metrics do.
func plural(v Verdict, n int) string {
	one := n == 1
	switch v {
	case Changes:
		return map[bool]string{true: "changes its level", false: "change their level"}[one]
	case Bands:
		return map[bool]string{true: "falls into bands", false: "fall into bands"}[one]
	case Varies:
		return map[bool]string{true: "varies", false: "vary"}[one]
	case Steady:
		return map[bool]string{true: "is steady", false: "are steady"}[one]
	}
	return map[bool]string{true: "is unknown", false: "are unknown"}[one]
}

// worst is the verdict of all metrics.
func (r *Result) worst() Verdict {
	for _, v := range []Verdict{Unknown, Changes, Bands, Varies} {
		if slices.ContainsFunc(r.Metrics, func(m Metric) bool { return m.Verdict == v }) {
			return v
		}
	}
	return Steady
}

func (v Verdict) tag() doc.Tag {
	tone := map[Verdict]doc.Tone{Steady: doc.Good, Varies: doc.Note, Bands: doc.Bad, Changes: doc.Bad, Unknown: doc.Doubt}
	return doc.Tag{Word: string(v), Tone: tone[v]}
}

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
			var texts []string
			for _, a := range m.Advice {
				texts = append(texts, sentence(a.Text))
			}
			head = append(head, doc.Block{List: &doc.List{Items: texts}})
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
	if m.N < fewest || m.Range == 0 {
		return out
	}
	part := func(title, intro string, blocks ...doc.Block) {
		blocks = slices.DeleteFunc(blocks, empty)
		if len(blocks) > 0 {
			out = append(out, doc.Block{Part: &doc.Section{Title: title, Intro: intro, Blocks: blocks}})
		}
	}
	part("Over time", "", m.seriesFigure(), m.changesTable(), m.courseWords())
	part("Bands and distribution", m.bandWords(), m.histogramFigure(), m.bandTable(), m.cutoffTable())
	part("What explains it", "How much of the variance each fact explains (omega squared). p is corrected over all facts (Holm); marked are those of which it is at most "+strconv.FormatFloat(m.x.alpha, 'g', 3, 64)+".", m.factTable(), m.factRemarks())
	for _, g := range m.Groups {
		part("By "+m.nameOf(g.Fact), "", m.boxFigure(g), m.groupTable(g))
	}
	part("Decomposition by time", "", m.decompositionTable(), m.decompositionWords(), m.heatFigure())
	part("How often to measure", "", m.neededTable(), m.neededFigure())
	part("Outliers", "", m.outlierWords(), m.outlierTable())
	part("Clusters", "", m.clusterTable(), m.clusterFigure(), m.mixTable())
	return out
}

// empty reports whether a block says nothing.
func empty(b doc.Block) bool {
	return b.Text == nil && b.List == nil && b.Fields == nil && b.Table == nil && b.Figure == nil && b.Code == nil && b.Fold == nil && b.Part == nil
}

// reading says how to read the page.
func reading(level float64) doc.Section {
	alarm := num.Percent(100 * (1 - level))
	return doc.Section{ID: doc.Reading, Title: "How to read this", Show: doc.Page, Blocks: []doc.Block{{List: &doc.List{Items: []string{
		"The COV (coefficient of variation) is the standard deviation as a share of the mean. Intervals are at " + num.Fraction(level) + ". Those of mean, median, COV and bands, and of the COVs of groups, heed that rows may depend on each other; those of what facts explain take rows as independent, those of clusters, and of the COVs of metrics of the same repetitions, take clusters and repetitions as that.",
		"Bands are ranges in which the values lie together, with gaps between them. The mean of all lies in none of them: report the bands.",
		"Of a metric that is pure noise, any alarm (bands, a fact that explains, a change of the level, a drift) is raised in at most " + alarm + " of cases. Each metric is judged by itself: of twenty metrics one may raise one by chance.",
		"A fact that explains much need not be the cause: what was not recorded may be behind both. Facts that tell the same of each row cannot be told apart.",
		"Facts are tested over what is independent: ten nodes with a hundred rows each are ten processors, not a thousand.",
		"Outliers are named, and count as all other values do.",
	}}}}}
}
