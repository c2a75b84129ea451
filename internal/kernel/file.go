package kernel

import (
	"errors"
	"io"
	"os"
	"slices"
	"time"
)

// fileSize is what most files of /proc fit into, in bytes.
const fileSize = 16 << 10

// Buffer is shared by the files of one reader; it grows to the largest.
type Buffer struct{ b []byte }

// NewBuffer returns one that most files of /proc fit into.
func NewBuffer() *Buffer { return &Buffer{make([]byte, fileSize)} }

// File is a file of the kernel that stays open: its text is made anew at each
// reading from its beginning.
type File struct {
	f     *os.File
	buf   *Buffer
	parse func([]byte, Emit)
}

// Open opens a file. parse, which may be nil, is what Parse does with its text.
func Open(name string, buf *Buffer, parse func([]byte, Emit)) (*File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return &File{f, buf, parse}, nil
}

// Text returns what the file says now. It is good until the next reading with the
// same buffer.
func (f *File) Text() ([]byte, error) {
	n, err := f.f.ReadAt(f.buf.b, 0)
	for err == nil && n == len(f.buf.b) { // there may be more
		f.buf.b = slices.Grow(f.buf.b, len(f.buf.b))[:2*len(f.buf.b)]
		n, err = f.f.ReadAt(f.buf.b, 0)
	}
	if !errors.Is(err, io.EOF) {
		return nil, err
	}
	return f.buf.b[:n], nil
}

// Parse emits what the file says now.
func (f *File) Parse(out Emit) error {
	text, err := f.Text()
	if err == nil {
		f.parse(text, out)
	}
	return err
}

// Read is Parse of a file of which the metrics are missing where it cannot be read.
func (f *File) Read(out Emit) { _ = f.Parse(out) }

// Name is the path by which it was opened.
func (f *File) Name() string { return f.f.Name() }

// Close closes the file.
func (f *File) Close() { _ = f.f.Close() } // nothing was written to it

// Allowance keeps work of a cost that is not known beforehand within a
// share of the time: after a turn that took long, the next turns are left out.
type Allowance struct {
	PerTurn time.Duration // what a turn may take on average
	debt    time.Duration
}

// Turn reports whether it is the turn of the work.
func (a *Allowance) Turn() bool {
	a.debt = max(a.debt-a.PerTurn, 0)
	return a.debt == 0
}

// Spent tells what the work took.
func (a *Allowance) Spent(d time.Duration) { a.debt += d }
