package chart

import (
	"math"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// fewest is how many values make a sparkline of a line: fewer are a drawing of
// a formula.
const fewest = 5

// sparks draws every line and every stair as one line of text, all on one
// scale.
func (t *text) sparks() []string {
	t.y = newScale(t.Y, t.values(true), 2, false)
	var chosen []Layer
	label := 0
	for _, l := range t.Layers {
		if l.Mark == Step || l.Mark == Line && len(l.X) >= fewest {
			chosen = append(chosen, l)
			label = max(label, term.Width(term.Clean(l.Name)))
		}
	}
	label = min(label, longestName)
	if label > 0 {
		label += 2
	}
	const numbers = 26
	t.cells = min(max(t.o.Width-label-numbers, leastCells), mostCells)
	var lines []string
	for _, l := range chosen {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range l.Y {
			if finite(v) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
		if lo > hi {
			continue
		}
		line := pad(t.cut(term.Clean(l.Name), max(label-2, 0)), label, false) + t.spark(l)
		lines = append(lines, line+"  "+term.Clean(span(t.Y.Unit, lo, hi)))
	}
	return lines
}

// span prints the ends of a range, and a unit that both have once.
func span(of string, lo, hi float64) string {
	from, to := num.For(of, lo), num.For(of, hi)
	if from == to || lo == 0 {
		return to.Number(lo, 0) + " to " + to.Value(hi, 0)
	}
	return from.Value(lo, 0) + " to " + to.Value(hi, 0)
}

// spark draws a line in cells of equal width: the value in the middle of each.
func (t *text) spark(l Layer) string {
	var b strings.Builder
	for k := range t.cells {
		share := (float64(k) + 0.5) / float64(t.cells)
		height := t.y.share(t.value(l, share))
		if !finite(height) {
			b.WriteByte(' ')
			continue
		}
		b.WriteString(t.glyphs.sparks[int(math.Round(inside(height)*float64(len(t.glyphs.sparks)-1)))])
	}
	return b.String()
}

// value is that of a line or of stairs at a share of the axis; NaN if missing.
func (t *text) value(l Layer, share float64) float64 {
	for i, x := range l.X {
		from, to := t.x.share(x), math.NaN()
		next := i + 1
		switch {
		case len(l.X2) > 0:
			to = t.x.share(at(l.X2, i))
		case next < len(l.X):
			to = t.x.share(l.X[next])
		}
		if !(from <= share && share < to) {
			continue
		}
		if l.Mark == Step {
			return at(l.Y, i)
		}
		part := (share - from) / (to - from)
		return at(l.Y, i)*(1-part) + at(l.Y, next)*part
	}
	return math.NaN()
}
