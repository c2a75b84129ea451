package cloudwatch

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

const day = 24 * time.Hour

// grid is the periods that are read: whole ones, aligned to the day, as CloudWatch
// aligns them.
type grid struct {
	begin    time.Time
	period   time.Duration
	slots    int
	shortest bool // CloudWatch keeps minutes of this time
}

func (g grid) at(slot int) time.Time { return g.begin.Add(time.Duration(slot) * g.period) }
func (g grid) end() time.Time        { return g.at(g.slots) }

func (s Spec) grid() (grid, error) {
	age := s.Now.Sub(s.From)
	kept, days := time.Minute, 15
	switch {
	case age > 455*day:
		return grid{}, model.Usagef("CloudWatch keeps data for 455 days, and %s is longer ago; choose a later time", stamp(s.From))
	case age > 63*day:
		kept, days = time.Hour, 63
	case age > 15*day:
		kept = 5 * time.Minute
	}
	period := s.Period
	if period == 0 {
		period = kept
	}
	switch {
	case period < time.Minute || period%time.Minute != 0 || day%period != 0:
		return grid{}, model.Usagef("a period of %v is not possible; choose whole minutes that divide a day, such as 1m, 5m or 1h", s.Period)
	case period%kept != 0:
		return grid{}, model.Usagef("%s is more than %d days ago, and of that time CloudWatch keeps no periods of %v; choose a multiple of %v", stamp(s.From), days, period, kept)
	}
	g := grid{begin: s.From.UTC().Truncate(period), period: period, shortest: kept == time.Minute}
	if g.begin.Before(s.From) {
		g.begin = g.begin.Add(period)
	}
	end := s.To
	if s.Now.Before(end) {
		end = s.Now
	}
	if end.After(g.begin) {
		g.slots = int(end.Sub(g.begin) / period)
	}
	if g.slots == 0 {
		return grid{}, model.Usagef("there is no whole period of %v between %s and %s; choose a longer time", period, stamp(s.From), stamp(end))
	}
	return g, nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
