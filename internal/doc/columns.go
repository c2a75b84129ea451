package doc

import (
	"slices"
	"strings"
)

// Label is a column of texts; tip is what an abbreviated head means.
func Label(key, head string, tip ...string) Column {
	return Column{Key: key, Head: head, Tip: strings.Join(tip, "")}
}

// Number is a column of numbers.
func Number(key, head string, tip ...string) Column {
	c := Label(key, head, tip...)
	c.Right = true
	return c
}

// Interval is a column of numbers with intervals.
func Interval(key, head string, tip ...string) Column {
	c := Number(key, head, tip...)
	c.Interval = true
	return c
}

// Drop removes the columns whose keys are not wanted, with their cells.
func (t *Table) Drop(unwanted func(key string) bool) {
	for i := len(t.Columns) - 1; i >= 0; i-- {
		if !unwanted(t.Columns[i].Key) {
			continue
		}
		t.Columns = slices.Delete(t.Columns, i, i+1)
		for row := range t.Rows {
			t.Rows[row].Cells = slices.Delete(t.Rows[row].Cells, i, i+1)
		}
	}
}
