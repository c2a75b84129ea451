package figure

import (
	"html/template"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Heat is the latency at every load tried and every percentile (Fig. 5 of the
// black-box throughput paper, where it is a surface), as a map of cells.
type Heat struct {
	Title string   // for the reader of the screen
	Loads []string // labels, ascending; the unit stands beside the axis
	// Tips say of each load how many windows and operations are in it.
	Tips []string
	Rows []HeatRow // ascending percentiles
	// Boundary is the first load beyond the boundary, an index into Loads; 0 or
	// less, or len(Loads), where no load lies on one of its sides.
	Boundary int
}

// HeatRow is one percentile.
type HeatRow struct {
	Name string // "p90"
	// Limit, in seconds, is what the SLA allows; nil where it says nothing of
	// this percentile.
	Limit *float64
	// Values are latencies in seconds, one a load. +Inf: so many operations
	// did not end well that this one is slower than everything.
	Values []float64
}

// HeatMap is the drawing with the axis of its colours.
type HeatMap struct {
	Plot
	// Tall is the same with the loads below each other, for narrow screens.
	Tall  Plot
	Scale template.HTML
	// Room is the class that gives the drawing its least width: cells are wide
	// enough for their numbers.
	Room string
}

const (
	heatCell = 30 // pixels, the height
	// heatLevels is how many colours there are; heatDark is the first on which
	// text takes the colour of the ground.
	heatLevels = 8
	heatDark   = 6
)

// HeatMost is how many loads have room.
const HeatMost = 60

// heatRooms are the numbers of loads for which the style sheet has a width.
var heatRooms = [...]int{4, 8, 12, 16, 20, 24, 32, 44, HeatMost}

// Draw draws the map; ok is false without a cell, or with more loads than
// HeatMost.
func (h Heat) Draw() (m HeatMap, ok bool) {
	if len(h.Loads) == 0 || len(h.Rows) == 0 || len(h.Loads) > HeatMost {
		return HeatMap{}, false
	}
	c := h.colors()
	m = HeatMap{Plot: h.wide(c), Tall: h.tall(c), Scale: c.drawing()}
	for _, n := range heatRooms {
		if m.Room == "" && len(h.Loads) <= n {
			m.Room = "upto" + itoa(n)
		}
	}
	return m, true
}

// wide has the loads beside each other.
func (h Heat) wide(c heatColors) Plot {
	height := heatCell * float64(len(h.Rows))
	d := svg.New("area heatmap", h.Title, marginTop+height+marginBottom)
	at := heatPlaces{columns: len(h.Loads), rows: len(h.Rows)}
	for k, row := range h.Rows {
		for i := range h.Loads {
			h.drawCell(d, c, i, row, at.cell(i, at.rows-1-k))
		}
	}
	for k, row := range h.Rows {
		if row.Limit != nil {
			d.Rect("slarow", svg.Px(0), svg.Px(at.top(at.rows-1-k)), svg.Pct(100), svg.Px(heatCell), "")
		}
	}
	if h.divided() {
		x := svg.Pct(at.left(h.Boundary))
		d.Line("divide", x, svg.Px(0), x, svg.Px(marginTop+height+4))
	}
	for i, label := range h.Loads {
		d.Text("tick", svg.Middle, svg.Pct(at.middle(i)), svg.Px(marginTop+height+16), label)
	}
	return Plot{Y: h.rowLabels(at), Area: d.HTML()}
}

// tall has the loads below each other, the smallest first.
func (h Heat) tall(c heatColors) Plot {
	height := heatCell * float64(len(h.Loads))
	d := svg.New("area heatmap", h.Title, marginTop+height+marginBottom)
	at := heatPlaces{columns: len(h.Rows), rows: len(h.Loads)}
	for k, row := range h.Rows {
		for i := range h.Loads {
			h.drawCell(d, c, i, row, at.cell(k, i))
		}
		class := "tick"
		if row.Limit != nil {
			class = "limit"
		}
		d.Text(class, svg.Middle, svg.Pct(at.middle(k)), svg.Px(marginTop+height+16), row.Name)
	}
	for k, row := range h.Rows {
		if row.Limit != nil {
			d.Rect("slarow", svg.Pct(at.left(k)), svg.Px(marginTop), svg.Pct(at.width()), svg.Px(height), "")
		}
	}
	if h.divided() {
		y := svg.Px(at.top(h.Boundary))
		d.Line("divide", svg.Px(0), y, svg.Pct(100), y)
	}
	labels := svg.NewFixed("yaxis", "", yAxisWidth, marginTop+height+marginBottom)
	for i, label := range h.Loads {
		labels.Text("tick", svg.End, svg.Px(yAxisWidth-7), svg.Px(at.top(i)+heatCell/2+4), label)
	}
	return Plot{Y: labels.HTML(), Area: d.HTML()}
}

// divided reports whether the boundary is between two of the loads.
func (h Heat) divided() bool { return h.Boundary > 0 && h.Boundary < len(h.Loads) }

// heatPlaces says where the cells of a map are: along x in percent, along y in
// pixels.
type heatPlaces struct{ columns, rows int }

func (p heatPlaces) width() float64            { return 100 / float64(p.columns) }
func (p heatPlaces) left(column int) float64   { return p.width() * float64(column) }
func (p heatPlaces) middle(column int) float64 { return p.left(column) + p.width()/2 }
func (p heatPlaces) top(row int) float64       { return marginTop + heatCell*float64(row) }

// heatPlace is where one cell is.
type heatPlace struct{ left, middle, width, top float64 }

func (p heatPlaces) cell(column, row int) heatPlace {
	return heatPlace{left: p.left(column), middle: p.middle(column), width: p.width(), top: p.top(row)}
}

// drawCell draws a load's latency at a percentile.
func (h Heat) drawCell(d *svg.Drawing, c heatColors, load int, row HeatRow, at heatPlace) {
	v := math.NaN()
	if load < len(row.Values) {
		v = row.Values[load]
	}
	class, ink := c.class(v)
	d.Rect(class, svg.Pct(at.left), svg.Px(at.top), svg.Pct(at.width), svg.Px(heatCell), h.tip(load, row, v))
	baseline := at.top + 19.5
	if row.Limit != nil && v > *row.Limit {
		d.Mark(svg.Diamond, "overmark", svg.Pct(at.middle), svg.Px(at.top+7.5), 2.8, "")
		ink += " over"
		baseline = at.top + 24
	}
	d.Text(ink, svg.Middle, svg.Pct(at.middle), svg.Px(baseline), heatText(v))
}

// heatText is a latency in milliseconds, as short as it can be.
func heatText(v float64) string {
	if !num.Finite(v) {
		return "—"
	}
	return num.Scale{Factor: 1e-3}.Number(v, 0)
}

func (h Heat) tip(i int, row HeatRow, v float64) string {
	text := h.Tips[i] + "; " + row.Name + " "
	if num.Finite(v) {
		text += num.Seconds(v)
	} else {
		text += "not reached: fewer than that ended well"
	}
	if row.Limit != nil {
		text += ", limit " + num.Seconds(*row.Limit)
	}
	return text
}

// rowLabels name the rows: the highest percentile stands at the top, so that
// loads and percentiles both grow away from the corner.
func (h Heat) rowLabels(at heatPlaces) template.HTML {
	height := heatCell * float64(len(h.Rows))
	d := svg.NewFixed("yaxis", "", yAxisWidth, marginTop+height+marginBottom)
	for k, row := range h.Rows {
		class := "tick"
		if row.Limit != nil {
			class = "limit"
		}
		d.Text(class, svg.End, svg.Px(yAxisWidth-7), svg.Px(at.top(at.rows-1-k)+heatCell/2+4), row.Name)
	}
	return d.HTML()
}

// heatColors maps latencies to colours by their logarithm.
type heatColors struct{ lo, hi float64 }

func (h Heat) colors() heatColors {
	c := heatColors{math.Inf(1), 0}
	for _, r := range h.Rows {
		for _, v := range r.Values {
			if v > 0 && num.Finite(v) {
				c.lo, c.hi = min(c.lo, v), max(c.hi, v)
			}
		}
	}
	return c
}

// class is the style of a cell and of the text on it.
func (c heatColors) class(v float64) (cell, ink string) {
	if !num.Finite(v) {
		return "cell beyond", "cellink beyond"
	}
	level := 0
	if c.hi > c.lo && v > 0 {
		share := math.Log(v/c.lo) / math.Log(c.hi/c.lo)
		level = int(clamp(share*heatLevels, 0, heatLevels-1))
	}
	ink = "cellink"
	if level >= heatDark {
		ink = "cellink onhot"
	}
	return "cell h" + itoa(level), ink
}

// Widths in pixels of the axis of colours.
const (
	scaleBox   = 22
	scaleLabel = 62
)

// drawing is the axis of colours, from the shortest latency to the longest;
// nothing when no latency is known.
func (c heatColors) drawing() template.HTML {
	if !(c.hi > 0) {
		return ""
	}
	d := svg.NewFixed("scale", "", 2*scaleLabel+scaleBox*heatLevels, 16)
	d.Text("tick", svg.End, svg.Px(scaleLabel-6), svg.Px(12), num.Seconds(c.lo))
	for k := range heatLevels {
		d.Rect("cell h"+itoa(k), svg.Px(scaleLabel+scaleBox*float64(k)), svg.Px(1), svg.Px(scaleBox), svg.Px(14), "")
	}
	d.Text("tick", svg.Start, svg.Px(scaleLabel+scaleBox*heatLevels+6), svg.Px(12), num.Seconds(c.hi))
	return d.HTML()
}
