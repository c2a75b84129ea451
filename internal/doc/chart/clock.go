package chart

import (
	"math"
	"time"
)

// zone is the time zone of an axis; UTC where its name is not known.
func (a Axis) zone() *time.Location {
	if loc, err := time.LoadLocation(a.Zone); err == nil && a.Zone != "Local" {
		return loc
	}
	return time.UTC
}

// The times that an axis shows, in seconds since 1970: years of four digits.
const (
	firstTime = -62135596800
	lastTime  = 253402300799
)

// pace is the distance of two ticks of an axis of time, in one of its fields.
type pace struct{ seconds, days, months int }

// length is about how many seconds it takes.
func (p pace) length() float64 {
	return float64(p.seconds) + 86400*float64(p.days) + 86400*30.44*float64(p.months)
}

var paces = []pace{
	{seconds: 1}, {seconds: 2}, {seconds: 5}, {seconds: 10}, {seconds: 15}, {seconds: 30},
	{seconds: 60}, {seconds: 120}, {seconds: 300}, {seconds: 600}, {seconds: 900}, {seconds: 1800},
	{seconds: 3600}, {seconds: 2 * 3600}, {seconds: 3 * 3600}, {seconds: 6 * 3600}, {seconds: 12 * 3600},
	{days: 1}, {days: 2}, {days: 7}, {days: 14}, {months: 1}, {months: 2}, {months: 3}, {months: 6},
	{months: 12}, {months: 24}, {months: 60}, {months: 120}, {months: 240}, {months: 600}, {months: 1200}, {months: 2400}, {months: 6000}, {months: 12000},
}

// choosePace is the shortest that makes no more than so many ticks.
func choosePace(span float64, ticks int) pace {
	for _, p := range paces {
		if span/p.length() <= float64(max(ticks, 1)) {
			return p
		}
	}
	return paces[len(paces)-1]
}

// timeTicks are the ticks of an axis of time, at most 100.
func (s scale) timeTicks() []Tick {
	loc := s.zone()
	if s.hi-s.lo < 1 { // shorter than the clock's smallest step
		return []Tick{{At: s.lo, Text: instant(s.lo, loc).Format("15:04:05.000")}}
	}
	p := choosePace(s.hi-s.lo, s.count)
	if p.seconds > 0 {
		return s.clockTicks(p, loc)
	}
	return s.dateTicks(p, loc)
}

const mostTicks = 100

func instant(seconds float64, loc *time.Location) time.Time {
	whole := math.Floor(seconds)
	return time.Unix(int64(whole), int64((seconds-whole)*1e9)).In(loc)
}

// clockTicks are where the clock on the wall is a multiple of the pace, which
// divides a day. Where it is turned, an hour is twice or not there, and so are
// its ticks.
func (s scale) clockTicks(p pace, loc *time.Location) []Tick {
	step := int64(p.seconds)
	wall := func(t int64) int64 {
		_, offset := time.Unix(t, 0).In(loc).Zone()
		return t + int64(offset)
	}
	past := func(t int64) int64 { return ((wall(t) % step) + step) % step }
	var out []Tick
	for t := int64(math.Ceil(s.lo)); float64(t) <= s.hi && len(out) < mostTicks; {
		if past(t) == 0 {
			out = append(out, Tick{At: float64(t), Text: clockText(time.Unix(t, 0).In(loc), p)})
		}
		next := t + step - past(t)
		if past(next) != 0 { // the clock was turned on the way
			if turned := next - ((wall(next) - next) - (wall(t) - t)); turned > t {
				next = turned
			}
		}
		t = next
	}
	return out
}

func clockText(t time.Time, p pace) string {
	switch {
	case t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0:
		return t.Format("2 Jan")
	case p.seconds < 60:
		return t.Format("15:04:05")
	}
	return t.Format("15:04")
}

// dateTicks are midnights: every so many days, of weeks the Mondays; or the first
// days of months, or of years. The first day of a year has its number.
func (s scale) dateTicks(p pace, loc *time.Location) []Tick {
	var out []Tick
	from, to := instant(s.lo, loc), instant(s.hi, loc)
	year, month, day := from.Date()
	if p.months > 0 {
		month, day = month-time.Month((12*year+int(month)-1)%p.months), 1
	} else {
		// Days are counted in UTC, where each has 24 hours. 5 January 1970 was a Monday.
		number := int(time.Date(year, month, day, 0, 0, 0, 0, time.UTC).Unix()/86400) - 4
		day -= (number%p.days + p.days) % p.days
	}
	for k := 0; len(out) < mostTicks; k++ {
		d := time.Date(year, month+time.Month(k*p.months), day+k*p.days, 0, 0, 0, 0, loc)
		at := float64(d.Unix())
		if at > s.hi {
			break
		}
		if at < s.lo {
			continue
		}
		layout := "2 Jan"
		switch {
		case p.months >= 12:
			layout = "2006"
		case p.months > 0 && (d.Month() == time.January || len(out) == 0 && from.Year() != to.Year()):
			layout = "Jan 2006"
		case p.months > 0:
			layout = "Jan"
		case d.Year() != from.Year() && (len(out) == 0 || instant(out[len(out)-1].At, loc).Year() != d.Year()):
			layout += " 2006"
		}
		out = append(out, Tick{At: at, Text: d.Format(layout)})
	}
	return out
}

// period says what the ticks of an axis of time leave out: the day or the years,
// and the time zone.
func (s scale) period() string {
	loc := s.zone()
	from, to := instant(s.lo, loc), instant(s.hi, loc)
	when := from.Format("2006")
	switch p := choosePace(s.hi-s.lo, s.count); {
	case p.months >= 12: // the ticks are years
		when = ""
	case from.Format(time.DateOnly) == to.Format(time.DateOnly):
		when = from.Format("2 January 2006")
	case from.Year() != to.Year():
		when += " to " + to.Format("2006")
	}
	if when != "" {
		when += ", "
	}
	return when + loc.String()
}

// when is a time as the ends of an axis in text have it.
func (s scale) when(seconds float64) string {
	layout := "2006-01-02 15:04"
	if s.hi-s.lo < 600 {
		layout = "2006-01-02 15:04:05"
	}
	return instant(seconds, s.zone()).Format(layout)
}
