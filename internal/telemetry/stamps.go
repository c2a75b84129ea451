package telemetry

import (
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
	layout  string // of the last time
}

type order string

const (
	dayFirst   order = "day first"
	monthFirst order = "month first"
)

// timeAllowed is what to write instead of a time that cannot be read.
const timeAllowed = `a time such as "2026-01-31T12:00:00Z", "2026-01-31 12:00:00" or Unix seconds`

// spelling makes times of locales (%x %X) and of ISO 8601 alike.
var spelling = strings.NewReplacer("年", "-", "月", "-", "日", "", "時", ":", "时", ":", "分", ":", "秒", "",
	"\u202f", " ", "\u00a0", " ", "a.m.", "AM", "p.m.", "PM", "am", "AM", "pm", "PM", " UTC", "Z", " GMT", "Z", "T", " ")

// layouts are those in which day and month are clear. Digits may be missing or more.
var layouts = []string{
	"2006-1-2 15:4:5Z07:00", "2006-1-2 15:4:5Z0700", "2006-1-2 15:4:5 Z0700", "2006-1-2 15:4:5", "2006-1-2 15:4",
	"2006-1-2 3:4:5 PM", "2006.1.2. 15:4:5", "2006/1/2 15:4:5", "2.1.2006 15:4:5", "2.1.2006 15:4", "2.1.2006 15.4.5",
	"2.1.06 15:4:5", "2-1-2006 15:4:5", "2-1-06 15:4:5",
}

// slashed are those in which day and month come in either order, and what is guessed. Years of
// two digits are those of C and POSIX; of four, clocks of twelve hours are those of en_US, and
// others those of fr, it and pt.
var slashed = []struct {
	monthFirst, dayFirst string
	guess                order
}{
	{"1/2/06 15:4:5", "2/1/06 15:4:5", monthFirst}, {"1/2/06 15:4", "2/1/06 15:4", monthFirst},
	{"1/2/2006 3:4:5 PM", "2/1/2006 3:4:5 PM", monthFirst}, {"1/2/2006 3:4 PM", "2/1/2006 3:4 PM", monthFirst},
	{"1/2/2006 15:4:5", "2/1/2006 15:4:5", dayFirst}, {"1/2/2006 15:4", "2/1/2006 15:4", dayFirst},
}

// read returns Unix seconds. Numbers are these, or ms, µs or ns by their size: as seconds they
// would be after the year 5138.
func (c *clock) read(text string) (at float64, ok bool) {
	if v, ok := tabular.Number(text); ok {
		for v >= 1e11 && v < 1e20 {
			v /= 1e3
		}
		return v, v >= 0 && v < 1e11
	}
	text = spelling.Replace(text)
	t, ok := c.parse(c.layout, text)
	for i := 0; !ok && i < len(layouts); i++ {
		t, ok = c.parse(layouts[i], text)
	}
	for i := 0; !ok && i < len(slashed); i++ {
		s := slashed[i]
		month, isMonth := c.parse(s.monthFirst, text)
		day, isDay := c.parse(s.dayFirst, text)
		if c.order == "" && isMonth && isDay {
			c.order, c.guessed = s.guess, true
		}
		switch {
		case isMonth && c.order != dayFirst:
			t, ok, c.order = month, true, monthFirst
		case isDay && c.order != monthFirst:
			t, ok, c.order = day, true, dayFirst
		}
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, ok
}

func (c *clock) parse(layout, text string) (time.Time, bool) {
	t, err := time.ParseInLocation(layout, text, c.zone)
	if layout == "" || err != nil {
		return t, false
	}
	if !strings.Contains(layout, "/") { // of slashes, the next one may be clearer
		c.layout = layout
	}
	return t, true
}

// guess remarks on dates of which the order of day and month is guessed.
func (c *clock) guess(list []Recording) []Recording {
	for i := range list {
		if c.guessed {
			list[i].remark(Remark{Code: DatesGuessed, Of: string(c.order), Count: 1})
		}
	}
	return list
}
