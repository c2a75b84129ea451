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
	keys  []string // several where columns are stacked
	head  []string
	tip   string
	right bool
	drop  int
	wrap  int
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
		g.cols = append(g.cols, gridColumn{
			keys: []string{c.Key}, head: term.CleanLines(c.Head), tip: c.Tip, right: c.Right, drop: c.Drop, wrap: c.Wrap,
		})
	}
	for _, r := range t.Rows {
		row := gridRow{more: r.More, cells: make([]gridCell, len(shown))}
		for k, i := range shown {
			if i >= len(r.Cells) {
				break
			}
			row.cells[k].href = r.Cells[i].Href
			for _, l := range r.Cells[i].Lines {
				row.cells[k].lines = append(row.cells[k].lines, gridLine{term.Clean(l), r.Cells[i].Tone})
			}
		}
		g.rows = append(g.rows, row)
	}
	return g
}

// fit returns the table in the first form that fits the width (0: no limit):
// one line a row; long texts broken; the lines of cells below each other;
// columns stacked, group by group; columns left out. ok is false where even
// that is too wide: then it is best shown as records.
func fit(t *doc.Table, width int) (g grid, ok bool) {
	one := newGrid(t).joined()
	if one.fits(width) {
		return one, true
	}
	if g = one.wrapped(width); g.fits(width) {
		return g, true
	}
	g = stack(t, width)
	level := 0
	for _, c := range g.cols {
		level = max(level, c.drop)
	}
	for ; ; level-- {
		if g.fits(width) {
			return g, true
		}
		if w := g.wrapped(width); w.fits(width) {
			return w, true
		}
		if level == 0 {
			return one, false
		}
		g = g.without(level)
	}
}

// stack has the lines of cells below each other, and as many groups of columns
// stacked as the width asks for. Long texts are not broken yet.
func stack(t *doc.Table, width int) grid {
	g := newGrid(t)
	for _, group := range t.Stack {
		if g.wrapped(width).fits(width) {
			return g
		}
		g = g.stacked(group)
	}
	return g
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

// mapped returns a copy with other heads and cells.
func (g grid) mapped(head func(gridColumn) []string, cell func(gridColumn, gridCell) gridCell) grid {
	out := grid{cols: slices.Clone(g.cols), rows: slices.Clone(g.rows)}
	for i := range out.cols {
		out.cols[i].head = head(g.cols[i])
	}
	for y, row := range g.rows {
		out.rows[y].cells = make([]gridCell, len(row.cells))
		for i, c := range row.cells {
			out.rows[y].cells[i] = cell(g.cols[i], c)
		}
	}
	return out
}

// joined has one line in each cell.
func (g grid) joined() grid {
	return g.mapped(
		func(c gridColumn) []string { return []string{strings.Join(c.head, " ")} },
		func(_ gridColumn, c gridCell) gridCell {
			if len(c.lines) > 1 {
				c.lines = []gridLine{{c.text(), c.lines[0].tone}}
			}
			return c
		})
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
		if limit := g.cols[i].wrap; limit > 0 {
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
	return g.mapped(
		func(c gridColumn) []string { return c.head },
		func(col gridColumn, c gridCell) gridCell {
			if col.wrap == 0 {
				return c
			}
			var lines []gridLine
			for _, l := range c.lines {
				for _, text := range term.Wrap(l.text, col.wrap+more) {
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
	out := g.mapped(func(c gridColumn) []string { return c.head }, func(_ gridColumn, c gridCell) gridCell { return c })
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

// without leaves out the columns of this drop level and of higher ones.
func (g grid) without(level int) grid {
	return g.keep(func(i int) bool { return g.cols[i].drop < level })
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
