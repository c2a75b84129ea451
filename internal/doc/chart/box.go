package chart

import (
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// Summary is what a box plot shows of any number of values: see [Summarize].
type Summary struct {
	// Five are the end of the lower whisker, the first quartile, the centre, the
	// third quartile, and the end of the upper whisker.
	Five  Values   `json:"five"`
	N     int      `json:"n"`               // how many values there were
	Style BoxStyle `json:"style,omitempty"` // empty: Tukey
}

// BoxStyle is what the parts of a box stand for.
type BoxStyle string

// Tukey: the median, and whiskers to the farthest values no farther than 1.5
// times the box from it. Percentiles: the mean, and whiskers to the first and
// the 99th percentile, as in the paper on service levels (AISLE). The box goes
// from the first to the third quartile in both.
const (
	Tukey       BoxStyle = "tukey"
	Percentiles BoxStyle = "percentiles"
)

// Summarize computes a box of values, with quantiles by definition 7 of Hyndman
// and Fan. Values that are not finite are left out; of none, all is missing.
// Values that ascend are not copied to be sorted.
func Summarize(values []float64, style BoxStyle) Summary {
	if slices.ContainsFunc(values, func(v float64) bool { return !finite(v) }) {
		values = slices.DeleteFunc(slices.Clone(values), func(v float64) bool { return !finite(v) })
	}
	if !slices.IsSorted(values) {
		values = slices.Sorted(slices.Values(values))
	}
	s := Summary{N: len(values), Style: style, Five: make(Values, 5)}
	for i, p := range [...]float64{.01, .25, .5, .75, .99} {
		v, err := stats.Quantile(values, p)
		if err != nil { // there are no values, or their sum is too large
			v = math.NaN()
		}
		s.Five[i] = v
	}
	if style == Percentiles {
		sum := 0.0
		for _, v := range values {
			sum += v
		}
		s.Five[2] = sum / float64(len(values))
		return s
	}
	q1, q3 := s.Five[1], s.Five[3]
	s.Five[0], s.Five[4] = q1, q3
	for _, v := range values { // interpolated quartiles may lie beyond all values
		if v >= q1-1.5*(q3-q1) {
			s.Five[0] = min(s.Five[0], v)
		}
		if v <= q3+1.5*(q3-q1) {
			s.Five[4] = max(s.Five[4], v)
		}
	}
	return s
}

// BoxFrom is how many values make a box: quartiles of fewer are mere
// interpolation between the points, which are drawn anyway.
const BoxFrom = 5

// box is a box about to be drawn.
type box struct {
	low, q1, mid, q3, high float64
	n                      int
	tip                    string
}

// box has its words in this unit; ok is false where a number is missing.
func (s Summary) box(of string) (b box, ok bool) {
	if len(s.Five) != 5 || !finite(s.Five...) || !slices.IsSorted(s.Five[:2]) || !slices.IsSorted(s.Five[3:]) || s.Five[1] > s.Five[3] {
		return b, false
	}
	b = box{low: s.Five[0], q1: s.Five[1], mid: s.Five[2], q3: s.Five[3], high: s.Five[4], n: s.N}
	b.tip = "half of the values: " + num.Human(b.q1, of) + " to " + num.Human(b.q3, of)
	if s.Style == Percentiles {
		b.tip = "mean " + num.Human(b.mid, of) + "; " + b.tip + "; 98 of 100: " + num.Human(b.low, of) + " to " + num.Human(b.high, of)
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

// standing reports whether boxes stand at their X; otherwise they lie in rows.
func (p *plot) standing() bool { return p.Y.Kind != Rows }

// place is where the i-th value or box of a layer belongs to, and values are what
// is summarized there.
func (p *plot) place(l Layer) (place, values Values) {
	if p.standing() {
		return l.X, l.Y
	}
	return l.Y, l.X
}

// summarize computes the boxes of all places, and draws those of rows relative to
// their medians where that was asked for and these are far apart.
func (p *plot) summarize() {
	gathered, means := make(map[float64][]float64), false
	add := func(place float64, s Summary) {
		of := p.X.Unit
		if p.standing() {
			of = p.Y.Unit
		}
		if b, ok := s.box(of); ok && finite(place) {
			p.boxes[place] = b
			means = means || s.Style == Percentiles
		}
	}
	for _, l := range p.Layers {
		if l.Mark != Box {
			continue
		}
		if p.boxes == nil {
			p.boxes = make(map[float64]box)
		}
		places, values := p.place(l)
		for i, s := range l.Boxes {
			add(at(places, i), s)
		}
		for i := range l.size() {
			if v, place := at(values, i), at(places, i); finite(v, place) && l.Boxes == nil {
				gathered[place] = append(gathered[place], v)
			}
		}
	}
	for place, values := range gathered {
		add(place, Summarize(values, Tukey))
	}
	least, most := math.Inf(1), 0.0
	for _, b := range p.boxes {
		least, most = min(least, b.mid), max(most, b.mid)
	}
	apart := p.X.Relative && !p.standing() && least > 0 && most >= farTimes*least
	if p.X.Relative = apart; !apart {
		return
	}
	for k, l := range p.Layers {
		p.Layers[k].X, p.Layers[k].Boxes = slices.Clone(l.X), nil // they are in p.boxes
		for i, x := range l.X {
			if b, ok := p.boxes[at(l.Y, i)]; ok {
				p.Layers[k].X[i] = 100 * (x/b.mid - 1)
			}
		}
	}
	for place, b := range p.boxes {
		for _, v := range []*float64{&b.low, &b.q1, &b.q3, &b.high} {
			*v = 100 * (*v/b.mid - 1)
		}
		b.mid = 0
		p.boxes[place] = b
	}
	lo, hi := -float64(leastReach), float64(leastReach)
	center := map[bool]string{true: "mean", false: "median"}[means]
	p.X = Axis{Label: "difference from each row’s " + center, Unit: "%", Signed: true, Lo: &lo, Hi: &hi, TickCount: 4, Relative: true}
}

// Half of the height of a box, in pixels.
const boxHalf = 11

// drawBoxes draws the boxes of the places that a layer has.
func (p *plot) drawBoxes(l Layer) {
	places, _ := p.place(l)
	seen := make(map[float64]bool)
	for i := range l.size() {
		place := at(places, i)
		if b, ok := p.boxes[place]; ok && !seen[place] {
			seen[place] = true
			p.box(b, place, class("", l.role(i))[len("m- "):])
		}
	}
}

// box draws a box, or of few values the median alone.
func (p *plot) box(b box, place float64, role string) {
	if p.standing() {
		p.standingBox(b, place, role)
		return
	}
	y := p.down(place)
	if !onAxis(p.y.share(place)) {
		return
	}
	half := float64(boxHalf)
	if p.Y.Dense {
		half = min(half, 0.4*p.denseRow())
	}
	if b.n >= BoxFrom {
		for _, v := range [][2]float64{{b.low, b.q1}, {b.q3, b.high}} {
			p.line("whisker", p.across(v[0]), px(y), p.across(v[1]), px(y))
		}
		for _, v := range []float64{b.low, b.high} {
			p.line("whisker", p.across(v), px(y-half*6/boxHalf), p.across(v), px(y+half*6/boxHalf))
		}
		p.rect("m-box "+role, p.across(b.q1), px(y-half), pct(p.x.share(b.q3)-p.x.share(b.q1)), px(2*half), b.tip)
	}
	p.line("midline", p.across(b.mid), px(y-half-3), p.across(b.mid), px(y+half+3))
}

// standingBox is the same for a box that stands at its x.
func (p *plot) standingBox(b box, place float64, role string) {
	x, half := p.x.share(place), p.boxWidth()/2
	if !onAxis(x) || !onAxis(p.y.share(b.q1)) || !onAxis(p.y.share(b.q3)) {
		return
	}
	if b.n >= BoxFrom {
		for _, v := range [][2]float64{{b.low, b.q1}, {b.q3, b.high}} {
			p.line("whisker", pct(x), px(p.down(v[0])), pct(x), px(p.down(v[1])))
		}
		for _, v := range []float64{b.low, b.high} {
			p.line("whisker", pct(x-half/2), px(p.down(v)), pct(x+half/2), px(p.down(v)))
		}
		p.rect("m-box "+role, pct(x-half), px(p.down(b.q3)), pct(2*half), px(p.down(b.q1)-p.down(b.q3)), b.tip)
	}
	p.line("midline", pct(x-half), px(p.down(b.mid)), pct(x+half), px(p.down(b.mid)))
}

// boxWidth is that of standing boxes, as a share.
func (p *plot) boxWidth() float64 {
	return p.barWidth(Layer{X: slices.Collect(maps.Keys(p.boxes))})
}
