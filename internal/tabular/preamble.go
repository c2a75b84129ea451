package tabular

import (
	"bufio"
	"bytes"
	"regexp"
	"slices"

	"golang.org/x/text/encoding/unicode"
)

// UTF8 is a text without its byte order mark, and in UTF-8 if the mark says that it
// is UTF-16, as spreadsheets and PowerShell write it.
func UTF8(r *bufio.Reader) *bufio.Reader {
	mark, _ := r.Peek(3)
	switch {
	case bytes.Equal(mark, []byte("\ufeff")):
		_, _ = r.Discard(len(mark)) // they are in the buffer
	case bytes.HasPrefix(mark, []byte{0xff, 0xfe}), bytes.HasPrefix(mark, []byte{0xfe, 0xff}):
		decoder := unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder()
		return bufio.NewReaderSize(decoder.Reader(r), bufferSize)
	}
	return r
}

// MostColumns is how many a table may have: as many as a spreadsheet has.
const MostColumns = 16_384

// separators are what may stand between cells. Of two that fit equally the first one is
// taken: commas are in decimal numbers and in texts, too.
var separators = []byte{'\t', ';', '|', ','}

var separatorLine = regexp.MustCompile(`(?i)^"?sep=([^\w\s".+#-]|\t|\\t)"?\r?\n`)

// Separator is what separates the cells of a table: what a first line such as "sep=;"
// says, which spreadsheets write and read, or else a comma, semicolon, tab or vertical
// bar. from is where the table begins, after such a line.
func Separator(data []byte) (comma byte, from int) {
	if line := separatorLine.FindSubmatch(data); line != nil {
		if comma = line[1][0]; comma == '\\' {
			comma = '\t'
		}
		return comma, len(line[0])
	}
	names, values := firstLines(data)
	best, most, like := byte(','), 0, 0
	for _, c := range separators {
		n, alike := cells(names, c), 0
		if n == 0 && most == 0 && slices.IndexFunc(values, func(line []byte) bool { return cells(line, c) > 0 }) < 0 {
			best = c // of one column, what is not in its numbers
		}
		for _, line := range values {
			if n > 0 && cells(line, c) == n {
				alike++
			}
		}
		if alike > like || alike == like && n > most {
			best, most, like = c, n, alike
		}
	}
	return best, 0
}

// mostCompared: lines below the header that are looked at. What separates cells stands in
// each of them as often as in the header; text inside a cell hardly does that.
const mostCompared = 20

// firstLines are the header and some lines below it, without those that are empty or,
// before the header, comments.
func firstLines(data []byte) (names []byte, values [][]byte) {
	for line := range bytes.Lines(data) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case len(bytes.TrimSpace(line)) == 0 || names == nil && line[0] == '#':
		case names == nil:
			names = line
		default:
			values = append(values, line)
		}
		if len(values) == mostCompared {
			break
		}
	}
	return names, values
}

// numbered reports whether a table begins with names of which the first is #, as in
// #,zone,value: those of the line below are as many.
func numbered(data []byte, comma byte) bool {
	first, _, _ := bytes.Cut(data, []byte{'\n'})
	names, _ := firstLines(data)
	return len(first) > 1 && first[0] == comment && first[1] == comma && cells(first, comma) == cells(names, comma) &&
		!slices.ContainsFunc(bytes.Split(first, []byte{comma}), func(name []byte) bool {
			return len(bytes.TrimSpace(name)) == 0
		})
}

// cells is how many separators a line has outside quotation marks.
func cells(line []byte, separator byte) (n int) {
	quoted := false
	for _, c := range line {
		switch {
		case c == '"':
			quoted = !quoted
		case c == separator && !quoted:
			n++
		}
	}
	return n
}
