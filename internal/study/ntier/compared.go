package ntier

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
)

// curve is a signal of a tier against users; empty: it is not known.
func (f *Finding) curve(name, tier string, of shownSignal) chart.Curve {
	c := chart.Curve{Name: name}
	for _, s := range f.Signals {
		for i, v := range s.Values {
			if v != nil && s.Unit == "1" { // axes have shares in percent
				percent := 100 * *v
				v = &percent
			}
			if s.Tier == tier && s.Signal == of.name {
				c.Add(float64(s.Users[i]), v)
			}
		}
	}
	return c
}

// plot is one chart of lines against users, empty where there is nothing to draw.
func plot(title string, y chart.Axis, lines []chart.Curve) doc.Block {
	c := chart.Curves(title, usersAxis, y, lines)
	if len(c.Layers) == 0 {
		return doc.Block{}
	}
	return doc.Plot(title, chart.Cut(lines), c).On(doc.Page)
}

// throughputs is a figure with a chart for each name: the lines are the configurations
// that have it, by what else tells them apart.
func (r *Result) throughputs(title string, names []string, of, other func(Finding) string) doc.Block {
	figure := &doc.Figure{Title: title, Columns: min(2, len(names))}
	for _, name := range names {
		var lines []chart.Curve
		for _, f := range r.Configurations {
			if of(f) != name {
				continue
			}
			l := chart.Curve{Name: other(f)}
			for _, x := range bottleneck.Counted(f.Loads) {
				l.Add(float64(x.Users), &x.Throughput)
			}
			lines = append(lines, l)
		}
		figure.Panels = append(figure.Panels, doc.Panel{Title: name, Words: chart.Cut(lines), Chart: chart.Curves(name, usersAxis, throughputAxis, lines)})
	}
	return doc.Block{Figure: figure}.On(doc.Page)
}

// comparison is the throughput of all configurations of a platform (the paper's fig. 2
// and 7a), and of each shape on all platforms and types that have it (fig. 4a).
func (r *Result) comparison() []doc.Block {
	shape := func(f Finding) string { return f.Shape }
	place := func(f Finding) string { return placeWords(f.place()) }
	places, shapes := r.places()
	out := []doc.Block{r.throughputs("Throughput against users, by platform", places, place, shape)}
	if len(places) == 1 {
		out[0].Figure.Title, out[0].Figure.Panels[0].Title = "Throughput against users, by configuration", ""
	}
	if len(shapes) > 0 {
		out = append(out, r.throughputs("The same configuration on several platforms", shapes, shape, place))
	}
	if len(r.tiers) == 0 {
		return out
	}
	// What grows in the last tier, where answers begin: Send-Q and round-trip times (the
	// paper's fig. 6), switches and what they take (fig. 5b and c).
	last := r.tiers[len(r.tiers)-1]
	for _, x := range shownSignals[1:] {
		var lines []chart.Curve
		for i := range r.Configurations {
			lines = append(lines, r.Configurations[i].curve(r.Configurations[i].Configuration, last, x))
		}
		out = append(out, plot(fmt.Sprintf("The %s tier: %s", last, x.words), x.axis(), lines))
	}
	return out
}

// places are all platforms with their types, for people, and the shapes that several of
// them have.
func (r *Result) places() (places, shapes []string) {
	count := make(map[string]int)
	for _, f := range r.Configurations {
		if place := placeWords(f.place()); !slices.Contains(places, place) {
			places = append(places, place)
		}
		if count[f.Shape]++; count[f.Shape] == 2 {
			shapes = append(shapes, f.Shape)
		}
	}
	return places, shapes
}

// axis is that of a signal's values.
func (x shownSignal) axis() chart.Axis {
	switch x.unit {
	case "1":
		return chart.Axis{Unit: "%"}
	case "1/s":
		return chart.Axis{Label: "a second"}
	}
	return chart.Axis{Unit: x.unit}
}

// signalFigures are the same of all tiers of one configuration.
func (f *Finding) signalFigures(tiers []string) []doc.Block {
	var out []doc.Block
	for _, x := range shownSignals[1:] {
		var lines []chart.Curve
		for _, tier := range tiers {
			lines = append(lines, f.curve(tier, tier, x))
		}
		out = append(out, plot(f.Configuration+": "+x.words, x.axis(), lines))
	}
	return out
}
