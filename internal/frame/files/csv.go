package files

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"

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

// text reads a table that is text.
func (f *file) text(ctx context.Context) ([]frame.Frame, error) {
	p := &tabular.Pieces{Source: f.in, Size: f.size, Longest: longestRow}
	first, err := p.Next(nil)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, f.unreadable(err, 0)
	}
	if bytes.IndexByte(first, '\n') < 0 && bytes.IndexByte(bytes.TrimRight(first, "\r"), '\r') >= 0 {
		return nil, f.wrong("its lines end with a carriage return alone", `end them with a line feed: tr '\r' '\n'`)
	}
	comma, from := tabular.Separator(first)
	r := &tabular.Rows{Comma: comma, Comments: true}
	r.Begin(first)
	r.At = from
	columns, err := f.header(r)
	if err != nil {
		return nil, err
	}
	from = r.At
	if first, err = f.look(columns, r, p); err != nil {
		return nil, err
	}
	plan, err := newPlan(f, columns, r.Comma == ';')
	if err != nil {
		return nil, err
	}
	workers := make([]*worker, min(runtime.GOMAXPROCS(0), mostWorkers))
	for i := range workers {
		workers[i] = newWorker(plan, r.Comma, f.zone)
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
func (f *file) badQuote(r *tabular.Rows) error {
	line, col := r.LineOf(r.Bad)
	return f.wrongAt(line, col, r.Err.Error(), tabular.QuotesAllowed)
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
func (t *table) read(ctx context.Context, f *file, p *tabular.Pieces, piece []byte, from int, workers []*worker) error {
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
			if piece, err = p.Next(buf); err == io.EOF { //nolint:errorlint // as above
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

// unreadable says why a text cannot be read; lines are before that.
func (f *file) unreadable(err error, lines int) error {
	var input *model.InputError
	switch {
	case errors.As(err, &input):
		return input
	case errors.Is(err, tabular.ErrNotText):
		return f.wrong("the file is not UTF-8 text", tabular.NotTextAllowed)
	case errors.Is(err, tabular.ErrLongRow):
		return f.wrongAt(lines+1, 1, fmt.Sprintf("the row is longer than %s", num.Bytes(longestRow)),
			"is a quotation mark not closed?")
	}
	return f.damaged(err)
}
