package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
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
func (f *file) text(ctx context.Context) ([]frame.Frame, error) {
	p := &pieces{source: f.in, size: f.size, longest: longestRow}
	first, err := p.next(nil)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.unreadable(err, 0)
	}
	if bytes.IndexByte(first, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(first, "\r"), '\r') >= 0 {
		return nil, f.wrong("its lines end with a carriage return alone", `end them with a line feed: tr '\r' '\n'`)
	}
	comma, from := tabular.Separator(first)
	r := &rows{comma: comma, comments: true}
	r.begin(first)
	r.at = from
	columns, err := f.header(r)
	if err != nil {
		return nil, err
	}
	from = r.at
	if first, err = f.look(columns, r, p); err != nil {
		return nil, err
	}
	plan, err := newPlan(f, columns, r.comma == ';')
	if err != nil {
		return nil, err
	}
	workers := make([]*worker, min(runtime.GOMAXPROCS(0), mostWorkers))
	for i := range workers {
		workers[i] = newWorker(plan, r.comma, f.zone)
	}
	t := newTable(f, plan, len(workers))
	if f.row != "line" {
		t.lines = -1 // the names of columns are in no row
	}
	if err := t.read(ctx, f, p, first, from, workers); err != nil {
		return nil, err
	}
	return t.frames()
}

// mostWorkers: with more, the one that cuts the file into pieces is what is
// waited for.
const mostWorkers = 8

// badQuote is the quotation mark after which it is not known where rows begin.
func (f *file) badQuote(r *rows) error {
	line, col := r.lineOf(r.bad)
	return f.wrongAt(line, col, r.err.Error(), quotesAllowed)
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
		return f.wrong("the file is not UTF-8 text", tabular.NotTextAllowed)
	case errors.Is(err, errLongRow):
		return f.wrongAt(lines+1, 1, fmt.Sprintf("the row is longer than %s", num.Bytes(longestRow)), "is a quotation mark not closed?")
	}
	return f.damaged(err)
}
