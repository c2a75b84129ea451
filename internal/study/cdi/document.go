package cdi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
)

// href leads to the part of a finding, or to the table of all for -1.
func href(i int) string {
	if i < 0 {
		return "#findings"
	}
	return fmt.Sprintf("#f%d", i)
}

// Document is study.Answer.Document.
func (r *Result) Document() *doc.Document {
	said := summary(r.run, r.findings)
	d := &doc.Document{
		Title: r.title, Answer: said[0], More: said[1:], Verdict: overall(r.findings).Tag(),
		Warnings: evaluation.Warnings(r.findings, nil, href, nil), Data: flatTable(r.findings),
	}
	if r.run != nil && hasSizes(r.run.Steps()) {
		d.More = append(d.More, fmt.Sprintf("How the total grows with size: `scalebench resources %s`.", r.run.Run().ID))
	}
	if len(r.findings) > 0 {
		overview := evaluation.Chart("Capacity degradation of every metric", r.findings, func(i int, f evaluation.Finding) chart.Row {
			row := chart.Row{Name: f.Workload, Sub: f.Metric, Href: href(i)}
			if work := f.Work(); work != "" {
				row.More = []string{work}
			}
			return row
		})
		d.Sections = append(d.Sections,
			doc.Section{ID: "overview", Title: "Capacity degradation",
				Intro:  "How much less each node does when all work at once than when it works alone. 0 % is perfect scaling. Whiskers: 95 % interval; circles: single trials.",
				Blocks: []doc.Block{doc.Plot("", "", overview)}},
			doc.Section{ID: "findings", Title: "All numbers", Blocks: slices.Concat([]doc.Block{{Table: shownTable(r.findings)}}, remarks(r.findings))})
	}
	if t := expectedTable(r.findings); t != nil {
		d.Sections = append(d.Sections, doc.Section{ID: "expected", Title: "Known beforehand", Blocks: []doc.Block{{Table: t}}})
	}
	d.Sections = append(d.Sections, r.workloads()...)
	if len(r.findings) > 0 {
		d.Sections = append(d.Sections, reading())
	}
	return d
}

// hasSizes reports whether complete parallel steps of one workload differ in how many
// work at once, which this study measures and another one tells of.
func hasSizes(steps []model.Step) bool {
	size := make(map[string]int)
	for _, s := range steps {
		if s.Phase != model.Parallel || s.State != model.StepComplete {
			continue
		}
		if n, seen := size[s.Workload]; seen && n != len(s.Tasks) {
			return true
		}
		size[s.Workload] = len(s.Tasks)
	}
	return false
}

// overall is the worst of the verdicts: what is degraded first, then what is
// not known, or not clear.
func overall(findings []evaluation.Finding) evaluation.Verdict {
	for _, v := range []evaluation.Verdict{evaluation.Degraded, evaluation.Unknown, evaluation.Unclear, evaluation.Gain, evaluation.None} {
		if slices.ContainsFunc(findings, func(f evaluation.Finding) bool { return f.Verdict == v }) {
			return v
		}
	}
	return evaluation.Unknown
}

// shownTable is the table for people: a row a finding, and a second one where
// scoring whole tasks gives another index.
func shownTable(findings []evaluation.Finding) *doc.Table {
	mixed := slices.ContainsFunc(findings, func(f evaluation.Finding) bool { return f.Of != findings[0].Of })
	size := string(findings[0].Of) + "s"
	if mixed {
		size = "at once"
	}
	t := &doc.Table{
		Columns: []doc.Column{
			{Key: "workload", Head: "workload"}, {Key: "metric", Head: "metric"},
			{Key: "nodes", Head: size, Right: true},
			{Key: "serial", Head: "serial mean ±SD\n[min .. max]", Right: true},
			{Key: "parallel", Head: "parallel mean ±SD\n[min .. max]", Right: true},
			{Key: "total", Head: "total", Right: true, Tip: "sum over all that worked at once"},
			{Key: "cdi", Head: cdiHead(findings), Right: true, Tip: "capacity degradation index with its 95 % interval: [of these, if they were measured again], and (of others of their kind)"},
			{Key: "verdict", Head: "verdict"},
			{Key: "overlap", Head: "overlap", Right: true, Tip: "share of the time in which all were at work"},
			{Key: "start_skew_ms", Head: "skew", Right: true, Tip: "last start less the first"},
		},
		Stack: [][]string{{"workload", "metric"}, {"overlap", "start_skew_ms"}, {"verdict", "overlap"}, {"workload", "nodes"}, {"parallel", "total"}},
	}
	for _, f := range findings {
		size := strconv.Itoa(f.Nodes)
		if mixed {
			size = f.Count()
		}
		cdi := []string{f.CDIText()}
		if i := f.IntervalText(); i != "" {
			cdi = append(cdi, i)
			if such := f.SuchText(); such != "" {
				cdi = append(cdi, such)
			}
		} else if f.CDI != nil {
			cdi = append(cdi, "[no interval]")
		}
		t.Add(doc.Say(f.Workload), doc.Say(f.Metric), doc.Of(f.Nodes, size),
			doc.Of(f.Serial.Mean, spreadLines(f, f.Serial)...), doc.Of(f.Parallel.Mean, spreadLines(f, f.Parallel.Spread)...),
			doc.Of(f.Parallel.Total, totalText(f, f.Parallel.Total)),
			doc.Of(f.CDI, cdi...).As(doc.Strong), doc.Say(string(f.Verdict)).As(f.Verdict.Tone()),
			doc.Optional(f.Overlap, num.Fraction), doc.Optional(f.StartSkewMS, num.Millis))
		if wholeDiffers(f) {
			row := make([]doc.Cell, len(t.Columns))
			row[1] = doc.Of(nil, "on whole tasks").As(doc.Faint)
			if p, ok := wholeSpread(f); ok {
				row[4] = doc.Of(p.Mean, spreadLines(f, p.Spread)...).As(doc.Faint)
				row[5] = doc.Of(p.Total, totalText(f, p.Total)).As(doc.Faint)
			}
			row[6] = doc.Of(f.CDIWhole, num.Percent(*f.CDIWhole)).As(doc.Faint)
			t.AddMore(row...)
		}
	}
	return t
}

// remarks explain the table: what only a page has room for, the two intervals,
// and which numbers are not what was measured.
func remarks(findings []evaluation.Finding) []doc.Block {
	out := []doc.Block{doc.Remark("SD is the population standard deviation over nodes. The CSV has all digits and all columns.").On(doc.Page)}
	if slices.ContainsFunc(findings, func(f evaluation.Finding) bool { return f.SuchText() != "" }) {
		out = append(out, doc.Remark("95 % intervals: [ ] of these nodes or pairs if they were measured again, ( ) of others of their kind."))
	}
	var durations []string
	for _, f := range findings {
		if f.Reciprocal {
			durations = append(durations, f.Name())
		}
	}
	if len(durations) > 0 {
		out = append(out, doc.Remark(fmt.Sprintf("Measured as a duration and shown as its reciprocal, work per second: %s.", num.List(durations))))
	}
	return out
}

// cdiHead is the head of the column with the index, which has both intervals
// where some finding has.
func cdiHead(findings []evaluation.Finding) string {
	if slices.ContainsFunc(findings, func(f evaluation.Finding) bool { return f.SuchText() != "" }) {
		return "CDI, 95 %\n[these nodes]\n(such nodes)"
	}
	return "CDI\n[95 %]"
}

// expectedTable shows what was known beforehand beside what was measured; nil
// where nothing was.
func expectedTable(findings []evaluation.Finding) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "metric", Head: "metric"}, {Key: "expected", Head: "expected CDI", Right: true}, {Key: "measured", Head: "measured\n[95 %]", Right: true},
		{Key: "difference", Head: "difference", Right: true}, {Key: "holds", Head: "why"},
	}}
	for _, f := range findings {
		if f.Expected == nil || f.CDI == nil {
			continue
		}
		here, lines := *f.Expected, []string{num.Percent(*f.Expected)}
		if f.ExpectedHere != nil && num.Percent(*f.ExpectedHere) != lines[0] {
			here = *f.ExpectedHere
			lines = append(lines, num.Percent(here)+" here: all cores at once are slower")
		}
		apart := *f.CDI - here
		t.Add(doc.Say(f.Name()), doc.Of(f.Expected, lines...), doc.Of(f.CDI, f.CDIText(), f.IntervalText()),
			doc.Of(apart, fmt.Sprintf("%+.1f", apart)), doc.Say(whyApart(f, here)))
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// whyApart is what the measurement itself knows of a difference.
func whyApart(f evaluation.Finding, expected float64) string {
	if f.Verdict == evaluation.Unknown {
		return "cannot be told: the verdict is unknown"
	}
	if f.CI != nil && f.CI.Contains(expected) {
		return "chance: the interval holds what was expected"
	}
	if f.Possible != nil && f.Possible.Contains(expected) {
		for _, d := range f.Doubts {
			if d.Explains != nil && *d.Explains >= math.Abs(*f.CDI-expected) {
				return doc.Words(d.Text)
			}
		}
		return "what disturbed the nodes, taken together: see the warnings"
	}
	return "not known: look at the warnings, or what was expected is not what was measured"
}

// spreadLines prints mean and SD with unit, and the range below.
func spreadLines(f evaluation.Finding, v evaluation.Spread) []string {
	if v.Mean == nil {
		return []string{num.Missing}
	}
	s := f.Scale()
	if v.SD == nil || v.Min == nil || v.Max == nil {
		return []string{s.Number(*v.Mean, 0) + " ±" + num.Missing + strings.TrimSuffix(" "+s.Unit, " "), "[" + num.Missing + " .. " + num.Missing + "]"}
	}
	return []string{
		s.Spread(*v.Mean, *v.SD) + strings.TrimSuffix(" "+s.Unit, " "),
		"[" + s.Number(*v.Min, *v.SD) + " .. " + s.Number(*v.Max, *v.SD) + "]",
	}
}

func totalText(f evaluation.Finding, total *float64) string {
	return num.Optional(total, func(v float64) string { return evaluation.ScaleOf(f.Resource, f.Unit, v).Value(v, 0) })
}

// wholeDiffers reports whether scoring whole tasks gives another index than
// the common window, as far as the printed digits show it.
func wholeDiffers(f evaluation.Finding) bool {
	return f.Window == evaluation.WindowCommon && f.CDI != nil && f.CDIWhole != nil && num.Percent(*f.CDI) != num.Percent(*f.CDIWhole)
}

// flatColumns are the columns of the CSV form. Their names and order are a
// contract; new ones are added at the end.
var flatColumns = []string{
	"workload", "metric", "unit", "nodes",
	"serial_mean", "serial_min", "serial_max", "serial_sd",
	"parallel_mean", "parallel_min", "parallel_max", "parallel_sd", "parallel_total",
	"cdi", "ci_lo", "ci_hi", "overlap", "start_skew_ms", "verdict", "warnings",
	"ci_bca_lo", "ci_bca_hi", "end_spread_ms", "window", "cdi_whole", "reciprocal", "of", "resource",
	"ci_fleet_lo", "ci_fleet_hi", "ci_nodes_lo", "ci_nodes_hi", "expected", "ci_possible_lo", "ci_possible_hi", "expected_here",
	"cdi_measured",
}

// flatTable is the table for programs: one row a finding, unrounded.
func flatTable(findings []evaluation.Finding) *doc.Table {
	t := &doc.Table{Columns: doc.ForPrograms(flatColumns...)}
	for _, f := range findings {
		lo, hi := f.CI.Ends()
		bcaLo, bcaHi := f.BCa.Ends()
		fleetLo, fleetHi := f.CIFleet.Ends()
		nodesLo, nodesHi := f.CINodes.Ends()
		possibleLo, possibleHi := f.Possible.Ends()
		t.Add(doc.Values(
			f.Workload, f.Metric, f.Unit, f.Nodes,
			f.Serial.Mean, f.Serial.Min, f.Serial.Max, f.Serial.SD,
			f.Parallel.Mean, f.Parallel.Min, f.Parallel.Max, f.Parallel.SD, f.Parallel.Total,
			f.CDI, lo, hi, f.Overlap, f.StartSkewMS, f.Verdict, doc.Joined(f.Warnings),
			bcaLo, bcaHi, f.EndSpreadMS, f.Window, f.CDIWhole, f.Reciprocal, f.Of, f.Resource,
			fleetLo, fleetHi, nodesLo, nodesHi, f.Expected, possibleLo, possibleHi, f.ExpectedHere, f.CDIMeasured,
		)...)
	}
	return t
}

// reading explains the words.
func reading() doc.Section {
	return doc.Section{ID: "reading", Title: "How to read this", Show: doc.Page, Blocks: []doc.Block{{Fields: []doc.Field{
		{Label: "CDI", Text: "Capacity degradation index: 100 · (1 − mean parallel capacity / mean serial capacity), in percent. 75 % means that a node does a quarter of what it does alone. Negative: it does more."},
		{Label: "95 % interval", Text: "Of these nodes: what they would show if they were measured again, from batches of time and from trials. Where neither is known, of such nodes: Fieller's interval for the ratio of two means over nodes, which holds for others of their kind."},
		{Label: "Verdict", Text: "degraded when the interval lies above 0; none when it does not and reaches no further than the tolerance; gain when it lies below 0 and does; unclear when it contains 0 and is wider than for none; unknown when the measurement does not allow an answer."},
		{Label: "Worth", Text: "n · (1 − CDI / 100): how many nodes without degradation would do the same work."},
		{Label: "Common window", Text: "The time of a parallel trial in which every node was active: from the last start to the first end of the nodes’ progress counters, or of their tasks where there are none. Outside it some node worked with less competition, so capacity is scored inside it where the workload published its progress."},
		{Label: "Overlap", Text: "The common window as a share of the time from the first start to the last end; the least of all parallel trials."},
	}}}}
}
