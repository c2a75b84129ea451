// Package figure draws what a run measured: the degradation of every metric
// ([CDI], after Fig. 8 of ScaleBench), every node's capacity alone and together
// ([Nodes], after Fig. 4 to 7), when each node of a parallel trial was at work
// ([NewTimeline]) and how fast ([Rates]), what happened on
// the nodes meanwhile ([DrawSmall], [DrawStack]), how totals grew with the fleet
// ([DrawGrowth]), and where a plan ends ([Plan]). It takes plain numbers and returns drawings; it
// computes nothing that is not a position on paper.
package figure

import (
	"html/template"
	"strconv"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Plot is a drawing with its y axis, which stands left of it at fixed width.
type Plot struct {
	Y, Area template.HTML
}

// Margins of a plot in pixels: above for half a line of text, below for the
// labels of x.
const (
	marginTop    = 10
	marginBottom = 24
	yAxisWidth   = 58
)

// Capacity is a y axis from 0 in a unit with its prefix. Its ticks are round
// in that unit: a round number of bytes is none of GiB.
type Capacity struct {
	num.Scale
	axis svg.Axis // of values divided by the scale's factor
}

// newCapacity covers 0 to top with about n ticks.
func newCapacity(top float64, s num.Scale, n int) Capacity {
	return Capacity{s, svg.NewAxis(0, top/s.Factor, n)}
}

// share is where v lies between the bottom, 0, and the top, 1.
func (c Capacity) share(v float64) float64 { return c.axis.Share(v / c.Factor) }

// labels draws the tick labels of a plot of this height.
func (c Capacity) labels(height float64) template.HTML {
	d := svg.NewFixed("yaxis", "", yAxisWidth, marginTop+height+marginBottom)
	for _, v := range c.axis.Ticks() {
		y := c.axis.Y(v, marginTop+4, height) // 4: half the height of a digit
		d.Text("tick", svg.End, svg.Px(yAxisWidth-7), y, num.Tick(v, c.axis.Step))
	}
	return d.HTML()
}

// grid draws one horizontal line per tick, the one at 0 stronger.
func (c Capacity) grid(d *svg.Drawing, height float64) {
	for _, v := range c.axis.Ticks() {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		y := c.axis.Y(v, marginTop, height)
		d.Line(class, svg.Px(0), y, svg.Pct(100), y)
	}
}

// timeTicks writes the labels of an axis of seconds below a plot.
func timeTicks(d *svg.Drawing, a svg.Axis, y float64) { endTicks(d, a, y, " s") }

// endTicks writes the labels of an axis, with a unit, below a plot. The labels
// at the ends stand inside, so that they do not leave the drawing.
func endTicks(d *svg.Drawing, a svg.Axis, y float64, unit string) {
	for _, v := range a.Ticks() {
		share := a.Share(v)
		anchor := svg.Middle
		switch {
		case share < 0.03:
			anchor = svg.Start
		case share > 0.97:
			anchor = svg.End
		}
		d.Text("tick", anchor, a.Pct(v), svg.Px(y), num.Tick(v, a.Step)+unit)
	}
}

// shorten cuts a name to n characters for a label; the whole of it stands in
// the tip.
func shorten(name string, n int) string {
	r := []rune(name)
	if len(r) <= n {
		return name
	}
	return string(r[:n-1]) + "…"
}

func itoa(n int) string { return strconv.Itoa(n) }

// Widths in pixels: of a letter, rather more than it takes, and of the plot on
// a narrow page.
const (
	letterWidth = 7
	narrowPlot  = 340
)
