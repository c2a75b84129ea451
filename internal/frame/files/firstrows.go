package files

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"github.com/scalebench/scalebench/internal/tabular"
)

// How many rows say what columns hold, and how much is read, in bytes, to find a value
// of a column of times or values that has none in them.
const (
	mostLooked = 1000
	mostAhead  = 64 << 20
)

// look looks at the rows that follow, and returns all that was read for that.
func (f *file) look(columns []column, r *tabular.Rows, p *tabular.Pieces) ([]byte, error) {
	c := newClock(f.zone)
	looked, read, open := 0, r.Data, []int(nil)
	for {
		for r.Next() {
			if looked++; looked%mostLooked == 0 {
				if open = unseen(columns); len(open) == 0 {
					break
				}
			}
			if looked < mostLooked || len(open) > 0 {
				lookAt(columns, open, r, c)
			}
		}
		if r.Err != nil {
			return nil, f.badQuote(r)
		}
		if open = unseen(columns); looked > 0 && (len(open) == 0 || len(read) >= mostAhead) {
			break
		}
		more, err := p.Next(nil)
		if errors.Is(err, io.EOF) && looked > 0 {
			break
		} else if errors.Is(err, io.EOF) {
			return nil, f.wrong("the file has a header and no values", "add at least one line of values")
		} else if err != nil {
			return nil, f.unreadable(err, bytes.Count(read, []byte("\n")))
		}
		at := len(read)
		read = append(read, more...)
		r.Begin(read)
		r.At = at
	}
	for i := range columns {
		if columns[i].judge(); f.row != "line" {
			columns[i].up()
		}
	}
	return read, nil
}

// lookAt looks at the cells of the current row: at all, or at those columns.
func lookAt(columns []column, only []int, r *tabular.Rows, by *clock) {
	look := func(i int) {
		c := &columns[i]
		example := c.marks.example
		first := c.look(trim(r.Cell(i)), by)
		if first {
			c.textLine, c.textCol = r.CellAt(i)
		}
		if c.marks.example != example {
			c.marks.line, c.marks.col = r.CellAt(i)
		}
		if len(c.marks.units) > len(c.marks.unitAt) {
			line, col := r.CellAt(i)
			c.marks.unitAt = append(c.marks.unitAt, [2]int{line, col})
		}
	}
	if only == nil {
		for i := range min(r.Width(), len(columns)) {
			look(i)
		}
		return
	}
	for _, i := range only {
		if i < r.Width() {
			look(i)
		}
	}
}

// unseen are columns that have still to be looked at: those of times or values, by
// their names, which are empty while no other one like that has any; and dates with
// slashes of which the order is not clear.
func unseen(columns []column) (open []int) {
	for _, of := range []struct {
		names []string
		kinds []kind
	}{{timeNames, []kind{kindTime, kindUnix}}, {valueNames, []kind{kindNumber, kindQuantity}}} {
		var empty []int
		seen := false
		for i := range columns {
			c := &columns[i]
			if !c.named(of.names) {
				continue
			}
			seen = seen || slices.ContainsFunc(of.kinds, func(k kind) bool { return c.seen[k] > 0 })
			if c.cells() == 0 && !slices.Contains(open, i) {
				empty = append(empty, i)
			}
		}
		if !seen {
			open = append(open, empty...)
		}
	}
	for i := range columns {
		if c := &columns[i]; c.slashed > 0 && c.slashed == c.seen[kindText] && c.dayFirst == 0 && c.monthFirst == 0 {
			open = append(open, i)
		}
	}
	return open
}
