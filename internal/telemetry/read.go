package telemetry

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
	"regexp"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Options say what a file does not say of itself.
type Options struct {
	Zone *time.Location // of times without one; nil: UTC
	// Period is how long each period is; 0: as the stamps show.
	Period time.Duration
	// Service is the name of what the file does not name; empty: the file's name.
	Service string
	Limit   int64 // of the file, unpacked, in bytes; 0: 1 GiB
}

const defaultLimit = 1 << 30

// file is a file that is read.
type file struct {
	Options
	name string
	in   *bufio.Reader
	cut  bool // the last line does not end
	tabular.Problems
	err error // of reading lines
}

// Read reads a file, and finds out by its content what it is; name is for messages. The file
// may be packed with gzip. Errors in it are *model.InputError with the line.
func Read(ctx context.Context, name string, r io.Reader, opt Options) ([]Recording, error) {
	opt.Zone = cmp.Or(opt.Zone, time.UTC)
	opt.Service = cmp.Or(opt.Service, tabular.BaseName(name))
	f := &file{Options: opt, name: name}
	in, err := tabular.Unpack(name, r)
	if err != nil {
		return nil, err
	}
	limit := cmp.Or(opt.Limit, defaultLimit)
	f.in = tabular.UTF8(bufio.NewReaderSize(&bounded{ctx: ctx, r: in, left: limit, tooLong: f.wrong(0,
		"the file has more than "+num.Bytes(limit), "give a part of it")}, longestLine))
	list, err := f.read()
	if err != nil {
		return nil, err
	}
	return f.settle(list)
}

const allowed = "give what iostat -x -y -t 1 or iostat -o JSON prints, lines of /proc/diskstats with their times, " +
	"what nvme amzn stats -o json prints, or CSV"

var iostatBegins = regexp.MustCompile(`(?m)^(?:Linux \S+ .*\(|avg-cpu:|Device:?\s)|\sDevice\r?$`)

var ebsBegins = regexp.MustCompile(`"total_read_ops"`)

// read reads the file in its form.
func (f *file) read() ([]Recording, error) {
	beginning, err := f.in.Peek(longestLine) // where the file is longer than that, err is nil
	text := bytes.TrimSpace(beginning)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, f.unreadable(err)
	case len(text) == 0:
		return nil, f.wrong(0, "the file is empty", allowed)
	case ebsBegins.Match(text):
		return f.ebs()
	case text[0] == '{':
		return f.iostatJSON()
	case iostatBegins.Match(text):
		return f.iostatText()
	case isDiskstats(text):
		return f.diskstats()
	}
	return f.csv()
}

func (f *file) wrong(line int, problem, allowed string) *model.InputError {
	return &model.InputError{File: f.name, Line: line, Col: min(line, 1), Problem: problem, Allowed: allowed}
}

func (f *file) refuse(line int, problem, allowed string) { f.Add(f.wrong(line, problem, allowed)) }

// problem is all that is wrong with the file; nil: nothing is.
func (f *file) problem() error {
	if f.err == nil && len(f.InputErrors) > 0 {
		return &f.Problems
	}
	return f.err
}

func (f *file) unreadable(err error) error {
	if problem, ok := errors.AsType[*model.InputError](err); ok {
		return problem
	}
	return tabular.Unreadable(f.name, err)
}

const longestLine = 64 << 10

// lines are those of the file, without their ends, with their numbers. One that does not end
// is left out: who wrote it was cut off within it.
func (f *file) lines() iter.Seq2[int, []byte] {
	return func(yield func(int, []byte) bool) {
		for n := 1; ; n++ {
			line, err := f.in.ReadSlice('\n')
			switch {
			case errors.Is(err, bufio.ErrBufferFull):
				f.err = f.wrong(n, "the line is longer than "+num.Bytes(longestLine), allowed)
				return
			case errors.Is(err, io.EOF):
				f.cut = len(bytes.TrimSpace(line)) > 0
				return
			case err != nil:
				f.err = f.unreadable(err)
				return
			}
			if !yield(n, bytes.TrimRight(line, "\r\n")) {
				return
			}
		}
	}
}

// settle puts the periods of all recordings into order.
func (f *file) settle(list []Recording) ([]Recording, error) {
	slices.SortFunc(list, func(a, b Recording) int {
		return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.Service, b.Service))
	})
	periods := 0
	for i := range list {
		r := &list[i]
		r.Source = f.name
		r.Settle()
		if periods += len(r.Begin); f.cut {
			r.remark(Remark{Code: Cut, Count: 1})
		}
	}
	if periods == 0 {
		return nil, f.wrong(0, "no period of the file can be used", allowed+", of at least 2 reports")
	}
	return list, nil
}

// bounded reads until its context is done or the limit is passed.
type bounded struct {
	ctx     context.Context
	r       io.Reader
	left    int64
	tooLong error
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, b.tooLong
	}
	return n, err
}
