package chart

import (
	"encoding/xml"
	"math"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/term"
)

// length is a position or an extent: pixels, or percent of the drawing.
type length struct {
	v   float64
	pct bool
}

func px(v float64) length      { return length{v: v} }
func pct(share float64) length { return length{100 * share, true} }

func finite(vs ...float64) bool {
	for _, v := range vs {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return false
		}
	}
	return true
}

// String prints two decimals: a hundredth of a pixel, or a tenth of a pixel for
// percents of a drawing 1,000 pixels wide.
func (l length) String() string {
	if l.pct {
		return decimal(l.v) + "%"
	}
	return decimal(l.v)
}

func decimal(v float64) string {
	s := strings.TrimRight(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// anchor is the point of a text that stands at its position.
type anchor string

const (
	start  anchor = "start"
	middle anchor = "middle"
	end    anchor = "end"
)

// canvas collects the elements of a drawing: along y all are in pixels. Every text is escaped on its way
// in, and an element with a coordinate that is not a finite number is left out.
type canvas struct{ b strings.Builder }

// svg is the finished drawing. The title is what a screen reader says; without
// one the drawing is decoration. A width of 0 is all there is.
func (d *canvas) svg(class, title string, width, height float64) string {
	w := "100%"
	if width > 0 {
		w = decimal(width)
	}
	head := `<svg xmlns="http://www.w3.org/2000/svg" class="` + class + `" width="` + w + `" height="` + decimal(height) + `"`
	if title == "" {
		return head + ` aria-hidden="true">` + d.b.String() + `</svg>`
	}
	title = escape(title)
	return head + ` role="img" aria-label="` + title + `"><title>` + title + `</title>` + d.b.String() + `</svg>`
}

type attr struct {
	name  string
	value length
}

// element writes an element with its tip.
func (d *canvas) element(name, class, tip string, attrs ...attr) {
	for _, a := range attrs {
		if !finite(a.value.v) {
			return
		}
	}
	d.b.WriteString("<" + name + ` class="` + class + `"`)
	for _, a := range attrs {
		d.b.WriteString(" " + a.name + `="` + a.value.String() + `"`)
	}
	d.b.WriteString(closing(name, tip))
}

// closing ends an element, which has no content but its tip.
func closing(name, tip string) string {
	if tip == "" {
		return "/>"
	}
	return "><title>" + escape(tip) + "</title></" + name + ">"
}

// rect draws a rectangle; a negative width is drawn to the left.
func (d *canvas) rect(class string, x length, y float64, w length, h float64, tip string) {
	if w.v < 0 {
		x.v, w.v = x.v+w.v, -w.v
	}
	d.element("rect", class, tip, attr{"x", x}, attr{"y", px(y)}, attr{"width", w}, attr{"height", px(h)})
}

func (d *canvas) line(class string, x1 length, y1 float64, x2 length, y2 float64) {
	d.element("line", class, "", attr{"x1", x1}, attr{"y1", px(y1)}, attr{"x2", x2}, attr{"y2", px(y2)})
}

// text writes s with its baseline at y.
func (d *canvas) text(class string, a anchor, x length, y float64, s string) {
	if s == "" || !finite(x.v, y) {
		return
	}
	d.b.WriteString(`<text class="` + class + `" text-anchor="` + string(a) + `" x="` + x.String() +
		`" y="` + decimal(y) + `">` + escape(s) + `</text>`)
}

// shapes are the outlines of marks, for a radius of 1. Shapes differ as well as
// colours do, so that no meaning is carried by colour alone. A role that is not
// here has a dot.
var shapes = map[Role][][2]float64{
	Parallel: diamond, Bad: diamond, Alarm: diamond, Series2: diamond, Series6: diamond,
	Series3: square, Series7: square, Series4: triangle, Series8: triangle,
}

var (
	diamond  = [][2]float64{{0, -1.25}, {1.25, 0}, {0, 1.25}, {-1.25, 0}}
	square   = [][2]float64{{-0.9, -0.9}, {0.9, -0.9}, {0.9, 0.9}, {-0.9, 0.9}}
	triangle = [][2]float64{{0, -1.25}, {1.15, 0.85}, {-1.15, 0.85}}
)

// mark draws a value as the shape of its role, of radius r pixels.
func (d *canvas) mark(role Role, class string, x length, y, r float64, tip string) {
	outline := shapes[role]
	if outline == nil {
		d.element("circle", class, tip, attr{"cx", x}, attr{"cy", px(y)}, attr{"r", px(r)})
		return
	}
	if !finite(x.v, y) {
		return
	}
	// A path cannot be placed by percent; a nested drawing can.
	d.b.WriteString(`<svg x="` + x.String() + `" y="` + decimal(y) + `" class="mark"><path class="` + class + `" d="`)
	for i, v := range outline {
		d.b.WriteString(string("ML"[min(i, 1)]) + decimal(r*v[0]) + " " + decimal(r*v[1]))
	}
	d.b.WriteString(`Z"` + closing("path", tip) + `</svg>`)
}

// vertex is a point of a curve, both coordinates as shares from 0 to 1 of the
// plot's width and height, y downwards.
type vertex struct{ x, y float64 }

// curve is a line, or an area that is closed from the last point to the first.
type curve struct {
	class  string
	points []vertex
	filled bool
	tip    string
}

// grid is the number of steps that the coordinates of a curve can take, and
// reach how far beyond the plot they are told apart.
const (
	grid  = 1000
	reach = 1000
)

// nested puts a drawing with coordinates of its own into a rectangle.
func (d *canvas) nested(x length, y float64, width length, height float64, columns, rows int, class, content string) {
	if class != "" {
		class = ` class="` + class + `"`
	}
	d.b.WriteString(`<svg x="` + x.String() + `" y="` + decimal(y) + `" width="` + width.String() + `" height="` +
		decimal(height) +
		`" viewBox="0 0 ` + strconv.Itoa(columns) + ` ` + strconv.Itoa(rows) + `" preserveAspectRatio="none"` + class +
		`>` + content + `</svg>`)
}

// plane draws curves over the whole width, between the pixels top and
// top+height. What lies outside is cut off.
func (d *canvas) plane(top, height float64, curves []curve) {
	var b strings.Builder
	for _, c := range curves {
		points := coordinates(c.points)
		if points == "" {
			continue
		}
		name := "polyline"
		if c.filled {
			name = "polygon"
		}
		b.WriteString("<" + name + ` class="` + c.class + `" points="` + points + `"` + closing(name, c.tip))
	}
	if b.Len() > 0 {
		d.nested(px(0), top, pct(1), height, grid, grid, "plane", b.String())
	}
}

func coordinates(points []vertex) string {
	at := func(share float64) string {
		return strconv.Itoa(int(math.Round(min(max(share, -reach), reach) * grid)))
	}
	var out []string
	for _, p := range points {
		if finite(p.x, p.y) {
			out = append(out, at(p.x)+","+at(p.y))
		}
	}
	return strings.Join(out, " ")
}

// escape makes s fit for XML text and attribute values, and writes control
// characters out.
func escape(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(term.Clean(s))) // a strings.Builder does not fail
	return b.String()
}
