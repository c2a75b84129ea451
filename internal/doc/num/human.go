package num

import (
	"math"
	"strconv"
	"time"
)

// prefixable are the units that take a decimal prefix in sentences.
var prefixable = map[string]bool{
	"B": true, "bit": true, "op": true, "byte": true,
	"B/s": true, "bit/s": true, "op/s": true, "byte/s": true,
	"Hz": true, "flop/s": true,
}

// Human prints a single value in a sentence: four significant digits and, where
// the unit takes one, a decimal prefix: Human(1.25e9, "B/s") is "1.25 GB/s".
func Human(value float64, unit string) string {
	if !Finite(value) {
		return "-"
	}
	scale := Scale{1, unit}
	if prefixable[unit] { // what four digits would print as 1000 takes the next prefix
		scale = pick(si, math.Abs(value)/0.99995, unit)
	}
	text := Digits(value/scale.Factor, 4)
	if unit == "" {
		return text
	}
	return text + " " + scale.Unit
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

// Brief is a duration with the three digits that matter to people: "43.6 ms", "960 µs".
func Brief(d time.Duration) string { return spaced(d, 3) }

// Exact is a duration with all of its digits: "150 ms".
func Exact(d time.Duration) string { return spaced(d, 15) }

func spaced(d time.Duration, digits int) string {
	unit, name := time.Second, " s"
	switch {
	case d < time.Microsecond:
		unit, name = time.Nanosecond, " ns"
	case d < time.Millisecond:
		unit, name = time.Microsecond, " µs"
	case d < time.Second:
		unit, name = time.Millisecond, " ms"
	}
	return Digits(float64(d)/float64(unit), digits) + name
}

// Share is a share of 1 in percent, with three significant digits: "92.7 %".
func Share(share float64) string { return strconv.FormatFloat(100*share, 'g', 3, 64) + " %" }
