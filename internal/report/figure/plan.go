package figure

import (
	"html/template"
	"math"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/svg"
)

// Plan is what an application takes of each resource against the size of its
// fleet, as a share of the capacity (ScaleBench, section 5.4): demand lines
// t·d/C_n, which cross 1 where growth ends.
type Plan struct {
	Title  string // for the reader of the screen
	Nodes  int    // t, what the target takes
	Target string // what is wanted, "227 jobs/s"
	Lines  []PlanLine
}

// PlanLine is the demand on one resource.
type PlanLine struct {
	Name string
	// At is the size at which the demand reaches the capacity, C_n/d; Lo and Hi
	// its interval, equal to At where there is none.
	At, Lo, Hi float64
	// Limited: the capacity was seen not to grow any more. Otherwise it is a
	// lower bound, and the crossing is no end.
	Limited bool
	Words   string // for the legend: what the crossing means
}

const (
	planHeight = 260
	planTop    = 1.4 // of the capacity: what lies above is no longer a plan
	// planReach is how many times the wanted fleet the axis may reach: farther
	// crossings are told in the legend.
	planReach   = 4
	planSpace   = 22 // above the plot, for the label of the target
	planXLabel  = 42
	legendRow   = 20
	planOutside = 58 + 12 // width of the y axis, and a margin at the right
)

// Draw draws the plan as wide as its place, without a legend; ok is false
// without any line.
func (p Plan) Draw() (plot Plot, ok bool) {
	return p.draw(svg.New("area", p.Title, planSpace+planHeight+planXLabel), false)
}

// SVG is the drawing as a file of its own, of this width in pixels, with its
// legend and a style sheet.
func (p Plan) SVG(width float64, style string) (template.HTML, bool) {
	plot, ok := p.draw(svg.NewFixed("area", p.Title, width-planOutside, p.height()), true)
	if !ok {
		return "", false
	}
	size := `width="` + strconv.Itoa(int(width)) + `" height="` + strconv.Itoa(int(p.height())) + `"`
	// Both drawings were escaped when they were made; the style is a constant.
	return template.HTML(`<svg xmlns="http://www.w3.org/2000/svg" `+size+` viewBox="0 0 `+strconv.Itoa(int(width))+
		` `+strconv.Itoa(int(p.height()))+`"><style>`+style+`</style><rect class="ground" `+size+`/>`) +
		plot.Y + `<g transform="translate(58,0)">` + plot.Area + "</g></svg>\n", true
}

func (p Plan) height() float64 {
	return planSpace + planHeight + planXLabel + legendRow*float64(len(p.Lines)) + 8
}

func (p Plan) draw(d *svg.Drawing, legend bool) (Plot, bool) {
	if len(p.Lines) == 0 || p.Nodes < 1 {
		return Plot{}, false
	}
	x := svg.NewAxis(0, p.reach(), 5)
	y := svg.Axis{Lo: 0, Hi: planTop, Step: 0.2}
	for _, v := range y.Ticks() {
		class := "grid"
		if v == 0 {
			class = "zero"
		}
		at := y.Y(v, planSpace, planHeight)
		d.Line(class, svg.Px(0), at, svg.Pct(100), at)
	}
	d.Plane(planSpace, planHeight, p.curves(x, y))
	p.drawCapacity(d, y)
	p.drawTarget(d, x)
	p.drawCrossings(d, x, y)
	p.drawSizes(d, x)
	height := float64(planSpace + planHeight + planXLabel)
	if legend {
		p.drawLegend(d)
		height = p.height()
	}
	return Plot{Y: planLabels(y, height), Area: d.HTML()}, true
}

// reach is how far the axis of sizes goes.
func (p Plan) reach() float64 {
	last := 1.15 * float64(p.Nodes)
	for _, l := range p.Lines {
		if far := 1.15 * l.At; num.Finite(far) && far <= planReach*float64(p.Nodes) {
			last = max(last, far)
		}
	}
	return last
}

// curves are the demand lines, each in front of its interval.
func (p Plan) curves(x, y svg.Axis) []svg.Curve {
	point := func(n, share float64) svg.Point { return svg.Point{X: x.Share(n), Y: 1 - y.Share(share)} }
	end := func(at float64) (n, share float64) {
		n = math.Min(x.Hi, planTop*at)
		return n, n / at
	}
	var bands, lines []svg.Curve
	for i, l := range p.Lines {
		if !(l.At > 0) || math.IsInf(l.At, 0) {
			continue
		}
		if l.Lo > 0 && l.Hi > l.Lo && num.Finite(l.Hi) {
			a, b := point(end(l.Lo)), point(end(l.Hi))
			corner := svg.Point{X: max(a.X, b.X), Y: min(a.Y, b.Y)}
			bands = append(bands, svg.Curve{
				Class: "demandband n" + itoa(i%Palette), Points: []svg.Point{point(0, 0), a, corner, b}, Filled: true,
			})
		}
		lines = append(lines, svg.Curve{
			Class: "rate n" + itoa(i%Palette), Points: []svg.Point{point(0, 0), point(end(l.At))}, Tip: l.Name + ": " + l.Words,
		})
	}
	return append(bands, lines...)
}

func (p Plan) drawCapacity(d *svg.Drawing, y svg.Axis) {
	at := y.Y(1, planSpace, planHeight)
	d.Line("capacity", svg.Px(0), at, svg.Pct(100), at)
	// At the right and below: lines begin at the left, and those that cross
	// have risen above the capacity there.
	d.Text("limit", svg.End, svg.Pct(100), y.Y(1, planSpace+15, planHeight), "capacity")
}

// drawTarget marks the fleet that the target takes.
func (p Plan) drawTarget(d *svg.Drawing, x svg.Axis) {
	at := x.Pct(float64(p.Nodes))
	d.Line("target", at, svg.Px(planSpace-6), at, svg.Px(planSpace+planHeight))
	share := x.Share(float64(p.Nodes))
	text, anchor := p.targetLabel(share)
	d.Text("limit", anchor, at, svg.Px(12), text)
}

// Widths in pixels: of a letter, rather more than it takes, and of the plot on
// a narrow page.
const (
	letterWidth = 7
	narrowPlot  = 340
)

// targetLabel is the text at the target, and on which side of it that stays
// within a narrow plot. What would not on either is left to the page's lead.
func (p Plan) targetLabel(share float64) (text string, anchor svg.Anchor) {
	text = "wanted: " + itoa(p.Nodes) + " nodes"
	if p.Nodes == 1 {
		text = "wanted: 1 node"
	}
	wide := func(text string) float64 { return letterWidth * float64(len(text)) / narrowPlot }
	if long := text + " for " + p.Target; wide(long) <= max(share, 1-share) {
		text = long
	}
	switch half := wide(text) / 2; {
	case half <= min(share, 1-share):
		return text, svg.Middle
	case share < 0.5:
		return text, svg.Start
	}
	return text, svg.End
}

// drawCrossings marks where a demand reaches the capacity: filled where growth
// ends there, hollow where the capacity is only a lower bound.
func (p Plan) drawCrossings(d *svg.Drawing, x, y svg.Axis) {
	at := y.Y(1, planSpace, planHeight)
	for i, l := range p.Lines {
		if !(l.At > 0) || l.At > x.Hi {
			continue
		}
		class := "crossing n" + itoa(i%Palette)
		if !l.Limited {
			class += " open"
		} else if l.Hi > l.Lo {
			d.Line("whisker", x.Pct(l.Lo), at, x.Pct(math.Min(l.Hi, x.Hi)), at)
		}
		d.Mark(svg.Diamond, class, x.Pct(l.At), at, 5.5, l.Name+": "+l.Words)
	}
}

// drawSizes writes the axis of sizes.
func (p Plan) drawSizes(d *svg.Drawing, x svg.Axis) {
	bottom := float64(planSpace + planHeight)
	for _, v := range x.Ticks() {
		anchor := svg.Middle
		if x.Share(v) > 0.97 {
			anchor = svg.End
		}
		d.Text("tick", anchor, x.Pct(v), svg.Px(bottom+16), num.Tick(v, x.Step))
	}
	d.Text("tick", svg.Middle, svg.Pct(50), svg.Px(bottom+34), "nodes of the application")
}

// drawLegend has a row a line.
func (p Plan) drawLegend(d *svg.Drawing) {
	for i, l := range p.Lines {
		row := planSpace + planHeight + planXLabel + legendRow*(float64(i)+0.5)
		d.Line("rate n"+itoa(i%Palette), svg.Px(0), svg.Px(row), svg.Px(26), svg.Px(row))
		d.Text("legendtext", svg.Start, svg.Px(34), svg.Px(row+4), strings.TrimSpace(l.Name+": "+l.Words))
	}
}

// planLabels are the shares at the left.
func planLabels(y svg.Axis, height float64) template.HTML {
	d := svg.NewFixed("yaxis", "", yAxisWidth, height)
	for _, v := range y.Ticks() {
		d.Text("tick", svg.End, svg.Px(yAxisWidth-7), y.Y(v, planSpace+4, planHeight), num.Tick(100*v, 1)+" %")
	}
	return d.HTML()
}
