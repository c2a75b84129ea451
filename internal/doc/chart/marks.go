package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
	"github.com/scalebench/scalebench/internal/unit"
)

// layer draws the marks of a layer over those before it.
func (p *plot) layer(l Layer) {
	switch l.Mark {
	case Line, Step, Band:
		p.area(l)
		return
	}
	p.flush()
	p.drawn = make(map[pile]int)
	draw := map[Mark]func(Layer, int){Point: p.point, Bar: p.bar, Rule: p.rule, Label: p.label}[l.Mark]
	if l.Mark == Box {
		for row, b := range p.boxes {
			p.box(l, row, b)
		}
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
		x1, x2 = inside(p.x.share(at(l.X, i))), inside(p.x.share(at(l.X2, i)))
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
	p.rect(l.class(i), pct(x1), px(min(y1, y2)), pct(x2-x1), px(math.Abs(y2-y1)), l.tip(i))
}

func inside(share float64) float64 { return min(max(share, 0), 1) }

// bar draws a bar that lies in its row, or stands at its x.
func (p *plot) bar(l Layer, i int) {
	if !p.lying() {
		x, wide := p.x.share(at(l.X, i)), p.barWidth(l)
		from, to := inside(p.y.share(at(l.Y, i))), inside(p.y.share(orZero(l.Y2, i)))
		p.rect(l.class(i), pct(x-wide/2), px(p.top+p.Height*(1-max(from, to))), pct(wide), px(p.Height*math.Abs(from-to)), l.tip(i))
		return
	}
	a, b := p.x.share(at(l.X, i)), p.x.share(orZero(l.X2, i))
	if math.IsNaN(a+b) && !math.IsInf(a, 0) {
		return
	}
	thick := 16.0
	if p.Y.Dense {
		thick = max(p.denseRow()*0.62, 1.5)
	}
	y := p.down(at(l.Y, i))
	p.rect(l.class(i), pct(inside(b)), px(y-thick/2), pct(inside(a)-inside(b)), px(thick), l.tip(i))
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
		p.text("arrow", start, px(-1), px(y+4.5), "◂")
	default:
		p.text("arrow", end, pct(1), px(y+4.5), "▸")
	}
}

// barWidth is that of a standing bar, as a share: most of what lies between two
// of them.
func (p *plot) barWidth(l Layer) float64 {
	if p.x.Kind == Rows {
		return 0.6 / float64(p.x.n)
	}
	xs := slices.Sorted(slices.Values(l.X))
	least := 0.1
	for i := 1; i < len(xs); i++ {
		if gap := p.x.share(xs[i]) - p.x.share(xs[i-1]); gap > 0 {
			least = min(least, gap)
		}
	}
	return 0.8 * least
}

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
	x, y := p.x.share(at(l.X, i)), at(l.Y, i)
	down := p.down(y)
	radius := p.radius(l)
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
	style := l.class(i)
	if hollow, _ := pick(l.Hollow, i); hollow {
		style += " hollow"
	}
	p.mark(l.role(i), style, pct(x), px(down), radius, l.tip(i))
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

// rule draws a line through the whole plot, or a stretch.
func (p *plot) rule(l Layer, i int) {
	x, y := p.x.share(at(l.X, i)), p.down(at(l.Y, i))
	switch {
	case len(l.X2) > 0:
		p.stretch(l, i, x, p.x.share(at(l.X2, i)), y)
	case len(l.Y2) > 0:
		to := p.top + p.Height*(1-inside(p.y.share(at(l.Y2, i))))
		p.line("stem "+l.class(i), pct(x), px(y), pct(x), px(to))
	case len(l.Y) == 0:
		if onAxis(x) {
			p.line(l.class(i), pct(x), px(p.top-p.overhang()), pct(x), px(p.top+p.Height))
		}
	case onAxis(p.y.share(at(l.Y, i))):
		p.line(l.class(i), px(0), px(y), pct(1), px(y))
		p.nameRule(l, i, y)
	}
}

// overhang is how far a vertical rule reaches above its plot.
func (p *plot) overhang() float64 { return math.Min(p.top, 6) }

// stretch draws a line from one x to another. One that is an interval has ends,
// and is set apart from the bar behind it.
func (p *plot) stretch(l Layer, i int, a, b, y float64) {
	from, to := pct(inside(a)), pct(inside(b))
	if !onAxis(p.y.share(at(l.Y, i))) || math.IsNaN(a+b) {
		return
	}
	if l.role(i) != Interval {
		p.line("stretch "+l.class(i), from, px(y), to, px(y))
		return
	}
	p.line("halo", from, px(y), to, px(y))
	p.line("whisker", from, px(y), to, px(y))
	for _, share := range []float64{a, b} {
		if !onAxis(share) {
			p.arrow(share, y)
			continue
		}
		p.line("whisker", pct(share), px(y-5), pct(share), px(y+5))
	}
}

// label draws a text at a point, or in the middle of its row.
func (p *plot) label(l Layer, i int) {
	s, _ := pick(l.Text, i)
	x, y := p.x.share(at(l.X, i)), p.down(at(l.Y, i))
	if len(l.X) == 0 {
		x = 0.5
	}
	if !onAxis(x) || !onAxis(p.y.share(at(l.Y, i))) {
		return
	}
	style := "ink " + l.class(i)
	switch {
	case l.Place == Left:
		p.text(style, end, pct(x-0.015), px(y+4), s)
	case l.Place == Right:
		p.text(style, start, pct(x+0.015), px(y+4), s)
	case p.Y.Kind == Rows:
		p.text(style, middle, pct(x), px(y+4.5), s)
	case l.Place == Below || y-p.top < 12 && l.Place == Auto:
		p.text(style, roomy(x, s), pct(x), px(y+17), s)
	default:
		p.text(style, roomy(x, s), pct(x), px(y-8), s)
	}
}

// Widths in pixels: of a letter, rather more than it takes, and of the plot on
// a narrow page.
const (
	letterWidth = 7
	narrowPlot  = 340
)

// room is the share of a narrow plot that a text takes.
func room(s string) float64 { return letterWidth * float64(len([]rune(s))) / narrowPlot }

// roomy is the anchor with which a text at this place stays within a narrow
// plot.
func roomy(share float64, s string) anchor {
	switch half := room(s) / 2; {
	case half <= min(share, 1-share):
		return middle
	case share < 0.5:
		return start
	}
	return end
}

// nameRule writes the text of a horizontal rule at its end: above it, except
// where there is another rule, or the end of the plot, and at the other end
// where another name is already.
func (p *plot) nameRule(l Layer, i int, y float64) {
	s, _ := pick(l.Text, i)
	if s == "" {
		return
	}
	baseline := y - 5
	if l.Place == Below || l.Place != Above && (y-p.top < 14 || p.crowded(y-17, y-1) && !p.crowded(y+1, y+17)) {
		baseline = y + 14
	}
	side := 1
	if l.Place == Left {
		side = 0
	}
	taken := func(side int) bool {
		return slices.ContainsFunc(p.ends[side], func(other float64) bool { return math.Abs(other-baseline) < 14 })
	}
	if taken(side) {
		if side = 1 - side; taken(side) {
			return
		}
	}
	p.ends[side] = append(p.ends[side], baseline)
	style := "ink " + class("label", l.role(i))
	if side == 0 {
		p.text(style, start, px(2), px(baseline), s)
	} else {
		p.text(style, end, pct(1), px(baseline), s)
	}
}

// crowded reports whether a horizontal rule lies between two heights.
func (p *plot) crowded(from, to float64) bool {
	for _, l := range p.Layers {
		if l.Mark == Rule && len(l.X) == 0 {
			for _, v := range l.Y {
				if y := p.down(v); from < y && y < to {
					return true
				}
			}
		}
	}
	return false
}

// ruleName is the text of a vertical rule, above the plot.
type ruleName struct {
	share float64
	text  string
	role  Role
	lane  int // from the plot upwards
	at    anchor
}

const laneHeight = 17

// ruleNames places the texts of vertical rules above the plot, each within a
// narrow plot and none over another: the outer ones away from each other, and
// in a higher lane where there is no room.
func (p *plot) ruleNames() []ruleName {
	var out []ruleName
	for _, l := range p.Layers {
		if l.Mark != Rule || len(l.Y) > 0 {
			continue
		}
		for i := range l.X {
			s, _ := pick(l.Text, i)
			if at := p.x.share(l.X[i]); s != "" && onAxis(at) {
				out = append(out, ruleName{share: at, text: s, role: l.role(i)})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b ruleName) int { return cmp.Compare(a.share, b.share) })
	var placed []ruleName
	for k := range out { // from the outside inwards
		i := k / 2
		if k%2 == 1 {
			i = len(out) - 1 - k/2
		}
		n := &out[i]
		prefer := [...]anchor{end, start, middle}
		switch {
		case 2*i+1 == len(out):
			prefer = [...]anchor{middle, end, start}
		case 2*i+1 > len(out):
			prefer = [...]anchor{start, end, middle}
		}
		for n.at = ""; n.at == ""; n.lane++ {
			for _, a := range prefer {
				if n.at == "" && n.fits(a, placed) {
					n.at = a
				}
			}
			if n.lane > len(out) {
				n.at = roomy(n.share, n.text)
			}
		}
		n.lane--
		placed = append(placed, *n)
	}
	return out
}

// span is what a text takes of a narrow plot.
func (n ruleName) span(a anchor) (from, to float64) {
	wide := room(n.text)
	from = n.share - map[anchor]float64{start: -0.006, middle: wide / 2, end: wide + 0.006}[a]
	return from, from + wide
}

func (n ruleName) fits(a anchor, placed []ruleName) bool {
	from, to := n.span(a)
	for _, other := range placed {
		if left, right := other.span(other.at); other.lane == n.lane && from < right+0.01 && left < to+0.01 {
			return false
		}
	}
	return from > -0.01 && to < 1.01
}

func laneCount(names []ruleName) int {
	lanes := 0
	for _, n := range names {
		lanes = max(lanes, n.lane+1)
	}
	return lanes
}

// drawNames writes the texts of vertical rules, and leads the rules to them.
func (p *plot) drawNames(names []ruleName) {
	for _, n := range names {
		y := p.top - 5 - laneHeight*float64(n.lane)
		x := pct(n.share)
		p.line(class("rule", n.role), x, px(y-8), x, px(p.top-p.overhang()))
		switch n.at {
		case start:
			x = pct(n.share + 0.006)
		case end:
			x = pct(n.share - 0.006)
		case middle:
			// the text stands on the rule
		}
		p.text("ink "+class("label", n.role), n.at, x, px(y), n.text)
	}
}

// MostLines is how many series get a line, and a name in the legend, each.
const MostLines = 8

// Steps are the lines of several nodes over common bins: edges has one more
// than every line. Up to eight have a line and a name in the legend each; of
// more the median is drawn, and a band from the least to the greatest.
func Steps(edges []float64, names []string, lines [][]float64) []Layer {
	if len(edges) < 2 {
		return nil
	}
	from, to := edges[:len(edges)-1], edges[1:]
	if len(lines) <= MostLines {
		var out []Layer
		for i, line := range lines {
			name, _ := pick(names, i)
			out = append(out, Layer{Mark: Step, Role: Series(i), Name: name, X: from, X2: to, Y: line})
		}
		return out
	}
	var low, mid, high Values
	for i := range from {
		var values []float64
		for _, line := range lines {
			if v := at(line, i); finite(v) {
				values = append(values, v)
			}
		}
		if len(values) == 0 {
			values = []float64{math.NaN()}
		}
		slices.Sort(values)
		n := len(values)
		low, high = append(low, values[0]), append(high, values[n-1])
		mid = append(mid, (values[(n-1)/2]+values[n/2])/2)
	}
	return []Layer{
		{Mark: Band, Role: Parallel, Name: fmt.Sprintf("from the least to the greatest of %d nodes", len(lines)), X: from, X2: to, Y: low, Y2: high},
		{Mark: Step, Name: "median of the nodes", X: from, X2: to, Y: mid},
	}
}
