package chart

import (
	"math"
	"slices"
	"strings"
)

// Drawing is a chart as a page takes it. Y, Area, Rows and Scale are markup,
// escaped already; Unit and XLabel are plain text.
//
// A drawing is as wide as its place: positions along x are shares of that,
// those along y pixels. It takes its colours from [Style].
type Drawing struct {
	// Y is the y axis, which stands left of Area at a fixed width; empty where
	// it is hidden.
	Y    string
	Area string
	// Rows are the drawings of single rows, for a chart on an axis of rows that
	// the page lays out: Area is then the axis below them.
	Rows []string
	// Unit stands above the y axis, XLabel below the plot; both may be empty.
	Unit   string
	XLabel string
	// Room is the class, besides "room", of the element around Area that keeps
	// cells wide enough for their numbers; around that, the page scrolls. Tall
	// is the same chart for narrow screens, with its axes swapped; nil for all
	// charts but those of cells. Of two elements with the classes "wide" and
	// "tall" [Style] shows one. Scale is the axis of the colours of cells.
	Room  string
	Tall  *Drawing
	Scale string

	yWidth, height, row float64 // pixels, of Y, Area and each of Rows
}

// LongUnit reports whether what stands above the y axis is wider than that: it then
// begins at the left, and goes on above the plot.
func (d Drawing) LongUnit() bool { return letterWidth*float64(len([]rune(d.Unit))) > yAxisWidth }

// Sizes in pixels: margins of a plot, above for half a line of text and below
// for the labels of x; the width of a y axis; rows, which touch, so that the
// lines of the grid run through all of them.
const (
	marginTop    = 10
	marginBottom = 24
	yAxisWidth   = 58
	namesWidth   = 92
	rowHeight    = 46
	boxRowHeight = 50
	cellHeight   = 30
	axisHeight   = 20
)

// Draw draws the panels of one figure, a Drawing each. Panels with y axes of
// the same kind, label and unit share their scale.
func Draw(panels ...Chart) []Drawing {
	plots := make([]plot, len(panels))
	group := func(a Axis) [3]string { return [3]string{string(a.Kind), a.Label, a.Unit} }
	values := make(map[[3]string][]float64)
	for i, c := range panels {
		plots[i] = prepare(c)
		values[group(c.Y)] = append(values[group(c.Y)], plots[i].values(true)...)
	}
	out := make([]Drawing, len(panels))
	for i := range plots {
		p := &plots[i]
		p.y = newScale(p.Y, values[group(p.Y)], int(math.Round(p.Height/42)), false)
		switch {
		case p.cells():
			out[i] = p.drawCells()
		case p.single():
			out[i] = p.drawRows()
		default:
			out[i] = p.drawPlane()
		}
	}
	return out
}

// plot is a chart about to be drawn.
type plot struct {
	Chart
	canvas
	x, y     scale
	top      float64         // pixels above the plot
	curves   []curve         // not written yet
	boxes    map[float64]box // by row
	piles    map[pile]int    // points that stand in each already
	drawn    map[pile]int    // those of the layer
	heights  map[pile]int    // how many there will be
	ends     [2][]float64    // where names of rules stand at the left and the right
	whiskers bool
}

// prepare resolves what depends on several layers or values: stacks, boxes,
// and the scale of x.
func prepare(c Chart) plot {
	p := plot{Chart: c}
	p.Layers = stacked(c)
	p.whiskers = slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.Mark == Rule && l.Role == Interval })
	p.summarize()
	switch {
	case p.cells():
		p.Height = cellHeight * float64(len(c.Y.Rows))
	case c.Y.Kind == Rows && c.Y.Dense:
		p.Height = float64(len(c.Y.Rows)) * p.denseRow()
	case c.Y.Kind == Rows:
		p.Height = rowHeight
		if p.boxes != nil {
			p.Height = boxRowHeight
		}
	case c.Height <= 0:
		p.Height = 200
	}
	ticks := 5
	if p.boxes == nil && p.Y.Kind == Rows {
		ticks = 6
	}
	p.x = newScale(p.X, p.values(false), ticks, p.boxes != nil && !p.X.Relative)
	return p
}

func (p *plot) cells() bool { return p.X.Kind == Rows && p.Y.Kind == Rows }

// denseRow shares about 340 pixels among the rows, within reason.
func (p *plot) denseRow() float64 { return min(max(340/float64(max(len(p.Y.Rows), 1)), 3), 20) }

// single reports whether rows are drawn one by one.
func (p *plot) single() bool { return p.Y.Kind == Rows && !p.Y.Dense && !p.cells() }

// values are those that an axis must show.
func (p *plot) values(vertical bool) []float64 {
	a := p.X
	if vertical {
		a = p.Y
	}
	var out []float64
	for _, v := range []*float64{a.Lo, a.Hi} {
		if v != nil {
			out = append(out, *v)
		}
	}
	for _, l := range p.Layers {
		switch {
		case l.Mark == Cell:
			continue
		case l.Mark == Raster:
			if l.Grid != nil && vertical {
				out = append(out, l.Grid.Y...)
			} else if l.Grid != nil {
				out = append(out, l.Grid.X...)
			}
			continue
		case vertical:
			out = append(append(out, l.Y...), l.Y2...)
		default:
			out = append(append(out, l.X...), l.X2...)
		}
		if l.Mark == Bar && (p.Y.Kind == Rows) != vertical {
			out = append(out, 0)
		}
	}
	for _, b := range p.boxes {
		if !vertical {
			out = append(out, b.low, b.q1, b.mid, b.q3, b.high)
		}
	}
	return out
}

// stacked gives stacked bands the ends that they have on those below. A value that
// is missing is a gap in its band and in those above.
func stacked(c Chart) []Layer {
	layers := slices.Clone(c.Layers)
	tops := make(map[float64]float64)
	for k, l := range layers {
		if !l.Stack || l.Mark != Band {
			continue
		}
		heights := l.Y2
		l.Y, l.Y2 = nil, nil
		for i, x := range l.X {
			l.Y = append(l.Y, tops[x])
			tops[x] += at(heights, i)
			l.Y2 = append(l.Y2, tops[x])
		}
		layers[k] = l
	}
	return layers
}

// at is a value of a column: one value serves all marks, and NaN, or nothing,
// is what is missing.
func at(column Values, i int) float64 {
	if v, ok := pick(column, i); ok {
		return v
	}
	return math.NaN()
}

func pick[T any](column []T, i int) (v T, ok bool) {
	switch {
	case len(column) == 1:
		return column[0], true
	case i < len(column):
		return column[i], true
	}
	return v, false
}

// size is how many marks a layer has.
func (l Layer) size() int {
	return max(len(l.X), len(l.Y), len(l.X2), len(l.Y2), len(l.Value), len(l.Text), len(l.Boxes))
}

// role is that of one mark.
func (l Layer) role(i int) Role {
	if r, ok := pick(l.Roles, i); ok {
		return r
	}
	return l.Role
}

// tip is what is shown to who points at a mark.
func (l Layer) tip(i int) string {
	s, _ := pick(l.Tips, i)
	return s
}

// class is the style of one mark.
func (l Layer) class(i int) string {
	out := class(string(l.Mark), l.role(i))
	hollow, _ := pick(l.Hollow, i)
	switch {
	case l.Mark == Band && l.Stack:
		return out + " stack"
	case l.Mark == Band && l.Place == Above:
		return out + " strip"
	case hollow:
		return out + " hollow"
	}
	return out
}

func class(mark string, r Role) string { return "m-" + mark + " " + roleClass(r) }

func roleClass(r Role) string {
	if r == Plain {
		r = "plain"
	}
	return "r-" + escape(string(r))
}

// only are the marks with these indices.
func (l Layer) only(indices []int) Layer {
	out := l
	out.X, out.Y, out.X2, out.Y2 = take(l.X, indices), take(l.Y, indices), take(l.X2, indices), take(l.Y2, indices)
	out.Boxes = take(l.Boxes, indices)
	out.Text, out.Tips, out.Roles, out.Hollow = take(l.Text, indices), take(l.Tips, indices), take(l.Roles, indices), take(l.Hollow, indices)
	return out
}

func take[S ~[]T, T any](column S, indices []int) S {
	if len(column) < 2 {
		return column
	}
	var out S
	for _, i := range indices {
		v, _ := pick(column, i)
		out = append(out, v)
	}
	return out
}

// drawPlane draws a chart as one plot with its axes.
func (p *plot) drawPlane() Drawing {
	names := p.ruleNames()
	if p.Y.Kind != Rows {
		p.top = marginTop
		for _, n := range names {
			p.top = max(p.top, 5+laneHeight*float64(n.lane+1))
		}
	}
	for _, l := range p.Layers {
		if l.Mark == Band && (len(l.X) == 0 || len(l.Y)+len(l.Y2) == 0) {
			p.layer(l)
		}
	}
	p.flush()
	p.grid()
	for _, l := range p.Layers {
		if l.Mark != Band || len(l.X) > 0 && len(l.Y)+len(l.Y2) > 0 {
			p.layer(l)
		}
	}
	p.flush()
	p.drawNames(names)
	if p.Y.Kind == Rows {
		p.line("zero", px(0), p.Height, pct(1), p.Height)
	}
	height := p.top + p.Height + marginBottom
	p.xTicks(p.top + p.Height + 16)
	out := Drawing{Area: p.svg("area", p.Title, 0, height), XLabel: p.x.label(), height: height}
	if !p.Y.Hidden {
		out.Y, out.yWidth = p.yAxis(height)
		out.Unit = p.y.label()
	}
	return out
}

// drawRows draws every row by itself, and the axis.
func (p *plot) drawRows() Drawing {
	all := p.Layers
	rows := p.split()
	var out Drawing
	for i, r := range p.Y.Rows {
		p.canvas, p.Layers, p.y.first, p.y.n = canvas{}, rows[i], i, 1
		p.grid()
		for _, bars := range []bool{true, false} {
			for _, l := range p.Layers {
				if bars == (l.Mark == Bar || l.Mark == Band) {
					p.layer(l)
				}
			}
			if zero := p.x.share(0); bars && onAxis(zero) && p.boxes == nil {
				p.line("zero", pct(zero), 0, pct(zero), p.Height)
			}
		}
		title := strings.TrimSpace(r.Name + " " + r.Sub)
		if said := strings.TrimSpace(strings.Join([]string{r.Value, r.Note, r.Tag}, " ")); said != "" {
			title += ": " + said
		}
		out.Rows = append(out.Rows, p.svg("area", title, 0, p.Height))
	}
	p.Layers = all
	p.canvas = canvas{}
	p.xTicks(14)
	out.Area, out.XLabel, out.height, out.row = p.svg("area", "", 0, axisHeight), p.x.label(), axisHeight, p.Height
	return out
}

// split has the layers of every row; what is in no row, as a vertical rule, is
// in all of them.
func (p *plot) split() [][]Layer {
	rows := make([][]Layer, len(p.Y.Rows))
	for _, l := range p.Layers {
		if len(l.Y) == 0 {
			for i := range rows {
				rows[i] = append(rows[i], l)
			}
			continue
		}
		indices := make(map[int][]int)
		for i := range l.size() {
			if y := at(l.Y, i); finite(y) {
				indices[int(math.Round(y))] = append(indices[int(math.Round(y))], i)
			}
		}
		for i := range rows {
			if len(indices[i]) > 0 {
				rows[i] = append(rows[i], l.only(indices[i]))
			}
		}
	}
	return rows
}

// startOf is where the X of a mark stands, as a share.
func (p *plot) startOf(l Layer, i int) float64 { return p.x.share(at(l.X, i)) }

// shown reports whether the axis shows the Y of a mark.
func (p *plot) shown(l Layer, i int) bool { return onAxis(p.y.share(at(l.Y, i))) }

// across is where a value stands along x.
func (p *plot) across(v float64) length { return pct(p.x.share(v)) }

// down is where a value stands along y, in pixels.
func (p *plot) down(v float64) float64 {
	if p.y.Kind == Rows {
		return p.top + p.Height*p.y.share(v)
	}
	return p.top + p.Height*(1-p.y.share(v))
}

// flush writes the curves collected so far.
func (p *plot) flush() {
	if len(p.curves) > 0 {
		p.plane(p.top, p.Height, p.curves)
		p.curves = nil
	}
}
