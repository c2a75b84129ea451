package tabular

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number reads a number as people and spreadsheets write it, unlike what
// strconv takes: no hexadecimal, no underscores, no infinity.
func Number(text string) (v float64, ok bool) {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

// Bounds of amounts: products and quotients of several of them are finite.
const leastAmount, mostAmount = 1e-15, 1e15

// isAmount reports whether a number is 0, or within the bounds.
func isAmount(v float64) bool { return v == 0 || v >= leastAmount && v <= mostAmount }

// Amount reads a cell of the current row that holds how much there is of something: 0, or
// a number from 1e-15 to 1e15. Others are refused. A cell that is empty, or of no column
// of the table, is NaN; where one is needed it is refused, too.
func (t *Reader) Amount(name string, needed bool) float64 {
	at := t.Column(name)
	v, ok := Number(t.Text(at))
	switch {
	case t.Text(at) == "" && !needed:
		return math.NaN()
	case !ok || v < 0:
		t.refuseNumber(at, name, "a number of 0 or more")
	case !isAmount(v):
		t.refuseNumber(at, name, "0, or a number from 1e-15 to 1e15")
	}
	return v
}

// leastPercent: a share from here on seems to be in percent, and its mark missing.
const leastPercent = 2

// Share reads a cell of the current row that holds a share, or one in percent, of at most
// so much; of says of what, for messages. NaN: it is empty, or there is no such column.
func (t *Reader) Share(name string, most float64, of string) float64 {
	at := t.Column(name)
	text, percent := strings.CutSuffix(t.Text(at), "%")
	if text == "" {
		return math.NaN()
	}
	v, ok := Number(strings.TrimSpace(text))
	if percent {
		v /= 100
	}
	switch {
	case ok && !percent && v >= leastPercent && v <= 100 && v > most:
		t.RefuseCell(at, name, fmt.Sprintf("%s%% if it is in percent, or %s as a share", text,
			strconv.FormatFloat(v/100, 'g', 6, 64))+of)
	case !ok || !isAmount(v) || v > most:
		t.refuseNumber(at, name, "a share such as 0.85 or 85%"+of)
	}
	return v
}

// Whole reads a cell of the current row that holds a whole number of 1 or more. One that is
// missing is replaced, unless that is 0.
func (t *Reader) Whole(name string, missing int) int {
	at := t.Column(name)
	if t.Text(at) == "" && missing > 0 {
		return missing
	}
	n, err := strconv.Atoi(t.Text(at))
	if err != nil || n < 1 {
		t.refuseNumber(at, name, "a whole number of 1 or more")
	}
	return n
}

// RefuseCell reports a value of the current row that is not allowed. Of a column
// that is absent, name says what it would be.
func (t *Reader) RefuseCell(c Column, name, allowed string) {
	switch {
	case c == Absent:
		t.refuseAt(0, name+" is missing", "use "+allowed)
	case t.cells[c] == "":
		t.refuseAt(int(c), name+" is empty", "use "+allowed)
	default:
		t.refuseAt(int(c), fmt.Sprintf("%s is %q", name, t.cells[c]), "use "+allowed)
	}
}

// refuseNumber refuses a cell that is to hold a number.
func (t *Reader) refuseNumber(c Column, name, allowed string) {
	if decimalComma(t.Text(c)) {
		allowed += ", with a decimal point and without commas"
	}
	t.RefuseCell(c, name, allowed)
}

// decimalComma reports whether text is a number but for one comma in it.
func decimalComma(text string) bool {
	before, after, found := strings.Cut(strings.TrimSuffix(text, "%"), ",")
	_, ok := Number(before + "." + after)
	return found && ok
}
