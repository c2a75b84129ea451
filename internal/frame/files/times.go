package files

import (
	"bytes"
	"encoding/binary"
	"math"
	"strconv"
	"time"
)

// form is how a time is written.
type form uint8

const (
	formZoned   form = iota // a date, a time and a zone: RFC 3339 and its relatives
	formLocal               // a date and a time
	formDate                // a date
	formSeconds             // since 1970
	formMillis
	formMicros
	formNanos
	forms int = iota
)

// formNames are for people.
var formNames = [forms]string{"dates and times with a zone", "dates and times without a zone", "dates", "Unix seconds", "Unix milliseconds", "Unix microseconds", "Unix nanoseconds"}

// shift is what is odd about a local time.
type shift uint8

const (
	steady shift = iota
	gap          // the clock was put forward over it: it did not exist
	twice        // the clock was put back over it: it was there twice
)

// clock reads times. It remembers the last date, and for local times the last
// hour, as rows that follow each other mostly share them.
type clock struct {
	zone  *time.Location
	order dateOrder // of dates with slashes
	head  uint64    // the date: its first eight characters
	tail  uint16    // and the last two
	day   int64     // in seconds since 1970
	// hour is the last local hour in which the offset from UTC does not change,
	// in seconds since 1970 as a clock there shows it.
	hour   int64
	offset int64 // in seconds
	buf    []byte
}

func newClock(zone *time.Location) *clock {
	return &clock{zone: zone, hour: math.MinInt64}
}

const (
	firstYear, lastYear = 1678, 2261 // those that nanoseconds since 1970 in an int64 hold whole
	second              = int64(time.Second)
)

// read reads a time: nanoseconds since 1970, UTC.
func (c *clock) read(text []byte) (ns int64, f form, odd shift, ok bool) {
	if len(text) < 10 || text[4] != '-' || text[7] != '-' {
		iso, ok := c.dotted(text)
		if !ok {
			iso, ok = c.spelled(text)
		}
		if !ok {
			ns, f, ok = unix(text)
			return ns, f, steady, ok
		}
		text = iso
	}
	if !c.date(text) {
		return 0, 0, steady, false
	}
	if len(text) == 10 {
		ns, odd = c.local(c.day)
		return ns, formDate, odd, true
	}
	ofDay, fraction, zone, ok := timeOfDay(text[10:])
	if !ok {
		return 0, 0, steady, false
	}
	if len(zone) == 0 {
		ns, odd = c.local(c.day + ofDay)
		return ns + fraction, formLocal, odd, true
	}
	offset, ok := zoneOffset(zone)
	return (c.day+ofDay-offset)*second + fraction, formZoned, steady, ok
}

// dotted turns a date that begins as 31.1.2026 does into one that begins as
// 2026-01-31 does; what it is not stays what it is.
func (c *clock) dotted(text []byte) ([]byte, bool) {
	day := bytes.IndexByte(text[:min(len(text), 3)], '.')
	if day < 1 {
		return text, false
	}
	month := bytes.IndexByte(text[day+1:min(len(text), day+4)], '.')
	year := day + 1 + month + 1
	if month < 1 || len(text) < year+4 {
		return text, false
	}
	c.buf = append(append(c.buf[:0], text[year:year+4]...), '-')
	for i, part := range [][]byte{text[day+1 : day+1+month], text[:day]} {
		if len(part) == 1 {
			c.buf = append(c.buf, '0')
		}
		if c.buf = append(c.buf, part...); i == 0 {
			c.buf = append(c.buf, '-')
		}
	}
	c.buf = append(c.buf, text[year+4:]...)
	return c.buf, true
}

// date reads the first ten characters.
func (c *clock) date(text []byte) bool {
	head, tail := binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint16(text[8:])
	if head == c.head && tail == c.tail {
		return true
	}
	century, ok1 := pair(text)
	years, ok2 := pair(text[2:])
	month, ok3 := pair(text[5:])
	day, ok4 := pair(text[8:])
	year := int(century*100 + years)
	if !ok1 || !ok2 || !ok3 || !ok4 || year < firstYear || year > lastYear {
		return false
	}
	t := time.Date(year, time.Month(month), int(day), 0, 0, 0, 0, time.UTC)
	if int64(t.Month()) != month || int64(t.Day()) != day {
		return false // such as the 30th of February
	}
	c.head, c.tail, c.day = head, tail, t.Unix()
	return true
}

// timeOfDay reads "T15:04:05.999" and returns what follows. Seconds and their
// fraction, in nanoseconds, may be missing.
func timeOfDay(text []byte) (seconds, fraction int64, rest []byte, ok bool) {
	if len(text) < 6 || text[0] != 'T' && text[0] != ' ' && text[0] != 't' || text[3] != ':' {
		return 0, 0, nil, false
	}
	h, ok1 := pair(text[1:])
	m, ok2 := pair(text[4:])
	if !ok1 || !ok2 || h > 23 || m > 59 {
		return 0, 0, nil, false
	}
	seconds, rest = h*3600+m*60, text[6:]
	if len(rest) < 3 || rest[0] != ':' {
		return seconds, 0, rest, true
	}
	s, ok3 := pair(rest[1:])
	if !ok3 || s > 59 {
		return 0, 0, nil, false
	}
	seconds, rest = seconds+s, rest[3:]
	if len(rest) > 1 && (rest[0] == '.' || rest[0] == ',') && rest[1]-'0' <= 9 {
		i, unit := 1, second
		for ; i < len(rest) && rest[i]-'0' <= 9; i++ {
			unit /= 10
			fraction += int64(rest[i]-'0') * unit // what is below a nanosecond is cut
		}
		rest = rest[i:]
	}
	return seconds, fraction, rest, true
}

// zoneOffset reads "Z", "+01:00", "+0100" or "+01", in seconds.
func zoneOffset(text []byte) (int64, bool) {
	if len(text) == 1 {
		return 0, text[0] == 'Z' || text[0] == 'z'
	}
	text = bytes.TrimPrefix(text, []byte{' '})
	switch {
	case string(text) == "UTC":
		return 0, true
	case len(text) == 6 && text[3] == ':':
		text = append(append(make([]byte, 0, 5), text[:3]...), text[4:]...)
	}
	if len(text) != 3 && len(text) != 5 || text[0] != '+' && text[0] != '-' {
		return 0, false
	}
	h, ok := pair(text[1:])
	var m int64
	if len(text) == 5 && ok {
		m, ok = pair(text[3:])
	}
	if !ok || h > 23 || m > 59 {
		return 0, false
	}
	offset := h*3600 + m*60
	if text[0] == '-' {
		offset = -offset
	}
	return offset, true
}

// pair reads two digits.
func pair(text []byte) (int64, bool) {
	a, b := text[0]-'0', text[1]-'0'
	return int64(a)*10 + int64(b), a <= 9 && b <= 9
}

// local turns what a clock in the zone shows, in seconds since 1970, into the
// time. One that the clock showed twice is the earlier one; one that it never
// showed is as long after the change as the clock says.
func (c *clock) local(shown int64) (ns int64, odd shift) {
	if c.zone == time.UTC {
		return shown * second, steady
	}
	if hour := shown - mod(shown, 3600); hour != c.hour {
		first, odd1 := c.offsetOf(hour)
		last, odd2 := c.offsetOf(hour + 3599)
		if odd1 != steady || odd2 != steady || first != last {
			offset, odd := c.offsetOf(shown)
			return (shown - offset) * second, odd
		}
		c.hour, c.offset = hour, first
	}
	return (shown - c.offset) * second, steady
}

// offsetOf finds the offset from UTC of what a clock in the zone shows. Around a
// change of the clock there are two that come into question: the one before it
// and the one after. Two changes within two days are not known of any zone.
func (c *clock) offsetOf(shown int64) (offset int64, odd shift) {
	const day = 24 * 3600
	at := func(unix int64) int64 {
		_, o := time.Unix(unix, 0).In(c.zone).Zone()
		return int64(o)
	}
	before, after := at(shown-day), at(shown+day)
	isBefore, isAfter := at(shown-before) == before, at(shown-after) == after
	switch {
	case before == after:
		return before, steady
	case isBefore && isAfter:
		return before, twice
	case isAfter:
		return after, steady
	case isBefore:
		return before, steady
	}
	return before, gap
}

func mod(a, b int64) int64 { return (a%b + b) % b }

// unix reads a number of seconds, milliseconds, microseconds or nanoseconds
// since 1970. Which, its magnitude says: as seconds it would be after the year
// 5138, and so on.
func unix(text []byte) (ns int64, f form, ok bool) {
	v, ok := number(text)
	if !ok {
		return 0, 0, false
	}
	unit := second
	switch size := math.Abs(v); {
	case size < 1e11:
		f = formSeconds
	case size < 1e14:
		f, unit = formMillis, int64(time.Millisecond)
	case size < 1e17:
		f, unit = formMicros, int64(time.Microsecond)
	case size < 9.2e18:
		f, unit = formNanos, 1
	default:
		return 0, 0, false
	}
	if math.Abs(v)*float64(unit) > 9.2e18 {
		return 0, 0, false // after the year 2261, which no int64 holds
	}
	whole, fraction, _ := bytes.Cut(text, []byte{'.'})
	n, err := strconv.ParseInt(string(whole), 10, 64)
	part, exact := decimals(fraction, unit)
	if err != nil || !exact { // with an exponent
		return int64(math.Round(v * float64(unit))), f, true
	}
	if text[0] == '-' {
		part = -part
	}
	return n*unit + part, f, true
}

// decimals is what follows the point, in units of that many nanoseconds; what is
// below one is cut.
func decimals(text []byte, unit int64) (ns int64, ok bool) {
	for _, c := range text {
		if c-'0' > 9 {
			return 0, false
		}
		unit /= 10
		ns += int64(c-'0') * unit
	}
	return ns, true
}
