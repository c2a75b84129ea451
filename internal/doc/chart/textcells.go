package chart

import (
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// cellText is what a cell shows.
type cellText struct {
	value float64 // NaN: not known
	text  string
}

// tiles are the cells by column and row, and how wide their texts are.
func (t *text) tiles() (cells map[[2]int]cellText, longest int) {
	cells = make(map[[2]int]cellText)
	for _, l := range t.Layers {
		for i := range l.size() {
			x, y := at(l.X, i), at(l.Y, i)
			if l.Mark != Cell || !onAxis(t.x.share(x)) || !onAxis(t.y.share(y)) {
				continue
			}
			s, _ := pick(l.Text, i)
			s = term.Clean(s)
			cells[[2]int{int(x), int(y)}] = cellText{at(l.Value, i), s}
			longest = max(longest, term.Width(s))
		}
	}
	return cells, longest
}

func widest(rows []Row) int {
	n := 0
	for _, r := range rows {
		n = max(n, term.Width(term.Clean(r.Name)))
	}
	return n
}

// cellLines draws cells as a line a row: with the texts of the cells where these
// fit, otherwise as shades, or, around a middle, as signs. It is nil where not
// even these fit.
func (t *text) cellLines() []string {
	cells, longest := t.tiles()
	names, heads := min(widest(t.Y.Rows), longestName), widest(t.X.Rows)
	fits := func(step int) bool { return names+1+step*len(t.X.Rows) <= t.o.Width }
	var step int // columns of the terminal that a cell takes
	numbers := longest > 0 && fits(max(longest, heads)+1)
	switch {
	case numbers:
		step = max(longest, heads) + 1
	case fits(max(2, heads) + 1):
		step = max(2, heads) + 1
	case fits(3):
		step = 3
	case fits(2):
		step = 2
	default:
		return nil
	}
	shades := t.shades()
	lines := []string{strings.Repeat(" ", names+1) + t.heads(step)}
	for y, r := range t.Y.Rows {
		line := pad(t.cut(term.Clean(r.Name), names), names, false) + " "
		for x := range t.X.Rows {
			c, known := cells[[2]int{x, y}]
			s := c.text
			if !numbers {
				s = t.shade(shades, c.value, known)
			}
			line += pad(s, step, numbers || step > 2)
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	if !numbers && finite(shades.lo, shades.hi) {
		lines = append(lines, term.Wrap(t.shadeKey(shades), t.o.Width)...)
	}
	return lines
}

// heads writes the names of columns, as many as have room.
func (t *text) heads(step int) string {
	every := thin(widest(t.X.Rows)+1, step)
	var b strings.Builder
	for i, r := range t.X.Rows {
		if i%every != 0 {
			continue
		}
		name := t.cut(term.Clean(r.Name), step*every-1)
		if step > 2 { // it ends where its cells do
			name = pad(name, step, true)
		}
		b.WriteString(pad(name, step*every, false))
	}
	return strings.TrimRight(b.String(), " ")
}

// From which colour to either side of the middle a cell has a sign, and the
// stronger one.
const weakFrom, strongFrom = 1, 3

// shade is a cell of two characters.
func (t *text) shade(h shades, v float64, known bool) string {
	if !known || !finite(v) {
		return "  "
	}
	if h.by != Around {
		return strings.Repeat(t.grays[h.even(v, len(t.grays))], 2)
	}
	switch level := h.around(v); {
	case level >= strongFrom:
		return " " + t.up
	case level >= weakFrom:
		return " +"
	case level <= -strongFrom:
		return " " + t.sink
	case level <= -weakFrom:
		return " -"
	}
	return " " + t.dot
}

// shadeKey says what shades or signs mean.
func (t *text) shadeKey(h shades) string {
	if h.by != Around {
		lo, _, hi := h.labels()
		return strings.Join(t.grays, "") + " from " + term.Clean(lo) + " to " + term.Clean(hi)
	}
	scale := num.For(h.unit, h.lo, h.hi)
	edge := func(level float64) string {
		return term.Clean(scale.Value(h.center+level/sides*(h.hi-h.center), (h.hi-h.lo)/10))
	}
	return t.sink + " below " + edge(0.5-strongFrom) + ", - below " + edge(0.5-weakFrom) + ", " + t.dot + " about " + edge(0) +
		", + above " + edge(weakFrom-0.5) + ", " + t.up + " above " + edge(strongFrom-0.5)
}
