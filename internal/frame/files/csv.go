package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// How much is read at once, and how long a row may be, in bytes.
const (
	pieceSize  = 1 << 20
	longestRow = 16 << 20
)

// pieces cuts a text into pieces that begin and end with a row.
type pieces struct {
	source  io.Reader
	size    int  // about
	longest int  // that a row may be
	begun   bool // there was something else than comments
	rest    []byte
	err     error
}

var (
	errNotText = errors.New("not UTF-8 text")
	errLongRow = errors.New("a row is too long")
)

// next reads the next piece into buf, which may be replaced; at the end io.EOF.
func (p *pieces) next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], p.rest...)
	for p.err == nil {
		from := len(buf)
		if cap(buf) < from+p.size {
			buf = append(make([]byte, 0, 2*from+p.size), buf...)
		}
		for p.err == nil && len(buf) < from+p.size {
			var n int
			n, p.err = p.source.Read(buf[len(buf) : from+p.size])
			buf = buf[:len(buf)+n]
		}
		if p.err != nil {
			break
		}
		end, before := rowsEnd(buf, !p.begun)
		if p.begun = p.begun || end > 0 && !before; end > 0 {
			p.rest = append(p.rest[:0], buf[end:]...)
			return check(buf[:end])
		}
		switch {
		case bytes.IndexByte(buf, 0) >= 0:
			p.err = errNotText
		case len(buf) > p.longest:
			p.err = errLongRow
		}
	}
	p.rest = nil
	if p.err == io.EOF && len(buf) > 0 { //nolint:errorlint // packages that unpack wrap it where a file is cut
		return check(buf)
	}
	return nil, p.err
}

// check refuses what is no text.
func check(piece []byte) ([]byte, error) {
	if bytes.IndexByte(piece, 0) >= 0 || !utf8.Valid(piece) {
		return nil, errNotText
	}
	return piece, nil
}

// text reads a table that is text.
func (f *file) text(ctx context.Context) ([]frame.Frame, []string, error) {
	p := &pieces{source: f.in, size: f.size, longest: longestRow}
	first, err := p.next(nil)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, nil, f.unreadable(err, 0)
	}
	if bytes.IndexByte(first, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(first, "\r"), '\r') >= 0 {
		return nil, nil, &model.InputError{File: f.name, Problem: "its lines end with a carriage return alone",
			Allowed: `end them with a line feed: tr '\r' '\n'`}
	}
	comma, from := tabular.Separator(first)
	r := &rows{comma: comma, comments: true}
	r.begin(first)
	r.at = from
	columns, err := f.header(r)
	if err != nil {
		return nil, nil, err
	}
	from = r.at
	if first, err = f.look(columns, r, p); err != nil {
		return nil, nil, err
	}
	plan, err := newPlan(f.name, columns, f.choice, r.comma == ';')
	if err != nil {
		return nil, nil, err
	}
	workers := make([]*worker, min(runtime.GOMAXPROCS(0), mostWorkers))
	for i := range workers {
		workers[i] = newWorker(plan, r.comma, f.zone)
	}
	t := newTable(f, plan, f.row, len(workers))
	if f.row != "line" {
		t.lines = -1 // the names of columns are in no row
	}
	if err := t.read(ctx, f, p, first, from, workers); err != nil {
		return nil, nil, err
	}
	return t.frames()
}

// mostWorkers: with more, the one that cuts the file into pieces is what is
// waited for.
const mostWorkers = 8

// header reads the names of the columns.
func (f *file) header(r *rows) ([]column, error) {
	for r.next() {
		if r.blank() {
			continue
		}
		if r.width() > tabular.MostColumns {
			line, col := r.cellAt(0)
			return nil, &model.InputError{File: f.name, Line: line, Col: col,
				Problem: "there are " + num.Count(r.width(), "column"),
				Allowed: fmt.Sprintf("give at most %s", num.Grouped(tabular.MostColumns))}
		}
		names := rowOf(r)
		if behind, at := f.behind(r, names); behind != nil {
			names, r.at = behind, at
		} else if i := f.valueAt(r, names); i >= 0 {
			line, col := r.cellAt(i)
			return nil, f.noNames(r, names[i], line, col)
		}
		r.comments = false
		var out []column
		for i, name := range names {
			out = append(out, newColumn(i+1, name))
		}
		return out, nil
	}
	if r.err != nil {
		return nil, f.badQuote(r)
	}
	return nil, &model.InputError{File: f.name, Problem: "the file is empty", Allowed: "give a table with a line of names, such as time,node,value, and lines of values"}
}

// rowOf is the cells of the current row.
func rowOf(r *rows) (cells []string) {
	for i := range r.width() {
		cells = append(cells, string(trim(r.cell(i))))
	}
	return cells
}

// behind are the names of columns in a comment before the first row, if that has values
// and the comment as many words, and where the line after it begins; nil if it has not.
// Comments below it that have values are rows.
func (f *file) behind(r *rows, first []string) (names []string, at int) {
	c := newClock(f.zone)
	value := func(cell string) bool { return isValue(kindOfCell(cell, c)) }
	if !slices.ContainsFunc(first, value) {
		return nil, 0
	}
	for _, start := range slices.Backward(r.skipped) {
		end, next := r.line(start)
		comment := &rows{comma: r.comma}
		if comment.begin(r.data[start+1 : end]); !comment.next() || comment.width() != len(first) {
			return nil, 0
		}
		switch names := rowOf(comment); {
		case slices.Contains(names, ""):
			return nil, 0
		case !slices.ContainsFunc(names, value):
			f.told = append(f.told, "the names of the columns are those in the comment before the first row")
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
func (f *file) valueAt(r *rows, first []string) int {
	c := newClock(f.zone)
	at := -1
	next := &rows{comma: r.comma, data: r.data, quotes: r.quotes, at: r.at}
	alike := next.next() && next.width() == len(first)
	for i, name := range first {
		if _, ok := number([]byte(name)); ok {
			return i
		}
		k := kindOfCell(name, c)
		if at < 0 && isValue(k) {
			at = i
		}
		alike = alike && k == kindOfCell(string(trim(next.cell(i))), c)
	}
	if alike {
		return at
	}
	return -1
}

// noNames refuses a first line that has values; the names may be in a comment below it.
func (f *file) noNames(r *rows, name string, line, col int) error {
	out := &model.InputError{File: f.name, Line: line, Col: col,
		Problem: fmt.Sprintf("the first line has %q where names of columns are expected", name),
		Allowed: `add a line before it, such as "time,node,value"`}
	for at := r.at; at < len(r.data) && r.data[at] == '#'; {
		end, _ := r.line(at)
		if line, _ := r.lineOf(at); bytes.IndexByte(r.data[at:end], r.comma) > 0 {
			out.Allowed = fmt.Sprintf("if the names are those in line %d, delete the lines before it and its #", line)
		}
		break
	}
	return out
}

// badQuote is the quotation mark after which it is not known where rows begin.
func (f *file) badQuote(r *rows) error {
	line, col := r.lineOf(r.bad)
	return &model.InputError{File: f.name, Line: line, Col: col, Problem: r.err.Error(), Allowed: quotesAllowed}
}

// How many rows say what columns hold, and how much is read, in bytes, to find a value
// of a column of times or values that has none in them.
const (
	mostLooked = 1000
	mostAhead  = 64 << 20
)

// look looks at the rows that follow, and returns all that was read for that.
func (f *file) look(columns []column, r *rows, p *pieces) ([]byte, error) {
	c := newClock(f.zone)
	looked, read, open := 0, r.data, []int(nil)
	for {
		for r.next() {
			if looked++; looked%mostLooked == 0 {
				if open = unseen(columns); len(open) == 0 {
					break
				}
			}
			if looked < mostLooked || len(open) > 0 {
				lookAt(columns, open, r, c)
			}
		}
		if r.err != nil {
			return nil, f.badQuote(r)
		}
		if open = unseen(columns); looked > 0 && (len(open) == 0 || len(read) >= mostAhead) {
			break
		}
		more, err := p.next(nil)
		if errors.Is(err, io.EOF) && looked > 0 {
			break
		} else if errors.Is(err, io.EOF) {
			return nil, &model.InputError{File: f.name, Problem: "the file has a header and no values",
				Allowed: "add at least one line of values"}
		} else if err != nil {
			return nil, f.unreadable(err, bytes.Count(read, []byte("\n")))
		}
		at := len(read)
		read = append(read, more...)
		r.begin(read)
		r.at = at
	}
	for i := range columns {
		columns[i].judge()
	}
	return read, nil
}

// lookAt looks at the cells of the current row: at all, or at those columns.
func lookAt(columns []column, only []int, r *rows, by *clock) {
	look := func(i int) {
		c := &columns[i]
		example := c.marks.example
		first := c.look(trim(r.cell(i)), by)
		if first {
			c.textLine, c.textCol = r.cellAt(i)
		}
		if c.marks.example != example {
			c.marks.line, c.marks.col = r.cellAt(i)
		}
	}
	if only == nil {
		for i := range min(r.width(), len(columns)) {
			look(i)
		}
		return
	}
	for _, i := range only {
		if i < r.width() {
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
			if !slices.Contains(of.names, c.plain) {
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

// job is a piece on its way to becoming a batch.
type job struct {
	piece  []byte
	from   int
	worker int
	done   chan *batch
}

// read reads the pieces with all workers at once. Batches come in the order of
// the file, whoever made them.
func (t *table) read(ctx context.Context, f *file, p *pieces, piece []byte, from int, workers []*worker) error {
	all, ctx := errgroup.WithContext(ctx)
	jobs, ordered := make(chan *job), make(chan *job, 2*len(workers))
	free := make(chan []byte, 4*len(workers))
	for i, w := range workers {
		all.Go(func() error {
			for j := range jobs {
				j.worker = i
				j.done <- w.read(j.piece, j.from)
				select {
				case free <- j.piece:
				default:
				}
			}
			return nil
		})
	}
	all.Go(func() error {
		defer close(jobs)
		defer close(ordered)
		for {
			j := &job{piece: piece, from: from, done: make(chan *batch, 1)}
			select {
			case ordered <- j:
				jobs <- j
			case <-ctx.Done():
				return ctx.Err()
			}
			var buf []byte
			select {
			case buf = <-free:
			default:
			}
			var err error
			if piece, err = p.next(buf); err == io.EOF { //nolint:errorlint // as above
				return nil
			} else if err != nil {
				return err
			}
			from = 0
		}
	})
	all.Go(func() error {
		for j := range ordered {
			if !t.add(<-j.done, j.worker) {
				return errEnough
			}
		}
		return nil
	})
	if err := all.Wait(); err != nil && !errors.Is(err, errEnough) {
		return f.unreadable(err, t.lines)
	}
	return nil
}

// errEnough ends a reading that need not go on.
var errEnough = errors.New("enough")

// quotesAllowed is how a quotation mark may stand in a table.
const quotesAllowed = `double each quotation mark inside a value: "like ""this"""`

// unreadable says why a text cannot be read; lines are before that.
func (f *file) unreadable(err error, lines int) error {
	var input *model.InputError
	switch {
	case errors.As(err, &input):
		return input
	case errors.Is(err, errNotText):
		return &model.InputError{File: f.name, Problem: "the file is not UTF-8 text", Allowed: tabular.NotTextAllowed}
	case errors.Is(err, errLongRow):
		return &model.InputError{File: f.name, Line: lines + 1, Col: 1, Problem: fmt.Sprintf("the row is longer than %s", num.Bytes(longestRow)), Allowed: "is a quotation mark not closed?"}
	}
	return f.packed.unreadable(f.name, err)
}
