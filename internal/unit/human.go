package unit

import (
	"math"
	"strconv"
)

// prefixable are the units of metrics that take an SI prefix.
var prefixable = map[string]bool{
	"B": true, "bit": true, "op": true, "byte": true,
	"B/s": true, "bit/s": true, "op/s": true, "byte/s": true,
	"Hz": true, "flop/s": true,
}

// Human prints a measured value for people: four significant digits and, where
// the unit takes one, a decimal prefix: Human(1.25e9, "B/s") is "1.25 GB/s".
// It is for reading only; what programs read is printed in full.
func Human(value float64, unit string) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "-"
	}
	prefix := ""
	if prefixable[unit] {
		value, prefix = scale(value)
	}
	text := Digits(value, 4)
	if unit == "" {
		return text
	}
	return text + " " + prefix + unit
}

// scale divides by the largest power of 1000 that leaves at least 1. A value
// that rounding to four digits would print as 1000 moves up one prefix.
func scale(value float64) (float64, string) {
	power := 0
	for power < len(decimalPrefixes)-1 && math.Abs(value) >= 999.95 {
		value /= 1000
		power++
	}
	return value, decimalPrefixes[power]
}

// Digits prints a value with this many significant digits, never in exponent
// notation for values that a table can hold, and without digits that would
// pretend to more precision: Digits(1234567, 4) is "1235000".
func Digits(value float64, significant int) string {
	if value == 0 {
		return "0"
	}
	if a := math.Abs(value); a >= 1e15 || a < 1e-6 {
		return strconv.FormatFloat(value, 'g', significant, 64)
	}
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'e', significant-1, 64), 64) // it is a number
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
