package render

import (
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// grid is a table as people see it: its columns and cells in the form that
// fits where it is shown. Texts are clean.
type grid struct {
	cols []gridColumn
	rows []gridRow
}

type gridColumn struct {
	doc.Column
	keys []string // several where columns are stacked
	head []string
}

type gridRow struct {
	cells []gridCell
	more  bool // says more about the row above
}

type gridCell struct {
	lines []gridLine
	href  string
}

type gridLine struct {
	text string
	tone doc.Tone
}

// signs stand before cells of these tones: colours alone carry no meaning, and
// Markdown has none.
var signs = map[doc.Tone]string{doc.Notable: "! ", doc.High: "!! "}

// newGrid has the columns that are for people, with the lines of cells below
// each other. Rows that are too short are filled up.
func newGrid(t *doc.Table) grid {
	var g grid
	var shown []int
	for i, c := range t.Columns {
		if c.For == doc.Programs {
			continue
		}
		shown = append(shown, i)
		g.cols = append(g.cols, gridColumn{c, []string{c.Key}, term.CleanLines(c.Head)})
	}
	for _, r := range t.Rows {
		row := gridRow{more: r.More, cells: make([]gridCell, len(shown))}
		for k, i := range shown {
			if i >= len(r.Cells) {
				break
			}
			row.cells[k].href = r.Cells[i].Href
			for j, l := range r.Cells[i].Lines {
				if j == 0 && l != "" {
					l = signs[r.Cells[i].Tone] + l
				}
				row.cells[k].lines = append(row.cells[k].lines, gridLine{term.Clean(l), r.Cells[i].Tone})
			}
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// fit returns the table in the first form that fits the width (0: no limit), and
// what it then leaves to a line of its own, for all rows have it in common:
//
//  1. one line a row; long texts broken; the lines of cells below each other,
//     columns stacked as the table says;
//  2. the same without the columns in which all rows are alike;
//  3. rows of two lines and more, their columns in order, every text broken.
//
// ok is false where even that is too wide: then it is best shown as records.
func fit(t *doc.Table, width int) (g grid, alike []string, ok bool) {
	whole := newGrid(t)
	if g = whole.joined(); g.fits(width) {
		return g, nil, true
	}
	whole = whole.keep(func(i int) bool { return !whole.empty(i) })
	if g, ok = whole.arranged(t.Stack, width); ok {
		return g, nil, true
	}
	different := whole.keep(func(i int) bool { return !whole.alike(i) })
	for i, c := range whole.cols {
		if whole.alike(i) {
			alike = append(alike, strings.Join(c.head, " ")+" "+whole.rows[0].cells[i].text())
		}
	}
	if g, ok = different.arranged(t.Stack, width); ok {
		return g, alike, true
	}
	for lines := 1; lines <= mostLines; lines++ {
		for _, limit := range softLimits {
			if lines == 1 && limit < softLimits[1] {
				continue // columns that narrow are read worse than a second line
			}
			if g = different.joined().softened(limit).brokenAt(0).layered(lines); g.fits(width) && g.tallest() <= tallestRow {
				return g, alike, true
			}
		}
	}
	return whole.joined(), nil, false
}

// Rows of more lines, or texts in narrower columns, are read worse than
// records.
const mostLines, tallestRow = 4, 8

var softLimits = []int{32, 20, 12}

// arranged is the first of the forms that need no more than the table says.
func (g grid) arranged(stacks [][]string, width int) (grid, bool) {
	one := g.joined()
	for _, form := range []grid{one, one.wrapped(width)} {
		if form.fits(width) {
			return form, true
		}
	}
	g = g.stackedBy(stacks, width)
	if !g.fits(width) {
		g = g.wrapped(width)
	}
	return g, g.fits(width)
}

// stackedBy has as many groups of columns stacked as the width asks for. Long
// texts are not broken yet.
func (g grid) stackedBy(groups [][]string, width int) grid {
	for _, group := range groups {
		if g.wrapped(width).fits(width) {
			return g
		}
		g = g.stacked(group)
	}
	return g
}

// leastCut is how narrow a text is cut at least before a column is left out for
// it, and leastText after that.
const leastCut, leastText = 20, 8

// oneLine has each row on one line of the width, without the columns that it names.
func (g grid) oneLine(width int) (out grid, left []string) {
	g = g.joined()
	if g.fits(width) {
		return g, nil
	}
	g = g.keep(func(i int) bool { return !g.empty(i) })
	for {
		if out = g.cut(width, leastCut); out.fits(width) {
			return out, left
		}
		next := -1
		for i, c := range g.cols {
			if c.Spare > 0 && (next < 0 || c.Spare < g.cols[next].Spare) {
				next = i
			}
		}
		if next < 0 {
			return g.cut(width, leastText), left
		}
		left = append(left, strings.Join(g.cols[next].head, " "))
		g = g.keep(func(i int) bool { return i != next })
	}
}

// cut shortens texts that may be broken, the longest first and none below a least
// width, until the table fits.
func (g grid) cut(width, least int) grid {
	limits, over := g.widths(), g.width()-width
	for ; over > 0; over-- {
		widest := -1
		for i, c := range g.cols {
			if c.Wrap > 0 && limits[i] > least && (widest < 0 || limits[i] > limits[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		limits[widest]--
	}
	return g.mapped(func(i int, c gridCell) gridCell {
		if term.Width(c.text()) > limits[i] {
			c.lines = []gridLine{{term.Cut(c.text(), limits[i]), c.lines[0].tone}}
		}
		return c
	})
}

func (g grid) empty(i int) bool {
	return !slices.ContainsFunc(g.rows, func(r gridRow) bool { return r.cells[i].text() != "" })
}

// alike reports that a column says the same in every row, of several. The first
// column names the rows.
func (g grid) alike(i int) bool {
	const several = 4
	return i > 0 && len(g.rows) >= several && !slices.ContainsFunc(g.rows, func(r gridRow) bool {
		return r.more || r.cells[i].text() != g.rows[0].cells[i].text()
	})
}

// softened lets every text be broken at the limit, but no word.
func (g grid) softened(limit int) grid {
	out := g
	out.cols = slices.Clone(g.cols)
	for i, c := range g.cols {
		if c.Right {
			continue
		}
		out.cols[i].Wrap = limit
		for _, row := range g.rows {
			for _, word := range strings.Fields(row.cells[i].text()) {
				out.cols[i].Wrap = max(out.cols[i].Wrap, term.Width(word))
			}
		}
	}
	return out
}

// layered makes rows of several lines: the first column, and beside it the
// others in order, line by line.
func (g grid) layered(lines int) grid {
	per := (len(g.cols) - 1 + lines - 1) / lines
	out := g
	for i := 1; i <= per && lines > 1; i++ {
		var group []string
		right := true
		for k := i; k < len(g.cols); k += per {
			group = append(group, g.cols[k].keys[0])
			right = right && g.cols[k].Right
		}
		out = out.stacked(group)
		out.cols[i].Right = right
	}
	return out
}

func (g grid) tallest() int {
	most := 0
	for _, r := range g.rows {
		most = max(most, r.height())
	}
	return most
}

func (g grid) fits(width int) bool { return width <= 0 || g.width() <= width }

// width is how many columns of a terminal the table takes.
func (g grid) width() int {
	sum := 0
	for _, n := range g.widths() {
		sum += n + len(gap)
	}
	return max(0, sum-len(gap))
}

func (g grid) widths() []int {
	out := make([]int, len(g.cols))
	for i, c := range g.cols {
		for _, h := range c.head {
			out[i] = max(out[i], term.Width(h))
		}
		for _, row := range g.rows {
			for _, l := range row.cells[i].lines {
				out[i] = max(out[i], term.Width(l.text))
			}
		}
	}
	return out
}

// mapped returns a copy with other cells; each comes with the index of its column.
func (g grid) mapped(cell func(i int, c gridCell) gridCell) grid {
	out := grid{cols: slices.Clone(g.cols), rows: slices.Clone(g.rows)}
	for y, row := range g.rows {
		out.rows[y].cells = make([]gridCell, len(row.cells))
		for i, c := range row.cells {
			out.rows[y].cells[i] = cell(i, c)
		}
	}
	return out
}

// joined has one line in each cell.
func (g grid) joined() grid {
	out := g.mapped(func(_ int, c gridCell) gridCell {
		if len(c.lines) > 1 {
			c.lines = []gridLine{{c.text(), c.lines[0].tone}}
		}
		return c
	})
	for i, c := range g.cols {
		out.cols[i].head = []string{strings.Join(c.head, " ")}
	}
	return out
}

func (c gridCell) text() string {
	texts := make([]string, len(c.lines))
	for i, l := range c.lines {
		texts[i] = l.text
	}
	return strings.Join(texts, " ")
}

// wrapped breaks long texts of columns that may be broken. What is left of the
// width is shared among them.
func (g grid) wrapped(width int) grid {
	least := g.brokenAt(0)
	room, breakable := width-least.width(), 0
	for i, n := range least.widths() {
		if limit := g.cols[i].Wrap; limit > 0 {
			breakable++
			room -= max(0, limit-n) // lines that were shorter may become as long
		}
	}
	if breakable == 0 {
		return g
	}
	return g.brokenAt(max(0, room) / breakable)
}

// brokenAt breaks texts at the limits of their columns and so much more.
func (g grid) brokenAt(more int) grid {
	return g.mapped(func(i int, c gridCell) gridCell {
		if g.cols[i].Wrap == 0 {
			return c
		}
		var lines []gridLine
		for _, l := range c.lines {
			for _, text := range term.Wrap(l.text, g.cols[i].Wrap+more) {
				lines = append(lines, gridLine{text, l.tone})
			}
		}
		c.lines = lines
		return c
	})
}

// stacked puts the columns with these keys into the first of them. Each part
// keeps as many lines in every row, so that they stand below the lines of the
// head; rows that say more about another have only what they have.
func (g grid) stacked(keys []string) grid {
	var group []int
	for _, key := range keys {
		if i := slices.IndexFunc(g.cols, func(c gridColumn) bool { return slices.Contains(c.keys, key) }); i >= 0 && !slices.Contains(group, i) {
			group = append(group, i)
		}
	}
	if len(group) < 2 {
		return g
	}
	out := g.mapped(func(_ int, c gridCell) gridCell { return c })
	into := group[0]
	out.cols[into].head, out.cols[into].keys = nil, nil
	for _, i := range group {
		height := g.height(i)
		out.cols[into].keys = append(out.cols[into].keys, g.cols[i].keys...)
		out.cols[into].head = append(out.cols[into].head, fillTo(g.cols[i].head, height)...)
		for y, row := range g.rows {
			lines := row.cells[i].lines
			if !row.more {
				lines = fillTo(lines, height)
			}
			c := &out.rows[y].cells[into]
			if i == into {
				c.lines = lines
				continue
			}
			c.lines = append(slices.Clip(c.lines), lines...)
		}
	}
	return out.keep(func(i int) bool { return i == into || !slices.Contains(group, i) })
}

// height is how many lines a column needs.
func (g grid) height(i int) int {
	n := len(g.cols[i].head)
	for _, row := range g.rows {
		if !row.more {
			n = max(n, len(row.cells[i].lines))
		}
	}
	return n
}

func fillTo[T any](lines []T, n int) []T {
	return append(slices.Clip(lines), make([]T, max(0, n-len(lines)))...)
}

func (g grid) keep(kept func(i int) bool) grid {
	var out grid
	for i, c := range g.cols {
		if kept(i) {
			out.cols = append(out.cols, c)
		}
	}
	for _, row := range g.rows {
		r := gridRow{more: row.more}
		for i, c := range row.cells {
			if kept(i) {
				r.cells = append(r.cells, c)
			}
		}
		out.rows = append(out.rows, r)
	}
	return out
}
