package ntier

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
)

// trace is a line of a chart with several.
type trace struct {
	name string
	x, y chart.Values
}

// add adds a point unless its value is not known.
func (l *trace) add(x int, y *float64) {
	if y != nil {
		l.x, l.y = append(l.x, float64(x)), append(l.y, *y)
	}
}

// lineOf is that of a signal; empty: it is not known.
func lineOf(name string, s *Signal) trace {
	l := trace{name: name}
	for i := 0; s != nil && i < len(s.Users); i++ {
		l.add(s.Users[i], s.Values[i])
	}
	return l
}

// linesChart draws those that have points, with their points; no layers: there are none.
func linesChart(title string, y chart.Axis, lines []trace) chart.Chart {
	c := chart.Chart{Title: title, Height: 220, X: usersAxis, Y: y}
	for _, l := range lines {
		role := chart.Series(len(c.Layers) / 2)
		if len(l.x) > 0 && len(c.Layers) < 2*chart.MostLines {
			c.Layers = append(c.Layers, chart.Layer{Mark: chart.Line, Role: role, Name: l.name, X: l.x, Y: l.y}, chart.Layer{Mark: chart.Point, Role: role, X: l.x, Y: l.y})
		}
	}
	return c
}

// plot is one chart of lines, empty where there is nothing to draw.
func plot(title string, y chart.Axis, lines []trace) doc.Block {
	c := linesChart(title, y, lines)
	if len(c.Layers) == 0 {
		return doc.Block{}
	}
	return doc.Plot("", cut(lines), c).On(doc.Page)
}

// cut says that not all lines are drawn.
func cut(lines []trace) string {
	if len(lines) <= chart.MostLines {
		return ""
	}
	return fmt.Sprintf("the first %d of %d", chart.MostLines, len(lines))
}

var throughputAxis = chart.Axis{Label: "throughput", Unit: "op/s"}

// throughputs is a chart of several configurations; those that name gives "" have no
// line.
func (r *Result) throughputs(title string, name func(Finding) string) doc.Panel {
	var lines []trace
	for _, f := range r.Configurations {
		if name(f) == "" {
			continue
		}
		l := trace{name: name(f)}
		for _, x := range f.Loads {
			if x.Refused == "" {
				l.add(x.Users, &x.Throughput)
			}
		}
		lines = append(lines, l)
	}
	return doc.Panel{Title: title, Words: cut(lines), Chart: linesChart(title, throughputAxis, lines)}
}

// comparison is the throughput of all configurations of a platform (the paper's fig. 2,
// 3 and 7), and of each shape on all platforms and types that have it (fig. 4a).
func (r *Result) comparison() []doc.Block {
	places, shapes := r.places()
	figure := &doc.Figure{Title: "Throughput against users, by platform", Columns: min(2, len(places))}
	for _, place := range places {
		figure.Panels = append(figure.Panels, r.throughputs(place, func(f Finding) string {
			if f.place() != place {
				return ""
			}
			return f.Shape
		}))
	}
	if len(places) == 1 {
		figure.Title, figure.Panels[0].Title = "Throughput against users, by configuration", ""
	}
	out := []doc.Block{doc.Block{Figure: figure}.On(doc.Page)}
	figure = &doc.Figure{Title: "The same configuration on several platforms"}
	for _, shape := range shapes {
		figure.Panels = append(figure.Panels, r.throughputs(shape, func(f Finding) string {
			if f.Shape != shape {
				return ""
			}
			return cmp.Or(f.place(), "no platform")
		}))
	}
	if figure.Columns = min(2, len(figure.Panels)); len(shapes) > 0 {
		out = append(out, doc.Block{Figure: figure}.On(doc.Page))
	}
	return append(out, r.lastTier()...)
}

// places are all platforms with their types, and the shapes that several of them have.
func (r *Result) places() (places, shapes []string) {
	count := make(map[string]int)
	for _, f := range r.Configurations {
		if !slices.Contains(places, f.place()) {
			places = append(places, f.place())
		}
		if count[f.Shape]++; count[f.Shape] == 2 {
			shapes = append(shapes, f.Shape)
		}
	}
	return places, shapes
}

// lastTier is what grows in the last tier, where answers begin: Send-Q and round-trip
// times (the paper's fig. 6), switches and what they take (fig. 5b and c).
func (r *Result) lastTier() []doc.Block {
	var out []doc.Block
	if len(r.tiers) == 0 {
		return out
	}
	last := r.tiers[len(r.tiers)-1]
	for _, x := range shownSignals[1:] {
		var lines []trace
		for _, f := range r.Configurations {
			lines = append(lines, lineOf(f.Configuration, f.signal(last, x.name)))
		}
		out = append(out, plot(fmt.Sprintf("The %s tier: %s", last, x.words), axisOf(x.unit), lines))
	}
	return out
}

// axisOf has shares in percent.
func axisOf(unit string) chart.Axis {
	if unit == "1" {
		return chart.Axis{Label: "share"}
	}
	return chart.Axis{Unit: unit}
}

// signalFigures are the same of all tiers of one configuration.
func (f *Finding) signalFigures(tiers []string) []doc.Block {
	var out []doc.Block
	for _, x := range shownSignals[1:] {
		var lines []trace
		for _, tier := range tiers {
			lines = append(lines, lineOf(tier, f.signal(tier, x.name)))
		}
		out = append(out, plot(f.Configuration+": "+x.words, axisOf(x.unit), lines))
	}
	return out
}

// nodesSection is what microbenchmarks told of the nodes of each platform.
func (r *Result) nodesSection() doc.Section {
	s := doc.Section{ID: "nodes", Title: "Nodes and network", Intro: "Measured by themselves, before anything else runs on them."}
	if len(r.Switching) > 0 {
		s.Blocks = append(s.Blocks, r.switchingFigure(), doc.Block{Table: r.switchingTable()})
	}
	if len(r.Network) > 0 {
		s.Blocks = append(s.Blocks, doc.Block{Table: r.networkTable()})
	}
	return s
}

// switchingFigure is the cost of a switch against threads, a line for each platform, or
// for each node of the only one (the paper's fig. 5a).
func (r *Result) switchingFigure() doc.Block {
	name := func(s Switching) string { return s.Platform }
	if !slices.ContainsFunc(r.Switching, func(s Switching) bool { return s.Platform != r.Switching[0].Platform }) {
		name = func(s Switching) string { return string(s.Node) }
	}
	var lines []trace
	for _, s := range r.Switching {
		if slices.ContainsFunc(lines, func(l trace) bool { return l.name == cmp.Or(name(s), "others") }) {
			continue
		}
		l := trace{name: cmp.Or(name(s), "others")}
		for _, x := range curveOf(r.Switching, func(x Switching) bool { return name(x) == name(s) }) {
			l.add(int(x.threads), &x.cost)
		}
		lines = append(lines, l)
	}
	c := linesChart("What a context switch costs, against the number of threads", chart.Axis{Label: "processor time of a switch", Unit: "s"}, lines)
	c.X = chart.Axis{Kind: chart.Log, Label: "threads", Whole: true}
	return doc.Plot("", cut(lines), c).On(doc.Page)
}
