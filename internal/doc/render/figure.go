package render

import (
	"strconv"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
)

// figure is the panels of a figure, side by side where there is room, with one
// legend.
func (p page) figure(f doc.Figure) node {
	charts := make([]chart.Chart, len(f.Panels))
	for i, panel := range f.Panels {
		charts[i] = panel.Chart
	}
	panels := []any{class("panels", columnsClass(f.Columns))}
	for i, d := range chart.Draw(charts...) {
		panels = append(panels, p.panel(f.Panels[i], d))
	}
	grid := el("div", panels...)
	if f.Columns > 2 { // too many for a narrow screen, and below each other they make no sense
		grid = el("div", class("scroll bare"), is("tabindex", "0"), grid)
	}
	parts := []any{}
	if f.Title != "" || f.Words != "" {
		parts = append(parts, captionOf(f.Title, f.Words, ""))
	}
	parts = append(parts, grid)
	if keys := chart.Legend(charts...); len(keys) > 0 {
		legend := []any{class("legend")}
		for _, k := range keys {
			legend = append(legend, el("li", raw(k.Swatch), text(k.Name)))
		}
		parts = append(parts, el("ul", legend...))
	}
	if f.Note != "" {
		parts = append(parts, el("figcaption", text(f.Note)))
	}
	return el("figure", parts...)
}

// mostColumns is how many panels stand side by side at most.
const mostColumns = 6

func columnsClass(n int) string {
	if n < 2 {
		return ""
	}
	return "cols" + strconv.Itoa(min(n, mostColumns))
}

func captionOf(title, words, role string) node {
	parts := []any{class("caption", role)}
	if title != "" {
		parts = append(parts, el("b", text(title)))
	}
	if words != "" {
		parts = append(parts, el("span", text(words)))
	}
	return el("div", parts...)
}

func (p page) panel(panel doc.Panel, d chart.Drawing) node {
	parts := []any{class("panel")}
	if n := panel.Chart.Span; n > 1 {
		parts[0] = class("panel", "span"+strconv.Itoa(min(n, mostColumns)))
	}
	if panel.Title != "" || panel.Words != "" {
		parts = append(parts, captionOf(panel.Title, panel.Words, captions[panel.Role]))
	}
	switch {
	case len(d.Rows) > 0:
		parts = append(parts, p.rows(panel.Chart.Y.Rows, d))
	case d.Tall != nil:
		parts = append(parts, el("div", class("wide"), plot(d)), el("div", class("tall"), plot(*d.Tall)))
	default:
		parts = append(parts, plot(d))
	}
	if d.Scale != "" {
		parts = append(parts, el("div", class("scale"), raw(d.Scale)))
	}
	return el("div", parts...)
}

// plot is a drawing with its y axis beside it and its units.
func plot(d chart.Drawing) node {
	label := xLabel(d)
	area := el("div", class("canvas"), raw(d.Area), label)
	if d.Room != "" {
		area = el("div", class("canvas scroll bare"), is("tabindex", "0"), el("div", class("room", d.Room), raw(d.Area), label))
	}
	var out group
	if d.Unit != "" {
		long := map[bool]string{true: "long"}[d.LongUnit()]
		out = append(out, el("div", class("unit", long), text(d.Unit)))
	}
	return append(out, el("div", class("plot"), raw(d.Y), area))
}

// xLabel is the label below an axis, nil without one.
func xLabel(d chart.Drawing) node {
	if d.XLabel == "" {
		return nil
	}
	return el("div", class("xlabel"), text(d.XLabel))
}

// rows is a chart of rows, laid out so that the texts beside the marks are as
// wide as they need, and go below them where the screen is narrow.
func (p page) rows(rows []chart.Row, d chart.Drawing) node {
	parts := []any{class("rows")}
	for i, r := range rows {
		if i >= len(d.Rows) {
			break
		}
		name := group{el("b", text(r.Name))}
		if r.Sub != "" {
			name = append(name, text(" "), el("span", text(r.Sub)))
		}
		row := []any{class("row"),
			el("div", class("what"), p.link(r.Href, name)),
			el("div", class("canvas"), raw(d.Rows[i])),
			el("div", class("value"), el("b", text(minus(r.Value)))),
			el("div", class("interval"), text(minus(r.Note))),
			el("div", class("tag"), tag(doc.Tag{Word: r.Tag, Tone: roleTones[r.Role]})),
		}
		for _, m := range r.More {
			row = append(row, el("p", class("said"), text(m)))
		}
		parts = append(parts, el("div", row...))
	}
	parts = append(parts, el("div", class("row axis"), el("div", class("canvas"), raw(d.Area), xLabel(d)), el("div", class("interval"), text(d.Unit))))
	return el("div", parts...)
}

// roleTones are the tones of words whose marks have a role.
var roleTones = map[chart.Role]doc.Tone{
	chart.Good: doc.Good, chart.Bad: doc.Bad, chart.Better: doc.Gain, chart.Unknown: doc.Doubt, chart.Faint: doc.Faint,
}

// captions are the classes of captions with a role; names of roles are no classes
// otherwise.
var captions = map[chart.Role]string{chart.Serial: "serial", chart.Parallel: "parallel", chart.Good: "good", chart.Bad: "bad"}
