package files

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// rows takes a piece of a table apart that begins and ends with a row. It reads
// what encoding/csv reads and refuses what that refuses, without a string a
// cell: package tabular, which uses it, is the oracle in tests.
type rows struct {
	comma  byte
	data   []byte
	quotes bool // there are quotation marks in data
	at     int  // where the next row begins
	// comments: lines that begin with # are none of the table, as before its header;
	// skipped is where the last ones are.
	comments bool
	skipped  []int

	start int // where the current row begins
	// ends are where the cells of a row without quotation marks end, after where
	// the row begins, less one: cell i is between ends[i] and ends[i+1].
	ends   []int
	marked bool     // the current row has quotation marks
	texts  [][]byte // then: its cells
	starts []int    // and where each begins
	joined []byte   // the text of quoted cells
	// err is csv.ErrBareQuote or csv.ErrQuote, at an offset: after it, where rows
	// begin would be guesswork.
	err error
	bad int
}

// mostSkipped comments before the header may have its names.
const mostSkipped = 100

// begin turns to another piece.
func (r *rows) begin(data []byte) {
	r.data, r.at, r.err = data, 0, nil
	r.quotes = bytes.IndexByte(data, '"') >= 0
}

// next goes to the next row that is neither an empty line nor, before the header, a
// comment.
func (r *rows) next() bool {
	for r.at < len(r.data) && r.err == nil {
		r.start = r.at
		end, next := r.line(r.at)
		line := r.data[r.start:end]
		r.at = next
		if len(line) == 0 {
			continue
		}
		if r.comments && line[0] == '#' {
			r.skipped = append(r.skipped[max(0, len(r.skipped)-mostSkipped):], r.start)
			continue
		}
		if r.quotes && bytes.IndexByte(line, '"') >= 0 {
			r.quoted()
		} else {
			r.marked = false
			r.split(line)
		}
		return r.err == nil
	}
	return false
}

// line is where the line that begins at an offset ends, without its end, and
// where the next one begins.
func (r *rows) line(at int) (end, next int) {
	i := bytes.IndexByte(r.data[at:], '\n')
	end, next = at+i, at+i+1
	if i < 0 {
		end, next = len(r.data), len(r.data)
	}
	if end > at && r.data[end-1] == '\r' {
		end--
	}
	return end, next
}

// width is how many cells the current row has.
func (r *rows) width() int {
	if r.marked {
		return len(r.texts)
	}
	return len(r.ends) - 1
}

// cell is a cell of the current row, with spaces around it.
func (r *rows) cell(i int) []byte {
	if r.marked {
		return r.texts[i]
	}
	return r.data[r.ends[i]+1 : r.ends[i+1]]
}

// split takes a line without quotation marks apart, eight bytes at a time.
func (r *rows) split(line []byte) {
	const low = 0x7f7f7f7f7f7f7f7f
	commas := uint64(r.comma) * 0x0101010101010101
	ends, i := append(r.ends[:0], r.start-1), 0
	for ; i+8 <= len(line); i += 8 {
		x := binary.LittleEndian.Uint64(line[i:]) ^ commas
		// The high bit of each byte that is 0, and of no other: Warren, Hacker's
		// Delight, 6-1.
		for found := ^((x&low + low) | x | low); found != 0; found &= found - 1 {
			ends = append(ends, r.start+i+bits.TrailingZeros64(found)>>3)
		}
	}
	for ; i < len(line); i++ {
		if line[i] == r.comma {
			ends = append(ends, r.start+i)
		}
	}
	r.ends = append(ends, r.start+len(line))
}

// quoted takes a row with quotation marks apart, which may go on over several
// lines.
func (r *rows) quoted() {
	p := r.start
	end, next := r.line(p)
	r.marked, r.joined, r.texts, r.starts = true, r.joined[:0], r.texts[:0], r.starts[:0]
	for {
		p += r.indent(r.data[p:end])
		if p == end || r.data[p] != '"' {
			cell, more := r.plain(p, end)
			if r.err != nil || !more {
				return
			}
			p += cell + 1
			continue
		}
		from, begin := len(r.joined), p
		p++
		for {
			i := bytes.IndexByte(r.data[p:end], '"')
			if i < 0 { // it goes on in the next line
				r.joined = append(append(r.joined, r.data[p:end]...), '\n')
				if p = next; p == len(r.data) || len(bytes.TrimSuffix(r.data[p:], []byte("\r"))) == 0 {
					r.fail(csv.ErrQuote, r.lastEnd(end, next))
					return
				}
				end, next = r.line(p)
				r.at = next
				continue
			}
			r.joined = append(r.joined, r.data[p:p+i]...)
			p += i + 1
			if p == end || r.data[p] != '"' {
				break
			}
			r.joined = append(r.joined, '"')
			p++
		}
		r.texts, r.starts = append(r.texts, r.joined[from:]), append(r.starts, begin)
		switch {
		case p == end:
			return
		case r.data[p] != r.comma:
			r.fail(csv.ErrQuote, p-1)
			return
		}
		p++
	}
}

// plain is a cell without quotation marks in a row that has some: its length,
// and whether another one follows.
func (r *rows) plain(p, end int) (length int, more bool) {
	cell := r.data[p:end]
	i := bytes.IndexByte(cell, r.comma)
	if i >= 0 {
		cell = cell[:i]
	}
	if j := bytes.IndexByte(cell, '"'); j >= 0 {
		r.fail(csv.ErrBareQuote, p+j)
		return 0, false
	}
	r.texts, r.starts = append(r.texts, cell), append(r.starts, p)
	return len(cell), i >= 0
}

func (r *rows) fail(err error, at int) { r.err, r.bad = err, at }

// lastEnd is where a table ends within a quoted cell: at the end of its last
// line.
func (r *rows) lastEnd(end, next int) int {
	if next > 0 && r.data[next-1] == '\n' {
		return next - 1
	}
	return end
}

// indent is how many bytes of spaces a cell begins with that are no part of it.
// A tab between cells is a space, too, and stays.
func (r *rows) indent(cell []byte) int {
	if r.comma == '\t' {
		return 0
	}
	i := bytes.IndexFunc(cell, func(c rune) bool { return !unicode.IsSpace(c) })
	if i < 0 {
		return len(cell)
	}
	return i
}

// hash reports whether the current row begins as comments do.
func (r *rows) hash() bool { return r.data[r.start] == '#' }

// blank reports whether all cells are empty, as spreadsheets leave rows behind.
func (r *rows) blank() bool {
	for i := range r.width() {
		if len(trim(r.cell(i))) > 0 {
			return false
		}
	}
	return true
}

// lineOf is the line of an offset, from 1 at the beginning of the piece, and its
// column in characters.
func (r *rows) lineOf(offset int) (line, col int) {
	before := r.data[:offset]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[begin:]) + 1
}

// cellAt is the line and column at which a cell of the current row begins.
func (r *rows) cellAt(i int) (line, col int) {
	if r.marked {
		return r.lineOf(r.starts[i])
	}
	return r.lineOf(r.ends[i] + 1 + r.indent(r.cell(i)))
}

// trim is text without spaces around it.
func trim(text []byte) []byte {
	if n := len(text); n > 0 && plainEnd(text[0]) && plainEnd(text[n-1]) {
		return text
	}
	return bytes.TrimSpace(text)
}

// plainEnd: neither a space nor a part of a character that may be one.
func plainEnd(c byte) bool { return c > ' ' && c < utf8.RuneSelf }

// rowsEnd is where the last whole row of a piece ends; 0 where none does. Where
// a row is not well formed it may be later than that, never earlier. before: the
// piece may begin with comments before the header; it reports whether the next one
// may, too.
func rowsEnd(data []byte, before bool) (end int, stillBefore bool) {
	if !before && bytes.IndexByte(data, '"') < 0 {
		return bytes.LastIndexByte(data, '\n') + 1, false
	}
	quoted := false
	for at := 0; ; {
		i := bytes.IndexByte(data[at:], '\n')
		if i < 0 {
			return end, before
		}
		line := data[at : at+i+1]
		before = before && (line[0] == '#' || len(bytes.TrimRight(line, "\r\n")) == 0)
		if !before && bytes.Count(line, []byte{'"'})%2 == 1 {
			quoted = !quoted
		}
		at += len(line)
		if !quoted {
			end = at
		}
	}
}
