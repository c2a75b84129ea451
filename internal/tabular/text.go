package tabular

import (
	"bytes"
	"errors"
	"io"
	"unicode/utf8"
)

// errNotText is the error of a file that is something else than text.
var errNotText = errors.New("not UTF-8 text")

// longestRow is how long a row may be, in bytes; errLongRow is the error of one that is
// longer.
const longestRow = 1 << 20

var errLongRow = errors.New("a row is too long")

// text passes a file on, refuses what is not text, and keeps what is not yet
// forgotten, so that columns can be counted in characters.
type text struct {
	source io.Reader
	kept   []byte
	begin  int64 // of kept in the file
	wanted int64 // what is before it may be forgotten
	cut    int   // bytes at the end of kept that are the beginning of a character
}

// Read implements io.Reader.
func (t *text) Read(p []byte) (int, error) {
	n, err := t.source.Read(p)
	if drop := min(t.wanted-t.begin, int64(len(t.kept)-t.cut)); drop > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[drop:])]
		t.begin += drop
	}
	if t.kept = append(t.kept, p[:n]...); len(t.kept) > longestRow {
		return 0, errLongRow
	}
	fresh := t.kept[len(t.kept)-n-t.cut:]
	t.cut = unfinished(fresh)
	if bytes.IndexByte(p[:n], 0) >= 0 || !utf8.Valid(fresh[:len(fresh)-t.cut]) || errors.Is(err, io.EOF) && t.cut > 0 {
		return 0, errNotText
	}
	return n, err //nolint:wrapcheck // io.EOF must stay what it is
}

// unfinished is how many bytes at the end may be the beginning of a character.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if utf8.FullRune(b[len(b)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// forget allows to drop what is before an offset in the file.
func (t *text) forget(before int64) { t.wanted = before }

// since is what was read from an offset on.
func (t *text) since(offset int64) []byte {
	return t.kept[min(max(offset-t.begin, 0), int64(len(t.kept))):]
}
