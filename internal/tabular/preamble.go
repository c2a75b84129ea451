package tabular

import (
	"bufio"
	"bytes"
	"regexp"

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

// separators are what may stand between cells; of two that fit equally, the first one
// is taken.
var separators = []byte{',', ';', '\t', '|'}

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
	comment, first, second := firstLines(data)
	best, most := separators[0], -1
	for _, c := range separators {
		// Equally often in the names and in the values below them: text inside a cell
		// hardly does that.
		n := cells(first, c)
		if n > 0 && (n == cells(second, c) || n == cells(comment, c)) {
			n += len(data)
		}
		if n > most {
			best, most = c, n
		}
	}
	return best, 0
}

// firstLines are the first two lines that are neither empty nor a comment before the
// table, and the comment just before them.
func firstLines(data []byte) (comment, first, second []byte) {
	for line := range bytes.Lines(data) {
		switch line = bytes.TrimRight(line, "\r\n"); {
		case len(bytes.TrimSpace(line)) == 0:
		case first != nil:
			return comment, first, line
		case line[0] == '#':
			comment = line
		default:
			first = line
		}
	}
	return comment, first, nil
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
