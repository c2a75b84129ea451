package report

import (
	"fmt"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
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
