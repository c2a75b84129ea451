// Package svg writes small drawings that live inside an HTML page.
//
// A [Drawing] has a height in pixels and takes whatever width the page gives
// it: positions along x are shares of that width ([Pct]), positions along y
// pixels. So text never shrinks with the page, lines stay one pixel wide, and
// no script is needed to lay anything out. Colours come from the page's style
// sheet by class, so that a drawing follows the theme and the printer.
//
// Every text is escaped here. An element with a coordinate that is not a
// finite number is left out: there is nothing true to draw.
package svg

import (
	"encoding/xml"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// Len is a position or an extent: pixels, or percent of the drawing.
type Len struct {
	v   float64
	pct bool
}

// Px is an absolute length in CSS pixels.
func Px(v float64) Len { return Len{v: v} }

// Pct is a length in percent of the drawing's extent.
func Pct(v float64) Len { return Len{v: v, pct: true} }

func (l Len) finite() bool { return !math.IsNaN(l.v) && !math.IsInf(l.v, 0) }

// String prints with two decimals: a hundredth of a pixel, or a tenth of a
// pixel for percents of a drawing 1,000 pixels wide.
func (l Len) String() string {
	s := number(l.v)
	if l.pct {
		s += "%"
	}
	return s
}

func number(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// Anchor is the point of a text that stands at its position.
type Anchor string

// The three anchors of SVG.
const (
	Start  Anchor = "start"
	Middle Anchor = "middle"
	End    Anchor = "end"
)

// Shape is a mark for one value. Shapes differ as well as colours do, so that
// no meaning is carried by colour alone.
type Shape string

// The shapes that figures use.
const (
	Dot     Shape = "dot"
	Diamond Shape = "diamond"
)

// Drawing collects elements.
type Drawing struct {
	b      strings.Builder
	title  string
	class  string
	height float64
	width  string // CSS width; "" is all there is
}

// New starts a drawing of this height in pixels, as wide as its place. The
// title is what a screen reader says; without one the drawing is decoration.
func New(class, title string, height float64) *Drawing {
	return &Drawing{class: class, title: title, height: height, width: "100%"}
}

// NewFixed starts a drawing of fixed width, e.g. the labels of an axis.
func NewFixed(class, title string, width, height float64) *Drawing {
	return &Drawing{class: class, title: title, height: height, width: number(width)}
}

// HTML returns the finished drawing.
func (d *Drawing) HTML() template.HTML {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" class="` + escape(d.class) + `" width="` + d.width +
		`" height="` + number(d.height) + `"`)
	if d.title == "" {
		b.WriteString(` aria-hidden="true">`)
	} else {
		b.WriteString(` role="img" aria-label="` + escape(d.title) + `">`)
		b.WriteString(`<title>` + escape(d.title) + `</title>`)
	}
	b.WriteString(d.b.String())
	b.WriteString(`</svg>`)
	// Everything in b was escaped on its way in.
	return template.HTML(b.String())
}

// Rect draws a rectangle; a negative extent is drawn to the other side.
func (d *Drawing) Rect(class string, x, y, w, h Len, tip string) {
	if w.v < 0 && x.pct == w.pct {
		x.v, w.v = x.v+w.v, -w.v
	}
	if h.v < 0 && y.pct == h.pct {
		y.v, h.v = y.v+h.v, -h.v
	}
	d.element("rect", class, tip, attrs{{"x", x}, {"y", y}, {"width", w}, {"height", h}})
}

// Line draws a line.
func (d *Drawing) Line(class string, x1, y1, x2, y2 Len) {
	d.element("line", class, "", attrs{{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}})
}

// Mark draws a value as a shape of radius r pixels.
func (d *Drawing) Mark(shape Shape, class string, x, y Len, r float64, tip string) {
	if shape == Dot {
		d.element("circle", class, tip, attrs{{"cx", x}, {"cy", y}, {"r", Px(r)}})
		return
	}
	if !x.finite() || !y.finite() {
		return
	}
	// A path cannot be placed by percent; a nested drawing can.
	p := number(r * 1.25)
	d.b.WriteString(`<svg x="` + x.String() + `" y="` + y.String() + `" class="mark">`)
	d.b.WriteString(`<path class="` + escape(class) + `" d="M0-` + p + `L` + p + ` 0L0 ` + p + `L-` + p + ` 0Z">`)
	d.tip(tip)
	d.b.WriteString(`</path></svg>`)
}

// Text writes s with its baseline at y.
func (d *Drawing) Text(class string, anchor Anchor, x, y Len, s string) {
	if !x.finite() || !y.finite() {
		return
	}
	d.b.WriteString(`<text class="` + escape(class) + `" text-anchor="` + string(anchor) + `" x="` + x.String() +
		`" y="` + y.String() + `">` + escape(s) + `</text>`)
}

// Point is a vertex of a Polyline, both coordinates as shares from 0 to 1 of
// the drawing's width and of the line's height, y downwards.
type Point struct{ X, Y float64 }

// polyGrid is the number of steps that a polyline's coordinates can take.
const polyGrid = 1000

// coordinates prints points on the grid, for the attribute of a polyline or a
// polygon; those that are not finite are left out.
func coordinates(points []Point) string {
	var b strings.Builder
	for _, p := range points {
		if math.IsNaN(p.X+p.Y) || math.IsInf(p.X+p.Y, 0) {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(strconv.Itoa(int(math.Round(p.X*polyGrid))) + "," + strconv.Itoa(int(math.Round(p.Y*polyGrid))))
	}
	return b.String()
}

// Curve is a line, or an area, of a [Drawing.Plane].
type Curve struct {
	Class  string
	Points []Point
	Filled bool // an area, closed from the last point to the first
	Tip    string
}

// Plane draws lines and areas over the whole width, between the pixels y and
// y+h, in the order given. Their classes should set a non-scaling stroke. What
// lies outside is cut off.
func (d *Drawing) Plane(y, h float64, shapes []Curve) {
	d.b.WriteString(`<svg x="0" y="` + number(y) + `" width="100%" height="` + number(h) +
		`" viewBox="0 0 1000 1000" preserveAspectRatio="none" class="plane">`)
	for _, s := range shapes {
		d.shape(s)
	}
	d.b.WriteString(`</svg>`)
}

func (d *Drawing) shape(s Curve) {
	points := coordinates(s.Points)
	if points == "" {
		return
	}
	element := "polyline"
	if s.Filled {
		element = "polygon"
	}
	d.b.WriteString("<" + element + ` class="` + escape(s.Class) + `" points="` + points + `"`)
	if s.Tip == "" {
		d.b.WriteString("/>")
		return
	}
	d.b.WriteString(">")
	d.tip(s.Tip)
	d.b.WriteString("</" + element + ">")
}

// Polyline draws a line through the points over the whole width, between the
// pixels y and y+h. Its class should set a non-scaling stroke.
func (d *Drawing) Polyline(class string, y, h float64, points []Point, tip string) {
	if coordinates(points) != "" {
		d.Plane(y, h, []Curve{{Class: class, Points: points, Tip: tip}})
	}
}

type attrs []struct {
	name  string
	value Len
}

func (d *Drawing) element(name, class, tip string, as attrs) {
	for _, a := range as {
		if !a.value.finite() {
			return
		}
	}
	d.b.WriteString("<" + name + ` class="` + escape(class) + `"`)
	for _, a := range as {
		d.b.WriteString(" " + a.name + `="` + a.value.String() + `"`)
	}
	if tip == "" {
		d.b.WriteString("/>")
		return
	}
	d.b.WriteString(">")
	d.tip(tip)
	d.b.WriteString("</" + name + ">")
}

func (d *Drawing) tip(s string) {
	if s != "" {
		d.b.WriteString("<title>" + escape(s) + "</title>")
	}
}

// escape makes s fit for XML text and attribute values; characters that XML
// does not know become U+FFFD.
func escape(s string) string {
	var b strings.Builder
	// A strings.Builder does not fail.
	_ = xml.EscapeText(&b, []byte(s))
	return b.String()
}

// Value is the length as a number, of pixels or of percent.
func (l Len) Value() float64 { return l.v }
