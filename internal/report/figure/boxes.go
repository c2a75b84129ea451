package figure

import (
	"html/template"
	"slices"

	"github.com/scalebench/scalebench/internal/report/num"
	"github.com/scalebench/scalebench/internal/report/svg"
	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
)

// BoxRow is one row of box plots: the values of one target (Fig. 4 of the
// black-box throughput paper).
type BoxRow struct {
	Name   string // for the reader of the screen
	Values []BoxValue
}

// BoxValue is one value of a row.
type BoxValue struct {
	Value float64
	Firm  bool // drawn filled; others are hollow
	Tip   string
}

// BoxChart is one drawing per row, and the axis below them.
type BoxChart struct {
	Rows []template.HTML
	Axis template.HTML
	Unit string
	// FromZero says that the axis begins at 0.
	FromZero bool
}

// BoxFrom is how many values make a box: quartiles of fewer are mere
// interpolation between the points, which are drawn anyway.
const BoxFrom = 5

// Rows touch, so that the lines of the grid run through all of them.
const (
	boxRowHeight = 50
	boxMiddle    = boxRowHeight / 2
	boxHalf      = 11 // of the box
)

// Boxes draws box plots on one axis of the unit, which gets a prefix: the line
// is the median, the box the quartiles, and the whiskers reach to the farthest
// values that are no farther than 1.5 times the box from it. All values are
// shown as points. ok is false without any value.
func Boxes(of string, rows []BoxRow) (c BoxChart, ok bool) {
	var all []float64
	for _, r := range rows {
		all = append(all, r.finite()...)
	}
	if len(all) == 0 {
		return BoxChart{}, false
	}
	s := num.For(of, largest(all))
	axis := boxAxis(slices.Min(all)/s.Factor, slices.Max(all)/s.Factor)
	c = BoxChart{Unit: s.Unit, FromZero: axis.Lo == 0}
	for _, r := range rows {
		c.Rows = append(c.Rows, r.draw(axis, s))
	}
	d := svg.New("area", "", 20)
	for _, v := range axis.Ticks() {
		d.Text("tick", edgeAnchor(axis.Share(v)), axis.Pct(v), svg.Px(14), unit.Digits(v, 6))
	}
	c.Axis = d.HTML()
	return c, true
}

// boxAxis begins at 0, except where all values are close together: then it
// shows how they differ.
func boxAxis(lo, hi float64) svg.Axis {
	if hi > 0 && lo > 0.7*hi {
		margin := max((hi-lo)*0.1, hi*0.005)
		return svg.NewAxis(lo-margin, hi+margin, 5)
	}
	return svg.NewAxis(min(lo, 0), hi, 5)
}

func (r BoxRow) finite() []float64 {
	var out []float64
	for _, v := range r.Values {
		if num.Finite(v.Value) {
			out = append(out, v.Value)
		}
	}
	return out
}

func (r BoxRow) draw(a svg.Axis, s num.Scale) template.HTML {
	d := svg.New("area", r.Name, boxRowHeight)
	for _, v := range a.Ticks() {
		d.Line("grid", a.Pct(v), svg.Px(0), a.Pct(v), svg.Px(boxRowHeight))
	}
	values := r.finite()
	if len(values) == 0 {
		d.Text("unknown", svg.Middle, svg.Pct(50), svg.Px(boxMiddle+4.5), "no estimate")
		return d.HTML()
	}
	drawBox(d, a, s, values)
	for i, v := range r.Values {
		class := "single"
		if v.Firm {
			class = "point firm"
		}
		// Beside each other, not at random: points of near values stay apart.
		y := float64(boxMiddle) + 3.5*float64(i%5-2)
		d.Mark(svg.Dot, class, a.Pct(v.Value/s.Factor), svg.Px(y), 2.6, v.Tip)
	}
	return d.HTML()
}

// box is what a box plot shows of some values.
type box struct {
	low, q1, median, q3, high float64 // the ends are those of the whiskers
}

// newBox computes quartiles by definition 7 of Hyndman and Fan, and whiskers
// as Tukey has them. values are at least one, and finite.
func newBox(values []float64) (box, bool) {
	var q [3]float64
	for i, p := range []float64{.25, .5, .75} {
		v, err := stats.Quantile(values, p)
		if err != nil {
			return box{}, false
		}
		q[i] = v
	}
	b := box{low: q[0], q1: q[0], median: q[1], q3: q[2], high: q[2]}
	reach := 1.5 * (b.q3 - b.q1)
	for _, v := range values {
		if v >= b.q1-reach {
			b.low = min(b.low, v)
		}
		if v <= b.q3+reach {
			b.high = max(b.high, v)
		}
	}
	return b, true
}

// drawBox draws the box, or of few values the median alone.
func drawBox(d *svg.Drawing, a svg.Axis, s num.Scale, values []float64) {
	b, ok := newBox(values)
	if !ok {
		return
	}
	at := func(v float64) svg.Len { return a.Pct(v / s.Factor) }
	mid := svg.Px(boxMiddle)
	if len(values) >= BoxFrom {
		d.Line("whisker", at(b.low), mid, at(b.q1), mid)
		d.Line("whisker", at(b.q3), mid, at(b.high), mid)
		for _, v := range []float64{b.low, b.high} {
			d.Line("whisker", at(v), svg.Px(boxMiddle-6), at(v), svg.Px(boxMiddle+6))
		}
		d.Rect("box", at(b.q1), svg.Px(boxMiddle-boxHalf), svg.Pct(100*(b.q3-b.q1)/s.Factor/(a.Hi-a.Lo)), svg.Px(2*boxHalf),
			"half of the values: "+s.Value(b.q1, 0)+" to "+s.Value(b.q3, 0))
	}
	d.Line("midline", at(b.median), svg.Px(boxMiddle-boxHalf-3), at(b.median), svg.Px(boxMiddle+boxHalf+3))
}
