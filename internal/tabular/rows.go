package tabular

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"math/bits"
	"unicode"
	"unicode/utf8"
)

// Rows takes a piece of a table apart that begins and ends with a row. It reads
// what encoding/csv reads and refuses what that refuses, without a string a
// cell: that is the oracle in tests.
type Rows struct {
	Comma  byte
	Data   []byte
	quotes bool // there are quotation marks in Data
	At     int  // where the next row begins
	// Comments: lines that begin with # are none of the table, as before its header;
	// Skipped is where the last ones are.
	Comments bool
	Skipped  []int

	Start int // where the current row begins
	// ends are where the cells of a row without quotation marks end, after where
	// the row begins, less one: cell i is between ends[i] and ends[i+1].
	ends   []int
	marked bool     // the current row has quotation marks
	texts  [][]byte // then: its cells
	starts []int    // and where each begins
	joined []byte   // the text of quoted cells
	// Err is csv.ErrBareQuote or csv.ErrQuote, at an offset: after it, where rows
	// begin would be guesswork.
	Err error
	Bad int
}

// mostSkipped comments before the header may have its names.
const mostSkipped = 100

// Begin turns to another piece.
func (r *Rows) Begin(data []byte) {
	r.Data, r.At, r.Err = data, 0, nil
	r.quotes = bytes.IndexByte(data, '"') >= 0
}

// Ahead reads on from here without moving r.
func (r *Rows) Ahead() *Rows { return &Rows{Comma: r.Comma, Data: r.Data, quotes: r.quotes, At: r.At} }

// Next goes to the next row that is neither an empty line nor, before the header, a
// comment.
func (r *Rows) Next() bool {
	for r.At < len(r.Data) && r.Err == nil {
		r.Start = r.At
		end, next := r.Line(r.At)
		line := r.Data[r.Start:end]
		r.At = next
		if len(line) == 0 {
			continue
		}
		if r.Comments && line[0] == '#' {
			r.Skipped = append(r.Skipped[max(0, len(r.Skipped)-mostSkipped):], r.Start)
			continue
		}
		if r.quotes && bytes.IndexByte(line, '"') >= 0 {
			r.quoted()
		} else {
			r.marked = false
			r.split(line)
		}
		return r.Err == nil
	}
	return false
}

// Line is where the line that begins at an offset ends, without its end, and
// where the next one begins.
func (r *Rows) Line(at int) (end, next int) {
	i := bytes.IndexByte(r.Data[at:], '\n')
	end, next = at+i, at+i+1
	if i < 0 {
		end, next = len(r.Data), len(r.Data)
	}
	if end > at && r.Data[end-1] == '\r' {
		end--
	}
	return end, next
}

// Width is how many cells the current row has.
func (r *Rows) Width() int {
	if r.marked {
		return len(r.texts)
	}
	return len(r.ends) - 1
}

// Cell is a cell of the current row, with spaces around it.
func (r *Rows) Cell(i int) []byte {
	if r.marked {
		return r.texts[i]
	}
	return r.Data[r.ends[i]+1 : r.ends[i+1]]
}

// split takes a line without quotation marks apart, eight bytes at a time.
func (r *Rows) split(line []byte) {
	const low = 0x7f7f7f7f7f7f7f7f
	commas := uint64(r.Comma) * 0x0101010101010101
	ends, i := append(r.ends[:0], r.Start-1), 0
	for ; i+8 <= len(line); i += 8 {
		x := binary.LittleEndian.Uint64(line[i:]) ^ commas
		// The high bit of each byte that is 0, and of no other: Warren, Hacker's
		// Delight, 6-1.
		for found := ^((x&low + low) | x | low); found != 0; found &= found - 1 {
			ends = append(ends, r.Start+i+bits.TrailingZeros64(found)>>3)
		}
	}
	for ; i < len(line); i++ {
		if line[i] == r.Comma {
			ends = append(ends, r.Start+i)
		}
	}
	r.ends = append(ends, r.Start+len(line))
}

// quoted takes a row with quotation marks apart, which may go on over several
// lines.
func (r *Rows) quoted() {
	p := r.Start
	end, next := r.Line(p)
	r.marked, r.joined, r.texts, r.starts = true, r.joined[:0], r.texts[:0], r.starts[:0]
	for {
		p += r.indent(r.Data[p:end])
		if p == end || r.Data[p] != '"' {
			cell, more := r.plain(p, end)
			if r.Err != nil || !more {
				return
			}
			p += cell + 1
			continue
		}
		from, begin := len(r.joined), p
		p++
		for {
			i := bytes.IndexByte(r.Data[p:end], '"')
			if i < 0 { // it goes on in the next line
				r.joined = append(append(r.joined, r.Data[p:end]...), '\n')
				if p = next; p == len(r.Data) || len(bytes.TrimSuffix(r.Data[p:], []byte("\r"))) == 0 {
					r.fail(csv.ErrQuote, r.lastEnd(end, next))
					return
				}
				end, next = r.Line(p)
				r.At = next
				continue
			}
			r.joined = append(r.joined, r.Data[p:p+i]...)
			p += i + 1
			if p == end || r.Data[p] != '"' {
				break
			}
			r.joined = append(r.joined, '"')
			p++
		}
		r.texts, r.starts = append(r.texts, r.joined[from:]), append(r.starts, begin)
		switch {
		case p == end:
			return
		case r.Data[p] != r.Comma:
			r.fail(csv.ErrQuote, p-1)
			return
		}
		p++
	}
}

// plain is a cell without quotation marks in a row that has some: its length,
// and whether another one follows.
func (r *Rows) plain(p, end int) (length int, more bool) {
	cell := r.Data[p:end]
	i := bytes.IndexByte(cell, r.Comma)
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

func (r *Rows) fail(err error, at int) { r.Err, r.Bad = err, at }

// lastEnd is where a table ends within a quoted cell: at the end of its last
// line.
func (r *Rows) lastEnd(end, next int) int {
	if next > 0 && r.Data[next-1] == '\n' {
		return next - 1
	}
	return end
}

// indent is how many bytes of spaces a cell begins with that are no part of it.
// A tab between cells is a space, too, and stays.
func (r *Rows) indent(cell []byte) int {
	if r.Comma == '\t' {
		return 0
	}
	i := bytes.IndexFunc(cell, func(c rune) bool { return !unicode.IsSpace(c) })
	if i < 0 {
		return len(cell)
	}
	return i
}

// Hash reports whether the current row begins as comments do.
func (r *Rows) Hash() bool { return r.Data[r.Start] == '#' }

// Blank reports whether all cells are empty, as spreadsheets leave rows behind.
func (r *Rows) Blank() bool {
	for i := range r.Width() {
		if len(bytes.TrimSpace(r.Cell(i))) > 0 {
			return false
		}
	}
	return true
}

// LineOf is the line of an offset, from 1 at the beginning of the piece, and its
// column in characters.
func (r *Rows) LineOf(offset int) (line, col int) {
	before := r.Data[:offset]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[begin:]) + 1
}

// CellAt is the line and column at which a cell of the current row begins.
func (r *Rows) CellAt(i int) (line, col int) {
	if r.marked {
		return r.LineOf(r.starts[i])
	}
	return r.LineOf(r.ends[i] + 1 + r.indent(r.Cell(i)))
}

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
