package chart

import (
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
		s.Five[2] = stats.Average(values)
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

// summarize computes the boxes of all rows, and draws them relative to their medians
// where that was asked for and these are far apart.
func (p *plot) summarize() {
	gathered, means := make(map[float64][]float64), false
	add := func(row float64, s Summary) {
		if b, ok := s.box(p.X.Unit); ok && finite(row) {
			p.boxes[row] = b
			means = means || s.Style == Percentiles
		}
	}
	for _, l := range p.Layers {
		if l.Mark != Box || p.Y.Kind != Rows {
			continue
		}
		if p.boxes == nil {
			p.boxes = make(map[float64]box)
		}
		for i, s := range l.Boxes {
			add(at(l.Y, i), s)
		}
		for i, v := range l.X {
			if row := at(l.Y, i); finite(v, row) && l.Boxes == nil {
				gathered[row] = append(gathered[row], v)
			}
		}
	}
	for row, values := range gathered {
		add(row, Summarize(values, Tukey))
	}
	least, most := math.Inf(1), 0.0
	for _, b := range p.boxes {
		least, most = min(least, b.mid), max(most, b.mid)
	}
	p.X.Relative = p.X.Relative && least > 0 && most >= farTimes*least
	if !p.X.Relative {
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
	for row, b := range p.boxes {
		for _, v := range []*float64{&b.low, &b.q1, &b.q3, &b.high} {
			*v = 100 * (*v/b.mid - 1)
		}
		b.mid = 0
		p.boxes[row] = b
	}
	lo, hi := -float64(leastReach), float64(leastReach)
	center := map[bool]string{true: "mean", false: "median"}[means]
	p.X = Axis{Label: "difference from each row’s " + center, Unit: "%", Signed: true, Lo: &lo, Hi: &hi, TickCount: 4, Relative: true}
}

// boxHalf is half of the height of a box, in pixels.
const boxHalf = 11

// drawBoxes draws the boxes of the rows that a layer has; of few values the median
// alone.
func (p *plot) drawBoxes(l Layer) {
	seen := make(map[float64]bool)
	for i := range l.size() {
		row := at(l.Y, i)
		b, ok := p.boxes[row]
		if !ok || seen[row] || !onAxis(p.y.share(row)) {
			continue
		}
		seen[row] = true
		y := p.down(row)
		level := func(from, to float64) { p.line("whisker", p.across(from), y, p.across(to), y) }
		upright := func(class string, at, half float64) {
			p.line(class, p.across(at), y-half, p.across(at), y+half)
		}
		if b.n >= BoxFrom {
			level(b.low, b.q1)
			level(b.q3, b.high)
			upright("whisker", b.low, 6)
			upright("whisker", b.high, 6)
			p.rect("m-box "+roleClass(l.role(i)), p.across(b.q1), y-boxHalf, pct(p.x.share(b.q3)-p.x.share(b.q1)),
				2*boxHalf, b.tip)
		}
		upright("midline", b.mid, boxHalf+3)
	}
}
