package cdi

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/stats"
)

// mostShown is of how many nodes a page shows every value. The JSON has all of
// them, however many there are.
const mostShown = 10_000

// workloads are the sections of the page about single workloads, in the order
// of the findings; a workload without a finding still shows its trials.
func (r *Result) workloads() []doc.Section {
	var names []string
	for _, f := range r.findings {
		names = append(names, f.Workload)
	}
	if r.run != nil {
		for _, s := range r.run.Steps() {
			if s.Phase == model.Parallel && len(r.run.Accepted(s.ID)) > 0 {
				names = append(names, s.Workload)
			}
		}
	}
	var out []doc.Section
	done := make(map[string]bool)
	for _, name := range names {
		if done[name] {
			continue
		}
		done[name] = true
		s := doc.Section{Kind: "Workload", Title: name, Show: doc.Page}
		for i, f := range r.findings {
			if f.Workload == name {
				s.Blocks = append(s.Blocks, doc.Block{Part: r.metric(i, f)})
			}
		}
		if t := timing(r.run, name); t != nil {
			s.Blocks = append(s.Blocks, doc.Block{Part: t})
		}
		out = append(out, s)
	}
	return out
}

// metric is the part about one finding.
func (r *Result) metric(i int, f evaluation.Finding) *doc.Section {
	s := &doc.Section{ID: href(i)[1:], Title: f.Metric, Tag: f.Verdict.Tag(), Words: "CDI " + f.CDIText()}
	if iv := f.IntervalText(); iv != "" {
		s.Words += " " + iv
	}
	if f.Verdict == evaluation.Unclear {
		s.Words += ", a loss of up to " + num.Percent(f.CI[1]) + " is not excluded"
	}
	if len(f.Doubts) > 0 {
		s.Blocks = append(s.Blocks, doc.Listed(f.Doubts))
	}
	drawn := len(f.Pairs) > 0 && len(f.Pairs) <= mostShown
	if drawn {
		s.Blocks = append(s.Blocks, doc.Block{Figure: panels(f)})
	}
	s.Blocks = append(s.Blocks, doc.Block{Fields: keyNumbers(f)})
	if ends := endsTable(r.run, f); ends != nil {
		s.Blocks = append(s.Blocks, doc.Block{Fold: &doc.Fold{Title: "Each direction by itself", Blocks: []doc.Block{{Table: ends},
			doc.Remark("What each task of a pair measured, the mean over trials of whole tasks; the pair’s capacity is their sum.")}}})
	}
	if drawn {
		s.Blocks = append(s.Blocks, doc.Block{Fold: &doc.Fold{Title: fmt.Sprintf("Every %s’s values", f.Of), Blocks: []doc.Block{{Table: pairTable(f)}}}})
	} else if len(f.Pairs) > 0 {
		s.Blocks = append(s.Blocks, doc.Remark(fmt.Sprintf("The values of so many %ss are not shown here; the JSON has them.", f.Of)))
	}
	return s
}

// keyNumbers are the values beside a figure.
func keyNumbers(f evaluation.Finding) []doc.Field {
	out := []doc.Field{
		{Label: string(f.Of) + "s", Text: strconv.Itoa(f.Nodes)},
		{Label: "total, all at once", Text: totalText(f, f.Parallel.Total)},
		{Label: "worth", Text: f.Worth()},
		{Label: "overlap", Text: num.Optional(f.Overlap, num.Fraction)},
		{Label: "start skew", Text: num.Optional(f.StartSkewMS, num.Millis)},
		{Label: "end spread", Text: num.Optional(f.EndSpreadMS, num.Millis)},
	}
	for _, i := range []struct {
		label string
		iv    *evaluation.Interval
	}{{"interval of these " + string(f.Of) + "s", f.CIFleet}, {"interval of such " + string(f.Of) + "s", f.CINodes}} {
		if i.iv != nil {
			out = append(out, doc.Field{Label: i.label, Text: num.PercentInterval(i.iv[0], i.iv[1]) + " %"})
		}
	}
	if f.Possible != nil && *f.Possible != *f.CI {
		out = append(out, doc.Field{Label: "with all that disturbed it", Text: num.PercentInterval(f.Possible[0], f.Possible[1]) + " %"})
	}
	if f.BCa != nil {
		out = append(out, doc.Field{Label: "bootstrap interval (BCa)", Text: num.PercentInterval(f.BCa[0], f.BCa[1]) + " %"})
	}
	scored := map[string]string{evaluation.WindowCommon: "the common window", evaluation.WindowWhole: "whole tasks"}
	out = append(out, doc.Field{Label: "scored on", Text: scored[f.Window]})
	if wholeDiffers(f) {
		out = append(out, doc.Field{Label: "CDI on whole tasks", Text: num.Percent(*f.CDIWhole)})
	}
	if f.CDIMeasured != nil && num.Percent(*f.CDIMeasured) != f.CDIText() {
		out = append(out, doc.Field{Label: "CDI as measured", Text: num.Percent(*f.CDIMeasured)})
	}
	if f.Reciprocal {
		out = append(out, doc.Field{Label: "capacity is", Text: "1 / measured duration"})
	}
	return out
}

// panels draws serial and parallel side by side on one axis (ScaleBench, Fig. 4
// to 7).
func panels(f evaluation.Finding) *doc.Figure {
	var rows []chart.Row
	for _, p := range f.Pairs {
		rows = append(rows, chart.Row{Name: string(p.Node)})
	}
	s := f.Scale()
	whole := wholeDiffers(f) && len(f.Pairs) <= fewMarks
	words := func(v evaluation.Spread) string {
		if v.Mean == nil || v.SD == nil {
			return "mean " + num.Missing
		}
		text := "mean " + s.Value(*v.Mean, *v.SD) + ", SD " + s.Deviation(*v.Mean, *v.SD)
		if *v.Mean > 0 {
			text += " (" + num.Percent(100**v.SD / *v.Mean) + ")"
		}
		return text
	}
	note := fmt.Sprintf("One mark per %s", f.Of)
	if !chart.NamesFit(rows) {
		note += ", numbered as in the table below"
	}
	note += ". Line: mean; band: ± one population SD; dashed: mean of the serial evaluation."
	if whole {
		note += fmt.Sprintf(" Hollow: the same %s over its whole task.", f.Of)
	}
	return &doc.Figure{Columns: 2, Note: note, Panels: []doc.Panel{
		{Title: fmt.Sprintf("Serial: one %s at a time", f.Of), Words: words(f.Serial), Role: chart.Serial,
			Chart: panel(f, rows, chart.Serial, f.Serial, nil)},
		{Title: fmt.Sprintf("Parallel: all %ss at once", f.Of), Words: words(f.Parallel.Spread), Role: chart.Parallel,
			Chart: panel(f, rows, chart.Parallel, f.Parallel.Spread, map[bool]*evaluation.Finding{true: &f}[whole])},
	}}
}

// fewMarks is up to how many nodes have stems, and a second mark for the whole
// task: among very many these would hide the first.
const fewMarks = 60

// panel draws every node's capacity in one phase, and over whole tasks if
// whole is given.
func panel(f evaluation.Finding, rows []chart.Row, role chart.Role, spread evaluation.Spread, whole *evaluation.Finding) chart.Chart {
	unit, factor := evaluation.DrawnIn(f.Resource, f.Unit)
	s := f.Scale()
	marks := func(hollow bool, of func(evaluation.NodePair) float64, suffix string) chart.Layer {
		l := chart.Layer{Mark: chart.Point, Role: role}
		if hollow {
			l.Hollow = []bool{true}
		}
		for i, p := range f.Pairs {
			l.X, l.Y = append(l.X, float64(i)), append(l.Y, factor*of(p))
			l.Tips = append(l.Tips, string(p.Node)+suffix+": "+s.Value(of(p), 0))
		}
		return l
	}
	value := func(p evaluation.NodePair) float64 { return p.Parallel }
	if role == chart.Serial {
		value = func(p evaluation.NodePair) float64 { return p.Serial }
	}
	c := chart.Chart{
		Title: fmt.Sprintf("Capacity of every %s, %s, %s", f.Of, f.Name(), role), Height: 200,
		X: chart.Axis{Kind: chart.Rows, Rows: rows}, Y: chart.Axis{Unit: unit},
	}
	if spread.Mean != nil && spread.SD != nil {
		mean, sd := factor**spread.Mean, factor**spread.SD
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: role, Y: chart.Values{max(mean-sd, 0)}, Y2: chart.Values{mean + sd}})
	}
	points := marks(false, value, "")
	if len(f.Pairs) <= fewMarks {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: role, X: points.X, Y: chart.Values{0}, Y2: points.Y})
	}
	if role == chart.Parallel && f.Serial.Mean != nil {
		reference := chart.Layer{Mark: chart.Rule, Role: chart.Reference, Y: chart.Values{factor * *f.Serial.Mean}, Text: []string{"serial mean"}}
		if spread.Mean != nil && *f.Serial.Mean < *spread.Mean {
			reference.Place = chart.Below // away from the line of the mean
		}
		c.Layers = append(c.Layers, reference)
	}
	if whole != nil {
		c.Layers = append(c.Layers, marks(true, func(p evaluation.NodePair) float64 { return p.ParallelWhole }, ", whole task"))
	}
	c.Layers = append(c.Layers, points)
	if spread.Mean != nil {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: role, Y: chart.Values{factor * *spread.Mean}})
	}
	return c
}

// wholeSpread is the parallel capacity over whole tasks, from the node pairs;
// ok is false when a node lacks it. SD is the population's, as everywhere.
func wholeSpread(f evaluation.Finding) (s evaluation.ParallelSpread, ok bool) {
	n := float64(len(f.Pairs))
	if n == 0 {
		return s, false
	}
	total, lo, hi := 0.0, math.Inf(1), math.Inf(-1)
	for _, p := range f.Pairs {
		if p.ParallelWhole == 0 && p.Parallel != 0 {
			return s, false
		}
		total += p.ParallelWhole
		lo, hi = min(lo, p.ParallelWhole), max(hi, p.ParallelWhole)
	}
	mean, variance := total/n, 0.0
	for _, p := range f.Pairs {
		variance += (p.ParallelWhole - mean) * (p.ParallelWhole - mean) / n
	}
	sd := math.Sqrt(variance)
	s.Spread, s.Total = evaluation.Spread{Mean: &mean, Min: &lo, Max: &hi, SD: &sd}, &total
	return s, num.Finite(total) && num.Finite(sd)
}

// unitLine is the unit below a column's head.
func unitLine(s num.Scale) string {
	if s.Unit == "" {
		return ""
	}
	return "\n" + s.Unit
}

// pairTable lists every node's values; programs get all digits.
func pairTable(f evaluation.Finding) *doc.Table {
	s := f.Scale()
	unit := unitLine(s)
	t := &doc.Table{Columns: []doc.Column{
		{Key: "number", Head: "#", Right: true}, {Key: "node", Head: string(f.Of)},
		{Key: "serial", Head: "serial" + unit, Right: true},
		{Key: "parallel", Head: "parallel" + unit, Right: true},
		{Key: "parallel_whole", Head: "whole task" + unit, Right: true},
		{Key: "loss_percent", Head: "lost\n%", Right: true},
	}}
	serialSD, parallelSD := *f.Serial.SD, *f.Parallel.SD
	for i, p := range f.Pairs {
		whole := doc.Of(p.ParallelWhole, s.Number(p.ParallelWhole, parallelSD))
		if p.ParallelWhole == 0 && p.Parallel != 0 { // it was not scored on its whole task
			whole = doc.Of(nil, num.Missing)
		}
		t.Add(doc.Of(i+1, strconv.Itoa(i+1)), doc.Say(string(p.Node)),
			doc.Of(p.Serial, s.Number(p.Serial, serialSD)), doc.Of(p.Parallel, s.Number(p.Parallel, parallelSD)),
			whole, lossCell(p.Serial, p.Parallel))
	}
	return t
}

// lossCell is what is lost of a capacity, in percent.
func lossCell(serial, parallel float64) doc.Cell {
	loss := 100 * (1 - parallel/serial)
	if !num.Finite(loss) {
		return doc.Of(nil, num.Missing)
	}
	return doc.Of(loss, fmt.Sprintf("%.1f", loss+0)) // +0: no negative zero
}

// end is one end of a subject: what one of its tasks measured on its node.
type end struct{ subject, node model.NodeID }

// endsTable shows each direction of a pair by itself, means over trials of
// whole tasks; nil where every subject is one task.
func endsTable(run *observe.Run, f evaluation.Finding) *doc.Table {
	ends, values := endsOf(run, f)
	if len(ends) == 0 {
		return nil
	}
	var all []float64
	for _, e := range ends {
		all = append(all, stats.Average(values[e][0]), stats.Average(values[e][1]))
	}
	s := evaluation.ScaleOf(f.Resource, f.Unit, all...)
	unit := unitLine(s)
	t := &doc.Table{Columns: []doc.Column{
		{Key: "subject", Head: string(f.Of)}, {Key: "node", Head: "measured on"},
		{Key: "serial", Head: "serial" + unit, Right: true},
		{Key: "parallel", Head: "parallel" + unit, Right: true},
		{Key: "loss_percent", Head: "lost\n%", Right: true},
	}}
	for _, e := range ends {
		serial, parallel := stats.Average(values[e][0]), stats.Average(values[e][1])
		t.Add(doc.Say(string(e.subject)), doc.Say(string(e.node)),
			doc.Of(serial, s.Number(serial, 0)), doc.Of(parallel, s.Number(parallel, 0)), lossCell(serial, parallel))
	}
	return t
}

// endsOf collects each task's own values of a finding's metric in the serial
// and the parallel phase, where some subject has several tasks: the directions
// of a pair. The order is that of the subjects in the steps.
func endsOf(run *observe.Run, f evaluation.Finding) (ends []end, values map[end]*[2][]float64) {
	if run == nil {
		return nil, nil
	}
	values = make(map[end]*[2][]float64)
	place, tasks := make(map[model.NodeID]int), make(map[model.NodeID]int)
	size := observe.Fleet(run.Steps())[f.Workload]
	for _, s := range run.Steps() {
		for _, t := range observe.Measuring(s) {
			if _, seen := place[observe.SubjectOf(t)]; !seen {
				place[observe.SubjectOf(t)] = len(place)
			}
		}
		if s.Workload != f.Workload || s.Phase != model.Serial && (s.Phase != model.Parallel || len(observe.Subjects(s)) != size) {
			continue
		}
		for task, r := range run.Measured(s) {
			i := slices.IndexFunc(r.Samples, func(x model.Sample) bool { return x.Metric == f.Metric && !x.Info && num.Finite(x.Value) })
			if i < 0 {
				continue
			}
			e := end{observe.SubjectOf(task), r.Node}
			if values[e] == nil {
				values[e] = new([2][]float64)
				ends = append(ends, e)
				tasks[e.subject]++
			}
			phase := 0
			if s.Phase == model.Parallel {
				phase = 1
			}
			values[e][phase] = append(values[e][phase], r.Samples[i].Value)
		}
	}
	if !slices.ContainsFunc(ends, func(e end) bool { return tasks[e.subject] > 1 }) {
		return nil, nil
	}
	slices.SortStableFunc(ends, func(a, b end) int { return place[a.subject] - place[b.subject] })
	return ends, values
}
