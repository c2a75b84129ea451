package chart

import (
	"cmp"
	"math"
	"slices"
)

// rule draws a line through the whole plot, or a stretch.
func (p *plot) rule(l Layer, i int) {
	x, y := p.startOf(l, i), p.down(at(l.Y, i))
	switch {
	case len(l.X2) > 0:
		p.stretch(l, i, x, p.x.share(at(l.X2, i)), y)
	case len(l.Y2) > 0:
		to := p.top + p.Height*(1-inside(p.y.share(at(l.Y2, i))))
		p.line("stem "+l.class(i), pct(x), y, pct(x), to)
	case len(l.Y) == 0:
		if onAxis(x) {
			p.line(l.class(i), pct(x), p.top-p.overhang(), pct(x), p.top+p.Height)
		}
	case p.shown(l, i):
		p.line(l.class(i), px(0), y, pct(1), y)
		p.nameRule(l, i, y)
	}
}

// overhang is how far a vertical rule reaches above its plot.
func (p *plot) overhang() float64 { return math.Min(p.top, 6) }

// stretch draws a line from one x to another. One that is an interval has ends,
// and is set apart from the bar behind it.
func (p *plot) stretch(l Layer, i int, a, b, y float64) {
	from, to := pct(inside(a)), pct(inside(b))
	if !p.shown(l, i) || math.IsNaN(a+b) {
		return
	}
	if l.role(i) != Interval {
		p.line("stretch "+l.class(i), from, y, to, y)
		return
	}
	p.line("halo", from, y, to, y)
	p.line("whisker", from, y, to, y)
	for _, share := range []float64{a, b} {
		if !onAxis(share) {
			p.arrow(share, y)
			continue
		}
		p.line("whisker", pct(share), y-5, pct(share), y+5)
	}
}

// label draws a text at the left of a point, or in the middle of its row.
func (p *plot) label(l Layer, i int) {
	s, _ := pick(l.Text, i)
	x, y := p.startOf(l, i), p.down(at(l.Y, i))
	if len(l.X) == 0 {
		x = 0.5
	}
	switch style := "ink " + l.class(i); {
	case !onAxis(x) || !p.shown(l, i):
	case p.Y.Kind == Rows:
		p.text(style, middle, pct(x), y+4.5, s)
	default:
		p.text(style, end, pct(x-0.015), y+4, s)
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
	if l.Place == Below || y-p.top < 14 || p.crowded(y-17, y-1) && !p.crowded(y+1, y+17) {
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
	a, x := end, pct(1)
	if side == 0 {
		a, x = start, px(2)
	}
	p.text("ink "+class("label", l.role(i)), a, x, baseline, s)
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

// Lanes above a plot in pixels, and how many there are at most: names beyond are
// left out.
const (
	laneHeight = 17
	mostLanes  = 5
)

// ruleNames places the texts of vertical rules above the plot, each within a
// narrow plot and none over another: the outer ones away from each other, and
// in a higher lane if there is no room.
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
	return slices.DeleteFunc(out, func(n ruleName) bool { return n.lane >= mostLanes })
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

// drawNames writes the texts of vertical rules, and leads the rules to them.
func (p *plot) drawNames(names []ruleName) {
	for _, n := range names {
		y := p.top - 5 - laneHeight*float64(n.lane)
		x, from := pct(n.share), y-8
		if n.at == middle { // the rule would stand behind its text
			from = y + 3
		}
		if from < p.top-p.overhang() {
			p.line(class("rule", n.role), x, from, x, p.top-p.overhang())
		}
		switch n.at {
		case start:
			x = pct(n.share + 0.006)
		case end:
			x = pct(n.share - 0.006)
		case middle:
			// the text stands on the rule
		}
		p.text("ink "+class("label", n.role), n.at, x, y, n.text)
	}
}
