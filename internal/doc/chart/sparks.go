package chart

import (
	"math"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// fewest is how many values make a sparkline of a line: fewer are a drawing of
// a formula.
const fewest = 5

// curves draws histograms as columns and lines as sparklines, all on one axis.
func (t *text) curves() []string {
	histogram := slices.ContainsFunc(t.Layers, histogramBars)
	t.y = newScale(t.Y, t.values(true), 2, false)
	if histogram {
		t.cells = min(t.o.Width, mostCells)
		lines, highest := t.columns()
		words := "highest: " + term.Clean(strings.TrimSpace(num.For(t.Y.Unit, highest).Value(highest, 0)+" "+t.Y.Label))
		if axis := t.ends() + "  " + words; term.Width(axis) <= t.o.Width {
			lines = append(lines, axis)
		} else {
			lines = append(lines, t.ends(), words)
		}
		return append(lines, t.ruleLines(0)...)
	}
	lines, indent := t.sparks()
	if lines != nil && t.X.Kind == Time {
		lines = append(lines, strings.TrimRight(strings.Repeat(" ", indent)+t.ends()+"  "+t.x.zone().String(), " "))
		lines = append(lines, t.ruleLines(indent)...)
	}
	return lines
}

// histogramBars reports whether a layer has the bars of a histogram.
func histogramBars(l Layer) bool { return l.Mark == Bar && len(l.X2) > 0 }

// columnHeight is how many lines the columns of a histogram take.
const columnHeight = 4

// columns draws standing bars, each cell as high as the highest bar in it.
func (t *text) columns() (lines []string, highest float64) {
	heights := make([]float64, t.cells)
	for _, l := range t.Layers {
		for i := range l.size() {
			from, to := t.x.share(at(l.X, i))*float64(t.cells), t.x.share(at(l.X2, i))*float64(t.cells)
			top := max(at(l.Y, i), orZero(l.Y2, i))
			high := inside(t.y.share(top))
			if !histogramBars(l) || !finite(from, to, high) {
				continue
			}
			highest = max(highest, top)
			for k := max(int(from), 0); k < min(int(math.Ceil(to-1e-9)), t.cells); k++ {
				heights[k] = max(heights[k], high)
			}
		}
	}
	lines = make([]string, columnHeight)
	for y := range lines {
		var b strings.Builder
		for _, h := range heights {
			part := h*columnHeight - float64(columnHeight-1-y) // of this line
			switch {
			case part <= 0 && !(h > 0 && y == columnHeight-1):
				b.WriteByte(' ')
			default:
				b.WriteString(t.glyphs.sparks[int(math.Round(inside(part)*float64(len(t.glyphs.sparks)-1)))])
			}
		}
		lines[y] = strings.TrimRight(b.String(), " ")
	}
	return lines, highest
}

// ruleLines mark where vertical rules stand, with the name of their layer or
// what each of them says.
func (t *text) ruleLines(indent int) []string {
	var lines []string
	for _, l := range t.Layers {
		if l.Mark != Rule || len(l.X) == 0 || len(l.X2)+len(l.Y) > 0 {
			continue
		}
		cells := []string(nil)
		for range t.cells {
			cells = append(cells, " ")
		}
		words := []string{}
		if l.Name != "" {
			words = append(words, term.Clean(l.Name))
		}
		for i := range l.X {
			if c, side, ok := t.cell(l.X[i]); ok && side == 0 {
				cells[c] = t.upright
			}
			if s, _ := pick(l.Text, i); s != "" {
				words = append(words, term.Clean(s))
			}
		}
		lines = append(lines, strings.TrimRight(strings.Repeat(" ", indent)+strings.Join(cells, ""), " "))
		lines = append(lines, term.Wrap(t.upright+" "+strings.Join(words, ", "), t.o.Width)...)
	}
	return lines
}

// sparks draws every line and every stair as one line of text, all on one
// scale.
func (t *text) sparks() (lines []string, indent int) {
	var chosen []Layer
	label := 0
	for _, l := range t.Layers {
		if l.Mark == Step || l.Mark == Line && len(l.X) >= fewest {
			chosen = append(chosen, l)
			label = max(label, term.Width(term.Clean(l.Name)))
		}
	}
	// What was measured is beside what it is held against, where it is points.
	for _, l := range t.Layers {
		if len(chosen) > 0 && l.Name != "" && l.Mark == Point && len(l.X) >= fewest && ascending(l.X) {
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
	return lines, label
}

// ascending reports whether each value is above the one before it.
func ascending(xs Values) bool {
	for i := 1; i < len(xs); i++ {
		if !(xs[i] > xs[i-1]) {
			return false
		}
	}
	return true
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
