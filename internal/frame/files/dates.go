package files

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// dateOrder is what a date such as 03/04/2026 begins with.
type dateOrder uint8

const (
	orderUnknown dateOrder = iota
	dayFirst
	monthFirst
)

func (o dateOrder) String() string { return [...]string{"unknown", "day first", "month first"}[o] }

const slashesAllowed = "write 2026-04-03, or have one date in the first rows that is clear, such as 31/01/2026"

var (
	yearFirst  = regexp.MustCompile(`^(\d{4})[/.](\d{1,2})[/.](\d{1,2})\b(.*)$`)
	inSlashes  = regexp.MustCompile(`^(\d{1,2})/(\d{1,2})/(\d{4})\b(.*)$`)
	compactISO = regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(.*)$`)
	dayMonth   = regexp.MustCompile(`^(?:[A-Z][a-z]+,? +)?(\d{1,2})[-/ ]([A-Z][a-z]{2,8})[-/ ](\d{4})\b(.*)$`)
	monthDay   = regexp.MustCompile(`^(?:[A-Z][a-z]+,? +)?([A-Z][a-z]{2,8}) +(\d{1,2}),? +(\d{4})\b(.*)$`)
	ofC        = regexp.MustCompile(`^[A-Z][a-z]{2} ([A-Z][a-z]{2}) +(\d{1,2}) (\d\d:\d\d:\d\d)( UTC| GMT)? (\d{4})$`)
	timeInDay  = regexp.MustCompile(`^(?:[ :T]|, *)(\d{1,2}):(\d\d)((?::\d\d)?(?:[.,]\d+)?) ?` +
		`(?:([AaPp])\.?[Mm]\.?)?(| ?[-+Z].*| (?:UTC|GMT))$`)
)

// spans, laps and periods are durations as Go, stopwatches and ISO 8601 write them:
// 1m22.3s or 1 h 2 min, 00:01:22.3, PT1M22S.
var (
	spans   = regexp.MustCompile(`^(?:(\d+) ?d(?:ays?)?)? ?(?:(\d+) ?h)? ?(?:(\d+) ?m(?:in)?)? ?(?:(\d+(?:\.\d+)?) ?s)?$`)
	laps    = regexp.MustCompile(`^()(?:(\d+):)?(\d+):(\d\d(?:[.,]\d+)?)$`)
	periods = regexp.MustCompile(`^P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:[.,]\d+)?)S)?)?$`)
)

// duration reports whether a cell is a duration of several units, or may be one, and says
// what to write instead.
func duration(text string) (long bool, allowed string) {
	parts, least := periods.FindStringSubmatch(text), 1
	for _, form := range []*regexp.Regexp{laps, spans} {
		if parts == nil {
			parts, least = form.FindStringSubmatch(text), 2
		}
	}
	if parts == nil {
		return false, ""
	}
	seconds, units := 0.0, 0
	for i, size := range []float64{86400, 3600, 60, 1} {
		if n, ok := number([]byte(strings.Replace(parts[i+1], ",", ".", 1))); ok {
			seconds, units = seconds+n*size, units+1
		}
	}
	if units < least {
		return false, ""
	}
	return true, "write the seconds as a number: " + strconv.FormatFloat(math.Round(seconds*1e9)/1e9, 'f', -1, 64)
}

// clockTime is a time of day alone.
var clockTime = regexp.MustCompile(`^\d{1,2}:\d\d(:\d\d([.,]\d+)?)?$`)

var months = []string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
	"november", "december"}

// monthNamed is the number of a month; 0: it is none.
func monthNamed(name string) int {
	name = strings.ToLower(name)
	return 1 + slices.IndexFunc(months, func(m string) bool {
		return name == m || name == m[:3] || name == "sept" && m == "september"
	})
}

// spelled turns a date that is written in another way, with or without a time of day,
// into one that begins as 2026-01-31 does; ok: it is one.
func (c *clock) spelled(text []byte) (iso []byte, ok bool) {
	if len(text) < 8 || len(text) > 64 {
		return nil, false
	}
	var year, month, day, rest string
	if p := yearFirst.FindSubmatch(text); p != nil {
		year, month, day, rest = string(p[1]), string(p[2]), string(p[3]), string(p[4])
	} else if p := inSlashes.FindSubmatch(text); p != nil && c.order != orderUnknown {
		day, month, year, rest = string(p[1]), string(p[2]), string(p[3]), string(p[4])
		if c.order == monthFirst {
			day, month = month, day
		}
	} else if p := compactISO.FindSubmatch(text); p != nil {
		year, month, day, rest = string(p[1]), string(p[2]), string(p[3]),
			fmt.Sprintf(" %s:%s:%s%s", p[4], p[5], p[6], p[7])
	} else if year, month, day, rest, ok = withMonth(text); !ok {
		return nil, false
	}
	if rest != "" {
		if rest, ok = inDay(rest); !ok {
			return nil, false
		}
	}
	m, _ := strconv.Atoi(month)
	d, _ := strconv.Atoi(day)
	c.buf = fmt.Appendf(c.buf[:0], "%s-%02d-%02d%s", year, m, d, rest)
	return c.buf, true
}

// withMonth takes a date apart that has the name of its month, in English.
func withMonth(text []byte) (year, month, day, rest string, ok bool) {
	var name string
	if p := dayMonth.FindSubmatch(text); p != nil {
		day, name, year, rest = string(p[1]), string(p[2]), string(p[3]), string(p[4])
	} else if p := monthDay.FindSubmatch(text); p != nil {
		name, day, year, rest = string(p[1]), string(p[2]), string(p[3]), string(p[4])
	} else if p := ofC.FindSubmatch(text); p != nil {
		name, day, rest, year = string(p[1]), string(p[2]), " "+string(p[3])+string(p[4]), string(p[5])
	}
	m := monthNamed(name)
	return year, strconv.Itoa(m), day, rest, m > 0
}

// inDay is a time of day after a date as RFC 3339 has it, seconds apart; one of a clock
// of twelve hours, too.
func inDay(rest string) (string, bool) {
	p := timeInDay.FindStringSubmatch(rest)
	if p == nil {
		return "", false
	}
	hour, _ := strconv.Atoi(p[1])
	if p[4] != "" {
		if hour < 1 || hour > 12 {
			return "", false
		}
		if hour %= 12; strings.EqualFold(p[4], "p") {
			hour += 12
		}
	}
	zone := strings.TrimSpace(p[5])
	if zone == "GMT" || zone == "UTC" {
		zone = "Z"
	}
	return fmt.Sprintf("T%02d:%s%s%s", hour, p[2], p[3], zone), true
}
