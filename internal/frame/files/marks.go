package files

import (
	"bytes"
	"fmt"
	"regexp"
)

// marks is how the numbers of a column are written, as far as its first rows tell.
type marks struct {
	points, commas int // numbers with a decimal point, and with one comma
	// grouped is how many of the commas may stand before thousands; mixed is how
	// many numbers have both marks, or one of them several times.
	grouped, mixed int
	example        string // the first of those that are least clear
	line, col      int    // where that is, from 1 on; 0: not in a text
}

var (
	withComma = regexp.MustCompile(`^[-+]?\d*,\d+$`)
	thousands = regexp.MustCompile(`^[-+]?[1-9]\d{0,2},\d{3}$`)
	withMarks = regexp.MustCompile(`^[-+]?\d{1,3}([.,]\d{3})+([.,]\d*)?$`)
)

// look looks at a cell that is no number with a decimal point; it reports whether
// it may be another number.
func (m *marks) look(cell []byte) bool {
	switch {
	case withComma.Match(cell):
		m.commas++
		if thousands.Match(cell) {
			m.grouped++
		}
		if m.example == "" {
			m.example = string(cell)
		}
	case withMarks.Match(cell):
		if m.mixed++; m.mixed == 1 {
			m.example = string(cell)
		}
	default:
		return false
	}
	return true
}

// unclear: in 1.234,5 it is clear what the marks are, and in 1,234 and 1.234 it is
// not. One column with both kinds, or with nothing but numbers that may have a
// mark for thousands, is refused.
func (m marks) unclear() bool {
	return m.mixed > 0 || m.commas > 0 && (m.points > 0 || m.grouped == m.commas)
}

// problem says what is not clear, and allowed what to do.
func (m marks) problem(column string) (problem, allowed string) {
	problem = fmt.Sprintf("%s is %q, and it is not clear which mark is the decimal one", column, m.example)
	if m.points > 0 {
		problem += fmt.Sprintf("; %s of the column with a decimal point", map[bool]string{true: "there is 1 number", false: fmt.Sprintf("there are %d numbers", m.points)}[m.points == 1])
	}
	return problem, "write all as 1234.5, or all as 1234,5, without a mark for thousands"
}

// number reads a number of the column of values.
func (w *worker) number(text []byte) (float64, bool) {
	if w.plan.columns[w.plan.value].marks.commas == 0 {
		return number(text)
	}
	if bytes.IndexByte(text, '.') >= 0 { // is it one, or a mark for thousands?
		return 0, false
	}
	w.key = append(w.key[:0], text...)
	if i := bytes.IndexByte(w.key, ','); i >= 0 {
		w.key[i] = '.'
	}
	return number(w.key)
}
