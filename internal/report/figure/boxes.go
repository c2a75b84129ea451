package figure

import (
	"html/template"
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
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
	// Relative says that each row is drawn around its own median, and that the
	// axis is the difference from that in percent.
	Relative bool
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
// shown as points. Where the medians are far apart the axis is relative to
// them: how the values of a row differ could not be seen otherwise. ok is false
// without any value.
func Boxes(of string, rows []BoxRow) (c BoxChart, ok bool) {
	scales := make([]boxScale, len(rows))
	c.Relative = farApart(rows)
	var all []float64
	for i, r := range rows {
		scales[i] = boxScale{factor: 1}
		if m, known := r.median(); known && c.Relative {
			scales[i] = boxScale{origin: m, factor: m / 100}
		}
		for _, v := range r.finite() {
			all = append(all, scales[i].of(v))
		}
	}
	if len(all) == 0 {
		return BoxChart{}, false
	}
	axis, s := c.axis(of, all)
	for i, r := range rows {
		scales[i].factor *= s.Factor
		c.Rows = append(c.Rows, r.draw(axis, scales[i], of))
	}
	d := svg.New("area", "", 20)
	ticks := axis.Ticks()
	for _, v := range ticks {
		// Signs and units make labels long: of many ticks every other one has one.
		if c.Relative && len(ticks) > 6 && math.Mod(math.Round(v/axis.Step), 2) != 0 {
			continue
		}
		d.Text("tick", edgeAnchor(axis.Share(v)), axis.Pct(v), svg.Px(14), c.tick(v))
	}
	c.Axis = d.HTML()
	return c, true
}

// axis covers all values, given in the unit or in percent.
func (c *BoxChart) axis(of string, all []float64) (svg.Axis, num.Scale) {
	if c.Relative {
		c.Unit = "from the median"
		return svg.NewAxis(min(slices.Min(all), -leastReach), max(slices.Max(all), leastReach), 4), num.Scale{Factor: 1}
	}
	s := num.For(of, largest(all))
	axis := boxAxis(slices.Min(all)/s.Factor, slices.Max(all)/s.Factor)
	c.Unit, c.FromZero = s.Unit, axis.Lo == 0
	return axis, s
}

func (c *BoxChart) tick(v float64) string {
	if !c.Relative {
		return unit.Digits(v, 6)
	}
	text := strings.TrimPrefix(unit.Digits(v, 6), "-") + " %"
	switch {
	case v > 0:
		return "+" + text
	case v < 0:
		return "−" + text
	}
	return text
}

const (
	// farTimes is from which ratio of two medians on an axis is relative.
	farTimes = 3
	// leastReach is how much of a relative axis is shown at least, in percent
	// to either side: smaller differences are no news.
	leastReach = 2
)

// farApart reports whether the medians of rows differ by so much that boxes on
// one axis from 0 would be lines.
func farApart(rows []BoxRow) bool {
	least, most := math.Inf(1), 0.0
	for _, r := range rows {
		if m, known := r.median(); known {
			least, most = min(least, m), max(most, m)
		}
	}
	return least > 0 && most >= farTimes*least
}

// boxScale turns values of a row into those of the axis.
type boxScale struct{ origin, factor float64 }

func (s boxScale) of(v float64) float64 { return (v - s.origin) / s.factor }

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

// median is of the values known.
func (r BoxRow) median() (m float64, known bool) {
	m, err := stats.Quantile(r.finite(), .5)
	return m, err == nil && num.Finite(m)
}

// draw draws a row whose values are amounts of a unit.
func (r BoxRow) draw(a svg.Axis, s boxScale, of string) template.HTML {
	d := svg.New("area", r.Name, boxRowHeight)
	for _, v := range a.Ticks() {
		d.Line("grid", a.Pct(v), svg.Px(0), a.Pct(v), svg.Px(boxRowHeight))
	}
	values := r.finite()
	if len(values) == 0 {
		d.Text("unknown", svg.Middle, svg.Pct(50), svg.Px(boxMiddle+4.5), "no estimate")
		return d.HTML()
	}
	drawBox(d, a, s, of, values)
	for i, v := range r.Values {
		class := "single"
		if v.Firm {
			class = "point firm"
		}
		// Beside each other, not at random: points of near values stay apart.
		y := float64(boxMiddle) + 3.5*float64(i%5-2)
		d.Mark(svg.Dot, class, a.Pct(s.of(v.Value)), svg.Px(y), 2.6, v.Tip)
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
func drawBox(d *svg.Drawing, a svg.Axis, s boxScale, of string, values []float64) {
	b, ok := newBox(values)
	if !ok {
		return
	}
	at := func(v float64) svg.Len { return a.Pct(s.of(v)) }
	mid := svg.Px(boxMiddle)
	if len(values) >= BoxFrom {
		d.Line("whisker", at(b.low), mid, at(b.q1), mid)
		d.Line("whisker", at(b.q3), mid, at(b.high), mid)
		for _, v := range []float64{b.low, b.high} {
			d.Line("whisker", at(v), svg.Px(boxMiddle-6), at(v), svg.Px(boxMiddle+6))
		}
		d.Rect("box", at(b.q1), svg.Px(boxMiddle-boxHalf), svg.Pct(100*(s.of(b.q3)-s.of(b.q1))/(a.Hi-a.Lo)), svg.Px(2*boxHalf),
			"half of the values: "+unit.Human(b.q1, of)+" to "+unit.Human(b.q3, of))
	}
	d.Line("midline", at(b.median), svg.Px(boxMiddle-boxHalf-3), at(b.median), svg.Px(boxMiddle+boxHalf+3))
}
