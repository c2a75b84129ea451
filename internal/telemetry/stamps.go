package telemetry

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/tabular"
)

// clock reads times as monitoring writes them.
type clock struct {
	zone *time.Location
	// order of day and month in dates such as 03/04/2026, as the first one that is clear says;
	// guessed: none was.
	order   order
	guessed bool
}

type order string

const (
	dayFirst   order = "day first"
	monthFirst order = "month first"
)

// timeAllowed is what to write instead of a time that cannot be read.
const timeAllowed = `use a time such as "2026-01-31T12:00:00Z", "2026-01-31 12:00:00" or Unix seconds`

// localTime is a date and a time as locales write them (%x %X), or with a zone: ISO 8601.
var localTime = regexp.MustCompile(`^(\d{1,4})([-./年]) ?(\d{1,2})[-./月] ?(\d{1,4})\D{1,3}` +
	`(\d{1,2})[:.時时](\d{2})(?:[:.分](\d{2})(?:[.,](\d{1,9}))?)?秒?(\D.*)?$`)

// ignored are points and spaces in what follows a time: p.m. is pm.
var ignored = regexp.MustCompile(`[\s.\x{202f}\x{a0}]`)

var zoneOffset = regexp.MustCompile(`^([-+])(\d\d):?(\d\d)$`)

// read returns Unix seconds. Numbers are these, or ms, µs or ns by their size: as seconds they
// would be after the year 5138.
func (c *clock) read(text string) (at float64, ok bool) {
	if v, ok := tabular.Number(text); ok {
		for v >= 1e11 && v < 1e20 {
			v /= 1e3
		}
		return v, v >= 0 && v < 1e11
	}
	p := localTime.FindStringSubmatch(text)
	if p == nil {
		return 0, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(p[i]) // digits, or none: 0
		return n
	}
	rest := strings.ToLower(ignored.ReplaceAllString(p[9], ""))
	hour, zone, ok := c.rest(number(5), rest)
	year, month, day, dated := c.date(p[1], p[2], number(3), p[4], rest)
	nanos, _ := strconv.Atoi((p[8] + "000000000")[:9])
	t := time.Date(year, time.Month(month), day, hour, number(6), number(7), nanos, zone)
	if !ok || !dated || int(t.Month()) != month || t.Day() != day || hour > 23 || number(6) > 59 || number(7) > 60 {
		return 0, false
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, true
}

// rest reads what follows a time: the half of the day, a zone, or nothing.
func (c *clock) rest(hour int, text string) (of24 int, zone *time.Location, ok bool) {
	switch offset := zoneOffset.FindStringSubmatch(text); {
	case text == "":
		return hour, c.zone, true
	case text == "am":
		return hour % 12, c.zone, hour >= 1 && hour <= 12
	case text == "pm":
		return hour%12 + 12, c.zone, hour >= 1 && hour <= 12
	case text == "z", text == "utc", text == "gmt":
		return hour, time.UTC, true
	case offset != nil:
		h, _ := strconv.Atoi(offset[1] + offset[2])
		m, _ := strconv.Atoi(offset[1] + offset[3])
		return hour, time.FixedZone("", 3600*h+60*m), true
	}
	return 0, time.UTC, false
}

// date puts the parts of a date into order. Locales with slashes have the day first where the
// year has four digits (fr, it, pt), unless the clock has twelve hours (en_US), and the month
// first where it has two (C, POSIX).
func (c *clock) date(first, separator string, second int, third, rest string) (year, month, day int, ok bool) {
	a, _ := strconv.Atoi(first)
	y, _ := strconv.Atoi(third)
	if len(first) == 4 {
		return a, second, y, len(third) <= 2
	}
	switch len(third) {
	case 2:
		y += 2000
	case 4:
	default:
		return 0, 0, 0, false
	}
	shown := order("")
	switch {
	case a > 12:
		shown = dayFirst
	case second > 12:
		shown = monthFirst
	}
	switch {
	case shown != "" && c.order != "" && shown != c.order:
		return 0, 0, 0, false
	case shown != "":
		c.order = shown
	case c.order != "":
	case separator != "/":
		c.order = dayFirst
	case len(third) == 2, rest == "am", rest == "pm":
		c.order, c.guessed = monthFirst, true
	default:
		c.order, c.guessed = dayFirst, true
	}
	if c.order == dayFirst {
		return y, second, a, true
	}
	return y, a, second, true
}
