package analysis

import (
	"strconv"
	"strings"
)

// number prints a value for a warning, to four significant digits.
func number(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

// inverseUnit is the unit of 1/value: "1/s" of "s", "op/ns" of "ns/op".
func inverseUnit(unit string) string {
	switch top, bottom, ok := strings.Cut(unit, "/"); {
	case unit == "":
		return ""
	case !ok:
		return "1/" + unit
	case top == "1" || top == "":
		return bottom
	default:
		return bottom + "/" + top
	}
}
