package record

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/scalebench/scalebench/internal/caveat"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
)

// hostPanel is one small chart of the nodes over time, a line a node.
type hostPanel struct {
	title, unit string
	// factor turns values into the unit; top is the least that the axis
	// reaches, 0 follows the values.
	factor, top float64
	// of computes the values over a grid; nil where the node has none.
	of func(observe.Host, grid) []float64
}

// hostPanels are the charts in the order of the page. A chart in which nothing
// happened on any node is named and not drawn.
var hostPanels = []hostPanel{
	{"CPU at work", "%", 100, 100, cpuShare(observe.CPURunning)},
	{"CPU of the node’s own processes", "cores", 1, 0, rateOf(observe.MetricCgroupCPU)},
	{"Held back by its CPU limit, all cores together", "s/s", 1, 0, rateOf(observe.MetricThrottled)},
	{"Run queue: threads that run or could", "", 1, 0, stateOf(observe.MetricRunQueue)},
	{"Memory in use", "B", 1, 0, memoryUsed},
	{"Memory of the node’s own processes", "B", 1, 0, stateOf(observe.MetricCgroupMemory)},
	{"Disk reads", "B/s", 1, 0, rateOf(observe.MetricDiskRead)},
	{"Disk writes", "B/s", 1, 0, rateOf(observe.MetricDiskWrite)},
	{"Volumes, reads", "B/s", 1, 0, volumeRate("read_bytes")},
	{"Volumes, writes", "B/s", 1, 0, volumeRate("write_bytes")},
	{"Network, receiving", "bit/s", 8, 0, rateOf(observe.MetricReceived)},
	{"Network, sending", "bit/s", 8, 0, rateOf(observe.MetricSent)},
	{"Sent and not acknowledged (send queue)", "B", 1, 0, stateOf(observe.MetricSendQueue)},
	{"Received and not read (receive queue)", "B", 1, 0, stateOf(observe.MetricReceiveQueue)},
	{"Waiting for CPU (PSI some)", "%", 100, 0, shareOf(observe.MetricPSICPU)},
	{"Waiting for memory (PSI some)", "%", 100, 0, shareOf(observe.MetricPSIMemory)},
	{"Waiting for I/O (PSI some)", "%", 100, 0, shareOf(observe.MetricPSIIO)},
}

// cpuLayers are the parts of the stacked chart, from the bottom.
var cpuLayers = []struct {
	name  string
	role  chart.Role
	kinds []string
}{
	{"user", chart.Series1, []string{observe.MetricUser, observe.MetricNice, observe.MetricGuest}},
	{"system", chart.Series3, []string{observe.MetricSystem, observe.MetricIRQ, observe.MetricSoftIRQ}},
	{"waiting for I/O", chart.Series5, []string{observe.MetricIOWait}},
	{"stolen", chart.Alarm, []string{observe.MetricSteal}},
}

// shareOf is what part of the time a counter of seconds grew. The kernel brings
// it up to date from time to time, so that it can grow by more than there was.
func shareOf(metric string) func(observe.Host, grid) []float64 {
	return func(n observe.Host, g grid) []float64 {
		out := g.rates(n.Readings(metric))
		for i := range out {
			out[i] = min(out[i], 1)
		}
		return out
	}
}

// rateOf is how fast a counter grew.
func rateOf(metric string) func(observe.Host, grid) []float64 {
	return func(n observe.Host, g grid) []float64 { return g.rates(n.Readings(metric)) }
}

// stateOf is what a gauge read.
func stateOf(metric string) func(observe.Host, grid) []float64 {
	return func(n observe.Host, g grid) []float64 { return g.states(n.Readings(metric)) }
}

// volumeRate adds up what all volumes of a node read or wrote.
func volumeRate(suffix string) func(observe.Host, grid) []float64 {
	return func(n observe.Host, g grid) []float64 {
		var metrics []string
		for m := range n.Series {
			if strings.HasPrefix(m, observe.VolumePrefix) && strings.HasSuffix(m, "."+suffix) {
				metrics = append(metrics, m)
			}
		}
		slices.Sort(metrics)
		return g.sum(n, metrics)
	}
}

// memoryUsed is what is not available, as the kernel estimates it.
func memoryUsed(n observe.Host, g grid) []float64 {
	total, available := g.states(n.Readings(observe.MetricMemTotal)), g.states(n.Readings(observe.MetricMemAvailable))
	if total == nil || available == nil {
		return nil
	}
	for i := range total {
		total[i] -= available[i]
	}
	return total
}

// cpuShare is the share of all cores' time that went to some kinds.
func cpuShare(kinds []string) func(observe.Host, grid) []float64 {
	return func(n observe.Host, g grid) []float64 {
		all, part := g.sum(n, observe.CPUKinds), g.sum(n, kinds)
		if all == nil || part == nil {
			return nil
		}
		for i := range part {
			part[i] = min(part[i]/all[i], 1)
		}
		return part
	}
}

// hostPhase is one column of the charts.
type hostPhase struct {
	name   string
	role   chart.Role
	hosts  map[model.NodeID]observe.Host // that were watched
	nodes  []observe.Host                // in the order of the fleet, the same in all phases
	window *[2]float64                   // in which all tasks ran
}

// hostPart shows what the monitor saw of the nodes during the last complete step
// of all subjects, of each phase, and the serial tasks of the same trial; nil
// where nothing was watched.
func hostPart(run *observe.Run, workload string) *doc.Section {
	if run.Need(observe.Hosts) != nil { // run.Err tells
		return nil
	}
	phases, words := hostPhases(run, workload)
	g := hostGrid(phases)
	if g.bins == 0 {
		return nil
	}
	words += fmt.Sprintf(" Every step is a mean over %s.", num.Seconds(math.Round(100*g.width)/100))
	if run.SharedMachine() {
		words += " Nodes share a machine: CPU, run queue, memory, disks and PSI are the machine’s, whichever node saw them;" +
			" own processes and network are the node’s, and a volume that nodes share is in each of them whole."
	}
	s := &doc.Section{Title: "What happened on the nodes meanwhile", Intro: words}
	notes := slices.DeleteFunc(run.Caveats(), func(c caveat.Caveat) bool { return c.Workload != workload })
	if observe.Caveats.Fill(caveat.Subject{Workload: workload}, notes); len(notes) > 0 {
		s.Blocks = append(s.Blocks, doc.Noted(notes))
	}
	figures, quiet := hostFigures(phases, g, workload)
	if len(figures) == 0 {
		return nil
	}
	fold := &doc.Fold{Title: "The monitor’s charts", Words: fmt.Sprintf("%d in all", len(figures)), Blocks: figures}
	if len(quiet) > 0 {
		fold.Blocks = append(fold.Blocks, doc.Remark("Nothing all the time: "+strings.Join(quiet, ", ")+"."))
	}
	s.Blocks = append(s.Blocks, doc.Block{Fold: fold})
	return s
}

// hostPhases chooses what is shown, and says so: of each phase in which several
// work at once the last step with the most subjects, and beside the first of
// them the tasks of its trial that ran alone.
func hostPhases(run *observe.Run, workload string) (phases []hostPhase, words string) {
	var order []model.Phase
	last := make(map[model.Phase]*model.Step)
	most := make(map[model.Phase]int)
	for _, s := range run.Steps() {
		// A search may have lost nodes before its first complete step.
		counts := s.Phase == model.Parallel || s.Phase != model.Serial && watched(run.Accepted(s.ID))
		if s.Workload == workload && counts {
			most[s.Phase] = max(most[s.Phase], len(observe.Subjects(s)))
		}
	}
	for _, s := range run.Steps() {
		if s.Workload == workload && s.Phase != model.Serial && len(observe.Subjects(s)) == most[s.Phase] && watched(run.Accepted(s.ID)) {
			if last[s.Phase] == nil {
				order = append(order, s.Phase)
			}
			last[s.Phase] = &s
		}
	}
	var first *model.Step
	if len(order) > 0 {
		first = last[order[0]]
	}
	if serial := serialPhase(run, workload, first); len(serial.hosts) > 0 {
		phases = append(phases, serial)
	}
	if first == nil {
		align(run.Nodes(), phases)
		return phases, "Only tasks alone were watched; each at its own start."
	}
	for _, phase := range order {
		s := *last[phase]
		results := run.Accepted(s.ID)
		zero := startOf(s, results)
		p := hostPhase{name: string(phase), role: chart.Parallel, hosts: make(map[model.NodeID]observe.Host),
			window: commonWindow(run, s, zero)}
		for _, r := range results {
			if _, had := p.hosts[r.Node]; isWatched(r) && (!had || !serves(s, r)) { // it may measure and serve
				p.hosts[r.Node] = observe.NewHost(r, zero)
			}
		}
		phases = append(phases, p)
		if words != "" {
			words += "; "
		}
		if phase == model.Parallel {
			words += fmt.Sprintf("Parallel trial %d", s.Trial)
		} else {
			words += fmt.Sprintf("Step %d (%s)", s.Number+1, phase)
		}
		words += fmt.Sprintf(", the last complete one with all %s", num.Count(most[phase], string(s.Of())))
	}
	align(run.Nodes(), phases)
	if phases[0].role == chart.Serial {
		words += "; beside it the serial tasks of the same trial, each node at its own start"
	}
	return phases, words + ". 0 s is the agreed start; the common window is shaded."
}

// serialPhase collects the nodes alone in the trial of a parallel step, or in
// all trials without a parallel step.
func serialPhase(run *observe.Run, workload string, parallel *model.Step) hostPhase {
	p := hostPhase{name: string(model.Serial), role: chart.Serial, hosts: make(map[model.NodeID]observe.Host)}
	for _, s := range run.Steps() {
		results := run.Accepted(s.ID)
		if s.Workload != workload || s.Phase != model.Serial || parallel != nil && s.Trial != parallel.Trial || !watched(results) {
			continue
		}
		for _, r := range results {
			if _, had := p.hosts[r.Node]; !had && isWatched(r) && !serves(s, r) {
				p.hosts[r.Node] = observe.NewHost(r, startOf(s, results))
			}
		}
	}
	return p
}

// serves reports whether a result is that of a task that only served.
func serves(s model.Step, r model.Result) bool {
	i := slices.IndexFunc(s.Tasks, func(t model.Task) bool { return t.ID == r.Task })
	return i >= 0 && s.Tasks[i].Spec.Role == model.RoleServe
}

func watched(results []model.Result) bool {
	return slices.ContainsFunc(results, func(r model.Result) bool { return len(r.Host) > 0 })
}

// startOf is the agreed start of a step, or the first of its tasks where
// nothing was agreed.
func startOf(s model.Step, results []model.Result) time.Time {
	zero := s.StartAt
	for _, r := range results {
		if s.StartAt.IsZero() && !r.Started.IsZero() && (zero.IsZero() || r.Started.Before(zero)) {
			zero = r.Started
		}
	}
	return zero
}

// commonWindow is the time in which all measuring tasks were running; nil if
// there is none.
func commonWindow(run *observe.Run, s model.Step, zero time.Time) *[2]float64 {
	common := run.Times(s).Common()
	if common.Length() <= 0 {
		return nil
	}
	return &[2]float64{common.Start.Sub(zero).Seconds(), common.End.Sub(zero).Seconds()}
}

// isWatched reports whether the monitor watched a task from its start on.
func isWatched(r model.Result) bool { return len(r.Host) > 0 && !r.Started.IsZero() }

// align gives phases the same nodes in the order of the fleet, so that a node
// has one colour. A node that was not watched in a phase has nothing to draw
// there.
func align(fleet []model.Node, phases []hostPhase) {
	for _, n := range fleet {
		if !slices.ContainsFunc(phases, func(p hostPhase) bool { _, ok := p.hosts[n.ID]; return ok }) {
			continue
		}
		for k := range phases {
			host := phases[k].hosts[n.ID]
			host.Node = n.ID
			phases[k].nodes = append(phases[k].nodes, host)
		}
	}
}

// Bounds of the steps of a line, and of all lines of a chart together, so that
// the page of a large fleet stays small.
const (
	mostBins   = 150
	lineBudget = 600
)

// hostGrid covers all phases with one grid, with an edge at the agreed start.
func hostGrid(phases []hostPhase) grid {
	from, to, spacing, lines := 0.0, 0.0, math.Inf(1), 0
	for _, p := range phases {
		lines = max(lines, len(p.nodes))
		for _, n := range p.nodes {
			if len(n.Series) == 0 {
				continue
			}
			begin, _ := n.Span()
			from, to = min(from, begin), max(to, n.End)
			spacing = min(spacing, n.Spacing())
		}
	}
	most := min(mostBins, lineBudget/max(min(lines, chart.MostLines), 1))
	if !(to > 0) {
		return grid{width: 1}
	}
	width := max(spacing, to/float64(most-2))
	if from < -width/2 {
		from = -width // what came before is of the task before
	} else {
		from = 0
	}
	return grid{from: from, width: width, bins: int(math.Ceil((to - from) / width))}
}

// hostFigures draws the panels, serial and parallel side by side on the same
// axes, and names those in which nothing happened.
func hostFigures(phases []hostPhase, g grid, workload string) (out []doc.Block, quiet []string) {
	if f := cpuFigure(phases, g, workload); f != nil {
		out = append(out, doc.Block{Figure: f})
	}
	for _, panel := range hostPanels {
		f := &doc.Figure{Title: panel.title, Columns: len(phases)}
		known, happened := false, false
		for _, p := range phases {
			var names []string
			var lines [][]float64
			for _, n := range p.nodes {
				line := panel.of(n, g)
				known = known || line != nil
				for i, x := range line {
					line[i] = x * panel.factor
					happened = happened || num.Finite(x) && x > 0
				}
				names, lines = append(names, string(n.Node)), append(lines, line)
			}
			c := hostChart(panel.title+" of the nodes over time, "+workload+", "+p.name, panel.unit, panel.top, p)
			c.Layers = append(c.Layers, chart.Steps(g.edges(), names, lines)...)
			f.Panels = append(f.Panels, doc.Panel{Title: p.name, Role: p.role, Chart: c})
		}
		switch {
		case known && happened:
			out = append(out, doc.Block{Figure: f})
		case known && unicode.IsUpper(rune(panel.title[1])): // an abbreviation
			quiet = append(quiet, panel.title)
		case known:
			quiet = append(quiet, strings.ToLower(panel.title[:1])+panel.title[1:])
		}
	}
	return out, quiet
}

// hostChart is a small chart with the common window and the agreed start.
func hostChart(title, unit string, top float64, p hostPhase) chart.Chart {
	c := chart.Chart{Title: title, Height: 74, X: chart.Axis{Unit: "s", Tight: true, TickCount: 4}, Y: chart.Axis{Unit: unit}}
	if top > 0 {
		c.Y.Hi = &top
	}
	if p.window != nil {
		c.Layers = append(c.Layers, chart.Layer{Mark: chart.Band, Role: chart.Interval, X: chart.Values{p.window[0]}, X2: chart.Values{p.window[1]}})
	}
	c.Layers = append(c.Layers, chart.Layer{Mark: chart.Rule, Role: chart.Faint, X: chart.Values{0}})
	return c
}

// cpuFigure draws what the processors did, the mean over all nodes; nil where
// it is not known.
func cpuFigure(phases []hostPhase, g grid, workload string) *doc.Figure {
	f := &doc.Figure{Title: "CPU by kind, mean of the nodes", Columns: len(phases)}
	known := false
	edges := g.edges()
	for _, p := range phases {
		c := hostChart(f.Title+" over time, "+workload+", "+p.name, "%", 100, p)
		for _, l := range cpuLayers {
			line := meanShare(p.nodes, g, l.kinds)
			known = known || line != nil
			c.Layers = append(c.Layers, chart.Layer{
				Mark: chart.Band, Name: "CPU: " + l.name, Role: l.role, Stack: true, X: edges[:len(edges)-1], X2: edges[1:], Y2: line,
			})
		}
		f.Panels = append(f.Panels, doc.Panel{Title: p.name, Role: p.role, Chart: c})
	}
	if !known {
		return nil
	}
	return f
}

// meanShare is the mean over nodes of a share of their CPU time, in percent; a
// layer that the kernel does not tell is 0 wide.
func meanShare(nodes []observe.Host, g grid, kinds []string) []float64 {
	sums, counts := make([]float64, g.bins), make([]float64, g.bins)
	known := false
	for _, n := range nodes {
		for i, x := range cpuShare(kinds)(n, g) {
			if num.Finite(x) {
				sums[i], counts[i], known = sums[i]+x, counts[i]+1, true
			}
		}
	}
	if !known {
		return nil
	}
	for i := range sums {
		sums[i] *= 100 / counts[i]
	}
	return sums
}
