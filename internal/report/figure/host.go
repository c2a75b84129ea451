package figure

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Small is one of the small charts of what happened on the nodes over time.
// Charts that stand side by side share From, To, and the axis of values.
type Small struct {
	Title    string  // for the reader of the screen
	From, To float64 // seconds since the agreed start
	// First is where the bins begin, Width how wide each is, in seconds.
	First, Width float64
	Names        []string
	Lines        [][]float64 // one a name: a value a bin, NaN where there is none
	// Window is the common window, nil for none.
	Window *[2]float64
}

const smallHeight = 74

// MaxLines is how many nodes get a line each in a small chart; of more, the
// least, the median and the greatest are drawn.
const MaxLines = 8

// SmallAxis is the axis of values from 0 that small charts share: at least up
// to least, and otherwise up to the greatest value.
func SmallAxis(scale func(top float64) num.Scale, least float64, charts ...Small) Capacity {
	top := least
	for _, c := range charts {
		for _, line := range c.Lines {
			top = max(top, largest(line))
		}
	}
	return newCapacity(top, scale(top), 2)
}

func largest(values []float64) float64 {
	top := 0.0
	for _, v := range values {
		if num.Finite(v) {
			top = max(top, v)
		}
	}
	return top
}

// DrawSmall draws a line a node, or for many nodes the median and a band from
// the least to the greatest.
func DrawSmall(c Small, y Capacity) Plot {
	return c.draw(y, c.curves(y))
}

// draw puts curves onto the shaded window and the grid.
func (c Small) draw(y Capacity, curves []svg.Curve) Plot {
	x := svg.TightAxis(c.From, c.To, 4)
	d := svg.New("area", c.Title, marginTop+smallHeight+marginBottom)
	if w := c.Window; w != nil {
		tip := num.Seconds(w[1]-w[0]) + " in which all tasks were running"
		d.Rect("window", x.Pct(w[0]), svg.Px(marginTop), svg.Pct(100*(x.Share(w[1])-x.Share(w[0]))), svg.Px(smallHeight), tip)
	}
	y.grid(d, smallHeight)
	d.Line("start", x.Pct(0), svg.Px(marginTop), x.Pct(0), svg.Px(marginTop+smallHeight))
	d.Plane(marginTop, smallHeight, curves)
	timeTicks(d, x, marginTop+smallHeight+16)
	return Plot{Y: y.labels(smallHeight), Area: d.HTML()}
}

func (c Small) curves(y Capacity) []svg.Curve {
	if len(c.Lines) > MaxLines {
		return c.bandCurves(y)
	}
	var out []svg.Curve
	for i, line := range c.Lines {
		for _, run := range c.runs(line, y) {
			out = append(out, svg.Curve{Class: "rate n" + itoa(i), Points: run, Tip: c.Names[i]})
		}
	}
	return out
}

// bandCurves draw least, median and greatest over the nodes.
func (c Small) bandCurves(y Capacity) []svg.Curve {
	low, middle, high := c.spread()
	var out []svg.Curve
	highs := c.runs(high, y)
	for i, run := range c.runs(low, y) { // missing in the same bins
		area := slices.Clone(highs[i])
		slices.Reverse(run)
		out = append(out, svg.Curve{Class: "range", Points: append(area, run...), Filled: true, Tip: "least to greatest"})
	}
	for _, run := range c.runs(middle, y) {
		out = append(out, svg.Curve{Class: "rate median", Points: run, Tip: "median"})
	}
	return out
}

// spread is the least, the median and the greatest value of every bin, over
// the nodes that have one.
func (c Small) spread() (low, middle, high []float64) {
	bins := 0
	for _, line := range c.Lines {
		bins = max(bins, len(line))
	}
	for i := range bins {
		var values []float64
		for _, line := range c.Lines {
			if i < len(line) && num.Finite(line[i]) {
				values = append(values, line[i])
			}
		}
		slices.Sort(values)
		n := len(values)
		if n == 0 {
			values, n = []float64{math.NaN()}, 1
		}
		low, high = append(low, values[0]), append(high, values[n-1])
		middle = append(middle, (values[(n-1)/2]+values[n/2])/2)
	}
	return low, middle, high
}

// runs turns bins into stairs, one for every stretch without a gap. Points
// between equal steps are left out.
func (c Small) runs(line []float64, y Capacity) [][]svg.Point {
	var out [][]svg.Point
	open := false
	for i, v := range line {
		if !num.Finite(v) {
			open = false
			continue
		}
		from, to := c.share(c.First+float64(i)*c.Width), c.share(c.First+float64(i+1)*c.Width)
		h := 1 - y.share(v)
		if !open {
			out, open = append(out, nil), true
		}
		out[len(out)-1] = stair(out[len(out)-1], from, to, h)
	}
	return out
}

// stair adds a step; a step as high as the last makes that one longer.
func stair(points []svg.Point, from, to, h float64) []svg.Point {
	const resolution = 1.0 / 1000 // of the drawing's grid
	if n := len(points); n > 0 && math.Abs(points[n-1].Y-h) < resolution {
		points[n-1].X = to
		return points
	}
	return append(points, svg.Point{X: from, Y: h}, svg.Point{X: to, Y: h})
}

func (c Small) share(t float64) float64 { return min(max((t-c.From)/(c.To-c.From), 0), 1) }

// DrawStack draws the lines of a chart on top of each other, the first at the
// bottom; classes are those of the areas.
func DrawStack(c Small, y Capacity, classes []string) Plot {
	bins := 0
	for _, line := range c.Lines {
		bins = max(bins, len(line))
	}
	below := make([]float64, bins)
	var curves []svg.Curve
	for k, line := range c.Lines {
		if largest(line) == 0 {
			continue // an area without a height
		}
		above := slices.Clone(below)
		for i, v := range line {
			above[i] += v // NaN leaves a gap in this layer and in those above
		}
		curves = append(curves, c.layer(below, above, y, classes[k], c.Names[k])...)
		below = above
	}
	return c.draw(y, curves)
}

// layer is the area between two curves, where both have values.
func (c Small) layer(below, above []float64, y Capacity, class, name string) []svg.Curve {
	floor := slices.Clone(below)
	for i, v := range above {
		if !num.Finite(v) {
			floor[i] = v
		}
	}
	var out []svg.Curve
	tops := c.runs(above, y)
	for i, run := range c.runs(floor, y) {
		area := slices.Clone(tops[i])
		slices.Reverse(run)
		out = append(out, svg.Curve{Class: class, Points: append(area, run...), Filled: true, Tip: name})
	}
	return out
}
