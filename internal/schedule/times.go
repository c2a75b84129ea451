package schedule

import (
	"time"

	"github.com/robfig/cron/v3"
)

// timetable are the times of a schedule without bounds, jitter and numbers.
type timetable interface {
	// after is the first time after t; zero: there is none.
	after(t time.Time) time.Time
	// first is the first time at t or after it.
	first(t time.Time) time.Time
}

// steady are times at one distance.
type steady struct {
	begin time.Time
	every time.Duration
}

func (s steady) after(t time.Time) time.Time {
	if t.Before(s.begin) {
		return s.begin
	}
	return s.begin.Add(t.Sub(s.begin).Truncate(s.every) + s.every)
}

func (s steady) first(t time.Time) time.Time { return s.after(t.Add(-1)) }

// clock are times that the fields of a crontab select from the clock of a zone.
//
// Where summer time begins or ends, a schedule of every hour goes by real hours:
// the hour that the clock shows twice has its repetitions twice, so that none is
// missing in a series. One of certain hours goes by the clock: a time that the
// clock shows twice counts once, the first time, and one that it jumps over
// counts when it jumps.
type clock struct {
	fields cron.SpecSchedule // of a clock without summer time: its Location is UTC
	loc    *time.Location
}

const everyHour = 1<<24 - 1

func (c clock) first(t time.Time) time.Time { return c.after(t.Add(-1)) }

func (c clock) after(t time.Time) time.Time {
	if c.fields.Hour&everyHour == everyHour {
		return c.afterReal(t)
	}
	wall := wallOf(t, c.loc)
	if start, _ := t.In(c.loc).ZoneBounds(); !start.IsZero() && t.Sub(start) < maxJump {
		wall = wall.Add(-maxJump) // what was jumped over, or comes a second time
	}
	for {
		if wall = c.fields.Next(wall); wall.IsZero() {
			return wall
		}
		if at := instant(wall, c.loc); at.After(t) {
			return at
		}
	}
}

// maxJump is more than the clock of any zone was ever set by.
const maxJump = 26 * time.Hour

// afterReal takes the times of each span between two settings of the clock as
// they come.
func (c clock) afterReal(t time.Time) time.Time {
	wall := wallOf(t, c.loc)
	for {
		ahead := wall.Sub(t) // of UTC, in this span
		_, end := t.In(c.loc).ZoneBounds()
		next := c.fields.Next(wall)
		if next.IsZero() {
			return next
		}
		if at := next.Add(-ahead); end.IsZero() || at.Before(end) {
			return at
		}
		t, wall = end.UTC(), wallOf(end, c.loc)
		if c.fields.Next(wall.Add(-1)).Equal(wall) {
			return t
		}
	}
}

// wallOf is what the clock of a zone shows, as a time in UTC.
func wallOf(t time.Time, loc *time.Location) time.Time {
	_, offset := t.In(loc).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant is when the clock of a zone shows this for the first time, or jumps
// over it.
func instant(wall time.Time, loc *time.Location) time.Time {
	y, m, d := wall.Date()
	t := time.Date(y, m, d, wall.Hour(), wall.Minute(), wall.Second(), 0, loc)
	start, end := t.ZoneBounds()
	switch shown := wallOf(t, loc); {
	case shown.After(wall): // it was jumped over at the start of this span
		return start.UTC()
	case shown.Before(wall):
		return end.UTC()
	case !start.IsZero():
		before := start.Add(-1)
		if earlier := before.Add(wall.Sub(wallOf(before, loc))); earlier.Before(start) {
			return earlier.UTC()
		}
	}
	return t.UTC()
}
