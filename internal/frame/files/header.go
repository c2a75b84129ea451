package files

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// header reads the names of the columns.
func (f *file) header(r *tabular.Rows) ([]column, error) {
	for r.Next() {
		if r.Blank() {
			continue
		}
		if r.Width() > tabular.MostColumns {
			line, col := r.CellAt(0)
			wide := f.tooWide(r.Width())
			wide.Line, wide.Col = line, col
			return nil, wide
		}
		names := rowOf(r)
		if behind, at := f.behind(r, names); behind != nil {
			names, r.At = behind, at
		} else if i := f.valueAt(r, names); i >= 0 {
			line, col := r.CellAt(i)
			return nil, f.noNames(r, names[i], line, col)
		}
		r.Comments = false
		var out []column
		for i, name := range names {
			out = append(out, newColumn(i+1, name))
		}
		return out, nil
	}
	if r.Err != nil {
		return nil, f.badQuote(r)
	}
	return nil, f.wrong("the file is empty", "give a table with a line of names, such as time,node,value, and "+
		"lines of values")
}

// tooWide refuses a table that has so many columns.
func (f *file) tooWide(columns int) *model.InputError {
	return f.wrong("there are "+num.Count(columns, "column"), "give at most "+num.Grouped(tabular.MostColumns))
}

// rowOf is the cells of the current row.
func rowOf(r *tabular.Rows) (cells []string) {
	for i := range r.Width() {
		cells = append(cells, string(trim(r.Cell(i))))
	}
	return cells
}

// behind are the names of columns in a comment before the first row, if that has values
// and the comment as many words, and where the line after it begins; nil if it has not.
// In #,zone,value the # is the name of the column that numbers the rows.
// Comments below it that have values are rows.
func (f *file) behind(r *tabular.Rows, first []string) (names []string, at int) {
	c := newClock(f.zone)
	value := func(cell string) bool { return isValue(kindOfCell(cell, c)) }
	if !slices.ContainsFunc(first, value) {
		return nil, 0
	}
	for _, start := range slices.Backward(r.Skipped) {
		end, next := r.Line(start)
		comment := &tabular.Rows{Comma: r.Comma}
		if comment.Begin(r.Data[start+1 : end]); !comment.Next() || comment.Width() != len(first) {
			return nil, 0
		}
		names := rowOf(comment)
		numbered := len(names) > 1 && names[0] == ""
		if numbered {
			names[0] = "#"
		}
		switch {
		case slices.Contains(names, ""):
			return nil, 0
		case !slices.ContainsFunc(names, value):
			if !numbered {
				f.say("the names of the columns are those in the comment before the first row")
			}
			return names, next
		}
	}
	return nil, 0
}

// kindOfCell is what a cell seems to hold, whatever marks its numbers have.
func kindOfCell(cell string, c *clock) kind {
	k := kindOf([]byte(cell), c)
	if k == kindText {
		k = new(marks).look([]byte(cell))
	}
	if k == kindText && slashed.MatchString(cell) {
		k = kindTime
	}
	return k
}

func isValue(k kind) bool { return k != kindEmpty && k != kindText }

// valueAt is where the first row, in which names of columns are expected, has a value; -1
// where it has none. A number is none of a column's name; 99 % and 2026-04-03 may be,
// unless the row below has the same in all columns.
func (f *file) valueAt(r *tabular.Rows, first []string) int {
	c := newClock(f.zone)
	at := -1
	next := r.Ahead()
	alike := next.Next() && next.Width() == len(first)
	for i, name := range first {
		if _, ok := number([]byte(name)); ok {
			return i
		}
		k := kindOfCell(name, c)
		if at < 0 && isValue(k) {
			at = i
		}
		alike = alike && k == kindOfCell(string(trim(next.Cell(i))), c)
	}
	if alike {
		return at
	}
	return -1
}

// noNames refuses a first line that has values; the names may be in a comment below it.
func (f *file) noNames(r *tabular.Rows, name string, line, col int) error {
	out := f.wrongAt(line, col, fmt.Sprintf("the first line has %q where names of columns are expected", name),
		`add a line before it, such as "time,node,value"`)
	if at := r.At; at < len(r.Data) && r.Data[at] == '#' {
		end, _ := r.Line(at)
		if line, _ := r.LineOf(at); bytes.IndexByte(r.Data[at:end], r.Comma) > 0 {
			out.Allowed = fmt.Sprintf("if the names are those in line %d, delete the lines before it and its #", line)
		}
	}
	return out
}
