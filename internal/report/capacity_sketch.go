package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/report/table"
	"github.com/scalebench/scalebench/internal/unit"
)

// sketchLoads is how many lines a sketch has at most.
const sketchLoads = 20

// sketch draws the loads of a search as lines of text: how often each was
// tried, and a bar of its latency against the limit. Empty where there is
// nothing to draw.
func sketch(x capacity.Found, o Options) []string {
	all := loadsTried(x.Result.Windows)
	term, ok := bindingTerm(x, all)
	if len(all) == 0 || !ok {
		return nil
	}
	shown := nearest(all, x.Result, sketchLoads)
	c := newSketchChart(shown, term, o)
	var lines []string
	for _, t := range shown {
		lines = append(lines, c.line(t))
	}
	if left := len(all) - len(shown); left > 0 {
		lines = append(lines, fmt.Sprintf("%s farther from the boundary: see the table", count(left, "load")))
	}
	return append(lines, wrapped("", c.legend(shown), o)...)
}

// glyphs are the characters that a sketch is made of.
type glyphs struct {
	solid, rule, beyond      string
	passed, missed, unusable string
	times                    string
}

var (
	blockGlyphs = glyphs{"█", "│", "▸", "●", "◆", "○", "×"}
	asciiGlyphs = glyphs{"#", "|", ">", "+", "x", "?", "*"}
)

// sketchChart is the geometry that all lines share. Bars begin at 0, and the
// limit stands in a cell of its own.
type sketchChart struct {
	glyphs
	term         capacity.Term
	label, marks int // columns
	cells, limit int
	perCell      float64 // seconds
	color        bool
}

func newSketchChart(loads []triedLoad, term capacity.Term, o Options) sketchChart {
	c := sketchChart{glyphs: blockGlyphs, term: term, color: o.Color}
	if o.ASCII {
		c.glyphs = asciiGlyphs
	}
	for _, t := range loads {
		c.label = max(c.label, table.Width(unit.Human(t.load, "op/s")))
		c.marks = max(c.marks, table.Width(c.tried(t)))
	}
	const numbers = 11 // room right of the bars: "not reached"
	c.cells = min(max(o.proseWidth()-c.label-c.marks-numbers-6, 9), 45)
	c.limit = 2 * c.cells / 3
	c.perCell = term.Latency.Seconds() / float64(c.limit)
	return c
}

// mostSigns is how many windows at one load have a sign each; more are counted.
const mostSigns = 6

// tried says how often a load was tried, and what came of it.
func (c sketchChart) tried(t triedLoad) string {
	counted := t.passed+t.missed+t.unusable > mostSigns
	var parts []string
	for _, k := range []struct {
		n    int
		sign string
	}{{t.passed, c.passed}, {t.missed, c.missed}, {t.unusable, c.unusable}} {
		switch {
		case k.n == 0:
		case counted:
			parts = append(parts, k.sign+c.times+strconv.Itoa(k.n))
		default:
			parts = append(parts, strings.Repeat(k.sign, k.n))
		}
	}
	if counted {
		return strings.Join(parts, " ")
	}
	return strings.Join(parts, "")
}

// line is one load. Its colour is what most of its windows were.
func (c sketchChart) line(t triedLoad) string {
	label, marks := unit.Human(t.load, "op/s"), c.tried(t)
	label = strings.Repeat(" ", max(0, c.label-table.Width(label))) + label
	fill := strings.Repeat(" ", max(0, c.marks-table.Width(marks)))
	seconds, known := t.latency(c.term.Quantile)
	bar := c.bar(seconds, known)
	if c.color {
		style := table.Note
		switch {
		case t.passed > t.missed:
			style = table.Good
		case t.missed > t.passed:
			style = table.Bad
		}
		marks, bar = table.Paint(marks, style), table.Paint(bar, style)
	}
	return label + "  " + marks + fill + "  " + bar + "  " + sketchValue(seconds, known)
}

func sketchValue(seconds float64, known bool) string {
	switch {
	case !known:
		return "unusable"
	case math.IsInf(seconds, 0):
		return "not reached"
	}
	return num.Seconds(seconds)
}

// bar fills cells from 0 to a latency. One that leaves the drawing ends in an
// arrow; the limit keeps its cell.
func (c sketchChart) bar(seconds float64, known bool) string {
	full := 0
	if known && seconds > 0 {
		full = int(math.Min(math.Max(math.Round(seconds/c.perCell), 1), float64(c.cells+1)))
	}
	var b strings.Builder
	for i := range c.cells {
		switch {
		case i == c.limit:
			b.WriteString(c.rule)
		case i == c.cells-1 && full > c.cells:
			b.WriteString(c.beyond)
		case i < full:
			b.WriteString(c.solid)
		default:
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// legend names the signs that occur, and the bars.
func (c sketchChart) legend(loads []triedLoad) string {
	var sum triedLoad
	for _, t := range loads {
		sum.passed, sum.missed, sum.unusable = sum.passed+t.passed, sum.missed+t.missed, sum.unusable+t.unusable
	}
	var parts []string
	for _, k := range []struct {
		n    int
		what string
	}{{sum.passed, c.passed + " passed"}, {sum.missed, c.missed + " missed"}, {sum.unusable, c.unusable + " unusable"}} {
		if k.n > 0 {
			parts = append(parts, k.what)
		}
	}
	return fmt.Sprintf("%s; bars: %s of all windows at a load, %s its limit of %s", strings.Join(parts, ", "), percentile(c.term.Quantile), c.rule, latencyWords(c.term.Latency))
}
