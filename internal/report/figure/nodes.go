package figure

import (
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Panel is one half of the figure of a metric: every node's capacity in one
// phase.
type Panel struct {
	Title string // for the reader of the screen
	// Class is "serial" or "parallel": it chooses colour and shape.
	Class  string
	Names  []string
	Values []float64 // one a node; NaN where there is none
	// Whole is each node's capacity over the whole task where that differs
	// from the common window; nil otherwise.
	Whole []float64
	Mean  float64
	SD    float64 // population standard deviation
	// Reference is a value to compare with, drawn dashed; nil for none.
	Reference *float64
}

// panelHeight is the height of the plot area in pixels.
const panelHeight = 200

// CapacityAxis is the y axis from 0 that the panels of one metric share.
func CapacityAxis(s num.Scale, panels ...Panel) Capacity {
	top := 0.0
	for _, p := range panels {
		for _, v := range append(append([]float64{p.Mean + p.SD}, p.Values...), p.Whole...) {
			if num.Finite(v) {
				top = max(top, v)
			}
		}
	}
	return newCapacity(top, s, 5)
}

// y is where v lies in a panel that begins at top.
func (c Capacity) y(v, top float64) svg.Len { return c.axis.Y(v/c.Factor, top, panelHeight) }

// Nodes draws one panel on the shared axis.
func Nodes(p Panel, c Capacity) Plot {
	d := svg.New("area", p.Title, marginTop+panelHeight+marginBottom)
	drawBand(d, p, c)
	c.grid(d, panelHeight)
	drawReference(d, p, c)
	drawValues(d, p, c)
	drawMean(d, p, c)
	nodeLabels(d, p.Names)
	return Plot{Y: c.labels(panelHeight), Area: d.HTML()}
}

// drawBand shades one population SD to both sides of the mean.
func drawBand(d *svg.Drawing, p Panel, c Capacity) {
	lo, hi := max(p.Mean-p.SD, 0), p.Mean+p.SD
	extent := svg.Px(panelHeight * (c.share(hi) - c.share(lo)))
	d.Rect("band "+p.Class, svg.Px(0), c.y(hi, marginTop), svg.Pct(100), extent, "")
}

func drawMean(d *svg.Drawing, p Panel, c Capacity) {
	y := c.y(p.Mean, marginTop)
	d.Line("mean "+p.Class, svg.Px(0), y, svg.Pct(100), y)
}

// drawReference draws the value to compare with, behind the nodes' own.
func drawReference(d *svg.Drawing, p Panel, c Capacity) {
	if p.Reference == nil {
		return
	}
	ref := c.y(*p.Reference, marginTop)
	d.Line("reference", svg.Px(0), ref, svg.Pct(100), ref)
	// The label stands on the side of its line that is away from the mean.
	above := c.y(*p.Reference, marginTop-5)
	if *p.Reference < p.Mean {
		above = c.y(*p.Reference, marginTop+14)
	}
	d.Text("label", svg.End, svg.Pct(100), above, "serial mean")
}

func drawValues(d *svg.Drawing, p Panel, c Capacity) {
	n := len(p.Values)
	shape := svg.Dot
	if p.Class == "parallel" {
		shape = svg.Diamond
	}
	for i, v := range p.Values {
		x := nodeX(i, n)
		y := c.y(v, marginTop)
		if num.Finite(v) && n <= 60 {
			d.Line("stem "+p.Class, x, c.y(0, marginTop), x, y)
		}
		if i < len(p.Whole) {
			whole := c.y(p.Whole[i], marginTop)
			d.Mark(shape, "hollow "+p.Class, x, whole, radius(n), p.Names[i]+", whole task: "+c.Value(p.Whole[i], 0))
		}
		d.Mark(shape, "value "+p.Class, x, y, radius(n), p.Names[i]+": "+c.Value(v, 0))
	}
}

// nodeX is where node i of n stands.
func nodeX(i, n int) svg.Len { return svg.Pct(100 * (float64(i) + 0.5) / float64(n)) }

// radius of a mark in pixels: smaller where there are many.
func radius(n int) float64 {
	switch {
	case n <= 24:
		return 4.5
	case n <= 60:
		return 3.2
	}
	return 2.2
}

// labelRoom is what the labels of all nodes may take together, in characters:
// a panel on a narrow screen is about 260 pixels wide.
const labelRoom = 34

// nodeLabels writes names where all fit, else positions from 1, thinned; the
// table of nodes has both.
func nodeLabels(d *svg.Drawing, names []string) {
	n := len(names)
	y := svg.Px(marginTop + panelHeight + 16)
	if NamesFit(names) {
		for i, name := range names {
			d.Text("tick", svg.Middle, nodeX(i, n), y, name)
		}
		return
	}
	every := svg.Thin(n, 10)
	for i := range names {
		if i == 0 && every > 3 || (i+1)%every == 0 {
			d.Text("tick", svg.Middle, nodeX(i, n), y, itoa(i+1))
		}
	}
}

// NamesFit reports whether the names of all nodes fit below a panel.
func NamesFit(names []string) bool {
	longest := 0
	for _, name := range names {
		longest = max(longest, len([]rune(name)))
	}
	return (longest+2)*len(names) <= labelRoom
}
