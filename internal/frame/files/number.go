package files

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/scalebench/scalebench/internal/tabular"
)

// exactPowers are the powers of ten that a float64 holds exactly, as far as they
// are needed.
var exactPowers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// mostDigits: whole numbers of as many digits are exact as a float64.
const mostDigits = 15

// number reads what [tabular.Number] reads, bit for bit the same. Digits and a
// power of ten that a float64 holds exactly make one division, which rounds once
// (Clinger, How to Read Floating Point Numbers Accurately, PLDI 1990); whatever
// else there is, strconv reads.
func number(text []byte) (v float64, ok bool) {
	i := 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i = 1
	}
	var digits, after int
	var mantissa uint64
	point := false
	for ; i < len(text); i++ {
		switch c := text[i] - '0'; {
		case c <= 9:
			mantissa = mantissa*10 + uint64(c)
			digits++
			if point {
				after++
			}
		case text[i] == '.' && !point:
			point = true
		default:
			return tabular.Number(string(text))
		}
	}
	if digits == 0 || digits > mostDigits {
		return tabular.Number(string(text))
	}
	v = float64(mantissa) / exactPowers[after]
	if text[0] == '-' {
		v = -v
	}
	return v, true
}

// missing reports whether a cell says that nothing was measured; \N is MySQL's word.
func missing(text []byte) bool {
	return len(text) == 0 || slices.Contains([]string{"nan", "-nan", "+nan", "na", "n/a", "<na>", "#n/a",
		"null", "none", "nil", "-", "--", `\n`}, strings.ToLower(string(text)))
}

// infinite reports whether a cell is a number beyond all that float64 holds.
func infinite(text []byte) bool {
	v, _ := strconv.ParseFloat(string(text), 64) // infinite, too, where the error is that it is out of range
	return math.IsInf(v, 0)
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
