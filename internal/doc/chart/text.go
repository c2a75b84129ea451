package chart

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// TextOptions are what a terminal can do.
type TextOptions struct {
	Width int // columns; 0 is 80
	ASCII bool
	Color bool
}

// Text draws a chart as lines for a terminal; nil when a terminal cannot carry
// it. Rows of bars, intervals and boxes are drawn row by row, with what stands
// beside them; histograms as columns; cells as their texts or shades; lines of
// many values, and steps, as one sparkline each.
func Text(c Chart, o TextOptions) []string {
	boxes := slices.ContainsFunc(c.Layers, func(l Layer) bool { return l.Mark == Box })
	if !boxes && c.X.Kind != Log && c.X.Kind != Time && !c.X.Tight {
		// There are few cells: the axis ends where the values do.
		c.X.Tight = true
		if c.X.Lo == nil {
			c.X.Lo = new(float64)
		}
	}
	t := text{plot: prepare(c), o: o, glyphs: blockGlyphs}
	if o.Width <= 0 {
		t.o.Width = 80
	}
	if o.ASCII {
		t.glyphs = asciiGlyphs
	}
	switch {
	case t.single():
		return t.rows()
	case t.plot.cells():
		t.y = newScale(t.Y, nil, 0, false)
		return t.cellLines()
	case t.Y.Kind == Rows || t.X.Kind == Rows:
		return nil
	}
	return t.curves()
}

// glyphs are the characters of a drawing.
type glyphs struct {
	solid, half, light, upright, before, beyond string
	whisker, left, right, box, median           string
	good, bad, unknown, times                   string
	sparks, grays                               []string
}

var (
	blockGlyphs = glyphs{"█", "▓", "░", "│", "◂", "▸", "─", "├", "┤", "▒", "┃", "●", "◆", "○", "×",
		strings.Split("▁▂▃▄▅▆▇█", ""), strings.Split("░▒▓█", "")}
	asciiGlyphs = glyphs{"#", "=", "-", "|", "<", ">", "-", "|", "|", "=", "#", "+", "x", "?", "*",
		strings.Split("_.-:=+*#", ""), strings.Split(".:+#", "")}
)

// sign is the mark of a role.
func (g glyphs) sign(r Role) string {
	switch r {
	case Bad, Parallel, Alarm:
		return g.bad
	case Unknown:
		return g.unknown
	}
	return g.good
}

// text is a chart about to be drawn for a terminal. Cells count from 0 at the
// left.
type text struct {
	plot
	glyphs
	o     TextOptions
	cells int // in a line; the ends of the axis stand in the first and the last
}

func (t *text) paint(s string, r Role) string {
	style := map[Role]term.Style{
		Good: term.Good, Better: term.Good, Serial: term.Good, Bad: term.Bad, Parallel: term.Bad, Alarm: term.Bad, Unknown: term.Note,
	}[r]
	if !t.o.Color {
		return s
	}
	return term.Paint(s, style)
}

// Room of rows in columns: the longest name, and the most and least for bars.
const (
	longestName = 28
	mostCells   = 60
	leastCells  = 9
)

// rows draws a line a row: its name, how often each mark was counted, the
// drawing, and what is said beside it.
func (t *text) rows() []string {
	rows := t.split()
	label, tally, said, numbers := t.room(rows)
	const gaps = 6
	room := max(t.o.Width-said, 2)
	below := min(label, longestName)+tally+said+gaps+leastCells > t.o.Width // what is said stands on a line of its own
	if below {
		said = 0
	}
	label = min(label, longestName, max(t.o.Width-said-tally-gaps-leastCells, 8))
	t.cells = min(max(t.o.Width-label-tally-said-gaps, leastCells), mostCells)
	var lines []string
	for i, r := range t.Y.Rows {
		name := pad(t.cut(rowName(r), label), label, numbers)
		role := r.Role
		for _, l := range rows[i] {
			if l.Mark == Bar {
				role = l.role(0)
			}
		}
		line := name + "  "
		if tally > 0 {
			signs := t.tally(rows[i])
			line += t.paint(signs, role) + strings.Repeat(" ", tally-term.Width(signs)) + "  "
		}
		line += t.paint(t.row(i, rows[i]), role) + "  "
		if below {
			lines = append(lines, strings.TrimRight(line, " "))
			line = strings.Repeat(" ", min(label+2, room))
		}
		line += strings.TrimSpace(term.Clean(r.Value) + " " + term.Clean(r.Note))
		if r.Tag != "" {
			line += " " + t.paint(term.Clean(r.Tag), r.Role)
		}
		if line = strings.TrimRight(line, " "); line != "" {
			lines = append(lines, line)
		}
		for _, more := range r.More {
			for _, l := range term.Wrap(term.Clean(more), max(t.o.Width-label-2, leastCells)) {
				lines = append(lines, strings.Repeat(" ", label+2)+l)
			}
		}
	}
	if tally > 0 {
		label += tally + 2
	}
	return append(lines, t.legend(label+2)...)
}

// room is how wide the names, signs and values of rows are, and whether the names
// are numbers, which stand at the right.
func (t *text) room(rows [][]Layer) (label, tally, said int, numbers bool) {
	numbers = true
	for i, r := range t.Y.Rows {
		name := rowName(r)
		first, _, _ := strings.Cut(name, " ")
		_, err := strconv.ParseFloat(first, 64)
		numbers = numbers && err == nil && !strings.HasSuffix(first, ".")
		label = max(label, term.Width(name))
		tally = max(tally, term.Width(t.tally(rows[i])))
		said = max(said, term.Width(term.Clean(r.Value+" "+r.Note+" "+r.Tag)))
	}
	return label, tally, said, numbers
}

// cut shortens a name.
func (t *text) cut(name string, limit int) string {
	name = term.Cut(name, limit)
	if t.o.ASCII {
		name = strings.ReplaceAll(name, "…", ".")
	}
	return name
}

func rowName(r Row) string { return term.Clean(strings.TrimSpace(r.Name + " " + r.Sub)) }

func pad(s string, width int, right bool) string {
	fill := strings.Repeat(" ", max(0, width-term.Width(s)))
	if right {
		return fill + s
	}
	return s + fill
}

// mostSigns is how many marks of a row have a sign each; more are counted.
const mostSigns = 6

// tally says how many points without a place each role has in a row.
func (t *text) tally(layers []Layer) string {
	var each, counted []string
	total := 0
	for _, l := range layers {
		if l.Mark != Point || len(l.X) > 0 {
			continue
		}
		n, sign := l.size(), t.sign(l.role(0))
		total += n
		each = append(each, strings.Repeat(sign, min(n, mostSigns)))
		counted = append(counted, sign+t.times+strconv.Itoa(n))
	}
	if total > mostSigns {
		return strings.Join(counted, " ")
	}
	return strings.Join(each, "")
}

// cell returns where a value stands, and on which side of the axis it is: -1,
// 0 or 1. ok is false for what is missing.
func (t *text) cell(v float64) (cell, side int, ok bool) {
	share := t.x.share(v)
	switch {
	case math.IsNaN(share):
		return 0, 0, false
	case share < -1e-9:
		side = -1
	case share > 1+1e-9:
		side = 1
	}
	return int(math.Round(inside(share) * float64(t.cells-1))), side, true
}

// ruled reports whether the chart has vertical rules. Otherwise, or where bars
// go to both sides, there is one at 0.
func (t *text) ruled() bool {
	return slices.ContainsFunc(t.Layers, func(l Layer) bool { return l.Mark == Rule && len(l.Y) == 0 && len(l.X) > 0 })
}

func (t *text) zero() bool {
	return t.boxes == nil && onAxis(t.x.share(0)) && (!t.ruled() || t.x.lo < 0)
}

// row draws the cells of a row.
func (t *text) row(i int, layers []Layer) string {
	cells := make([]string, t.cells)
	set := func(from, to int, glyph string) {
		for k := max(from, 0); k <= to && k < len(cells); k++ {
			cells[k] = glyph
		}
	}
	t.box(i, set)
	for _, l := range layers {
		if l.Mark == Bar && (l.role(0) != Unknown || len(l.X2) == 0) {
			t.bar(l, set)
		}
	}
	for _, l := range layers {
		if l.Mark != Rule || l.role(0) != Interval || len(l.X2) == 0 {
			continue
		}
		a, _, known := t.cell(at(l.X, 0))
		b, _, also := t.cell(at(l.X2, 0))
		for k := a; known && also && k <= b; k++ {
			cells[k] = map[bool]string{true: t.light, false: t.half}[cells[k] == ""]
		}
	}
	for _, l := range layers {
		for k := range l.size() {
			t.over(l, k, cells)
		}
	}
	if c, _, ok := t.cell(0); ok && t.zero() {
		cells[c] = t.upright
	}
	for k := range cells {
		if cells[k] == "" {
			cells[k] = " "
		}
	}
	return strings.Join(cells, "")
}

// over draws what does not hide a bar, or stands across all rows.
func (t *text) over(l Layer, k int, cells []string) {
	c, side, ok := t.cell(at(l.X, k))
	bars := slices.ContainsFunc(t.Layers, func(l Layer) bool { return l.Mark == Bar })
	switch {
	case l.Mark == Label && len(l.X) == 0:
		s, _ := pick(l.Text, k)
		s = term.Cut(term.Clean(s), len(cells))
		if from := (len(cells) - term.Width(s)) / 2; strings.Join(cells, "") == "" && term.Width(s) == len([]rune(s)) {
			copy(cells[from:], strings.Split(s, ""))
		}
	case !ok || side != 0:
	case l.Mark == Rule && len(l.Y) == 0:
		cells[c] = t.upright
	case l.Mark == Point && !bars && cells[c] == "":
		cells[c] = t.sign(l.role(k))
	}
}

// bar fills the cells of the bars of a row. One that leaves the axis ends in an
// arrow.
func (t *text) bar(l Layer, set func(from, to int, glyph string)) {
	for k := range l.size() {
		a, side, known := t.cell(at(l.X, k))
		b, other, also := t.cell(orZero(l.X2, k))
		if !known || !also {
			continue
		}
		if a > b {
			a, b, side, other = b, a, other, side
		}
		if !t.zero() {
			b = max(b-1, a) // b is where it ends
		}
		if other > 0 {
			b = t.cells - 1
		}
		set(a, b, t.solid)
		if side < 0 {
			set(a, a, t.before)
		}
		if other > 0 {
			set(b, b, t.beyond)
		}
	}
}

// box draws the box of a row.
func (t *text) box(row int, set func(from, to int, glyph string)) {
	b, ok := t.boxes[float64(row)]
	if !ok {
		return
	}
	var at [5]int
	for i, v := range []float64{b.low, b.q1, b.mid, b.q3, b.high} {
		at[i], _, _ = t.cell(v)
	}
	if b.n >= BoxFrom {
		set(at[0], at[4], t.whisker)
		set(at[0], at[0], t.left)
		set(at[4], at[4], t.right)
		set(at[1], at[3], t.glyphs.box)
	}
	set(at[2], at[2], t.median)
}

// legend names the signs, bars and rules, or marks the ends of the axis.
func (t *text) legend(indent int) []string {
	var signs, words []string
	interval := ""
	for _, l := range t.Layers {
		name := term.Clean(l.Name)
		switch {
		case name == "" || l.size() == 0:
		case l.Mark == Point && len(l.X) == 0:
			signs = append(signs, t.sign(l.role(0))+" "+name)
		case l.Mark == Bar:
			words = append(words, "bars: "+name)
		case l.Mark == Rule && len(l.Y) == 0:
			words = append(words, t.upright+" "+name)
		case l.Mark == Rule && l.role(0) == Interval:
			interval = t.half + t.light + " " + name
		}
	}
	var lines []string
	if !t.ruled() {
		axis := strings.Repeat(" ", indent) + t.ends()
		if term.Width(axis)+2+term.Width(interval) <= t.o.Width {
			axis, interval = axis+"  "+interval, ""
		}
		lines = append(lines, strings.TrimRight(axis, " "))
		if interval != "" {
			lines = append(lines, interval)
		}
	}
	if len(signs) > 0 {
		words = slices.Insert(words, 0, strings.Join(signs, ", "))
	}
	if len(words) > 0 && (t.ruled() || len(signs) > 0) {
		text := strings.Join(words, ", ")
		if len(signs) > 0 {
			text = words[0]
			if len(words) > 1 {
				text += "; " + strings.Join(words[1:], ", ")
			}
		}
		lines = append(lines, term.Wrap(text, t.o.Width)...)
	}
	return lines
}

// ends writes 0, or the beginning of the axis, and its end below the bars.
func (t *text) ends() string {
	show := func(v float64) string {
		if t.X.Kind == Time {
			return t.x.when(v)
		}
		if t.X.Unit == "s" {
			return num.Seconds(v * t.x.Factor)
		}
		return num.Human(v*t.x.Factor, t.X.Unit)
	}
	first, from := show(t.x.lo), 0
	if t.zero() && t.X.Kind != Time {
		first = "0"
		from, _, _ = t.cell(0)
	}
	last := show(t.x.hi)
	first, last = term.Clean(first), term.Clean(last)
	return strings.Repeat(" ", from) + first + strings.Repeat(" ", max(1, t.cells-from-term.Width(first)-term.Width(last))) + last
}
