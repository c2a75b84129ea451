package capacity

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
	"github.com/scalebench/scalebench/internal/search"
)

// mostOnTerminal is how many searches are shown on a terminal with their
// windows, mostWarnings how many warnings of more; mostDetailed is how many
// trials of a target a page shows with their figures, which take a page or two;
// mostRows is how long a table of trials may be without being folded.
const (
	mostOnTerminal = 4
	mostWarnings   = 12
	mostDetailed   = 8
	mostRows       = 12
)

// Document implements study.Result: the answer, for several searches a
// comparison, and of each target its trials with their figures and windows.
func (r *Result) Document() *doc.Document {
	d := &doc.Document{Title: "Capacity", Data: flatWindows(r.Searches)}
	if len(r.Searches) == 0 {
		d.Answer = "No window of load has been measured yet."
		return d
	}
	all := groups(r.Searches)
	if d.Title = "Capacity of " + all[0].target; len(all) > 1 {
		d.Title = fmt.Sprintf("Capacity of %d targets", len(all))
	}
	words := summary(all)
	d.Answer, d.More = words[0], words[1:]
	if len(r.Searches) == 1 {
		d.Verdict = r.Searches[0].Answer.verdict()
		if r.Searches[0].Answer.Failure == "" { // else the answer says it
			d.Warnings = doc.Warnings(r.Searches[0].Answer.Warnings())
		}
	} else {
		d.Warnings = alerts(all)
		d.Sections = append(d.Sections, comparison(all))
	}
	show := doc.Everywhere
	if len(r.Searches) > mostOnTerminal {
		d.Sections = append(d.Sections, r.inBrief())
		show = doc.Page
	}
	number := 0 // of the search
	for k, g := range all {
		section := g.section(k, len(all) > 1)
		section.Show = show
		detailed := g.detailed()
		if len(detailed) < len(g.trials) {
			section.Blocks = append(section.Blocks, doc.Remark(g.chosen(detailed)))
		}
		for i, trial := range detailed {
			s := g.trials[trial]
			blocks := s.blocks(len(r.Searches) > 1)
			if len(g.trials) == 1 {
				section.Blocks = append(section.Blocks, blocks...)
			} else {
				section.Blocks = append(section.Blocks, doc.Block{Fold: &doc.Fold{
					ID: "search" + strconv.Itoa(number), Title: fmt.Sprintf("Trial %d: %s", s.Trial, s.Answer.brief()),
					Words: num.Count(len(s.Answer.Windows), "window"), Open: show == doc.Everywhere || i == 0 && k == 0, Blocks: blocks,
				}})
			}
			number++
		}
		if figure := g.roundTripFigure(); !figure.Empty() {
			section.Blocks = append(section.Blocks, figure)
		}
		d.Sections = append(d.Sections, section)
	}
	d.Sections = append(d.Sections, reading())
	return d
}

// reading explains the words of the document.
func reading() doc.Section {
	return doc.Section{ID: doc.Reading, Title: "How to read this", Show: doc.Page, Blocks: []doc.Block{{Fields: []doc.Field{
		{Label: "Capacity", Text: "The largest load, in operations per second, at which the target keeps the SLA. The search offers load from outside in windows: more and more, and then closer and closer to where the SLA breaks."},
		{Label: "Passed, failed", Text: "Two loads that were offered, and what most of their windows said: the largest that kept the SLA and the smallest above it that did not. The estimate lies at the boundary; the interval contains it with a probability of 95 % if windows err as often as the search assumes."},
		{Label: "Latency", Text: "From when an operation was due until its answer was whole, whether the generator could send it then or not. An answer is whole when the generator's kernel has all of it, where that says when; otherwise when the generator reads it. Percentiles are of all operations that were due: those that failed, were dropped or did not end count as slower than everything."},
		{Label: "At its limit", Text: "What ended the search: the target; the path to it, when round trips that the target's kernel answers became longer with the load; the generators, when they sent late, or their machine, when it was full, and then no capacity is reported; or the largest or smallest load allowed."},
		{Label: "Unusable window", Text: "One that missed the SLA while the generators were late or the path was another than before. It says nothing about the target and is repeated once; after several repetitions in vain, it is not."},
	}}}}
}

// verdict is a word for what was found.
func (a Answer) verdict() doc.Tag {
	out := doc.Tag{Tone: doc.Note}
	switch {
	case a.Limit == LimitTarget && a.Confirmed:
		out = doc.Tag{Word: "confirmed", Tone: doc.Good}
	case a.Limit == LimitTarget:
		out.Word = "not confirmed"
	case a.Limit == LimitCap:
		out.Word = "not reached"
	case a.Limit == LimitNone && a.Failure == "":
		out.Word = "not over"
	default:
		out = doc.Tag{Word: "not found", Tone: doc.Doubt}
	}
	return out
}

// section of one target, of which there may be several.
func (g group) section(k int, several bool) doc.Section {
	s := g.trials[0]
	intro := "The SLA: " + slaText(slices.Values(s.Config.SLA.Terms)) + ". Latency counts from when an operation " +
		"was due; what failed or did not end counts as slower than everything."
	if several && g.workload != g.target {
		intro = "Workload " + g.workload + ". " + intro
	}
	if s.Config.Algorithm == search.Paper {
		intro += " The search is that of the black-box throughput paper, which believes every window."
	}
	out := doc.Section{ID: "target" + strconv.Itoa(k), Kind: "Capacity of", Title: g.target, Blocks: []doc.Block{doc.Para(intro).On(doc.Page)}}
	switch {
	case several:
	case len(g.trials) > 1:
		out.Kind, out.Title = "", "Trials"
	default:
		out.Kind, out.Title = "", "Search"
	}
	return out
}

// blocks of one search; beside others it says itself what it found.
func (s Search) blocks(beside bool) (out []doc.Block) {
	if beside {
		out = append(out, doc.Block{Text: &doc.Text{Text: s.Answer.sentence(), Tone: doc.Strong}})
		if text := s.Answer.failing(); text != "" {
			out = append(out, doc.Para(text))
		}
		if len(s.Answer.Warnings()) > 0 && s.Answer.Failure == "" { // else the sentence says it
			out = append(out, doc.Cautions(s.Answer.Warnings()))
		}
	}
	loads := loadsOf(s.Answer.Windows)
	for _, figure := range []doc.Block{s.sketch(loads), s.boundaryFigure(loads), s.courseFigure(), s.heatFigure(loads)} {
		if !figure.Empty() {
			out = append(out, figure)
		}
	}
	if len(s.Answer.Windows) == 0 {
		return out
	}
	out = append(out, doc.Block{Table: s.windowsTable(false)}.On(doc.Terminal), doc.Block{Table: s.windowsTable(true)}.On(doc.Page))
	if lines := s.hiddenReasons(); len(lines) > 0 {
		out = append(out, doc.Block{List: &doc.List{Items: lines}}.On(doc.Terminal))
	}
	return out
}

// inBrief is what a terminal shows of many searches below their table.
func (r *Result) inBrief() doc.Section {
	var lines []string
	n := 0
	for _, s := range r.Searches {
		for _, text := range s.Answer.Warnings() {
			if n++; n <= mostWarnings {
				lines = append(lines, fmt.Sprintf("%s, trial %d: %s", s.Target, s.Trial, text))
			}
		}
	}
	if n > mostWarnings {
		lines = append(lines, "and "+num.Count(n-mostWarnings, "more warning"))
	}
	out := doc.Section{Show: doc.Terminal}
	if len(lines) > 0 {
		out.Blocks = append(out.Blocks, doc.Cautions(lines))
	}
	out.Blocks = append(out.Blocks, doc.Para(fmt.Sprintf("The windows of %d searches are in the report, and in --format json and csv.", len(r.Searches))))
	return out
}

// alerts tell which of several searches have warnings, one line a target; the
// warnings stand with them.
func alerts(all []group) (out []doc.Warning) {
	for k, g := range all {
		warned, warnings := 0, 0
		for _, s := range g.trials {
			if n := len(s.Answer.Warnings()); n > 0 {
				warned, warnings = warned+1, warnings+n
			}
		}
		if warned == 0 {
			continue
		}
		where := "1 search"
		if warned > 1 {
			where = fmt.Sprintf("%d searches", warned)
		}
		out = append(out, doc.Warning{Text: num.Count(warnings, "warning") + " in " + where, Links: []doc.Link{{Href: "#target" + strconv.Itoa(k), Text: g.target}}})
	}
	return out
}

// comparison is of targets, or of the trials of one of them: box plots
// (Fig. 4 of the black-box throughput paper) and a table.
func comparison(all []group) doc.Section {
	out := doc.Section{ID: "capacities", Title: "Capacity over trials"}
	if len(all) > 1 {
		out.Title = "Capacity by target"
	}
	if figure := boxesFigure(all); !figure.Empty() {
		out.Blocks = append(out.Blocks, figure)
	} else {
		out.Blocks = append(out.Blocks, doc.Remark("No trial has an estimate: the table says why."))
	}
	table := doc.Block{Table: trialsTable(all)}
	if len(table.Table.Rows) > mostRows {
		out.Blocks = append(out.Blocks, doc.Block{Fold: &doc.Fold{Title: "All trials", Blocks: []doc.Block{table}}}.On(doc.Page), table.On(doc.Terminal))
	} else {
		out.Blocks = append(out.Blocks, table)
	}
	return out
}

// boxesFigure is one row a target; empty without any estimate.
func boxesFigure(all []group) doc.Block {
	c := chart.Chart{Title: "Capacity of each target", X: chart.Axis{Unit: "op/s", Relative: true}, Y: chart.Axis{Kind: chart.Rows}}
	var box, point, none chart.Layer
	box.Mark, point.Mark, none.Mark = chart.Box, chart.Point, chart.Label
	boxes := false
	for k, g := range all {
		row := chart.Row{Name: g.target, Href: "#target" + strconv.Itoa(k), Value: num.Missing}
		if g.workload != g.target {
			row.Sub = g.workload
		}
		estimates := g.estimates()
		row.Note = "n = " + strconv.Itoa(len(estimates))
		if m := g.median(); num.Finite(m) {
			row.Value = rate(m)
		} else {
			none.Y, none.Text = append(none.Y, float64(k)), append(none.Text, "no estimate")
		}
		if text := g.without(); text != "" {
			row.More = []string{text}
		}
		c.Y.Rows = append(c.Y.Rows, row)
		boxes = boxes || len(estimates) >= chart.BoxFrom
		for _, s := range g.trials {
			e := s.Answer.Estimate
			if e == nil {
				continue
			}
			tip := fmt.Sprintf("trial %d: %s", s.Trial, s.Answer.estimate())
			point.X, point.Y, point.Tips, point.Hollow = append(point.X, *e), append(point.Y, float64(k)), append(point.Tips, tip), append(point.Hollow, !s.Answer.Confirmed)
		}
	}
	if len(point.X) == 0 {
		return doc.Block{}
	}
	box.X, box.Y = point.X, point.Y
	c.Layers = []chart.Layer{box, point}
	if len(none.Y) > 0 {
		c.Layers = append(c.Layers, none)
	}
	b := doc.Plot("", "", c)
	b.Figure.Note = "Each point is the estimate of one trial; the line is their median."
	if boxes {
		b.Figure.Note += fmt.Sprintf(" Boxes, from %d estimates on: the middle half of them. Whiskers: the farthest that are no more than 1.5 times the box away from it.", chart.BoxFrom)
	}
	if slices.Contains(point.Hollow, true) {
		b.Figure.Note += " Hollow: not confirmed."
	}
	b.Figure.Note += axisNote(all, point.X)
	return b
}

// axisNote says how package chart draws the axis of such boxes.
func axisNote(all []group, estimates []float64) string {
	least, most := math.Inf(1), 0.
	for _, g := range all {
		if m := g.median(); num.Finite(m) {
			least, most = min(least, m), max(most, m)
		}
	}
	switch {
	case least > 0 && most >= 3*least:
		return " The targets are far apart: each row is drawn around its own median, which stands beside it, and all in the same measure."
	case slices.Min(estimates) > .7*slices.Max(estimates):
		return " The axis does not begin at 0."
	}
	return ""
}

// detailed are the indices of the trials that are shown with their figures,
// ascending: all, or of many those that a reader would look for.
func (g group) detailed() (out []int) {
	var known, unknown []int
	for i, s := range g.trials {
		if s.Answer.Estimate != nil {
			known = append(known, i)
		} else {
			unknown = append(unknown, i)
		}
	}
	slices.SortStableFunc(known, func(a, b int) int {
		return cmp.Compare(*g.trials[a].Answer.Estimate, *g.trials[b].Answer.Estimate)
	})
	chosen := []int{0, len(g.trials) - 1}
	switch n := len(known); {
	case len(g.trials) <= mostDetailed:
		chosen = append(chosen, known...)
	case n > 0:
		chosen = append(chosen, known[0], known[n/2], known[n-1])
	}
	for _, i := range append(chosen, unknown...) {
		if len(out) < mostDetailed && !slices.Contains(out, i) {
			out = append(out, i)
		}
	}
	slices.Sort(out)
	return out
}

// chosen says which trials are shown with their figures.
func (g group) chosen(detailed []int) string {
	var numbers []string
	for _, i := range detailed {
		numbers = append(numbers, strconv.Itoa(g.trials[i].Trial))
	}
	without := ""
	if len(g.estimates()) < len(g.trials) {
		without = ", and some without any"
	}
	return fmt.Sprintf("Of %d trials these are shown: %s. They are the first and the last, and those with the least, the middle and the greatest estimate%s. The table above has all.",
		len(g.trials), strings.Join(numbers, ", "), without)
}
