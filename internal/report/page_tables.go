package report

import (
	"strings"

	"github.com/scalebench/scalebench/internal/report/table"
)

// tableView is a table for the page, with the text that its button copies.
type tableView struct {
	Head []headView
	Rows [][]cellView
	TSV  string
}

type headView struct {
	Lines []string
	Num   bool
	Tip   string
}

type cellView struct {
	Lines []string
	Class string
}

// newTableView shows one table and copies another: people read rounded numbers
// and copy the exact ones.
func newTableView(shown, copied *table.Table) *tableView {
	v := &tableView{TSV: tsv(copied)}
	for _, c := range shown.Columns {
		v.Head = append(v.Head, headView{Lines: strings.Split(c.Head, "\n"), Num: c.Align == table.Right, Tip: c.Tip})
	}
	for _, row := range shown.Rows {
		cells := make([]cellView, len(row))
		for i, c := range row {
			cells[i] = newCellView(c, shown.Columns[i].Align == table.Right)
		}
		v.Rows = append(v.Rows, cells)
	}
	return v
}

var styleClass = map[table.Style]string{
	table.Strong: "strong", table.Faint: "faint", table.Good: "good", table.Bad: "bad", table.Note: "note",
}

func newCellView(c table.Cell, number bool) cellView {
	v := cellView{Lines: c.Lines, Class: styleClass[c.Style]}
	if number {
		v.Class = strings.TrimSpace("num " + v.Class)
		v.Lines = make([]string, len(c.Lines))
		for i, l := range c.Lines {
			v.Lines[i] = minus(l)
		}
	}
	return v
}

// tsv is the table as a spreadsheet takes it from the clipboard. It knows no
// quoting: a tab or a line end within a value becomes a space.
func tsv(t *table.Table) string {
	flat := strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")
	var b strings.Builder
	for i, c := range t.Columns {
		if i > 0 {
			b.WriteByte('\t')
		}
		b.WriteString(table.Clean(c.Key))
	}
	b.WriteByte('\n')
	for _, row := range t.Rows {
		for i, c := range row {
			if i > 0 {
				b.WriteByte('\t')
			}
			b.WriteString(table.Clean(flat.Replace(table.Plaintext(c.Value))))
		}
		b.WriteByte('\n')
	}
	return b.String()
}
