package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// layer draws the marks of a layer over those before it.
func (p *plot) layer(l Layer) {
	switch l.Mark {
	case Line, Step, Band:
		p.area(l)
		return
	case Raster:
		p.flush()
		p.raster(l)
		return
	}
	p.flush()
	if l.Mark == Point && p.crowd() && l.bare() {
		p.cloud(l)
		return
	}
	p.drawn = make(map[pile]int)
	draw := map[Mark]func(Layer, int){Point: p.point, Bar: p.bar, Rule: p.rule, Label: p.label}[l.Mark]
	if l.Mark == Box {
		p.drawBoxes(l)
	}
	if draw != nil {
		for i := range l.size() {
			draw(l, i)
		}
	}
}

// area draws lines, steps and bands. Curves are collected, so that those of
// neighbouring layers share a plane.
func (p *plot) area(l Layer) {
	tip := cmp.Or(l.tip(0), l.Name)
	switch {
	case l.Mark != Band:
		for _, run := range p.runs(l, l.Y, l.Mark == Step) {
			p.curves = append(p.curves, curve{class: l.class(0), points: run, tip: tip})
		}
	case len(l.X) == 0 || len(l.Y)+len(l.Y2) == 0 || len(l.X2) > 0 && len(l.Roles)+len(l.Tips) > 0 || p.y.Kind == Rows:
		p.flush()
		for i := range l.size() {
			p.rectangle(l, i)
		}
	default:
		low, high := make(Values, len(l.X)), make(Values, len(l.X))
		for i := range l.X {
			low[i], high[i] = orZero(l.Y, i), orZero(l.Y2, i)
			if !finite(p.y.share(low[i]), p.y.share(high[i])) { // both have the same gaps
				low[i], high[i] = math.NaN(), math.NaN()
			}
		}
		tops := p.runs(l, high, len(l.X2) > 0)
		for i, run := range p.runs(l, low, len(l.X2) > 0) {
			slices.Reverse(run)
			p.curves = append(p.curves, curve{class: l.class(0), points: append(tops[i], run...), filled: true, tip: tip})
		}
	}
}

// runs are the points of a line or of stairs, one run for every stretch without
// a gap.
func (p *plot) runs(l Layer, y Values, stairs bool) [][]vertex {
	var out [][]vertex
	open, last := false, math.NaN()
	for i, x := range l.X {
		from, height := p.x.share(x), 1-p.y.share(at(y, i))
		to := p.x.share(at(l.X2, i))
		if len(l.X2) == 0 && i+1 < len(l.X) {
			to = p.x.share(l.X[i+1])
		}
		if !finite(from, height) || stairs && !finite(to) {
			open = false
			continue
		}
		if !open || stairs && from > last+1e-9 {
			out, open = append(out, nil), true
		}
		run := &out[len(out)-1]
		if last = to; stairs {
			*run = stair(*run, from, to, height)
		} else {
			*run = append(*run, vertex{from, height})
		}
	}
	return out
}

// stair adds a step; a step as high as the last makes that one longer.
func stair(points []vertex, from, to, height float64) []vertex {
	if n := len(points); n > 0 && math.Abs(points[n-1].y-height) < 1.0/grid {
		points[n-1].x = to
		return points
	}
	return append(points, vertex{from, height}, vertex{to, height})
}

// rectangle draws one rectangle of a band.
func (p *plot) rectangle(l Layer, i int) {
	x1, x2, y1, y2 := 0.0, 1.0, p.top, p.top+p.Height
	if len(l.X) > 0 {
		x1, x2 = inside(p.startOf(l, i)), inside(p.x.share(at(l.X2, i)))
	}
	switch {
	case l.Place == Above:
		y1, y2 = p.top-marginTop, p.top-1
	case len(l.Y)+len(l.Y2) == 0:
	case p.y.Kind == Rows:
		half := p.Height / float64(p.y.n) / 2
		y1, y2 = p.down(at(l.Y, i))-half, p.down(at(l.Y2, i))+half
		if len(l.Y2) == 0 {
			y2 = y1 + 2*half
		}
	default:
		low, high := at(l.Y, i), at(l.Y2, i)
		if len(l.Y) == 0 {
			low = 0
		}
		y1, y2 = p.top+p.Height*(1-inside(p.y.share(high))), p.top+p.Height*(1-inside(p.y.share(low)))
	}
	if p.cells() && len(l.X) > 0 {
		half := 1 / float64(p.x.n) / 2
		x1, x2 = x1-half, x2+half
	}
	p.rect(l.class(i), pct(x1), min(y1, y2), pct(x2-x1), math.Abs(y2-y1), l.tip(i))
}

func inside(share float64) float64 { return min(max(share, 0), 1) }

// bar draws a bar that lies in its row, or one of a histogram.
func (p *plot) bar(l Layer, i int) {
	if p.Y.Kind != Rows {
		// Neighbours end and begin at the same decimal: no seam is between them.
		edge := func(v float64) float64 { return math.Round(1e4*inside(p.x.share(v))) / 1e4 }
		left, right := edge(at(l.X, i)), edge(at(l.X2, i))
		zero, top := inside(p.y.share(0)), inside(p.y.share(at(l.Y, i)))
		p.rect(l.class(i)+" bin", pct(left), p.top+p.Height*(1-max(zero, top)), pct(right-left),
			p.Height*math.Abs(zero-top), l.tip(i))
		return
	}
	a, b := p.startOf(l, i), p.x.share(orZero(l.X2, i))
	if math.IsNaN(a+b) && !math.IsInf(a, 0) {
		return
	}
	thick := 16.0
	if p.Y.Dense {
		thick = max(p.denseRow()*0.62, 1.5)
	}
	y := p.down(at(l.Y, i))
	p.rect(l.class(i), pct(inside(b)), y-thick/2, pct(inside(a)-inside(b)), thick, l.tip(i))
	if !p.whiskers {
		p.arrow(a, y)
	}
}

func orZero(column Values, i int) float64 {
	if len(column) == 0 {
		return 0
	}
	return at(column, i)
}

// arrow says that something goes on beyond the axis.
func (p *plot) arrow(share, y float64) {
	switch {
	case math.IsNaN(share) || onAxis(share):
	case share < 0:
		p.text("arrow", start, px(-1), y+4.5, "◂")
	default:
		p.text("arrow", end, pct(1), y+4.5, "▸")
	}
}

// pile is where points are stacked: a value of x, above or below 0.
type pile struct {
	x  float64
	up bool
}

// mostPiled is how many points of a layer are drawn in one pile: more would
// only cover each other. The tip has the number.
const mostPiled = 25

// point draws one point.
func (p *plot) point(l Layer, i int) {
	x, y := p.startOf(l, i), at(l.Y, i)
	down := p.down(y)
	if l.Stack && p.y.Kind != Rows {
		if down = p.piled(at(l.X, i), y); math.IsNaN(down) {
			return
		}
	} else if !onAxis(p.y.share(y)) {
		return
	}
	if !onAxis(x) {
		return
	}
	if p.boxes != nil {
		// Beside each other, not at random: points of near values stay apart.
		down += 3.5 * float64(i%5-2)
	}
	p.mark(l.role(i), l.class(i), pct(x), down, p.radius(l), l.tip(i))
}

// bare points have nothing of their own but their place.
func (l Layer) bare() bool {
	return !l.Stack && len(l.Roles)+len(l.Tips)+len(l.Text)+len(l.Hollow) == 0
}

// fewestOfCrowd is how many points are drawn without their shapes, which could
// not be told apart.
const fewestOfCrowd = 300

// crowd reports whether the bare points of a plane are that many.
func (c Chart) crowd() bool {
	n := 0
	for _, l := range c.Layers {
		if l.Mark == Point && l.bare() {
			n += l.size()
		}
	}
	return n >= fewestOfCrowd && c.Y.Kind != Rows
}

// cloud draws all points of a layer as one path: a tenth of the size of single
// marks.
func (p *plot) cloud(l Layer) {
	var b strings.Builder
	for i := range l.size() {
		if x, y := p.startOf(l, i), p.y.share(at(l.Y, i)); onAxis(x) && onAxis(y) {
			fmt.Fprintf(&b, "M%s %sh0", decimal(grid*x), decimal(math.Round(grid*(1-y))))
		}
	}
	if b.Len() > 0 {
		p.nested(px(0), p.top, pct(1), p.Height, grid, grid, "", `<path class="`+class("cloud",
			l.role(0))+`" d="`+b.String()+`"/>`)
	}
}

// radius of a point in pixels: smaller where there are many.
func (p *plot) radius(l Layer) float64 {
	switch n := l.size(); {
	case p.Y.Dense:
		return min(max(p.denseRow()*0.3, 1.2), 3.5)
	case p.single():
		return 2.6
	case l.Stack:
		return 3.8
	case n <= 24:
		return 4.5
	case n <= 60:
		return 3.2
	}
	return 2.2
}

// piled is where the next point of a pile stands, in pixels; NaN where the
// pile has no more room for points of its layer.
func (p *plot) piled(x, y float64) float64 {
	if p.piles == nil {
		p.piles, p.heights = make(map[pile]int), make(map[pile]int)
		for _, other := range p.Layers {
			counts := make(map[pile]int)
			for i := range other.size() {
				if other.Stack && other.Mark == Point {
					counts[pile{at(other.X, i), at(other.Y, i) > 0}]++
				}
			}
			for at, n := range counts {
				p.heights[at] += min(n, mostPiled)
			}
		}
	}
	here := pile{x, y > 0}
	lane := math.Abs(p.down(y) - p.down(0))
	step := math.Min(11, (lane-8)/math.Max(float64(p.heights[here]), 1))
	if k := p.piles[here]; p.drawn[here] < mostPiled {
		p.piles[here]++
		p.drawn[here]++
		return p.down(0) - math.Copysign(8+step*float64(k), y)
	}
	return math.NaN()
}
