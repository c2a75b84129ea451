// Package tabular reads tables of any size from files, row by row:
//
//  1. [Open] finds out how the file is written: packed with gzip or not, with a
//     byte order mark, separated by commas, semicolons or tabs.
//  2. [Reader.Use] holds the header to the forms that a study understands.
//  3. [Reader.Next] goes through the rows; cells are read from the columns that
//     are asked for.
//  4. [Reader.Err] is everything that is wrong with the file, each with line and
//     column; the first model.MaxInputErrors in full.
//
// Memory does not grow with the file.
package tabular

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
)

// Form is one kind of table. Column names are in lower case; a file may write
// them with capitals, and with spaces for underscores.
type Form struct {
	// Required and Optional are the columns. The second and later ones of
	// Required tell forms apart.
	Required, Optional []string
}

// Column is a place in the rows; Absent where the file has no such column.
type Column int

// Absent is the column that is not there; its cells are empty.
const Absent Column = -1

// Reader reads one table.
type Reader struct {
	// Names turns the name of a column in the file into the one that forms have; nil: it stays.
	Names   func(string) string
	name    string
	pieces  Pieces
	piece   Rows
	before  int // lines before the piece
	columns map[string]Column
	names   []string // of the columns, as they are known to forms
	cells   []string // of the current row
	rows    int
	width   int
	// commented: the file begins with a comment.
	commented bool
	// separated: the first line says what separates cells.
	separated bool
	problems  Problems
	err       error // reading failed
}

// comment begins a line that is none of the table, before the header.
const comment = '#'

// bufferSize is how much is read ahead.
const bufferSize = 64 << 10

// Open begins to read a table; name is that of the file, for messages.
func Open(name string, r io.Reader) (*Reader, error) {
	source, err := Unpack(name, r)
	if err != nil {
		return nil, err
	}
	source = UTF8(source)
	beginning, _ := source.Peek(bufferSize) // an error comes again when rows are read
	comma, from := Separator(beginning)
	t := &Reader{name: name, separated: from > 0, pieces: Pieces{Source: source, Size: bufferSize, Longest: longestRow}}
	t.piece.Comma = comma
	if !numbered(beginning[from:], comma) {
		t.piece.Comments, t.commented = true, len(beginning) > 0 && beginning[0] == comment
	}
	return t, nil
}

// Unpack is what a file says, which may be packed with gzip.
func Unpack(name string, r io.Reader) (*bufio.Reader, error) {
	source := bufio.NewReaderSize(r, bufferSize)
	if magic, _ := source.Peek(2); !bytes.Equal(magic, []byte{0x1f, 0x8b}) {
		return source, nil
	}
	unpacked, err := gzip.NewReader(source)
	if err != nil {
		return nil, Unreadable(name, err)
	}
	return bufio.NewReaderSize(unpacked, bufferSize), nil
}

// longestRow is how long a row may be, in bytes.
const longestRow = 1 << 20

// Unreadable is why a file cannot be read: often it is packed and not whole.
func Unreadable(name string, err error) error {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return &model.InputError{File: name, Problem: "the gzip file is cut", Allowed: "make or copy it again"}
	case errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.As(err, &corrupt):
		return &model.InputError{File: name, Problem: "the gzip file is damaged", Allowed: "make or copy it again"}
	}
	return fmt.Errorf("reading %s: %w", name, err)
}

// Use reads the header and returns which of the forms it has. allowed says in
// words which there are. The error is of model.InputErrors, or that of the reader:
// without the header nothing more can be said.
func (t *Reader) Use(forms []Form, allowed string) (form int, err error) {
	if t.separated {
		t.read()
	}
	if !t.read() {
		if len(t.problems.InputErrors) == 0 && t.err == nil {
			t.Refuse("the file is empty", allowed)
		}
		return 0, t.Err()
	}
	t.piece.Comments = false // what begins with # after the header is a value
	if len(t.cells) > MostColumns {
		t.refuseAt(0, "there are "+num.Count(len(t.cells), "column"),
			fmt.Sprintf("give at most %s", num.Grouped(MostColumns)))
		return 0, t.Err()
	}
	for _, c := range t.cells {
		name := strings.ReplaceAll(strings.ToLower(c), " ", "_")
		if t.Names != nil {
			name = t.Names(name)
		}
		t.names = append(t.names, name)
	}
	form = slices.IndexFunc(forms, func(f Form) bool {
		return slices.ContainsFunc(f.Required[1:], func(name string) bool { return slices.Contains(t.names, name) })
	})
	if form < 0 {
		if t.commented && t.Line() > 1 {
			allowed += "; if the names are behind #, delete it"
		}
		t.refuseAt(0, "unknown columns "+num.List(t.names), allowed)
		return 0, t.Err()
	}
	t.setColumns(forms[form])
	if len(t.problems.InputErrors) > 0 {
		return form, t.Err()
	}
	return form, nil
}

// setColumns finds the columns of a form, and those that are not of it.
func (t *Reader) setColumns(f Form) {
	allowed := "columns of this form: " + strings.Join(slices.Concat(f.Required, f.Optional), ", ")
	t.columns, t.width = make(map[string]Column, len(t.names)), len(t.names)
	for i, name := range t.names {
		if _, twice := t.columns[name]; twice {
			t.refuseAt(i, fmt.Sprintf("the column %q appears twice", name), allowed)
		} else if !slices.Contains(f.Required, name) && !slices.Contains(f.Optional, name) {
			t.refuseAt(i, fmt.Sprintf("unknown column %q", name), allowed)
		}
		t.columns[name] = Column(i)
	}
	for _, name := range f.Required {
		if _, ok := t.columns[name]; !ok {
			t.refuseAt(0, fmt.Sprintf("the column %q is missing", name), allowed)
		}
	}
}

// Comma is what separates cells.
func (t *Reader) Comma() byte { return t.piece.Comma }

// Column finds a column of the form.
func (t *Reader) Column(name string) Column {
	if c, ok := t.columns[name]; ok {
		return c
	}
	return Absent
}

// Next goes to the next row that has a cell for every column. It reports false
// at the end, and where what follows would be guesswork.
func (t *Reader) Next() bool {
	for t.read() {
		t.rows++
		if len(t.cells) == t.width {
			return true
		}
		allowed := "the header has " + num.Count(t.width, "column")
		if strings.HasPrefix(t.cells[0], string(comment)) {
			allowed += HashAllowed
		}
		t.refuseAt(0, "the line has "+num.Count(len(t.cells), "value"), allowed)
	}
	if t.rows == 0 && len(t.problems.InputErrors) == 0 && t.err == nil {
		t.Refuse("the file has a header and no values", "add at least one line of values")
	}
	return false
}

// read reads the next row that is not blank, as spreadsheets leave rows of
// empty cells behind.
func (t *Reader) read() bool {
	for {
		for t.piece.Next() {
			t.cells = t.cells[:0]
			for i := range t.piece.Width() {
				t.cells = append(t.cells, string(bytes.TrimSpace(t.piece.Cell(i))))
			}
			if !t.piece.Blank() {
				return true
			}
		}
		if t.piece.Err != nil {
			p := t.at(t.piece.LineOf(t.piece.Bad))
			p.Problem, p.Allowed = t.piece.Err.Error(), QuotesAllowed
			t.problems.Add(p)
			return false
		}
		t.before += bytes.Count(t.piece.Data, []byte("\n"))
		piece, err := t.pieces.Next(t.piece.Data)
		if err != nil {
			t.fail(err)
			return false
		}
		t.piece.Begin(piece)
	}
}

// at is an error at a place in the piece.
func (t *Reader) at(line, col int) *model.InputError {
	return &model.InputError{File: t.name, Line: t.before + line, Col: col}
}

// QuotesAllowed is how a quotation mark may stand in a table.
const QuotesAllowed = `double each quotation mark inside a value: "like ""this"""`

// fail notes why no more rows can be read.
func (t *Reader) fail(err error) {
	switch {
	case errors.Is(err, ErrLongRow):
		t.Refuse("a row is longer than "+num.Bytes(longestRow), "is a quotation mark not closed?")
	case errors.Is(err, ErrNotText):
		t.problems = Problems{} // they would only be consequences
		t.Refuse("the file is not UTF-8 text", NotTextAllowed)
	case err != io.EOF: //nolint:errorlint // packages that unpack wrap it where a file is cut
		t.err = Unreadable(t.name, err)
	}
}

// NotTextAllowed is what to do with a file that is no text.
const NotTextAllowed = "save it as CSV in UTF-8"

// HashAllowed is what to do with a line below the header that seems to be a comment.
const HashAllowed = "; comments stand before it, and not below: delete this line if it is one"

// Text returns a cell of the current row without spaces around it. It is valid
// until the next row; [strings.Clone] keeps it.
func (t *Reader) Text(c Column) string {
	if c == Absent {
		return ""
	}
	return t.cells[c]
}

// Line is the line on which the current row begins.
func (t *Reader) Line() int {
	line, _ := t.piece.LineOf(t.piece.Start)
	return t.before + line
}

// Place is where a cell of the current row begins.
func (t *Reader) Place(c Column) (line, col int) {
	line, col = t.piece.CellAt(int(c))
	return t.before + line, col
}

// RefuseRow reports what is wrong with the current row, at a column or, if that
// is Absent, at its beginning.
func (t *Reader) RefuseRow(c Column, problem, allowed string) {
	t.refuseAt(max(int(c), 0), problem, allowed)
}

// Refuse reports what is wrong with the file as a whole.
func (t *Reader) Refuse(problem, allowed string) {
	t.problems.Add(&model.InputError{File: t.name, Problem: problem, Allowed: allowed})
}

func (t *Reader) refuseAt(cell int, problem, allowed string) {
	p := &model.InputError{File: t.name}
	if len(t.problems.InputErrors) < model.MaxInputErrors {
		p = t.at(t.piece.CellAt(cell))
	}
	p.Problem, p.Allowed = problem, allowed
	t.problems.Add(p)
}

// Err is nil, the error of the reader, or all that is wrong: a model.ErrUsage
// with a *model.InputError for each.
func (t *Reader) Err() error {
	switch {
	case t.err != nil:
		return t.err
	case len(t.problems.InputErrors) == 0:
		return nil
	}
	slices.SortStableFunc(t.problems.InputErrors, func(a, b *model.InputError) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
	return &t.problems
}

// Problems are what is wrong with a file: the first model.MaxInputErrors, and how
// many more there are.
type Problems struct {
	model.InputErrors
	More int
}

// Add notes one more.
func (p *Problems) Add(one *model.InputError) {
	if len(p.InputErrors) == model.MaxInputErrors {
		p.More++
		return
	}
	p.InputErrors = append(p.InputErrors, one)
}

// Error lists the problems, one a line.
func (p *Problems) Error() string {
	text := p.InputErrors.Error()
	if p.More > 0 {
		text += fmt.Sprintf("\n%s: and %d more", p.InputErrors[0].File, p.More)
	}
	return text
}

// BaseName is the name of a file without directories, ".gz" and what says its
// kind.
func BaseName(file string) string {
	base := strings.TrimSuffix(filepath.Base(file), ".gz")
	return strings.TrimSuffix(base, filepath.Ext(base))
}
