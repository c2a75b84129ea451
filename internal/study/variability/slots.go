package variability

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/explain"
	"github.com/scalebench/scalebench/internal/frame"
)

// slotFacts are the facts whose levels are compared one by one.
var slotFacts = [...]string{explain.FactWeekday, explain.FactHour}

// located are the usual names of where something was measured: the paper compares
// its locations whether or not they explain anything.
var located = [...]string{"location", "region", "zone", "availability_zone"}

// slots are mean and COV of each weekday and hour: of all rows, and by each fact that
// the user names, that explains something, or that is a location.
func (x *examined) slots(asked []string, groups []explain.Grouping) []*explain.Slots {
	names := slices.Concat(asked, located[:])
	for _, g := range groups {
		names = append(names, g.Fact)
	}
	by := []*explain.Fact{nil}
	for i, name := range names {
		fact := x.Fact(name)
		if fact == nil || fact.Derived || slices.Contains(slotFacts[:], name) || explain.Passing(name) ||
			slices.Contains(names[:i], name) || fact.Used > chart.MostLines && !slices.Contains(asked, name) {
			continue
		}
		by = append(by, fact)
	}
	out := make([]*explain.Slots, len(slotFacts)*len(by))
	explain.InParallel(x.Ended, len(out), func(i int) { out[i] = x.Slots(slotFacts[i/len(by)], by[i%len(by)]) })
	return slices.DeleteFunc(out, func(s *explain.Slots) bool { return s == nil })
}

// slotParts are a part for each of weekday and hour: figures for pages, and a table of each
// pair of facts that --by names.
func (m *Metric) slotParts(part func(title, intro string, blocks ...doc.Block)) {
	for _, name := range slotFacts {
		var all *explain.Slots
		var blocks []doc.Block
		for _, s := range m.Slots {
			switch {
			case s.Fact != name:
			case s.By == "":
				all = s
			case s.Varies():
				blocks = append(blocks, m.slotFigure(s, all.Levels))
				if slices.Contains(m.x.asked, name) && slices.Contains(m.x.asked, s.By) {
					blocks = append(blocks, doc.Block{Table: m.slotTable(s)})
				}
			}
		}
		if len(blocks) == 0 && all != nil && all.Varies() {
			blocks = append(blocks, m.slotFigure(all, nil))
		}
		part("COV by "+m.nameOf(name), "", blocks...)
	}
}

// slotFigure has COVs and means side by side, a line for each level and one for all (the
// paper, Fig. 12).
func (m *Metric) slotFigure(s *explain.Slots, all []explain.SlotsLevel) doc.Block {
	title, x := "All values", chart.Axis{Kind: chart.Rows}
	if s.By != "" {
		title = "By " + m.nameOf(s.By)
	}
	for _, name := range m.x.Fact(s.Fact).Levels[1:] {
		if r := []rune(name); len(r) > shortSlot {
			name = strings.TrimSpace(string(r[:shortSlot])) // "08 h" is 08
		}
		x.Rows = append(x.Rows, chart.Row{Name: name})
	}
	var covs, means []chart.Curve
	for _, l := range slices.Concat(s.Levels, all) {
		cov, mean := chart.Curve{Name: cmp.Or(l.Level, "all")}, chart.Curve{Name: cmp.Or(l.Level, "all")}
		for _, slot := range l.Slots {
			if slot.COV != nil {
				percent := 100 * *slot.COV
				cov.Add(float64(slot.Place), &percent)
			}
			mean.Add(float64(slot.Place), &slot.Mean)
		}
		covs, means = append(covs, cov), append(means, mean)
	}
	panel := func(what string, y chart.Axis, lines []chart.Curve) doc.Panel {
		name := fmt.Sprintf("%s by %s: %s", what, m.nameOf(s.Fact), title)
		return doc.Panel{Title: what, Words: chart.Cut(lines), Chart: chart.Curves(name, x, y, lines)}
	}
	return doc.Block{Figure: &doc.Figure{Title: title, Columns: 2, Panels: []doc.Panel{
		panel("COV", chart.Axis{Unit: "%"}, covs), panel("Mean", chart.Axis{Unit: m.Unit, Tight: true}, means),
	}}}.On(doc.Page)
}

// shortSlot is how many letters of a weekday stand on an axis.
const shortSlot = 3

// slotTable has a row for each weekday or hour of each level.
func (m *Metric) slotTable(of *explain.Slots) *doc.Table {
	t := &doc.Table{Columns: []doc.Column{
		{Key: "level", Head: m.nameOf(of.By), Wrap: 36}, {Key: "slot", Head: m.nameOf(of.Fact)}, doc.Number("n", "n"),
		doc.Number("mean", "mean"), {Key: "cov", Head: "COV", Right: true, Interval: true},
	}}
	for _, s := range of.Levels {
		for _, slot := range s.Slots {
			t.Add(doc.Say(s.Level), doc.Say(slot.Slot), doc.Int(slot.N), m.value(slot.Mean), within(cov(slot.COV), slot.COVCI))
		}
	}
	return t
}

// meansFigure is the mean of each cluster when it was measured (the paper, Fig. 13).
func (m *Metric) meansFigure() doc.Block {
	if m.Clusters == nil || len(m.Clusters.Means) == 0 {
		return doc.Block{}
	}
	c := chart.Chart{Title: "Means of clusters over time", Height: 200, X: m.timeAxis(),
		Y: chart.Axis{Unit: m.Unit, Label: m.Metric, Tight: true}}
	if m.From == nil {
		c.X.Label = "cluster"
	}
	var d chart.Dots
	for i, mean := range m.Clusters.Means {
		x := float64(i + 1)
		if mean.At != nil {
			x = float64(mean.At.UnixNano()) / 1e9
		}
		d.X, d.Y = append(d.X, x), append(d.Y, mean.Mean)
	}
	c.Layers = chart.Scatter(c.X, c.Y, d)
	return plot(fmt.Sprintf("the mean over the nodes of each %s", frame.InWords(m.Clusters.Fact)), c)
}
