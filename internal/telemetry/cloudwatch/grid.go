package cloudwatch

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/telemetry"
)

const (
	day = 24 * time.Hour
	// delay is how late minutes may come in; a sum of several may grow until then.
	delay = 5 * time.Minute
)

// grid is the periods that are read: whole ones, aligned to the day, as CloudWatch's are.
type grid struct {
	begin  time.Time
	period time.Duration
	slots  int
	old    bool // so long ago that CloudWatch keeps no minutes
}

func (g grid) at(slot int) time.Time { return g.begin.Add(time.Duration(slot) * g.period) }

func (s Spec) grid() (grid, error) {
	age, kept := s.now.Sub(s.From), time.Minute
	switch {
	case age > 455*day:
		return grid{}, model.Usagef("CloudWatch keeps data for 455 days; %s is longer ago", stamp(s.From))
	case age > 63*day:
		kept = time.Hour
	case age > 15*day:
		kept = 5 * time.Minute
	}
	g := grid{period: s.Period, old: kept > time.Minute}
	if g.period == 0 {
		g.period = kept
	}
	if g.period < kept || g.period%kept != 0 || day%g.period != 0 {
		return g, model.Usagef("CloudWatch has no periods of %v that begin at %s; choose a multiple of %v that divides a day",
			g.period, stamp(s.From), kept)
	}
	g.begin = s.From.Add(g.period - 1).Truncate(g.period).UTC()
	end, present := s.To, s.now
	if g.period > time.Minute {
		present = present.Add(-delay)
	}
	if present.Before(end) {
		end = present
	}
	if g.slots = int(end.Sub(g.begin) / g.period); g.slots < 1 {
		return g, model.Usagef("no whole period of %v is between %s and %s; choose a longer time",
			g.period, stamp(s.From), stamp(end))
	}
	return g, nil
}

// recording has all periods, and no measures.
func (g grid) recording() telemetry.Recording {
	r := telemetry.Recording{Source: "cloudwatch", Rates: make(map[telemetry.Measure]telemetry.Numbers)}
	for slot := range g.slots {
		r.Begin = append(r.Begin, float64(g.at(slot).Unix()))
		r.End = append(r.End, float64(g.at(slot+1).Unix()))
	}
	return r
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
