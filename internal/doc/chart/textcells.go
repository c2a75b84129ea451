package chart

import (
	"slices"
	"strings"

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
// fit, otherwise as shades. It is nil where not even these fit.
func (t *text) cellLines() []string {
	cells, longest := t.tiles()
	names, heads := min(widest(t.Y.Rows), longestName), widest(t.X.Rows)
	fits := func(step int) bool { return names+1+step*len(t.X.Rows) <= t.o.Width }
	steps := []int{max(longest, heads) + 1, max(2, heads) + 1, 3, 2} // columns of the terminal that a cell takes
	numbers := longest > 0 && fits(steps[0])
	if !numbers {
		steps = steps[1:]
	}
	i := slices.IndexFunc(steps, fits)
	if i < 0 {
		return nil
	}
	step := steps[i]
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
		lo, hi := shades.ends()
		key := strings.Join(t.grays, "") + " from " + term.Clean(lo) + " to " + term.Clean(hi)
		lines = append(lines, term.Wrap(key, t.o.Width)...)
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

// shade is a cell of two characters.
func (t *text) shade(h shades, v float64, known bool) string {
	if !known || !finite(v) {
		return "  "
	}
	return strings.Repeat(t.grays[h.level(v, len(t.grays))], 2)
}
