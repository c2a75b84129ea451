package telemetry

import (
	"math"
	"regexp"
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
	layout  string  // of the last time
	later   float64 // by how many seconds the last time may be later; 0: it is clear
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
	c.later = 0
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
	if !zoned.MatchString(text) {
		t, c.later = first(t)
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, ok
}

// zoned are times with their zone.
var zoned = regexp.MustCompile(`(?:Z|[+-][0-9]{2}:?[0-9]{2})$`)

// first is the first moment at which a clock shows a time, and how many seconds later it shows it
// again: when summer time ends, it shows an hour twice.
func first(t time.Time) (time.Time, float64) {
	offset := func(t time.Time) time.Duration {
		_, seconds := t.Zone()
		return time.Duration(seconds) * time.Second
	}
	before, after := offset(t.AddDate(0, 0, -1)), offset(t.AddDate(0, 0, 1))
	one, two := t.Add(offset(t)-before), t.Add(offset(t)-after)
	if before <= after || offset(one) != before || offset(two) != after {
		return t, 0
	}
	return one, (before - after).Seconds()
}

// unfold places times of an hour that a clock shows twice, in the order in which they were written.
// later is by how much each may be later. Where a time steps back, or is equal to the one before and
// no copy of it, the hour begins again. Otherwise no time shows the other hour, which lies where the
// largest gap is: guessed is how many times may lie on its other side. ok: they are in order.
func unfold(times, later []float64, isCopy func(i int) bool) (guessed int, ok bool) {
	usual := median(times)
	ok = true
	for from := 0; from < len(times); {
		to := from
		for to < len(times) && later[to] > 0 {
			to++
		}
		if to == from {
			from++
			continue
		}
		again, told, inOrder := repeats(times, from, to, later[from], usual, isCopy)
		for i := again; i < to; i++ {
			times[i] += later[i]
		}
		if ok = ok && inOrder && (from == 0 || times[from] >= times[from-1]) &&
			(to == len(times) || times[to] >= times[to-1]); !told {
			guessed += to - from
		}
		from = to
	}
	return guessed, ok
}

// always: two times are equal only where they were cut to seconds.
func always(int) bool { return true }

// repeats finds the first of the times from one index to another at which the hour was shown again.
func repeats(times []float64, from, to int, later, usual float64, isCopy func(int) bool) (again int, told,
	inOrder bool) {
	largest, gaps, backs := math.Inf(-1), 0, 0
	for i := from; i <= to; i++ {
		step := math.Inf(1) // nothing is before the first, or behind the last
		if i > 0 && i < len(times) {
			step = times[i] - times[i-1]
		}
		if i == to {
			step -= later
		}
		inside := i > from && i < to
		if inside && (step < 0 || step == 0 && (usual >= later || !isCopy(i))) {
			backs++
			again, largest = i, math.Inf(1)
		}
		if backs == 0 && step > largest {
			again, largest = i, step
		}
		if step > jitter*usual {
			gaps++
		}
	}
	return again, backs == 1 || gaps == 1 && math.IsInf(largest, 1), backs <= 1
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
