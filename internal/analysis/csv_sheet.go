package analysis

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxCSVBytes bounds a file: ten times the numbers of the largest fleet that
// anybody types or exports.
const maxCSVBytes = 64 << 20

// form is one of the three kinds of file.
type form struct {
	required, optional []string
}

// forms are told apart by their first distinctive column.
var forms = []form{
	{[]string{"node", "phase", "value"}, []string{"workload", "metric", "unit", "trial", "better"}},
	{[]string{"node", "serial", "parallel"}, []string{"workload", "metric", "unit", "trial", "better"}},
	{[]string{"nodes", "serial_mean", "parallel_mean"}, []string{"workload", "metric", "unit", "better"}},
}

const (
	formLong = iota
	formWide
	formPublished
)

const formsAllowed = "the first line must name the columns: node,phase,value or node,serial,parallel or nodes,serial_mean,parallel_mean; and any of workload, metric, unit, better and (with node) trial"

// sheet is a CSV file whose header is understood.
type sheet struct {
	name    string
	lines   [][]byte // for columns in characters
	form    int
	columns map[string]int // position of each column
	width   int            // cells of the header
	sound   bool           // the header is understood
	rows    []row
	errs    CSVErrors
}

// row is one line of values with the position of each.
type row struct {
	cells []string
	at    []position
}

// position is a line and a column in bytes, both from 1.
type position struct{ line, col int }

// readSheet reads the file and its header. The error is a CSVErrors when
// without the header nothing more can be said, or that of the reader. Errors
// of single lines are left in the sheet, for groups to add its own.
func readSheet(r io.Reader, name string) (*sheet, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxCSVBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	s := &sheet{name: name}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	switch {
	case len(data) > maxCSVBytes:
		s.fail("the file is too large", "at most 64 MiB; divide it")
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		s.fail("the file is not UTF-8 text", "save it as CSV in UTF-8")
	default:
		s.lines = bytes.Split(data, []byte("\n"))
		s.readRows(data)
	}
	if !s.sound {
		return nil, s.errs
	}
	return s, nil
}

// readRows reads all lines; the first is the header.
func (s *sheet) readRows(data []byte) {
	reader := csv.NewReader(bytes.NewReader(data))
	reader.Comma = delimiter(data)
	reader.Comment = '#'
	reader.FieldsPerRecord = -1 // judged here, with all other errors
	reader.TrimLeadingSpace = true
	for header := true; ; {
		cells, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.failRead(err)
			return
		}
		r := newRow(reader, cells)
		switch {
		case r.blank():
		case header:
			s.readHeader(r)
			header = false
		default:
			s.addRow(r)
		}
	}
	switch {
	case s.columns == nil && len(s.errs) == 0:
		s.fail("the file is empty", formsAllowed)
	case len(s.rows) == 0 && len(s.errs) == 0:
		s.fail("the file has a header and no values", "add at least one line of values")
	}
}

// failRead reports what the CSV reader could not read; what follows it would
// be guesswork.
func (s *sheet) failRead(err error) {
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		s.failAt(position{parse.Line, parse.Column}, parse.Err.Error(), `a value with a quotation mark in it is written "like ""this"""`)
		return
	}
	s.fail(err.Error(), "")
}

// newRow takes the trimmed cells and their positions.
func newRow(reader *csv.Reader, cells []string) row {
	r := row{cells: cells, at: make([]position, len(cells))}
	for i := range cells {
		r.at[i].line, r.at[i].col = reader.FieldPos(i)
		cells[i] = strings.TrimSpace(cells[i])
	}
	return r
}

// blank reports a row of empty cells only, as spreadsheets leave behind.
func (r row) blank() bool {
	return !slices.ContainsFunc(r.cells, func(c string) bool { return c != "" })
}

// addRow keeps a row that has a cell for every column.
func (s *sheet) addRow(r row) {
	if want := s.width; s.columns != nil && len(r.cells) != want {
		s.failAt(r.at[0], fmt.Sprintf("the line has %s", plural(len(r.cells), "value")), fmt.Sprintf("the header has %s", plural(want, "column")))
		return
	}
	s.rows = append(s.rows, r)
}

// readHeader finds out which form the file has and where its columns are.
func (s *sheet) readHeader(r row) {
	names := make([]string, len(r.cells))
	for i, c := range r.cells {
		names[i] = strings.ReplaceAll(strings.ToLower(c), " ", "_")
	}
	s.form = slices.IndexFunc(forms, func(f form) bool {
		return slices.Contains(names, f.required[1]) || slices.Contains(names, f.required[2])
	})
	if s.form < 0 {
		s.failAt(r.at[0], "the columns "+list(names)+" are not understood", formsAllowed)
		return
	}
	f := forms[s.form]
	allowed := "columns of this form: " + strings.Join(slices.Concat(f.required, f.optional), ", ")
	s.columns, s.width = make(map[string]int, len(names)), len(names)
	for i, name := range names {
		if _, twice := s.columns[name]; twice {
			s.failAt(r.at[i], fmt.Sprintf("the column %q is there twice", name), allowed)
		} else if !slices.Contains(f.required, name) && !slices.Contains(f.optional, name) {
			s.failAt(r.at[i], fmt.Sprintf("the column %q is not understood", name), allowed)
		}
		s.columns[name] = i
	}
	for _, name := range f.required {
		if _, ok := s.columns[name]; !ok {
			s.failAt(r.at[0], fmt.Sprintf("there is no column %q", name), allowed)
		}
	}
	s.sound = len(s.errs) == 0
}

// delimiter is what separates the cells of the header.
func delimiter(data []byte) rune {
	header := firstLine(data)
	best, most := ',', bytes.Count(header, []byte(","))
	for _, d := range []rune{';', '\t'} {
		if n := bytes.Count(header, []byte(string(d))); n > most {
			best, most = d, n
		}
	}
	return best
}

// firstLine is the first line that is neither empty nor a comment.
func firstLine(data []byte) []byte {
	for line := range bytes.Lines(data) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return line
		}
	}
	return nil
}

// workloadName is what the workload is called where the file does not say.
func (s *sheet) workloadName() string {
	base := filepath.Base(s.name)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// fail reports an error of the file as a whole.
func (s *sheet) fail(problem, allowed string) { s.failAt(position{}, problem, allowed) }

// failAt reports an error at a position in bytes, in characters.
func (s *sheet) failAt(p position, problem, allowed string) {
	col := p.col
	if p.line >= 1 && p.line <= len(s.lines) {
		line := s.lines[p.line-1]
		col = utf8.RuneCount(line[:min(max(p.col-1, 0), len(line))]) + 1
	}
	s.errs = append(s.errs, &CSVError{File: s.name, Line: p.line, Col: col, Problem: problem, Allowed: allowed})
}
