package table

import (
	"fmt"
	"io"
	"strings"
)

// gap is the space between two columns.
const gap = "  "

// TextOptions says where text is shown.
type TextOptions struct {
	Width int  // columns of the terminal; 0: no limit
	Color bool // use ANSI colours
}

// layout is how the lines of a cell are placed.
type layout int

const (
	oneLine layout = iota // joined by a space
	stacked               // below each other
)

// WriteText writes the table aligned, in the first of its three forms that
// fits the width.
func (t *Table) WriteText(w io.Writer, o TextOptions) error {
	for _, l := range []layout{oneLine, stacked} {
		if o.Width <= 0 || t.width(l) <= o.Width {
			return t.writeAligned(w, l, o)
		}
	}
	return t.writeRecords(w, o)
}

// FitsOneLine reports whether each row fits on one line of this width.
func (t *Table) FitsOneLine(width int) bool { return width <= 0 || t.width(oneLine) <= width }

// FitsStacked reports whether the table fits with stacked cells.
func (t *Table) FitsStacked(width int) bool { return width <= 0 || t.width(stacked) <= width }

// width is how many columns the whole table takes.
func (t *Table) width(l layout) int {
	sum := 0
	for i, n := range t.widths(l) {
		if i > 0 {
			sum += len(gap)
		}
		sum += n
	}
	return sum
}

func (t *Table) widths(l layout) []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		out[i] = widest(arrange(strings.Split(c.Head, "\n"), l))
	}
	for _, row := range t.Rows {
		for i, c := range row {
			out[i] = max(out[i], widest(arrange(c.Lines, l)))
		}
	}
	return out
}

func arrange(lines []string, l layout) []string {
	if l == stacked || len(lines) < 2 {
		return lines
	}
	return []string{strings.Join(lines, " ")}
}

func widest(lines []string) int {
	n := 0
	for _, l := range lines {
		n = max(n, Width(l))
	}
	return n
}

func (t *Table) writeAligned(w io.Writer, l layout, o TextOptions) error {
	widths := t.widths(l)
	head := make([]Cell, len(t.Columns))
	for i, c := range t.Columns {
		head[i] = Cell{Lines: strings.Split(strings.ToUpper(c.Head), "\n"), Style: Faint}
	}
	rows := append([][]Cell{head}, t.Rows...)
	tall := l == stacked && t.tall()
	for i, row := range rows {
		// Rows of several lines need air between them to be told apart.
		if tall && i > 1 && !t.continued[i-1] {
			if _, err := fmt.Fprintln(w); err != nil {
				return fmt.Errorf("writing table: %w", err)
			}
		}
		if err := t.writeRow(w, row, widths, l, o); err != nil {
			return fmt.Errorf("writing table: %w", err)
		}
	}
	return nil
}

func (t *Table) tall() bool {
	for _, row := range t.Rows {
		for _, c := range row {
			if len(c.Lines) > 1 {
				return true
			}
		}
	}
	return false
}

func (t *Table) writeRow(w io.Writer, row []Cell, widths []int, l layout, o TextOptions) error {
	height := 1
	for _, c := range row {
		height = max(height, len(arrange(c.Lines, l)))
	}
	for y := range height {
		var b strings.Builder
		for i, c := range row {
			if i > 0 {
				b.WriteString(gap)
			}
			text := ""
			if lines := arrange(c.Lines, l); y < len(lines) {
				text = lines[y]
			}
			b.WriteString(pad(text, widths[i], t.Columns[i].Align, c.Style, o.Color))
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}

// pad fills text to a width. The colour goes around the text only, so that it
// does not count.
func pad(text string, width int, a Align, s Style, color bool) string {
	fill := strings.Repeat(" ", max(0, width-Width(text)))
	if text == "" {
		return fill
	}
	if color {
		text = Paint(text, s)
	}
	if a == Right {
		return fill + text
	}
	return text + fill
}

// writeRecords writes one block of label and value lines per row.
func (t *Table) writeRecords(w io.Writer, o TextOptions) error {
	label := 0
	for _, c := range t.Columns {
		label = max(label, Width(oneLineHead(c)))
	}
	for i, row := range t.Rows {
		var b strings.Builder
		if i > 0 && !t.continued[i] {
			b.WriteString("\n")
		}
		for j, c := range row {
			writeField(&b, oneLineHead(t.Columns[j]), label, c, o)
		}
		if _, err := io.WriteString(w, b.String()); err != nil {
			return fmt.Errorf("writing table: %w", err)
		}
	}
	return nil
}

func oneLineHead(c Column) string { return strings.ReplaceAll(c.Head, "\n", " ") }

func writeField(b *strings.Builder, head string, label int, c Cell, o TextOptions) {
	text := strings.Join(c.Lines, " ")
	if text == "" {
		return
	}
	room := 0
	if o.Width > 0 {
		room = max(20, o.Width-label-len(gap))
	}
	for k, line := range Wrap(text, room) {
		if k > 0 {
			head = ""
		}
		b.WriteString(pad(head, label, Left, Faint, o.Color) + gap + pad(line, 0, Left, c.Style, o.Color) + "\n")
	}
}

// Paint puts ANSI colours around text. The colours differ in brightness, too,
// and the words say the same: no meaning is carried by colour alone.
func Paint(text string, s Style) string {
	code := map[Style]string{Strong: "1", Faint: "2", Good: "36", Bad: "1;33", Note: "33"}[s]
	if code == "" || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}
