// Package files makes frames of measurements out of files:
//
//  1. [Read] finds out what a file is by its content: a table as text, objects in
//     JSON, which become one (json), a Parquet file, or what `go test -bench` prints;
//     packed with gzip or Zstandard, or not.
//  2. The columns get their roles (plan): the user names them, or they are guessed,
//     and the guess is told.
//  3. Pieces of the file become batches of columns, several at once (worker);
//     whatever cannot be read is refused with its line and column.
//  4. The batches become a frame a metric (table), in one unit, in the order of
//     time, with a doubt about what had to be left out.
//
// Memory is bounded by [Limits].
package files

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"
	_ "time/tzdata" // machines without a database of time zones have the users' files, too

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/tabular"
)

// Limits bound what a file may take; where a field is zero, the default holds.
type Limits struct {
	Rows   int   // 50 million
	Memory int64 // of the rows, in bytes: 4 GiB
	// Spool is how many bytes of a Parquet file from a pipe are kept in a
	// temporary file, as it is read from its end: 16 GiB.
	Spool int64
}

func (l Limits) orDefault() Limits {
	return Limits{Rows: cmp.Or(l.Rows, 50_000_000), Memory: cmp.Or(l.Memory, 4<<30), Spool: cmp.Or(l.Spool, 16<<30)}
}

// file is a file that is read.
type file struct {
	name   string
	choice frame.Choice
	limits Limits
	zone   *time.Location
	size   int // of pieces
	in     *bufio.Reader
	packed packing
	row    string // what rows are called; the first line of a text has names
	told   []string
	nested nesting
}

// wrong is an error in the file, for all that read it.
func (f *file) wrong(problem, allowed string) *model.InputError {
	return f.wrongAt(0, 0, problem, allowed)
}

func (f *file) wrongAt(line, col int, problem, allowed string) *model.InputError {
	return &model.InputError{File: f.name, Line: line, Col: col, Problem: problem, Allowed: allowed}
}

// say tells people what was guessed, left out or changed.
func (f *file) say(format string, args ...any) { f.told = append(f.told, fmt.Sprintf(format, args...)) }

// peekSize is how much of a file says what it is.
const peekSize = 64 << 10

// Read reads a table whole and makes a frame a metric of it. name is for
// messages: what the file is, its content says. told is what was guessed, left
// out or changed, for people. What is wrong with a file are *model.InputError;
// all that is known of it at once.
func Read(ctx context.Context, name string, r io.Reader, choice frame.Choice, limits Limits) (frames []frame.Frame, told []string, err error) {
	f := &file{name: name, choice: choice, limits: limits.orDefault(), size: pieceSize, row: "line"}
	if f.zone, err = time.LoadLocation(choice.Zone); err != nil || choice.Zone == "Local" {
		return nil, nil, f.wrong(fmt.Sprintf("there is no time zone %q", choice.Zone),
			`use a name such as "UTC" or "Europe/Berlin"`)
	}
	if err := f.open(ctx, r); err != nil {
		return nil, nil, err
	}
	defer f.packed.close()
	if frames, err = f.read(ctx); err != nil {
		return nil, nil, err
	}
	for i := range frames {
		var problem *model.InputError
		if errors.As(frames[i].Check(), &problem) {
			problem.File = name
			return nil, nil, problem
		}
	}
	return frames, f.told, nil
}

// read reads a file in its form.
func (f *file) read(ctx context.Context) ([]frame.Frame, error) {
	if magic, _ := f.in.Peek(len(parquetMagic)); string(magic) == parquetMagic || string(magic) == encryptedMagic {
		return f.parquet(ctx)
	}
	f.in = tabular.UTF8(f.in)
	if beginning, _ := f.in.Peek(peekSize); isBench(beginning) { // an error comes again
		return f.bench(ctx)
	}
	if beginning, _ := f.in.Peek(peekSize); jsonBegins.Match(beginning) {
		if err := f.json(); err != nil {
			return nil, err
		}
	}
	return f.text(ctx)
}

// open finds out how a file is packed.
func (f *file) open(ctx context.Context, r io.Reader) error {
	f.packed.source = &source{ctx: ctx, r: r}
	f.in = bufio.NewReaderSize(f.packed.source, peekSize)
	magic, err := f.in.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return f.damaged(err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		unpack, err := gzip.NewReader(f.in)
		f.packed.how = "gzip"
		if err != nil {
			return f.damaged(err)
		}
		f.in = bufio.NewReaderSize(unpack, peekSize)
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		unpack, err := zstd.NewReader(f.in, zstd.WithDecoderMaxWindow(mostWindow))
		f.packed.how = "Zstandard"
		if err != nil {
			return f.damaged(err)
		}
		f.packed.zstd = unpack
		f.in = bufio.NewReaderSize(unpack, peekSize)
	}
	return nil
}

// mostWindow is what the zstd command unpacks without being told, too.
const mostWindow = 128 << 20

// packing is how a file is packed.
type packing struct {
	source *source
	how    string // empty: not at all
	zstd   *zstd.Decoder
}

func (p *packing) close() {
	if p.zstd != nil {
		p.zstd.Close()
	}
}

// damaged is why a file cannot be read: often it is packed and not whole.
func (f *file) damaged(err error) error {
	p := &f.packed
	switch {
	case p.how == "" || p.source.err != nil || p.source.ctx.Err() != nil:
		return fmt.Errorf("reading %s: %w", f.name, err)
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return f.wrong("to unpack the file takes more than 128 MiB", "pack it again without --long")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return f.wrong("the "+p.how+" file is cut", "make or copy it again")
	}
	return f.wrong("the "+p.how+" file is damaged", "make or copy it again")
}

// source reads until its context is done, even while nothing comes. A reading
// that hangs then is left behind; it ends with what it waits for.
type source struct {
	ctx context.Context
	r   io.Reader
	err error // other than the end
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := s.r.Read(p)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		if r.err != nil && !errors.Is(r.err, io.EOF) {
			s.err = r.err
		}
		return r.n, r.err
	case <-s.ctx.Done():
		s.err = s.ctx.Err()
		return 0, s.err
	}
}
