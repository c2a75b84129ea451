package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/num"
	"github.com/scalebench/scalebench/internal/report/table"
)

// workloadView is the part of the page about one workload.
type workloadView struct {
	Name    string
	Metrics []metricView
	Scaling []scalingView
	// Info is what was measured beside the capacity, Percentiles what the
	// histograms say, InfoNotes what is wrong with them.
	Info, Percentiles *tableView
	InfoNotes         []string
	Trials            []trialView
	Noun              string // what all of the tasks of a trial are: "nodes" or "tasks"
	Host              *hostView
}

// metricView is the part about one finding.
type metricView struct {
	ID, Name, Verdict, Symbol string
	CDI, Interval             string
	Possible                  string // the loss that "none" does not exclude, when it is large
	Warnings                  []string
	Numbers                   []field
	Panels                    []panelView
	Whole                     bool // hollow marks show whole tasks
	Numbered                  bool // nodes are shown by number
	Noun                      string
	Pairs, Ends               *tableView
}

// panelView is one half of a figure with the words above it.
type panelView struct {
	Class, Title, Words string
	Unit                string
	Plot                figure.Plot
}

// workloads groups findings by workload, in the order of the steps; a workload
// without a finding still shows its trials.
func (b builder) workloads() []workloadView {
	var out []workloadView
	place := make(map[string]int)
	add := func(workload string) int {
		k, ok := place[workload]
		if !ok {
			k = len(out)
			place[workload] = k
			out = append(out, b.workload(workload, k))
		}
		return k
	}
	for i, f := range b.findings {
		k := add(f.Workload)
		out[k].Metrics = append(out[k].Metrics, b.metricView(i, f))
	}
	for _, s := range b.data.Steps {
		if s.Phase == model.Parallel && len(b.accepted[s.ID]) > 0 {
			add(s.Workload)
		}
	}
	return out
}

// workload is what is said about a workload beside its findings.
func (b builder) workload(workload string, number int) workloadView {
	v := workloadView{
		Name: table.Clean(workload), Scaling: b.scalingOf(workload), Trials: b.trials(workload), Host: b.host(workload, number),
	}
	if t := b.infoTable(workload); t != nil {
		v.Info = newTableView(t, t)
	}
	t, notes := b.histogramTable(workload)
	if t != nil {
		v.Percentiles = newTableView(t, t)
	}
	v.InfoNotes = notes
	return v
}

func (b builder) metricView(i int, f model.Finding) metricView {
	v := metricView{
		Noun: noun(f.Of),
		ID:   findingHref(i)[1:], Name: table.Clean(f.Metric), Verdict: string(verdictOf(f)), Symbol: symbol(verdictOf(f)),
		CDI: minus(optional(f.CDI, num.Percent)), Numbers: keyNumbers(f),
	}
	v.Interval = minus(intervalText(f.CI))
	v.Possible = notExcludedWords(f)
	for _, w := range f.Warnings {
		v.Warnings = append(v.Warnings, table.Clean(w))
	}
	if len(f.Pairs) > 0 {
		v.Panels, v.Numbered = panels(f)
		v.Whole = wholeShown(f)
		v.Pairs = newTableView(pairTable(f), pairTable(f))
	}
	if t := b.endsTable(f); t != nil {
		v.Ends = newTableView(t, t)
	}
	return v
}

// keyNumbers are the values beside a figure.
func keyNumbers(f model.Finding) []field {
	out := []field{
		{noun(f.Of) + "s", strconv.Itoa(f.Nodes)},
		{"total, all at once", totalText(f, f.Parallel.Total)},
		{"worth", worthText(f)},
		{"overlap", optional(f.Overlap, num.Fraction)},
		{"start skew", optional(f.StartSkewMS, num.Millis)},
		{"end spread", optional(f.EndSpreadMS, num.Millis)},
	}
	if bounded(f.BCa) {
		out = append(out, field{"bootstrap interval (BCa)", intervalText(f.BCa) + " %"})
	}
	if f.Window != "" {
		out = append(out, field{"scored on", windowWords(f.Window)})
	}
	if wholeDiffers(f) {
		out = append(out, field{"CDI on whole tasks", num.Percent(*f.CDIWhole)})
	}
	if f.Reciprocal {
		out = append(out, field{"capacity is", "1 / measured duration"})
	}
	for i := range out {
		out[i].Text = minus(out[i].Text)
	}
	return out
}

func windowWords(window string) string {
	switch window {
	case "common":
		return "the common window"
	case "whole":
		return "whole tasks"
	}
	return table.Clean(window)
}

// panels draws serial and parallel side by side on one axis (Fig. 4 to 7).
func panels(f model.Finding) (views []panelView, numbered bool) {
	names, serial, parallel, whole := columnsOf(f.Pairs)
	reference := orNaN(f.Serial.Mean)
	left := figure.Panel{Class: "serial", Names: names, Values: serial, Mean: reference, SD: orNaN(f.Serial.SD)}
	right := figure.Panel{
		Class: "parallel", Names: names, Values: parallel,
		Mean: orNaN(f.Parallel.Mean), SD: orNaN(f.Parallel.SD), Reference: &reference,
	}
	if wholeShown(f) {
		right.Whole = whole
	}
	if !num.Finite(reference) {
		right.Reference = nil
	}
	s := scaleOf(f)
	axis := figure.CapacityAxis(s, left, right)
	left.Title = name(f) + ", serial: " + spreadWords(s, f.Serial)
	right.Title = name(f) + ", parallel: " + spreadWords(s, f.Parallel.Spread)
	unit := s.Unit
	return []panelView{
		{"serial", "Serial: one " + noun(f.Of) + " at a time", spreadWords(s, f.Serial), unit, figure.Nodes(left, axis)},
		{"parallel", "Parallel: all " + noun(f.Of) + "s at once", spreadWords(s, f.Parallel.Spread), unit, figure.Nodes(right, axis)},
	}, !figure.NamesFit(names)
}

// wholeShown reports whether a second mark per node shows its whole task:
// among very many nodes it would hide the first.
func wholeShown(f model.Finding) bool { return wholeDiffers(f) && len(f.Pairs) <= 60 }

func columnsOf(pairs []model.NodePair) (names []string, serial, parallel, whole []float64) {
	for _, p := range pairs {
		names = append(names, table.Clean(string(p.Node)))
		serial, parallel = append(serial, p.Serial), append(parallel, p.Parallel)
		whole = append(whole, p.ParallelWhole)
	}
	return names, serial, parallel, whole
}

// spreadWords says "mean 12.34 Mop/s, SD 0.05 (0.4 %)".
func spreadWords(s num.Scale, v model.Spread) string {
	mean, sd := orNaN(v.Mean), orNaN(v.SD)
	if !num.Finite(mean) {
		return "mean " + num.Missing
	}
	words := "mean " + s.Value(mean, sd) + ", SD " + s.Deviation(mean, sd)
	if mean > 0 && num.Finite(sd) {
		words += " (" + num.Percent(100*sd/mean) + ")"
	}
	return words
}

// pairTable lists every node's values; what is copied has all digits.
func pairTable(f model.Finding) *table.Table {
	s := scaleOf(f)
	unit := ""
	if s.Unit != "" {
		unit = "\n" + s.Unit
	}
	t := &table.Table{Columns: []table.Column{
		{Key: "number", Head: "#", Align: table.Right}, {Key: "node", Head: noun(f.Of)},
		{Key: "serial", Head: "serial" + unit, Align: table.Right},
		{Key: "parallel", Head: "parallel" + unit, Align: table.Right},
		{Key: "parallel_whole", Head: "whole task" + unit, Align: table.Right},
		{Key: "loss_percent", Head: "lost\n%", Align: table.Right},
	}}
	serialSD, parallelSD := orNaN(f.Serial.SD), orNaN(f.Parallel.SD)
	for i, p := range f.Pairs {
		loss := 100 * (1 - p.Parallel/p.Serial)
		t.Add(table.Of(i+1, strconv.Itoa(i+1)), table.Text(string(p.Node)),
			table.Of(p.Serial, s.Number(p.Serial, serialSD)), table.Of(p.Parallel, s.Number(p.Parallel, parallelSD)),
			wholeCell(p, s, parallelSD), lossCell(loss))
	}
	return t
}

// wholeCell is the capacity over the whole task; a node that worked but has
// none was not scored on it.
func wholeCell(p model.NodePair, s num.Scale, sd float64) table.Cell {
	if p.ParallelWhole == 0 && p.Parallel != 0 {
		return table.Of(nil, num.Missing)
	}
	return table.Of(p.ParallelWhole, s.Number(p.ParallelWhole, sd))
}

func lossCell(loss float64) table.Cell {
	if !num.Finite(loss) {
		return table.Of(nil, num.Missing)
	}
	return table.Of(loss, fmt.Sprintf("%.1f", loss+0)) // +0: no negative zero
}

// trialView is one parallel trial: when each node was at work, and how fast.
type trialView struct {
	Title    string
	Words    string
	Open     bool
	Partial  bool // of fewer subjects than all: not printed
	Timeline figure.Timeline
	Rates    []rateView
}

type rateView struct {
	Title, Unit string
	Plot        figure.Plot
	Names       []string // of the nodes, when few enough to have a line style each
}

// trials are the accepted parallel trials of a workload, those of fewer
// subjects than all after the others. Of the whole fleet's, the one that
// overlaps worst is open: it is what the finding's overlap comes from.
func (b builder) trials(workload string) []trialView {
	var out, partial []trialView
	worst, least := -1, math.Inf(1)
	for _, s := range b.data.Steps {
		results := b.inOrder(b.fleet.measured(b.accepted[s.ID]))
		if s.Phase != model.Parallel || s.Workload != workload || len(results) == 0 {
			continue
		}
		v, overlap, ok := newTrialView(s, results)
		if !ok {
			continue
		}
		if !b.fleet.full(s) {
			v.Title += fmt.Sprintf(", %d of %s", len(subjectsOf(s)), count(b.fleet.sizes[workload], subjectNoun(s)))
			v.Partial = true
			partial = append(partial, v)
			continue
		}
		if overlap < least {
			worst, least = len(out), overlap
		}
		out = append(out, v)
	}
	if worst >= 0 {
		out[worst].Open = true
	}
	return append(out, partial...)
}

// inOrder sorts results by the fleet's order of nodes, so that a node has the
// same row and colour in every trial.
func (b builder) inOrder(results []model.Result) []model.Result {
	place := make(map[model.NodeID]int)
	for i, n := range b.data.Nodes {
		place[n.ID] = i
	}
	slices.SortStableFunc(results, func(x, y model.Result) int { return place[x.Node] - place[y.Node] })
	return results
}

// newTrialView shows when tasks began and ended, which is all that is known of
// every workload. Package analysis may score a slightly shorter window, that in
// which the progress counters ran; the page says so.
func newTrialView(s model.Step, results []model.Result) (v trialView, overlap float64, ok bool) {
	var e extent
	for _, r := range results {
		e.add(r)
	}
	if e.n == 0 || !e.lastEnd.After(e.firstStart) {
		return v, 0, false
	}
	spans := spansOf(results, e)
	overlap = e.overlap()
	v.Title = fmt.Sprintf("Trial %d", s.Trial)
	v.Words = fmt.Sprintf("tasks overlap %s, start skew %s, end spread %s", num.Fraction(overlap),
		num.Millis(millis(e.lastStart.Sub(e.firstStart))), num.Millis(millis(e.lastEnd.Sub(e.firstEnd))))
	about := table.Clean(s.Workload) + ", parallel trial " + strconv.Itoa(s.Trial)
	v.Timeline = figure.NewTimeline("When each node was at work, "+about+": "+v.Words, spans)
	v.Rates = ratesOf(about, results, spans, e)
	return v, overlap, true
}

func spansOf(results []model.Result, e extent) []figure.Span {
	var out []figure.Span
	for _, r := range results {
		if r.Started.IsZero() || r.Ended.Before(r.Started) {
			continue
		}
		out = append(out, figure.Span{
			Name: table.Clean(string(r.Node)), OK: r.Outcome == model.OutcomeOK,
			Start: r.Started.Sub(e.firstStart).Seconds(), End: r.Ended.Sub(e.firstStart).Seconds(),
			ClockError: r.ClockError.Seconds(),
		})
	}
	return out
}

// ratesOf draws each counter that the workload published, by metric.
func ratesOf(about string, results []model.Result, spans []figure.Span, e extent) []rateView {
	var out []rateView
	for _, key := range seriesKeys(results) {
		nodes := progressOf(results, key, e)
		title := "Throughput of every node over time, " + table.Clean(key.metric) + ", " + about
		plot, scale, ok := figure.Rates(title, unitScale(resourceOf(results, key.metric), key.unit+"/s"), nodes, spans)
		if !ok {
			continue
		}
		v := rateView{Title: table.Clean(key.metric), Unit: scale.Unit, Plot: plot}
		if len(nodes) <= figure.Palette {
			for _, n := range nodes {
				v.Names = append(v.Names, n.Name)
			}
		}
		out = append(out, v)
	}
	return out
}

type seriesKey struct{ metric, unit string }

// seriesKeys lists the counters in order of first appearance.
func seriesKeys(results []model.Result) []seriesKey {
	var out []seriesKey
	seen := make(map[seriesKey]bool)
	for _, r := range results {
		for _, s := range r.Series {
			if k := (seriesKey{s.Metric, s.Unit}); !seen[k] {
				seen[k] = true
				out = append(out, k)
			}
		}
	}
	return out
}

// resourceOf is what a metric is a capacity of, "" when nobody says.
func resourceOf(results []model.Result, metric string) string {
	for _, r := range results {
		for _, s := range r.Samples {
			if s.Metric == metric && s.Resource != "" {
				return s.Resource
			}
		}
	}
	return ""
}

func progressOf(results []model.Result, key seriesKey, e extent) []figure.Progress {
	var out []figure.Progress
	for _, r := range results {
		for _, s := range r.Series {
			if s.Metric == key.metric && s.Unit == key.unit && len(s.Offsets) == len(s.Values) {
				start := r.Started.Sub(e.firstStart).Seconds()
				out = append(out, newProgress(table.Clean(string(r.Node)), start, s))
			}
		}
	}
	return out
}

// newProgress adds the point that every counter has without saying so: at the
// start, no work is done (model.Series).
func newProgress(name string, start float64, s model.Series) figure.Progress {
	p := figure.Progress{Name: name}
	if len(s.Offsets) > 0 && s.Offsets[0] > 0 {
		p.Times, p.Done = append(p.Times, start), append(p.Done, 0)
	}
	for i, at := range s.Offsets {
		p.Times = append(p.Times, start+float64(at)/1e9)
		p.Done = append(p.Done, s.Values[i])
	}
	return p
}
