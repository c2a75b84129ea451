package figure

import (
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Growth is how a total grew with the number of subjects at work (Fig. 11 of
// ScaleBench). All values are in the unit of Scale before its factor.
type Growth struct {
	Title string // for the reader of the screen
	Noun  string // "nodes" or "pairs"
	Scale num.Scale
	Sizes []GrowthSize // ascending
	// Ideal is what one subject does alone: the ideal line is its multiple.
	// Nil where that was not measured.
	Ideal *float64
	// Slope and Cap are the fitted min(Slope·n, Cap); nil when there is none.
	Slope, Cap *float64
	// Limit labels the cap's line; "" where no limit may be named.
	Limit string
}

// GrowthSize is one size with the total of each of its trials.
type GrowthSize struct {
	Nodes  int
	Total  float64
	Totals []float64
}

const growthHeight = 240

// idealRoom is how far above the largest total the ideal line is followed: an
// axis that reaches it to its end would press the measurements to the ground.
const idealRoom = 2

// DrawGrowth draws totals against size; ok is false when nothing was measured.
func DrawGrowth(g Growth) (p Plot, ok bool) {
	last, top := g.extent()
	if last == 0 || top <= 0 || !num.Finite(top) {
		return Plot{}, false
	}
	y, x := newCapacity(top, g.Scale, 5), svg.Axis{Lo: 0, Hi: float64(last) * 1.06, Step: sizeStep(last)}
	d := svg.New("area", g.Title, marginTop+growthHeight+marginBottom)
	y.grid(d, growthHeight)
	d.Plane(marginTop, growthHeight, g.curves(x, y))
	g.labels(d, x, y)
	g.marks(d, x, y)
	for _, v := range x.Ticks() {
		d.Text("tick", svg.Middle, x.Pct(v), svg.Px(marginTop+growthHeight+16), num.Tick(v, x.Step))
	}
	return Plot{Y: y.labels(growthHeight), Area: d.HTML()}, true
}

// extent is the largest size and the top of the axis.
func (g Growth) extent() (last int, top float64) {
	for _, s := range g.Sizes {
		last = max(last, s.Nodes)
		for _, v := range append([]float64{s.Total}, s.Totals...) {
			if num.Finite(v) {
				top = max(top, v)
			}
		}
	}
	if g.Cap != nil && num.Finite(*g.Cap) {
		top = max(top, *g.Cap)
	}
	if g.Ideal != nil && num.Finite(*g.Ideal) {
		top = max(top, min(*g.Ideal*float64(last), idealRoom*top))
	}
	return last, top * 1.05
}

// sizeStep is a step between labels of whole subjects.
func sizeStep(last int) float64 { return float64(svg.Thin(last+1, 13)) }

// curves are the ideal line and the fitted one.
func (g Growth) curves(x svg.Axis, y Capacity) []svg.Curve {
	at := func(n, v float64) svg.Point { return svg.Point{X: x.Share(n), Y: 1 - y.share(v)} }
	var out []svg.Curve
	if g.Ideal != nil {
		n := g.idealEnd(x, y)
		out = append(out, svg.Curve{Class: "ideal", Points: []svg.Point{at(0, 0), at(n, n**g.Ideal)}})
	}
	if g.Cap != nil {
		out = append(out, svg.Curve{Class: "cap", Points: []svg.Point{at(0, *g.Cap), at(x.Hi, *g.Cap)}})
	}
	if g.Slope != nil && *g.Slope > 0 {
		end := min(x.Hi, y.axis.Hi*y.Factor / *g.Slope)
		fit := svg.Curve{Class: "fit", Points: []svg.Point{at(0, 0), at(end, end**g.Slope)}}
		if g.Cap != nil {
			if knee := *g.Cap / *g.Slope; knee < x.Hi {
				fit.Points = []svg.Point{at(0, 0), at(knee, *g.Cap), at(x.Hi, *g.Cap)}
			}
		}
		out = append(out, fit)
	}
	return out
}

// idealEnd is the size at which the ideal line leaves the drawing.
func (g Growth) idealEnd(x svg.Axis, y Capacity) float64 {
	if *g.Ideal <= 0 {
		return x.Hi
	}
	return math.Min(x.Hi, y.axis.Hi*y.Factor / *g.Ideal)
}

// labels name the lines where they end.
func (g Growth) labels(d *svg.Drawing, x svg.Axis, y Capacity) {
	if g.Ideal != nil {
		// Left of the line, a little below where it ends.
		n := 0.9 * g.idealEnd(x, y)
		at := y.axis.Y(n**g.Ideal/y.Factor, marginTop+4, growthHeight)
		d.Text("label", svg.End, svg.Pct(100*x.Share(n)-1.5), at, "ideal")
	}
	if g.Cap != nil && g.Limit != "" {
		above := y.axis.Y(*g.Cap/y.Factor, marginTop-7, growthHeight)
		d.Text("limit", svg.End, svg.Pct(100), above, g.Limit)
	}
}

// marks are the trials, and a bar at their mean.
func (g Growth) marks(d *svg.Drawing, x svg.Axis, y Capacity) {
	half := 0.9 // percent of the width
	for _, s := range g.Sizes {
		at, tip := x.Share(float64(s.Nodes))*100, itoa(s.Nodes)+" "+g.Noun+": "+y.Value(s.Total, 0)
		level := y.axis.Y(s.Total/y.Factor, marginTop, growthHeight)
		if len(s.Totals) == 0 {
			d.Mark(svg.Dot, "value serial", svg.Pct(at), level, 4.5, tip)
			continue
		}
		if len(s.Totals) > 1 {
			d.Line("level", svg.Pct(at-half), level, svg.Pct(at+half), level)
		}
		for i, v := range s.Totals {
			class, shape := "value parallel", svg.Diamond
			if s.Nodes == 1 {
				class, shape = "value serial", svg.Dot
			}
			d.Mark(shape, class, svg.Pct(at), y.axis.Y(v/y.Factor, marginTop, growthHeight), 3.6,
				itoa(s.Nodes)+" "+g.Noun+", trial "+itoa(i+1)+": "+y.Value(v, 0))
		}
	}
}
