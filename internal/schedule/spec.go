// Package schedule says when the repetitions of a campaign are due.
//
//  1. A file has a [Spec]: every so long, at minutes past the hour, or by cron.
//  2. [Spec.Bounds] fixes once, when the campaign is made, when the first
//     repetition is due and when no more are.
//  3. [New] makes a [Schedule] of the Spec, these bounds and a seed. It numbers
//     the times from 1, and gives the same ones after every restart.
//
// It knows no clock and keeps nothing but what it has worked out.
package schedule

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
	_ "time/tzdata" // machines and images without the files of the time zones

	"github.com/robfig/cron/v3"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

// Spec is a schedule as the experiment file has it. Its tags are the source of
// the JSON Schema.
type Spec struct {
	Every unit.Duration `json:"every,omitempty" jsonschema_description:"Time from one repetition to the next, such as 30m. Use exactly one of every, at and cron."`
	At    []int         `json:"at,omitempty" jsonschema:"minItems=1,maxItems=60,uniqueItems=true,minimum=0,maximum=59" jsonschema_description:"Minutes past every hour, such as [0, 30]."`
	Cron  string        `json:"cron,omitempty" jsonschema:"maxLength=200" jsonschema_description:"Five fields as in a crontab: minute, hour, day of the month, month, day of the week. Or @hourly, @daily, @weekly, @monthly."`

	For         unit.Duration `json:"for,omitempty" jsonschema_description:"How long the schedule goes on from the first repetition, such as 31d. Use at most one of for, until and repetitions; default: without end."`
	Until       string        `json:"until,omitempty" jsonschema:"format=scalebench-time,pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[-+][0-9]{2}:[0-9]{2})?)?$" jsonschema_description:"No repetition begins at this time or later: 2026-12-24, 2026-12-24 18:00 or 2026-12-24T18:00:00+01:00."`
	Repetitions int           `json:"repetitions,omitempty" jsonschema:"minimum=1,maximum=10000000" jsonschema_description:"How many repetitions there are, those included that do not take place."`

	Begin  string        `json:"begin,omitempty" jsonschema:"format=scalebench-time,pattern=^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[-+][0-9]{2}:[0-9]{2})?)?$" jsonschema_description:"The first repetition is due at this time, or at the first one of at or cron after it. Of a time that is past, every counts on from there. Default: at once, or at the next time of at or cron."`
	Jitter unit.Duration `json:"jitter,omitempty" jsonschema_description:"Each repetition begins later by a random time up to this, so that it does not always coincide with what else happens on the hour."`
	Zone   string        `json:"zone,omitempty" jsonschema:"maxLength=100" jsonschema_description:"Time zone of at, cron, begin and until, such as Europe/Berlin. Default: UTC."`
}

// LastYear is the last one in which repetitions can be due: stores have room for
// some more.
const LastYear = 2200

// Bounds of what can be asked for.
const (
	leastEvery = unit.Duration(time.Second)
	longest    = 100 * 366 * 24 * time.Hour
)

// Validate reports what is impossible whenever the campaign begins, as
// model.InputErrors.
func (s Spec) Validate() error {
	var errs []error
	report := func(key, problem, allowed string) {
		errs = append(errs, &model.InputError{Path: key, Problem: problem, Allowed: allowed})
	}
	if n := given(s.Every != 0, s.At != nil, s.Cron != ""); n != 1 {
		report("", fmt.Sprintf("it has %d of every, at and cron", n), "use exactly one of them")
	}
	if n := given(s.For != 0, s.Until != "", s.Repetitions != 0); n > 1 {
		report("", fmt.Sprintf("it has %d of for, until and repetitions", n), "use at most one of them; without any the schedule has no end")
	}
	if s.Every != 0 && (s.Every < leastEvery || s.Every.Std() > longest) {
		report("every", fmt.Sprintf("%s is not possible", s.Every), "use 1s to 36600d")
	}
	if s.For.Std() > longest {
		report("for", fmt.Sprintf("%s is too long", s.For), "use up to 36600d, or leave it out for a schedule without end")
	}
	loc, err := location(s.Zone)
	if err != nil {
		report("zone", err.Error(), "use a name such as Europe/Berlin, or UTC")
		return errors.Join(errs...)
	}
	for _, at := range [][2]string{{"begin", s.Begin}, {"until", s.Until}} {
		if _, err := parseTime(at[1], loc); at[1] != "" && err != nil {
			report(at[0], err.Error(), timeAllowed)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	times, err := s.times(anyTime)
	if err != nil {
		report("cron", err.Error(), cronAllowed)
	} else if gap := leastGap(times); s.Jitter > 0 && s.Jitter.Std() > gap {
		report("jitter", fmt.Sprintf("%s is longer than the %s between two repetitions", s.Jitter, unit.Duration(gap)), "use a shorter one: repetitions keep their order")
	}
	return errors.Join(errs...)
}

// anyTime is one from which a schedule is looked at that has no begin yet.
var anyTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func given(keys ...bool) (n int) {
	for _, k := range keys {
		if k {
			n++
		}
	}
	return n
}

// gapSamples is how many times are looked at for the shortest gap between two.
const gapSamples = 1500

func leastGap(times timetable) time.Duration {
	if t, ok := times.(steady); ok {
		return t.every
	}
	least, last := longest, times.first(anyTime)
	for range gapSamples {
		next := times.after(last)
		if next.IsZero() || next.Year() > LastYear {
			break
		}
		least, last = min(least, next.Sub(last)), next
	}
	return least
}

// Bounds fixes when the first repetition is due and when no more are, for a
// campaign that is made now: end is zero for a schedule without end, and none
// is due at end or later, jitter apart. A schedule that would be over is a
// model.InputErrors.
func (s Spec) Bounds(now time.Time) (begin, end time.Time, err error) {
	loc, err := location(s.Zone)
	if err != nil {
		return begin, end, err
	}
	from := now
	if s.Begin != "" {
		at, err := parseTime(s.Begin, loc)
		if err != nil {
			return begin, end, err
		}
		if s.Every != 0 { // of a time that is past, the next one of its grid
			at = steady{begin: at, every: s.Every.Std()}.first(now)
		}
		if at.After(now) {
			from = at
		}
	}
	times, err := s.times(from)
	if err != nil {
		return begin, end, err
	}
	begin = times.first(from).UTC()
	switch {
	case s.For != 0:
		end = begin.Add(s.For.Std())
	case s.Repetitions != 0:
		sched := &Schedule{times: times, begin: begin}
		if end, err = sched.EndAfter(s.Repetitions); err != nil {
			return begin, end, &model.InputError{Path: "repetitions", Problem: err.Error(), Allowed: "use fewer"}
		}
	case s.Until != "":
		if end, err = parseTime(s.Until, loc); err != nil {
			return begin, end, err
		}
		if !end.After(begin) {
			return begin, end, &model.InputError{Path: "until", Problem: fmt.Sprintf("the first repetition would be due at %s, which is not before it", show(begin, loc)), Allowed: "use a later time"}
		}
	}
	if begin.Year() > LastYear || end.Year() > LastYear {
		return begin, end, &model.InputError{Path: "", Problem: fmt.Sprintf("it goes beyond the year %d", LastYear), Allowed: "use an earlier time"}
	}
	return begin, end.UTC(), nil
}

// times are those of the Spec; those of every count from begin.
func (s Spec) times(begin time.Time) (timetable, error) {
	loc, err := location(s.Zone)
	if err != nil {
		return nil, err
	}
	switch {
	case s.Every != 0:
		return steady{begin: begin, every: s.Every.Std()}, nil
	case s.At != nil:
		fields := cron.SpecSchedule{Second: 1, Hour: 1<<24 - 1, Dom: starBit | 1<<32 - 2, Month: 1<<13 - 2, Dow: starBit | 1<<7 - 1, Location: time.UTC}
		for _, minute := range s.At {
			fields.Minute |= 1 << uint(minute)
		}
		return clock{fields: fields, loc: loc}, nil
	}
	return parseCron(s.Cron, loc)
}

// starBit is that of package cron: a star on a day is no condition.
const starBit = 1 << 63

const cronAllowed = `use five fields such as "0,30 * * * *" (minute, hour, day of the month, month, day of the week), or @hourly, @daily, @weekly, @monthly`

var cronParser = cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor)

func parseCron(text string, loc *time.Location) (timetable, error) {
	switch { // what that package takes, but does not mean what the other keys say
	case strings.Contains(text, "TZ="):
		return nil, errors.New("the time zone stands in zone, not in cron")
	case strings.HasPrefix(text, "@every"):
		return nil, errors.New("@every stands in every, not in cron")
	}
	parsed, err := cronParser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%q: %w", text, err)
	}
	fields, ok := parsed.(*cron.SpecSchedule)
	if !ok {
		return nil, fmt.Errorf("%q has no times", text)
	}
	c := clock{fields: *fields, loc: loc}
	c.fields.Location = time.UTC
	if c.first(anyTime).IsZero() {
		return nil, fmt.Errorf("%q is no day of any year", text)
	}
	return c, nil
}

// location is the time zone with this name. Local is none: it is another one on
// each machine.
func location(name string) (*time.Location, error) {
	if name == "" {
		return time.UTC, nil
	}
	loc, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("unknown time zone %q", name)
	}
	return loc, nil
}

const (
	timePattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?(Z|[-+][0-9]{2}:[0-9]{2})?)?$`
	timeAllowed = "use a time such as 2026-12-24, 2026-12-24 18:00 or 2026-12-24T18:00:00+01:00"
)

var timeRE = regexp.MustCompile(timePattern)

// CheckTime reports whether a text is a time that a file may have.
func CheckTime(text string) error {
	_, err := parseTime(text, time.UTC)
	if err != nil {
		return fmt.Errorf("%w; %s", err, timeAllowed)
	}
	return nil
}

// parseTime reads a time with its distance to UTC, or the local time of a zone:
// one that does not exist there is the moment at which the clock jumps over it,
// and of one that exists twice the first is meant.
func parseTime(text string, loc *time.Location) (time.Time, error) {
	if timeRE.MatchString(text) {
		if year := text[:4]; year < "1970" || year > strconv.Itoa(LastYear) {
			return time.Time{}, fmt.Errorf("%q is not between the years 1970 and %d", text, LastYear)
		}
		plain := strings.Replace(text, "T", " ", 1)
		for _, form := range []string{"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04Z07:00"} {
			if t, err := time.Parse(form, plain); err == nil {
				return t.UTC(), nil
			}
		}
		for _, form := range []string{time.DateOnly, "2006-01-02 15:04", time.DateTime} {
			if wall, err := time.Parse(form, plain); err == nil {
				return instant(wall, loc), nil
			}
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time", text)
}

func show(t time.Time, loc *time.Location) string { return t.In(loc).Format("2006-01-02 15:04:05 MST") }
