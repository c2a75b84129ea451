// Package num prints measured values for people: a prefix chosen once for the
// values that are compared, as many digits as the measurement supports, and
// "n/a" for what is missing. Machines get the full float64 elsewhere.
//
//  1. [For] chooses a [Scale] for all values of one metric, so that serial and
//     parallel stand in the same unit.
//  2. [Scale.Value] and [Scale.Spread] print with it.
//  3. [Percent], [Millis], [Seconds] and [Bytes] print quantities whose unit
//     is fixed by the vocabulary.
//  4. [Human], [Brief] and [Share] print a single value in a sentence, without zeros
//     at its end.
package num

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Missing is printed for a missing value, never 0.
const Missing = "n/a"

// step is one prefix: values of at least factor are divided by it.
type step struct {
	factor float64
	prefix string
}

var (
	si     = []step{{1e18, "E"}, {1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}
	binary = []step{{1 << 50, "Pi"}, {1 << 40, "Ti"}, {1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}}
	small  = []step{{1, ""}, {1e-3, "m"}, {1e-6, "µ"}, {1e-9, "n"}}
)

// durations are units of time in seconds, as programs call them.
var durations = map[string]float64{
	"sec": 1, "seconds": 1, "ms": 1e-3, "msec": 1e-3, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "usec": 1e-6, "ns": 1e-9, "nsec": 1e-9,
}

// prefixed are amounts that a program counts with a prefix: in what it counts, and
// by which prefixes that goes on.
var prefixed = map[string]struct {
	factor float64
	steps  []step
	unit   string
}{
	"kB": {1e3, si, "B"}, "MB": {1e6, si, "B"}, "GB": {1e9, si, "B"},
	"KiB": {1 << 10, binary, "B"}, "MiB": {1 << 20, binary, "B"}, "GiB": {1 << 30, binary, "B"},
	"kbit": {1e3, si, "bit"}, "Mbit": {1e6, si, "bit"}, "kop": {1e3, si, "op"}, "Mop": {1e6, si, "op"},
}

// Bounds from which on a value is told in the next unit: of time, where the next
// is 1,000 times as long, and of anything else, beyond the digits that are measured.
const nextTime, nextPrefix = 1e3, 1e5

// Scale is the unit in which the values of one metric are printed.
type Scale struct {
	Factor float64 // a value is divided by it
	Unit   string  // prefix and unit, may be empty
}

// For chooses the scale for values in this unit from the largest of them.
// Operations, bits and rates of bytes take SI prefixes, as disks and links are
// sold and as sentences of package evaluation have them; sizes in bytes binary
// ones; seconds become ms, µs or ns, and 1,000 of these the next ("501 µs/op").
// Any other unit is kept as it is; from 100,000 on a separate prefix stands
// before it ("1.2 M events/s"), as digits beyond that are not measured.
func For(unit string, values ...float64) Scale {
	top := 0.0
	for _, v := range values {
		if Finite(v) {
			top = max(top, math.Abs(v))
		}
	}
	base, per := unit, ""
	if i := strings.Index(unit, "/"); i > 0 {
		base, per = unit[:i], unit[i:]
	}
	switch base {
	case "op", "ops", "flop", "FLOP", "bit", "Hz", "IO", "io":
		return pick(si, top, unit)
	case "B", "byte", "bytes":
		if per == "/s" {
			return pick(si, top, "B/s")
		}
		return pick(binary, top, "B"+per)
	case "s":
		if per != "/s" {
			return pick(small, top, "s"+per)
		}
	}
	if factor, known := durations[base]; known && per != "/s" && (top >= nextTime || 0 < top && top < 0.1) {
		scale := pick(small, top*factor, "s"+per)
		return Scale{scale.Factor / factor, scale.Unit}
	}
	if p, known := prefixed[base]; known && top >= nextPrefix {
		scale := pick(p.steps, top*p.factor, p.unit+per)
		return Scale{scale.Factor / p.factor, scale.Unit}
	}
	if unit == "1/s" { // of a duration: work per second
		return pick(si, top, "/s")
	}
	if top >= nextPrefix {
		return pick(si, top, strings.TrimRight(" "+unit, " "))
	}
	return Scale{1, unit}
}

// pick returns the greatest prefix that leaves top at 1 or more.
func pick(steps []step, top float64, unit string) Scale {
	for _, s := range steps {
		if top >= s.factor {
			return Scale{s.factor, s.prefix + unit}
		}
	}
	return Scale{1, unit}
}

// Finite reports whether v is a number that can be printed or drawn.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// IfFinite is the value, or nil where it is none that can be printed or drawn.
func IfFinite(v float64) *float64 {
	if !Finite(v) {
		return nil
	}
	return &v
}

// Optional prints a value that may be missing.
func Optional(v *float64, print func(float64) string) string {
	if v == nil || !Finite(*v) {
		return Missing
	}
	return print(*v)
}

// Number prints v without unit, rounded to where sd, its standard deviation,
// has two significant digits, but to no fewer than three and no more than four
// significant digits. An sd of 0 says nothing about precision: three digits.
func (s Scale) Number(v, sd float64) string {
	if !Finite(v) {
		return Missing
	}
	v, sd = v/s.Factor, sd/s.Factor
	return fixed(v, decimals(v, sd))
}

// Value is Number with the unit; a missing number has none.
func (s Scale) Value(v, sd float64) string {
	number := s.Number(v, sd)
	if number == Missing || s.Unit == "" {
		return number
	}
	return number + " " + s.Unit
}

// Spread prints mean and standard deviation with the same decimals:
// "12.34 ±0.05".
func (s Scale) Spread(mean, sd float64) string {
	if !Finite(mean) || !Finite(sd) {
		return s.Number(mean, 0)
	}
	return s.Number(mean, sd) + " ±" + s.Deviation(mean, sd)
}

// Interval prints the ends of an interval without unit: "[6.32 .. 15.7]".
func (s Scale) Interval(lo, hi float64) string {
	return "[" + s.Number(lo, 0) + " .. " + s.Number(hi, 0) + "]"
}

// Deviation prints the standard deviation of a mean with the mean's decimals,
// without unit.
func (s Scale) Deviation(mean, sd float64) string {
	if !Finite(mean) || !Finite(sd) {
		return Missing
	}
	return fixed(sd/s.Factor, decimals(mean/s.Factor, sd/s.Factor))
}

// Tick prints a value of an axis with just the digits that its step, a round
// number, needs.
func Tick(v, step float64) string {
	d := 0
	if v != 0 && step > 0 && step < 1 {
		d = int(math.Ceil(-math.Log10(step) - 1e-9))
	}
	return fixed(v, min(d, 9))
}

// decimals is how many digits behind the point v deserves; see Number.
func decimals(v, sd float64) int {
	if v == 0 || !Finite(v) {
		return 1
	}
	mag := magnitude(v)
	least, most := 2-mag, 3-mag
	d := least
	if Finite(sd) && sd > 0 {
		d = min(max(1-magnitude(sd), least), most)
	}
	return min(max(d, 0), 9)
}

// magnitude is the exponent of the first significant digit.
func magnitude(v float64) int { return int(math.Floor(math.Log10(math.Abs(v)))) }

// fixed is strconv's 'f' without a negative zero. What is too small for nine
// decimals takes an exponent: it must not look like 0.
func fixed(v float64, decimals int) string {
	if v != 0 && decimals == 9 && math.Abs(v) < 1e-6 {
		return strconv.FormatFloat(v, 'e', 2, 64)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return strings.TrimPrefix(s, "-")
	}
	return s
}

// Percent prints a percentage with one decimal: "75.0 %".
func Percent(v float64) string {
	if !Finite(v) {
		return Missing
	}
	return fixed(v, 1) + " %"
}

// SignedPercent is a percentage with its sign, which 0.0 has none of.
func SignedPercent(percent float64) string {
	text := Percent(percent)
	if percent > 0 && text != Percent(0) {
		return "+" + text
	}
	return text
}

// Signed is a relative change, a share: "+12.0 %", "−3.1 %".
func Signed(share float64) string {
	text := Percent(100 * math.Abs(share))
	if share < 0 {
		return "−" + text
	}
	return "+" + text
}

// PercentInterval prints the bounds of a 95 % interval: "[73.9, 76.0]".
func PercentInterval(lo, hi float64) string {
	return "[" + fixed(lo, 1) + ", " + fixed(hi, 1) + "]"
}

// Fraction prints a share between 0 and 1 as a percentage.
func Fraction(v float64) string { return Percent(100 * v) }

// Millis prints milliseconds with up to three significant digits in the unit
// that suits them: "420 µs", "12.0 ms", "1.30 s".
func Millis(ms float64) string { return Seconds(ms / 1e3) }

// Seconds prints a span: "420 µs", "12.0 ms", "1.30 s", "2 min 05 s",
// "3 h 04 min".
func Seconds(s float64) string {
	switch {
	case !Finite(s):
		return Missing
	case s < 0:
		return "-" + Seconds(-s)
	case s == 0:
		return "0 s"
	case s < 59.95:
		return pick(small, max(s, 1e-9), "s").Value(s, 0)
	case s < 3600:
		total := int(math.Round(s))
		return fmt.Sprintf("%d min %02d s", total/60, total%60)
	}
	minutes := int(math.Round(s / 60))
	return fmt.Sprintf("%d h %02d min", minutes/60, minutes%60)
}

// Bytes prints a size with a binary prefix: "15.6 GiB", "512 B".
func Bytes(n int64) string {
	if n < 1024 && n > -1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return For("B", float64(n)).Value(float64(n), 0)
}
