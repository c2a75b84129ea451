package chart

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
)

// box is what a box plot shows of some values.
type box struct {
	low, q1, median, q3, high float64 // the ends are those of the whiskers
	n                         int
	tip                       string
}

// BoxFrom is how many values make a box: quartiles of fewer are mere
// interpolation between the points, which are drawn anyway.
const BoxFrom = 5

// newBox computes quartiles by definition 7 of Hyndman and Fan, and whiskers
// as Tukey has them. values are at least one, and finite.
func newBox(values []float64, of string) (b box, ok bool) {
	var q [3]float64
	for i, p := range []float64{.25, .5, .75} {
		v, err := stats.Quantile(values, p)
		if err != nil || !finite(v) {
			return b, false
		}
		q[i] = v
	}
	b = box{low: q[0], q1: q[0], median: q[1], q3: q[2], high: q[2], n: len(values)}
	b.tip = "half of the values: " + unit.Human(b.q1, of) + " to " + unit.Human(b.q3, of)
	for _, v := range values {
		if v >= b.q1-1.5*(b.q3-b.q1) {
			b.low = min(b.low, v)
		}
		if v <= b.q3+1.5*(b.q3-b.q1) {
			b.high = max(b.high, v)
		}
	}
	return b, true
}

const (
	// farTimes is from which ratio of two medians on an axis is relative.
	farTimes = 3
	// leastReach is how much of a relative axis is shown at least, in percent
	// to either side: smaller differences are no news.
	leastReach = 2
)

// summarize computes the boxes of all rows, and draws them relative to their
// medians where that was asked for and these are far apart.
func (p *plot) summarize() {
	values := make(map[int][]float64)
	for _, l := range p.Layers {
		if l.Mark != Box {
			continue
		}
		p.boxes = make(map[int]box)
		for i := range l.size() {
			if x, y := at(l.X, i), at(l.Y, i); finite(x, y) {
				values[int(y)] = append(values[int(y)], x)
			}
		}
	}
	least, most := math.Inf(1), 0.0
	for row, vs := range values {
		if b, ok := newBox(vs, p.X.Unit); ok {
			p.boxes[row] = b
			least, most = min(least, b.median), max(most, b.median)
		}
	}
	apart := p.X.Relative && least > 0 && most >= farTimes*least
	if p.X.Relative = apart; !apart {
		return
	}
	for k, l := range p.Layers {
		p.Layers[k].X = slices.Clone(l.X)
		for i, x := range l.X {
			if b, ok := p.boxes[int(at(l.Y, i))]; ok {
				p.Layers[k].X[i] = 100 * (x/b.median - 1)
			}
		}
	}
	for row, b := range p.boxes {
		for _, v := range []*float64{&b.low, &b.q1, &b.q3, &b.high} {
			*v = 100 * (*v/b.median - 1)
		}
		b.median = 0
		p.boxes[row] = b
	}
	lo, hi := -float64(leastReach), float64(leastReach)
	p.X = Axis{Label: "difference from each row’s median", Unit: "%", Signed: true, Lo: &lo, Hi: &hi, TickCount: 4, Relative: true}
}

// Half of the height of a box, in pixels.
const boxHalf = 11

// box draws the box of a row, or of few values the median alone.
func (p *plot) box(l Layer, row int, b box) {
	y := p.down(float64(row))
	if !onAxis(p.y.share(float64(row))) {
		return
	}
	role := class("", l.Role)[len("m- "):]
	if b.n >= BoxFrom {
		for _, v := range [][2]float64{{b.low, b.q1}, {b.q3, b.high}} {
			p.line("whisker", p.across(v[0]), px(y), p.across(v[1]), px(y))
		}
		for _, v := range []float64{b.low, b.high} {
			p.line("whisker", p.across(v), px(y-6), p.across(v), px(y+6))
		}
		p.rect("m-box "+role, p.across(b.q1), px(y-boxHalf), pct(p.x.share(b.q3)-p.x.share(b.q1)), px(2*boxHalf), b.tip)
	}
	p.line("midline", p.across(b.median), px(y-boxHalf-3), p.across(b.median), px(y+boxHalf+3))
}
