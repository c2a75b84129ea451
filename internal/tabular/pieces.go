package tabular

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// Pieces cuts a text into pieces that begin and end with a row.
type Pieces struct {
	Source  io.Reader
	Size    int  // about, in bytes
	Longest int  // that a row may be, in bytes
	begun   bool // there was something else than comments
	rest    []byte
	err     error
}

// ErrNotText and ErrLongRow are why a text is no table.
var (
	ErrNotText = errors.New("not UTF-8 text")
	ErrLongRow = errors.New("a row is too long")
)

// Next reads the next piece into buf, which may be replaced; at the end io.EOF.
func (p *Pieces) Next(buf []byte) ([]byte, error) {
	buf = append(buf[:0], p.rest...)
	for p.err == nil {
		from := len(buf)
		if cap(buf) < from+p.Size {
			buf = append(make([]byte, 0, 2*from+p.Size), buf...)
		}
		for p.err == nil && len(buf) < from+p.Size {
			var n int
			n, p.err = p.Source.Read(buf[len(buf) : from+p.Size])
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
			p.err = ErrNotText
		case len(buf) > p.Longest:
			p.err = ErrLongRow
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
		return nil, ErrNotText
	}
	return piece, nil
}
