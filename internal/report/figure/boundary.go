package figure

import (
	"html/template"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
	"github.com/scalebench/scalebench/internal/unit"
)

// Boundary shows the loads near the largest that a server takes: how often
// each was tried, how often it passed, and what follows. Loads are in
// operations per second.
type Boundary struct {
	Title string // for the reader of the screen
	Loads []BoundaryLoad
	// Passed and Failed are the two sides of what was found, Estimate the load
	// at the boundary with its interval; nil where there is none.
	Passed, Failed, Estimate *float64
	CI                       *[2]float64
}

// BoundaryLoad is one load with its windows.
type BoundaryLoad struct {
	Load                     float64
	Passed, Missed, Unusable int
}

// Places in pixels: rows for the names of the lines, and two lanes of marks
// with the axis between them.
const (
	boundaryNames = 38
	boundaryLane  = 62
	boundaryAxis  = boundaryNames + boundaryLane
	boundaryEnd   = boundaryAxis + boundaryLane
	markStep      = 11
)

// Draw draws the boundary and returns the unit of its axis, with its prefix; ok
// is false without any load. [Boundary.Shows] tells which loads are in it.
func (b Boundary) Draw() (p Plot, unitOf string, ok bool) {
	x, ok := b.axis()
	if !ok {
		return Plot{}, "", false
	}
	d := svg.New("area", b.Title, boundaryEnd+marginBottom)
	s := num.For("op/s", x.Hi)
	for _, v := range x.Ticks() {
		d.Line("grid", x.Pct(v), svg.Px(boundaryNames), x.Pct(v), svg.Px(boundaryEnd))
		d.Text("tick", edgeAnchor(x.Share(v)), x.Pct(v), svg.Px(boundaryEnd+16), unit.Digits(v/s.Factor, 4))
	}
	b.drawInterval(d, x)
	d.Line("zero", svg.Px(0), svg.Px(boundaryAxis), svg.Pct(100), svg.Px(boundaryAxis))
	b.drawSides(d, x)
	for _, l := range b.Loads {
		if x.Lo <= l.Load && l.Load <= x.Hi {
			l.draw(d, x)
		}
	}
	return Plot{Y: boundaryLabels(), Area: d.HTML()}, s.Unit, true
}

// Shows reports whether a load is within the drawing.
func (b Boundary) Shows(load float64) bool {
	x, ok := b.axis()
	return ok && x.Lo <= load && load <= x.Hi
}

// leastRoom is the least factor that the axis reaches beyond what was found,
// on both sides.
const leastRoom = 1.15

// mostRoom is the largest such factor.
const mostRoom = 20

func positive(v *float64) bool { return v != nil && *v > 0 && num.Finite(*v) }

// axis covers what was found with room on both sides, or everything that was
// tried where the boundary has no two sides yet. A ramp goes over powers of
// ten, and the boundary is known to a few percent: on one axis with both,
// nothing of it could be seen.
func (b Boundary) axis() (x svg.LogAxis, ok bool) {
	lo, hi := math.Inf(1), 0.0
	add := func(v *float64) {
		if positive(v) {
			lo, hi = min(lo, *v), max(hi, *v)
		}
	}
	add(b.Passed)
	add(b.Failed)
	add(b.Estimate)
	if b.CI != nil {
		add(&b.CI[0])
		add(&b.CI[1])
	}
	if lo == hi || hi == 0 {
		for _, l := range b.Loads {
			add(&l.Load)
		}
	}
	room := leastRoom
	if positive(b.Passed) && positive(b.Failed) {
		// The power leaves five twelfths of the width beside either side:
		// what their names take in a narrow plot.
		room = clamp(math.Pow(hi/lo, 2.5), leastRoom, mostRoom)
	}
	return svg.LogAxis{Lo: lo / room, Hi: hi * room}, hi > 0
}

// edgeAnchor keeps labels at the ends of an axis inside of the drawing.
func edgeAnchor(share float64) svg.Anchor {
	switch {
	case share < 0.03:
		return svg.Start
	case share > 0.97:
		return svg.End
	}
	return svg.Middle
}

// drawInterval shades the interval of the estimate and draws the estimate.
func (b Boundary) drawInterval(d *svg.Drawing, x svg.LogAxis) {
	if b.CI != nil && num.Finite(b.CI[0]) && num.Finite(b.CI[1]) {
		lo, hi := clamp(b.CI[0], x.Lo, x.Hi), clamp(b.CI[1], x.Lo, x.Hi)
		d.Rect("ciband", x.Pct(lo), svg.Px(boundaryNames), svg.Pct(100*(x.Share(hi)-x.Share(lo))), svg.Px(2*boundaryLane),
			"95 % interval: "+rateText(b.CI[0])+" to "+rateText(b.CI[1]))
	}
	if !positive(b.Estimate) {
		return
	}
	at := x.Pct(*b.Estimate)
	d.Line("estimate", at, svg.Px(boundaryNames-20), at, svg.Px(boundaryEnd))
	text := "estimate " + rateText(*b.Estimate)
	d.Text("limit", roomyAnchor(x.Share(*b.Estimate), text), at, svg.Px(12), text)
}

// drawSides draws the load passed and the one failed. They are close together:
// their names stand on the sides that are away from each other, or, where one
// has no room there, in different rows.
func (b Boundary) drawSides(d *svg.Drawing, x svg.LogAxis) {
	row := float64(boundaryNames - 9)
	if positive(b.Passed) {
		anchor, away := svg.End, -0.6
		if x.Share(*b.Passed) < narrowSide {
			anchor, away = svg.Start, 0.6
		}
		drawSide(d, x, *b.Passed, "w-passed", "passed", anchor, away, row)
		if anchor == svg.Start {
			row = boundaryEnd - 5
		}
	}
	if positive(b.Failed) {
		anchor, away := svg.Start, 0.6
		if x.Share(*b.Failed) > 1-narrowSide {
			anchor, away = svg.End, -0.6
			if b.Passed != nil {
				row = boundaryEnd - 5
			}
		}
		drawSide(d, x, *b.Failed, "w-missed", "failed", anchor, away, row)
	}
}

// drawSide draws one side with its name so many percent away, in the row at
// this height.
func drawSide(d *svg.Drawing, x svg.LogAxis, v float64, class, name string, anchor svg.Anchor, away, row float64) {
	at := x.Pct(v)
	d.Line("side "+class, at, svg.Px(boundaryNames-14), at, svg.Px(boundaryEnd))
	d.Text("sidename "+class, anchor, svg.Pct(at.Value()+away), svg.Px(row), name+" "+rateText(v))
}

// narrowSide is the share of a narrow plot that the name of a side needs.
const narrowSide = 0.41

// roomyAnchor is the anchor with which a text at this place stays within a
// narrow plot.
func roomyAnchor(share float64, text string) svg.Anchor {
	half := letterWidth * float64(len([]rune(text))) / narrowPlot / 2
	switch {
	case half <= min(share, 1-share):
		return svg.Middle
	case share < 0.5:
		return svg.Start
	}
	return svg.End
}

// draw stacks the windows of a load: those that passed above the axis, the
// others below it.
func (l BoundaryLoad) draw(d *svg.Drawing, x svg.LogAxis) {
	tip := l.Words()
	stack := func(n, before, total int, class string, direction float64) {
		step := math.Min(markStep, (boundaryLane-8)/math.Max(float64(total), 1))
		for k := range n {
			y := boundaryAxis + direction*(8+step*float64(before+k))
			WindowMark(d, class, x.Pct(l.Load), svg.Px(y), tip)
		}
	}
	stack(min(l.Passed, mostMarks), 0, min(l.Passed, mostMarks), "passed", -1)
	missed, unusable := min(l.Missed, mostMarks), min(l.Unusable, mostMarks)
	stack(missed, 0, missed+unusable, "missed", 1)
	stack(unusable, missed, missed+unusable, "unusable", 1)
}

// mostMarks is how many windows of a kind are drawn at one load: more would
// only cover each other. The tip has the number.
const mostMarks = 25

// Words says how often a load was tried, and what came of it.
func (l BoundaryLoad) Words() string {
	text := rateText(l.Load) + ": "
	sep := ""
	for _, part := range []struct {
		n    int
		what string
	}{{l.Passed, "passed"}, {l.Missed, "missed"}, {l.Unusable, "said nothing about the target"}} {
		if part.n > 0 {
			text += sep + itoa(part.n) + " " + part.what
			sep = ", "
		}
	}
	return text
}

func rateText(v float64) string { return unit.Human(v, "op/s") }

// boundaryLabels name the lanes.
func boundaryLabels() template.HTML {
	d := svg.NewFixed("yaxis", "", yAxisWidth, boundaryEnd+marginBottom)
	d.Text("tick", svg.End, svg.Px(yAxisWidth-7), svg.Px(boundaryAxis-boundaryLane/2+4), "passed")
	d.Text("tick", svg.End, svg.Px(yAxisWidth-7), svg.Px(boundaryAxis+boundaryLane/2+4), "missed")
	return d.HTML()
}
