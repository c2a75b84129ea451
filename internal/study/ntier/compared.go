package ntier

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
)

// lineOf is that of a signal; empty: it is not known.
func lineOf(name string, s *Signal) chart.Curve {
	l := chart.Curve{Name: name}
	for i := 0; s != nil && i < len(s.Users); i++ {
		v := s.Values[i]
		if v != nil && s.Unit == "1" { // axes have shares in percent
			percent := 100 * *v
			v = &percent
		}
		l.Add(float64(s.Users[i]), v)
	}
	return l
}

// plot is one chart of lines against users, empty where there is nothing to draw.
func plot(title string, y chart.Axis, lines []chart.Curve) doc.Block {
	c := chart.Curves(title, usersAxis, y, lines)
	if len(c.Layers) == 0 {
		return doc.Block{}
	}
	return doc.Plot(title, chart.Cut(lines), c).On(doc.Page)
}

var throughputAxis = chart.Axis{Label: "throughput", Unit: "op/s"}

// throughputs is a chart of several configurations; those that name gives "" have no
// line.
func (r *Result) throughputs(title string, name func(Finding) string) doc.Panel {
	var lines []chart.Curve
	for _, f := range r.Configurations {
		if name(f) == "" {
			continue
		}
		l := chart.Curve{Name: name(f)}
		for _, x := range f.Loads {
			if x.Refused == "" {
				l.Add(float64(x.Users), &x.Throughput)
			}
		}
		lines = append(lines, l)
	}
	return doc.Panel{Title: title, Words: chart.Cut(lines), Chart: chart.Curves(title, usersAxis, throughputAxis, lines)}
}

// comparison is the throughput of all configurations of a platform (the paper's fig. 2
// and 7a), and of each shape on all platforms and types that have it (fig. 4a).
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
		var lines []chart.Curve
		for _, f := range r.Configurations {
			lines = append(lines, lineOf(f.Configuration, f.signal(last, x.name)))
		}
		out = append(out, plot(fmt.Sprintf("The %s tier: %s", last, x.words), axisOf(x.unit), lines))
	}
	return out
}

// axisOf is that of a signal's values.
func axisOf(unit string) chart.Axis {
	switch unit {
	case "1":
		return chart.Axis{Unit: "%"}
	case "1/s":
		return chart.Axis{Label: "a second"}
	}
	return chart.Axis{Unit: unit}
}

// signalFigures are the same of all tiers of one configuration.
func (f *Finding) signalFigures(tiers []string) []doc.Block {
	var out []doc.Block
	for _, x := range shownSignals[1:] {
		var lines []chart.Curve
		for _, tier := range tiers {
			lines = append(lines, lineOf(tier, f.signal(tier, x.name)))
		}
		out = append(out, plot(f.Configuration+": "+x.words, axisOf(x.unit), lines))
	}
	return out
}
