package render

import (
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/doc"
	"github.com/scalebench/scalebench/internal/doc/chart"
	"github.com/scalebench/scalebench/internal/doc/term"
)

// TextOptions says where text is shown. The zero value has no limit of width
// and no colours.
type TextOptions struct {
	Width int  // columns; 0: no limit
	Color bool // ANSI colours
	ASCII bool // charts of ASCII characters only
}

// PlainWidth is the width of text where no terminal tells one: what logs of CI
// jobs, mails and tickets show without breaking lines.
const PlainWidth = 100

// prose is how wide sentences and charts become at most: what is read well.
const prose = 110

// gap is the space between two columns.
const gap = "  "

// styles is how tones look on a terminal.
var styles = map[doc.Tone]term.Style{
	doc.Strong: term.Strong, doc.Faint: term.Faint, doc.Good: term.Good, doc.Gain: term.Good,
	doc.Bad: term.Bad, doc.Note: term.Note, doc.Doubt: term.Note,
	doc.Notable: term.Note, doc.High: term.High,
}

// Text writes a document for a terminal, or for a pipe. Tables take the first
// layout that fits; figures that text cannot carry, parts for pages and closed
// folds are left out.
func Text(w io.Writer, d *doc.Document, o TextOptions) error {
	t := &textWriter{o: o, width: prose}
	if o.Width > 0 {
		t.width = min(o.Width, prose)
	}
	t.top(d)
	t.end()
	for _, x := range d.Warnings {
		t.wrap("! ", about(x)+term.Clean(x.Text), doc.Note)
	}
	t.end()
	for _, s := range d.Sections {
		t.section(s)
	}
	return put(w, t.b.String())
}

// textWriter writes lines. Between two pieces stands one empty line.
type textWriter struct {
	b     strings.Builder
	o     TextOptions
	width int  // of prose
	ended bool // the next line begins another piece
}

// line writes one line, which must be clean.
func (t *textWriter) line(s string) {
	if t.ended && t.b.Len() > 0 {
		t.b.WriteByte('\n')
	}
	t.ended = false
	t.b.WriteString(strings.TrimRight(s, " ") + "\n")
}

// end ends a piece.
func (t *textWriter) end() { t.ended = true }

func (t *textWriter) paint(s string, tone doc.Tone) string {
	if !t.o.Color {
		return s
	}
	return term.Paint(s, styles[tone])
}

// wrap writes clean text, broken between words, with a lead before its first
// line.
func (t *textWriter) wrap(lead, text string, tone doc.Tone) {
	for i, l := range term.Wrap(text, max(t.width-term.Width(lead), 20)) {
		if i > 0 {
			lead = strings.Repeat(" ", term.Width(lead))
		}
		t.line(t.paint(lead+l, tone))
	}
}

// top is what stands above the sections: title, facts, the answer.
func (t *textWriter) top(d *doc.Document) {
	title, labelled := titleLine(d)
	t.beside(title)
	t.fields(labelled)
	if len(labelled) > 0 {
		t.end()
	}
	if d.Answer != "" {
		t.wrap("", term.Clean(d.Answer), doc.Strong)
	}
	for _, p := range d.More {
		t.wrap("", term.Clean(p), doc.Plain)
	}
}

// beside writes texts on one line, or below each other where that is too long.
func (t *textWriter) beside(parts []gridLine) {
	parts = slices.DeleteFunc(parts, func(p gridLine) bool { return p.text == "" })
	var painted []string
	width := 0
	for _, p := range parts {
		painted = append(painted, t.paint(p.text, p.tone))
		width += term.Width(p.text) + len(gap)
	}
	if width-len(gap) <= t.width && len(parts) > 0 {
		t.line(strings.Join(painted, gap))
		return
	}
	for _, p := range parts {
		t.wrap("", p.text, p.tone)
	}
}

// titleLine are the parts of the first line, clean, and the facts that have a
// line of their own.
func titleLine(d *doc.Document) (parts []gridLine, labelled []doc.Field) {
	if d.Title != "" {
		parts = append(parts, gridLine{term.Clean(d.Title), doc.Strong})
	}
	for _, f := range d.About {
		if f.Label == "" {
			parts = append(parts, gridLine{term.Clean(f.Text), f.Tone})
			continue
		}
		labelled = append(labelled, f)
	}
	if d.Verdict.Word != "" {
		parts = append(parts, gridLine{term.Clean(d.Verdict.Word), d.Verdict.Tone})
	}
	return parts, labelled
}

// about names what a warning concerns, where its links cannot be followed.
func about(x doc.Warning) string {
	const most = 3
	var names []string
	for _, l := range x.Links {
		names = append(names, term.Clean(l.Text))
	}
	if len(names) == 0 {
		return ""
	}
	if more := len(names) - most; more > 0 {
		names = append(names[:most], strconv.Itoa(more)+" more")
	}
	return strings.Join(names, ", ") + ": "
}

func (t *textWriter) section(s doc.Section) {
	if s.Show == doc.Page {
		return
	}
	body := &textWriter{o: t.o, width: t.width}
	body.blocks(s.Blocks)
	if body.b.Len() == 0 && silent(s) {
		return
	}
	t.end()
	t.beside([]gridLine{
		{strings.TrimSpace(term.Clean(s.Kind) + " " + term.Clean(s.Title)), doc.Strong},
		{term.Clean(s.Tag.Word), s.Tag.Tone}, {term.Clean(s.Words), doc.Plain},
	})
	if s.Intro != "" {
		t.wrap("", term.Clean(s.Intro), doc.Plain)
	}
	if body.b.Len() > 0 {
		t.ended = t.ended || s.Blocks[0].Part != nil
		t.line(strings.TrimRight(body.b.String(), "\n"))
	}
	t.end()
}

// silent reports that no block of a section has content: the section is then
// left out, also if it has an introduction.
func silent(s doc.Section) bool {
	return s.Words == "" && s.Tag.Word == "" && (s.Intro == "" || len(s.Blocks) > 0)
}

func (t *textWriter) blocks(blocks []doc.Block) {
	for _, b := range blocks {
		if b.Show != doc.Page {
			t.block(b)
		}
	}
}

func (t *textWriter) block(b doc.Block) {
	switch {
	case b.Text != nil:
		// A remark belongs to what stands above it.
		t.ended = t.ended && b.Text.Tone != doc.Faint
		t.wrap("", term.Clean(b.Text.Text), b.Text.Tone)
	case b.List != nil:
		t.list(*b.List)
	case b.Fields != nil:
		t.fields(b.Fields)
	case b.Table != nil:
		t.table(b.Table)
	case b.Figure != nil:
		t.figure(*b.Figure)
	case b.Code != nil:
		for _, l := range term.CleanLines(b.Code.Text) {
			t.line("  | " + l)
		}
	case b.Part != nil:
		t.section(*b.Part)
	case b.Fold != nil && b.Fold.Open:
		t.section(doc.Section{Title: b.Fold.Title, Words: b.Fold.Words, Blocks: b.Fold.Blocks})
	default:
		return
	}
	t.end()
}

func (t *textWriter) list(l doc.List) {
	lead := "- "
	switch l.Tone {
	case doc.Note:
		lead = "! "
	case doc.Doubt:
		lead = "? "
	}
	for _, item := range l.Items {
		t.wrap(lead, term.Clean(item), l.Tone)
	}
}

// fields writes labels with their texts beside them.
func (t *textWriter) fields(fields []doc.Field) {
	label := 0
	for _, f := range fields {
		label = max(label, term.Width(term.Clean(f.Label)))
	}
	label = min(label, t.width/2) // longer ones stand alone
	for _, f := range fields {
		t.field(term.Clean(f.Label), label, "  ", term.Clean(f.Text), f.Tone, t.width)
	}
}

// leastLabel and leastRoom are how wide labels and the texts beside them are at
// least.
const leastLabel, leastRoom = 12, 14

// field writes a label and the text beside it, which is broken where there is
// a width. A label that is too long stands on a line of its own.
func (t *textWriter) field(label string, width int, indent, text string, tone doc.Tone, total int) {
	if term.Width(label) > width {
		t.line(indent + t.paint(label, doc.Faint))
		label = ""
	}
	room := 0
	if total > 0 {
		room = max(leastRoom, total-len(indent)-width-len(gap))
	}
	for _, l := range term.Wrap(text, room) {
		t.line(indent + t.pad(label, width, false, doc.Faint) + gap + t.paint(l, tone))
		label = ""
	}
}

// figure writes the panels that text can carry.
func (t *textWriter) figure(f doc.Figure) {
	var drawn []string
	for _, p := range f.Panels {
		lines := chart.Text(p.Chart, chart.TextOptions{Width: t.width, ASCII: t.o.ASCII, Color: t.o.Color})
		if lines == nil {
			continue
		}
		if caption := caption(p.Title, p.Words); caption != "" {
			drawn = append(drawn, caption)
		}
		drawn = append(drawn, lines...)
	}
	if drawn == nil {
		return
	}
	if caption := caption(f.Title, f.Words); caption != "" {
		t.wrap("", caption, doc.Plain)
	}
	for _, l := range drawn {
		t.line(l)
	}
	if f.Note != "" {
		t.wrap("", term.Clean(f.Note), doc.Faint)
	}
}

// caption is a title and the words beside it, clean.
func caption(title, words string) string {
	title, words = term.Clean(title), term.Clean(words)
	if title != "" && words != "" {
		return title + ": " + words
	}
	return title + words
}

// table leaves out a table without rows: there is nothing below its heads.
func (t *textWriter) table(table *doc.Table) {
	if len(table.Rows) == 0 {
		return
	}
	var g grid
	var alike, left []string
	ok := table.OneLine
	if ok {
		g, left = newGrid(table).oneLine(t.o.Width)
	} else {
		g, alike, ok = fit(table, t.o.Width)
	}
	if !ok {
		t.records(g)
		return
	}
	widths := g.widths()
	var head gridRow
	named := false
	for _, c := range g.cols {
		var cell gridCell
		for _, h := range c.head {
			named = named || h != ""
			cell.lines = append(cell.lines, gridLine{strings.ToUpper(h), doc.Faint})
		}
		head.cells = append(head.cells, cell)
	}
	if named {
		t.row(g, head, widths)
	}
	// Rows of several lines need air between them to be told apart, unless each
	// begins with a name of one line and goes on beside it.
	tall := slices.ContainsFunc(g.rows, func(r gridRow) bool { return len(r.cells) > 0 && (gridRow{cells: r.cells[:1]}).height() > 1 })
	for i, row := range g.rows {
		t.ended = t.ended || tall && i > 0 && !row.more
		t.row(g, row, widths)
	}
	if alike != nil {
		t.wrap("", "alike in every row: "+strings.Join(alike, ", "), doc.Faint)
	}
	if left != nil {
		t.wrap("", "left out for lack of room: "+strings.Join(left, ", ")+"; --wide shows all", doc.Faint)
	}
}

func (r gridRow) height() int {
	n := 0
	for _, c := range r.cells {
		for y, l := range c.lines {
			if l.text != "" {
				n = max(n, y+1)
			}
		}
	}
	return n
}

func (t *textWriter) row(g grid, row gridRow, widths []int) {
	for y := range max(row.height(), 1) {
		var line strings.Builder
		for i, c := range row.cells {
			if i > 0 {
				line.WriteString(gap)
			}
			var l gridLine
			if y < len(c.lines) {
				l = c.lines[y]
			}
			line.WriteString(t.pad(l.text, widths[i], g.cols[i].Right, l.tone))
		}
		t.line(line.String())
	}
}

// pad fills text to a width. Colours go around the text only, so that they do
// not count.
func (t *textWriter) pad(text string, width int, right bool, tone doc.Tone) string {
	fill := strings.Repeat(" ", max(0, width-term.Width(text)))
	if right {
		return fill + t.paint(text, tone)
	}
	return t.paint(text, tone) + fill
}

// records writes a line of label and value for each cell that says something.
func (t *textWriter) records(g grid) {
	label := 0
	for _, c := range g.cols {
		label = max(label, term.Width(c.head[0]))
	}
	label = min(label, max(leastLabel, t.o.Width-len(gap)-leastRoom))
	for i, row := range g.rows {
		t.ended = t.ended || i > 0 && !row.more
		for j, c := range row.cells {
			if text := c.text(); text != "" {
				t.field(g.cols[j].head[0], label, "", text, c.lines[0].tone, t.o.Width)
			}
		}
	}
}
