package chart

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
)

const (
	// heatLevels is how many colours cells have; heatDark is the first on which
	// text takes the colour of the ground.
	heatLevels = 8
	heatDark   = 6
)

// cellRooms are the numbers of columns for which the style sheet has a width.
var cellRooms = []int{4, 8, 12, 16, 20, 24, 32, 44, 60}

// cellRoom is the width in pixels that a column needs in a file.
const cellRoom = 39

// beside reports whether the names of rows have room beside each other on a narrow screen.
func beside(rows []Row) bool {
	widest := 0.0
	for _, r := range rows {
		widest = max(widest, room(r.Name))
	}
	return widest*float64(len(rows)) <= 1
}

// drawCells draws rows against rows, and the same with its axes swapped for narrow
// screens, unless only the names of the rows as they are have room there.
func (p *plot) drawCells() Drawing {
	out := p.drawGrid()
	// The axis of colours belongs to both.
	out.Scale = p.shades().drawing()
	if beside(p.Y.Rows) || !beside(p.X.Rows) {
		tall := prepare(p.swapped())
		tall.y = newScale(tall.Y, nil, 0, false)
		narrow := tall.drawGrid()
		narrow.Unit, narrow.XLabel = p.X.Unit, p.Y.Label
		out.Tall = &narrow
	}
	i := slices.IndexFunc(cellRooms, func(n int) bool { return n >= len(p.X.Rows) })
	if i < 0 {
		i = len(cellRooms) - 1
	}
	out.Room = fmt.Sprintf("upto%d", cellRooms[i])
	return out
}

// swapped has the rows of y beside each other: what was at the bottom is at the
// left, unless they are read from the top.
func (p *plot) swapped() Chart {
	c := p.Chart
	c.X, c.Y = c.Y, c.X
	c.X.Rows = slices.Clone(c.X.Rows)
	if !c.X.Down {
		slices.Reverse(c.X.Rows)
	}
	turn := func(v Values) Values {
		if c.X.Down {
			return v
		}
		out := slices.Clone(v)
		for i := range out {
			out[i] = float64(len(c.X.Rows)-1) - out[i]
		}
		return out
	}
	c.Layers = slices.Clone(c.Layers)
	for k, l := range c.Layers {
		c.Layers[k].X, c.Layers[k].Y = turn(l.Y), l.X
		c.Layers[k].X2, c.Layers[k].Y2 = turn(l.Y2), l.X2
	}
	return c
}

func (p *plot) drawGrid() Drawing {
	p.top = marginTop
	colors := p.shades()
	for _, l := range p.Layers {
		if l.Mark != Cell {
			p.layer(l)
			continue
		}
		for i := range l.size() {
			p.cell(l, i, colors)
		}
	}
	height := p.top + p.Height + marginBottom
	p.xTicks(p.top + p.Height + 16)
	out := Drawing{Area: p.svg("area heatmap", p.Title, 0, height), XLabel: p.x.label(), height: height}
	out.Y, out.yWidth = p.yAxis(height)
	return out
}

// cell draws one cell with its text. A bad one has a mark of its own.
func (p *plot) cell(l Layer, i int, colors shades) {
	x, y := p.startOf(l, i), p.down(at(l.Y, i))
	if !onAxis(x) || !p.shown(l, i) {
		return
	}
	wide := 1 / float64(p.x.n)
	level := colors.class(at(l.Value, i))
	p.rect("m-cell "+level, pct(x-wide/2), y-cellHeight/2, pct(wide), cellHeight, l.tip(i))
	ink, baseline := "cellink "+level, y+4.5
	if l.role(i) == Bad {
		p.mark(Bad, "overmark", pct(x), y-7.5, 2.8, "")
		ink, baseline = ink+" strong", y+9
	}
	s, _ := pick(l.Text, i)
	p.text(ink, middle, pct(x), baseline, s)
}

// shades maps values to colours.
type shades struct {
	lo, hi float64
	unit   string
	by     Shading
}

func (p *plot) shades() shades {
	h := shades{lo: math.Inf(1), hi: math.Inf(-1)}
	for _, l := range p.Layers {
		if l.Mark != Cell {
			continue
		}
		h.unit, h.by = l.Unit, l.Shading
		for _, v := range l.Value {
			if finite(v) {
				h.lo, h.hi = min(h.lo, v), max(h.hi, v)
			}
		}
	}
	if h.lo <= 0 { // some have no logarithm
		h.by = Even
	}
	return h
}

// level is the colour of a value, of so many.
func (h shades) level(v float64, levels int) int {
	share := (v - h.lo) / (h.hi - h.lo)
	if h.by == ByLog {
		share = math.Log(v/h.lo) / math.Log(h.hi/h.lo)
	}
	if h.hi <= h.lo || !finite(share) {
		return 0
	}
	return int(min(max(share*float64(levels), 0), float64(levels-1)))
}

// class is that of a value: h0 to h7, or beyond for what is not a number.
func (h shades) class(v float64) string {
	if !finite(v) {
		return "beyond"
	}
	level := h.level(v, heatLevels)
	return fmt.Sprintf("h%d%s", level, map[bool]string{true: " hot"}[level >= heatDark])
}

// Widths in pixels of the axis of colours.
const (
	scaleBox   = 22
	scaleLabel = 62
	scaleWidth = 2*scaleLabel + scaleBox*heatLevels // of both
)

// ends are what stands at the least colour and at the greatest, with one precision
// where the values are close together.
func (h shades) ends() (lo, hi string) {
	if h.by == Even {
		scale, sd := num.For(h.unit, h.lo, h.hi), (h.hi-h.lo)/10
		return scale.Number(h.lo, sd), scale.Value(h.hi, sd)
	}
	show := func(v float64) string { return num.For(h.unit, v).Value(v, 0) }
	if h.unit == "s" {
		show = num.Seconds
	}
	return show(h.lo), show(h.hi)
}

// drawing is the axis of colours, from the least to the greatest; empty when no
// value is known.
func (h shades) drawing() string {
	if !finite(h.lo, h.hi) {
		return ""
	}
	var d canvas
	least, greatest := h.ends()
	d.text("tick", end, px(scaleLabel-6), 12, least)
	for k := range heatLevels {
		d.rect(fmt.Sprintf("m-cell h%d", k), px(scaleLabel+scaleBox*float64(k)), 1, px(scaleBox), 14, "")
	}
	d.text("tick", start, px(scaleWidth-scaleLabel+6), 12, greatest)
	return d.svg("scale", "", scaleWidth, 16)
}

// Key is an entry of a legend: Swatch is markup, Name is plain text.
type Key struct {
	Name   string
	Swatch string

	width float64 // of the swatch, in pixels
}

// Legend has the named layers of the panels, each name once.
func Legend(panels ...Chart) []Key {
	var out []Key
	for _, c := range panels {
		for _, l := range c.Layers {
			counted := l.Mark == Point && len(l.X) == 0 // in text only
			if l.Name != "" && !counted && !slices.ContainsFunc(out, func(k Key) bool { return k.Name == l.Name }) {
				key := Key{Name: l.Name}
				key.Swatch, key.width = l.swatch(c.crowd() && l.bare())
				out = append(out, key)
			}
		}
	}
	return out
}

// swatch is a small drawing of the layer's first mark, and how wide it is. Points
// in a cloud have no shapes.
func (l Layer) swatch(cloud bool) (markup string, width float64) {
	var d canvas
	width = 26
	style := l.class(0)
	switch shape := l.role(0); {
	case l.Mark == Point:
		if width = 14; cloud {
			shape = Plain
		}
		d.mark(shape, style, px(7), 6, 3.8, "")
	case l.Mark == Bar:
		width = 14
		d.rect(style, px(0), 1, px(14), 10, "")
	case l.Mark == Band:
		d.rect(style, px(1), 1, px(24), 10, "")
	case l.Mark == Raster && l.Grid == nil: // it tells the shades
		for k := range densities {
			d.rect("m-shade d"+strconv.Itoa(k), px(1+8*float64(k)), 1, px(8), 10, "")
		}
		width = 8*densities + 2
	case l.Mark == Raster:
		width = 14
		d.rect(class("shade", shape), px(0), 1, px(14), 10, "")
	case shape == Interval:
		d.line("whisker", px(1), 6, px(25), 6)
		d.line("whisker", px(1), 2, px(1), 10)
		d.line("whisker", px(25), 2, px(25), 10)
	case l.Mark == Rule && len(l.Y) == 0:
		width = 14
		d.line(style, px(7), 0, px(7), 12)
	default:
		d.line(strings.Replace(style, "m-step", "m-line", 1), px(0), 6, px(26), 6)
	}
	return d.svg("swatch", "", width, 12), width
}
