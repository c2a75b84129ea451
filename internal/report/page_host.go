package report

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/report/figure"
	"github.com/scalebench/scalebench/internal/report/table"
)

// hostView is what the monitor saw of the nodes during one trial of a
// workload: serial and parallel side by side on the same axes.
type hostView struct {
	ID    string
	Words string   // which trial
	Notes []string // what can explain or spoil the result
	// Names are the nodes, where each has a line of its own; else Band.
	Names  []string
	Band   bool
	Layers []layerView // of the stacked CPU chart
	Panels []hostPanelView
	Quiet  string // charts in which nothing happened
}

type layerView struct{ Name, Class string }

// hostPanelView is one chart, in as many phases as were watched.
type hostPanelView struct {
	Title, Unit string
	Stacked     bool
	Plots       []hostPlot
}

type hostPlot struct {
	Class string // "serial" or "parallel"
	Plot  figure.Plot
}

// hostPhase is one column of the charts.
type hostPhase struct {
	class  string
	nodes  []hostNode
	window *[2]float64
}

// mostBins bounds the steps of a line: 300 points, two a step.
const mostBins = 150

// lineBudget is how many steps all lines of a chart have together, so that the
// page of a large fleet stays small.
const lineBudget = 600

// host shows the last complete parallel trial of all subjects, and the serial
// tasks of the same trial; nil where nothing was watched.
func (b builder) host(workload string, number int) *hostView {
	phases, words := b.hostPhases(workload)
	if len(phases) == 0 {
		return nil
	}
	v := &hostView{ID: fmt.Sprintf("host%d", number), Words: words}
	for _, n := range b.notes {
		if n.Workload == workload {
			v.Notes = append(v.Notes, capital(strings.TrimPrefix(n.Text, table.Clean(workload)+": ")))
		}
	}
	lines := 0
	for _, p := range phases {
		lines = max(lines, len(p.nodes))
	}
	v.Band = lines > figure.MaxLines
	if !v.Band {
		v.Names = hostNames(phases)
	}
	v.Words += b.hostWords(hostGrid(phases))
	v.addPanels(phases, table.Clean(workload))
	if len(v.Panels) == 0 {
		return nil
	}
	return v
}

// hostWords say how to read the charts.
func (b builder) hostWords(g grid) string {
	words := fmt.Sprintf(" Every step is a mean over %s.", num.Seconds(math.Round(100*g.width)/100))
	if shareMachine(b.data.Nodes) {
		words += " The nodes are on one machine: CPU, run queue, memory, disks and PSI are the machine’s, whichever node saw them;" +
			" own processes and network are the node’s, and a volume that nodes share is in each of them whole."
	}
	return words
}

func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// hostNames are the nodes of all phases, each once; their place is their
// line's colour.
func hostNames(phases []hostPhase) []string {
	var out []string
	for _, p := range phases {
		for _, n := range p.nodes {
			if name := table.Clean(n.name); !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// hostPhases chooses what is shown, and says so.
func (b builder) hostPhases(workload string) (phases []hostPhase, words string) {
	trial, parallel := 0, model.Step{}
	for _, s := range b.data.Steps {
		if s.Workload == workload && b.fleet.full(s) && watched(b.accepted[s.ID]) {
			trial, parallel = s.Trial, s
		}
	}
	serial := b.serialPhase(workload, trial)
	if len(serial.nodes) > 0 {
		phases = append(phases, serial)
	}
	if trial == 0 {
		return phases, "Only tasks alone were watched; each at its own start."
	}
	results := b.fleet.measured(b.accepted[parallel.ID])
	zero := startOf(parallel, results)
	p := hostPhase{class: "parallel", nodes: onePerNode(b.accepted[parallel.ID], b.fleet, zero)}
	if len(serial.nodes) > 0 {
		b.align(&phases[0], &p)
	}
	if from, to, ok := figure.Window(spansAfter(results, zero)); ok {
		p.window = &[2]float64{from, to}
	}
	words = fmt.Sprintf("Parallel trial %d, the last complete one with all %s", parallel.Trial,
		count(len(subjectsOf(parallel)), subjectNoun(parallel)))
	if len(serial.nodes) > 0 {
		words += "; beside it the serial tasks of the same trial, each node at its own start"
	}
	return append(phases, p), words + ". 0 s is the agreed start; the common window is shaded."
}

// align gives both phases the same nodes in the same order, that of the fleet,
// so that a node has one colour. A node that was not watched in a phase has
// nothing to draw there.
func (b builder) align(phases ...*hostPhase) {
	var names []string
	for _, n := range b.data.Nodes {
		names = append(names, string(n.ID))
	}
	found := make(map[string]bool)
	for _, p := range phases {
		for _, n := range p.nodes {
			found[n.name] = true
			if !slices.Contains(names, n.name) {
				names = append(names, n.name)
			}
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !found[name] })
	for _, p := range phases {
		var nodes []hostNode
		for _, name := range names {
			i := slices.IndexFunc(p.nodes, func(n hostNode) bool { return n.name == name })
			if i < 0 {
				nodes = append(nodes, hostNode{name: name})
				continue
			}
			nodes = append(nodes, p.nodes[i])
		}
		p.nodes = nodes
	}
}

func subjectNoun(s model.Step) string {
	if pairsIn(s) {
		return noun(model.OfPairs)
	}
	return noun(model.OfNodes)
}

// serialPhase collects the nodes alone in one trial, or in the last trial that
// was watched when that one has none.
func (b builder) serialPhase(workload string, trial int) hostPhase {
	p := hostPhase{class: "serial"}
	for _, s := range b.data.Steps {
		if s.Workload != workload || s.Phase != model.Serial || trial != 0 && s.Trial != trial {
			continue
		}
		results := b.accepted[s.ID]
		if !watched(results) {
			continue
		}
		for _, n := range onePerNode(b.fleet.measured(results), b.fleet, startOf(s, results)) {
			if !slices.ContainsFunc(p.nodes, func(had hostNode) bool { return had.name == n.name }) {
				p.nodes = append(p.nodes, n)
			}
		}
	}
	return p
}

func watched(results []model.Result) bool {
	return slices.ContainsFunc(results, func(r model.Result) bool { return len(r.Host) > 0 })
}

// startOf is the agreed start of a step, or the first of its tasks where
// nothing was agreed.
func startOf(s model.Step, results []model.Result) time.Time {
	if !s.StartAt.IsZero() {
		return s.StartAt
	}
	var e extent
	for _, r := range results {
		e.add(r)
	}
	return e.firstStart
}

// onePerNode has each node once, in the order of the tasks: a node that
// measures and serves was watched during both.
func onePerNode(results []model.Result, fleet fleetView, zero time.Time) []hostNode {
	var out []hostNode
	place := make(map[model.NodeID]int)
	for _, r := range results {
		if len(r.Host) == 0 || r.Started.IsZero() {
			continue
		}
		k, seen := place[r.Node]
		switch {
		case !seen:
			place[r.Node] = len(out)
			out = append(out, newHostNode(r, zero))
		case !fleet.serves(r):
			out[k] = newHostNode(r, zero)
		}
	}
	return out
}

// spansAfter are the tasks' times since the agreed start.
func spansAfter(results []model.Result, zero time.Time) []figure.Span {
	var out []figure.Span
	for _, r := range results {
		if !r.Started.IsZero() && !r.Ended.Before(r.Started) {
			out = append(out, figure.Span{Start: r.Started.Sub(zero).Seconds(), End: r.Ended.Sub(zero).Seconds()})
		}
	}
	return out
}

// hostGrid covers all phases with one grid, with an edge at the agreed start.
func hostGrid(phases []hostPhase) grid {
	from, to, spacing, lines := 0.0, 0.0, math.Inf(1), 0
	for _, p := range phases {
		lines = max(lines, len(p.nodes))
		for _, n := range p.nodes {
			if len(n.byName) == 0 {
				continue
			}
			begin, _ := n.span()
			from, to = min(from, begin), max(to, n.end)
			spacing = min(spacing, n.spacing())
		}
	}
	most := min(mostBins, lineBudget/max(min(lines, figure.MaxLines), 1))
	if !(to > 0) || math.IsInf(to-from, 0) {
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

func (v *hostView) addPanels(phases []hostPhase, about string) {
	g := hostGrid(phases)
	if g.bins == 0 {
		return
	}
	v.addCPU(phases, g, about)
	var quiet []string
	for _, panel := range hostPanels {
		charts, known, happened := panelCharts(panel, phases, g, about)
		switch {
		case !known:
		case !happened:
			quiet = append(quiet, lowerFirst(panel.title))
		default:
			y := figure.SmallAxis(panel.scale, panel.top, charts...)
			view := hostPanelView{Title: panel.title, Unit: y.Unit}
			for i, c := range charts {
				view.Plots = append(view.Plots, hostPlot{phases[i].class, figure.DrawSmall(c, y)})
			}
			v.Panels = append(v.Panels, view)
		}
	}
	if len(quiet) > 0 {
		v.Quiet = strings.Join(quiet, ", ")
	}
}

// lowerFirst is for titles within a sentence; what begins with an abbreviation
// keeps it.
func lowerFirst(s string) string {
	if len(s) > 1 && s[1] >= 'A' && s[1] <= 'Z' {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

// panelCharts computes a panel's lines in each phase. known: some node has the
// metric; happened: it was not 0 all the time.
func panelCharts(panel hostPanel, phases []hostPhase, g grid, about string) (charts []figure.Small, known, happened bool) {
	for _, p := range phases {
		c := newSmall(panel.title+" of the nodes over time, "+about+", "+p.class, p, g)
		for _, n := range p.nodes {
			line := panel.of(n, g)
			known = known || line != nil
			for _, x := range line {
				happened = happened || num.Finite(x) && x > 0
			}
			c.Lines = append(c.Lines, line)
		}
		charts = append(charts, c)
	}
	return charts, known, happened
}

func newSmall(title string, p hostPhase, g grid) figure.Small {
	c := figure.Small{
		Title: title, From: g.from, To: g.edge(g.bins), First: g.from, Width: g.width, Window: p.window,
	}
	for _, n := range p.nodes {
		c.Names = append(c.Names, table.Clean(n.name))
	}
	return c
}

// addCPU draws what the processors did, the mean over all nodes.
func (v *hostView) addCPU(phases []hostPhase, g grid, about string) {
	view := hostPanelView{Title: "CPU by kind, mean of the nodes", Unit: "%", Stacked: true}
	var names, classes []string
	for _, l := range cpuLayers {
		v.Layers = append(v.Layers, layerView{l.name, l.class})
		names, classes = append(names, l.name), append(classes, "layer "+l.class)
	}
	known := false
	for _, p := range phases {
		c := newSmall(view.Title+" over time, "+about+", "+p.class, p, g)
		c.Names = names
		for _, l := range cpuLayers {
			line := meanShare(p.nodes, g, l.kinds)
			known = known || line != nil
			c.Lines = append(c.Lines, line)
		}
		y := figure.SmallAxis(percentScale, 1, c)
		view.Plots = append(view.Plots, hostPlot{p.class, figure.DrawStack(c, y, classes)})
	}
	if known {
		v.Panels = append(v.Panels, view)
		return
	}
	v.Layers = nil
}

// meanShare is the mean over nodes of a share of their CPU time; a layer that
// the kernel does not tell is 0 wide.
func meanShare(nodes []hostNode, g grid, kinds []string) []float64 {
	sums, counts := make([]float64, g.bins), make([]float64, g.bins)
	known := false
	for _, n := range nodes {
		for i, x := range cpuShare(n, g, kinds) {
			if num.Finite(x) {
				sums[i], counts[i], known = sums[i]+x, counts[i]+1, true
			}
		}
	}
	if !known {
		return nil
	}
	for i := range sums {
		sums[i] /= counts[i]
	}
	return sums
}
