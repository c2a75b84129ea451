package explain

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Facts that follow from times, in the zone of the question.
const (
	FactHour    = "hour"
	FactWeekday = "weekday"
	FactDay     = "day"
	FactWeek    = "week"
)

// Calendar are the names of all of them.
func Calendar() []string { return []string{FactHour, FactWeekday, FactDay, FactWeek} }

// calendar is the facts of ascending times in a zone: hour of the day, weekday,
// day and week. Days and weeks sort as texts.
func calendar(times []int64, zone *time.Location) []frame.Fact {
	if len(times) == 0 {
		return nil
	}
	hour, weekday, day, week := frame.NewFact(FactHour), frame.NewFact(FactWeekday), frame.NewFact(FactDay), frame.NewFact(FactWeek)
	// Levels of hour and weekday stand in their natural order.
	for h := range 24 {
		hour.Code(hourName(h))
	}
	for d := range 7 {
		weekday.Code(time.Weekday((d + 1) % 7).String())
	}
	// Local time differs from UTC by a multiple of a quarter of an hour, so that
	// each quarter is looked up once.
	const quarter = int64(15 * time.Minute)
	codes := [4][]uint16{}
	for i := range codes {
		codes[i] = make([]uint16, len(times))
	}
	var now [4]uint16
	last := int64(math.MinInt64)
	for i, t := range times {
		if q := floor(t, quarter); q != last {
			last = q
			at := time.Unix(0, q).In(zone)
			year, w := at.ISOWeek()
			now = [4]uint16{
				hour.Code(hourName(at.Hour())), weekday.Code(at.Weekday().String()),
				day.Code(at.Format(time.DateOnly)), week.Code(fmt.Sprintf("%04d-W%02d", year, w)),
			}
		}
		for k := range codes {
			codes[k][i] = now[k]
		}
	}
	var out []frame.Fact
	for k, c := range []*frame.Column{hour, weekday, day, week} {
		if fact := c.Fact(); !c.Full() {
			fact.Codes = codes[k]
			out = append(out, fact)
		}
	}
	return out
}

func hourName(h int) string { return fmt.Sprintf("%02d h", h) }

// hours are the codes of the hours of ascending times, from 1, on the clock of a
// zone: some zones differ from others by half an hour, and one changes by that.
func hours(times []int64, zone *time.Location) (codes []int32, k int) {
	codes = make([]int32, len(times))
	const quarter, hour = int64(15 * time.Minute), int64(time.Hour)
	var shift, last int64
	for i, t := range times {
		if i == 0 || floor(t, quarter) != floor(times[i-1], quarter) {
			_, offset := time.Unix(0, t).In(zone).Zone()
			shift = int64(offset%3600) * int64(time.Second)
		}
		if h := floor(t+shift, hour); i == 0 || h != last {
			last = h
			k++
		}
		codes[i] = int32(k) //nolint:gosec // no more than rows
	}
	return codes, k + 1
}

// floor is the multiple of a step at or below t.
func floor(t, step int64) int64 { return t - (t%step+step)%step }

// Decomposition is from where the variation comes: from one day, hour, hour of the
// day or weekday to another, or within them (the paper, appendix A). All is the
// COV of all values.
type Decomposition struct {
	All    float64           `json:"all"`
	Levels []DecomposedLevel `json:"levels"`
}

// DecomposedLevel is one aggregation level. Between and In are as in Tables 3 and 4
// of the paper: the COV of the unweighted means of the groups, and the unweighted
// mean of their COVs. The corrected forms are the roots of the components of
// variance, relative to the mean: means of noise differ, too. Share is what
// differences between the groups make of the variance. A value is null where it
// cannot be computed.
type DecomposedLevel struct {
	Level            string   `json:"level"`
	Groups           int      `json:"groups"`
	Skipped          int      `json:"skipped"` // groups without a COV: one value
	Between          *float64 `json:"between"`
	In               *float64 `json:"in"`
	BetweenCorrected *float64 `json:"between_corrected"`
	InCorrected      *float64 `json:"in_corrected"`
	Share            *float64 `json:"share"`
	Why              string   `json:"why,omitempty"` // why all but Between is null
}

// fewGroups: where fewer of the groups have several values, these few would stand
// for what varies within all.
const fewGroups = 0.1

// Decomposition is nil where the times are not known, or all are of one hour.
func (x *Rows) Decomposition() *Decomposition {
	if len(x.Frame.Times) == 0 {
		return nil
	}
	out := &Decomposition{}
	add := func(name string, d stats.Decomposed, err error) {
		if err != nil && (d.Groups < 2 || !errors.Is(err, stats.ErrTooFew)) {
			return
		}
		out.All = d.All
		l := DecomposedLevel{Level: name, Groups: d.Groups, Skipped: d.Skipped, Between: &d.Between}
		if l.Groups-l.Skipped < 2 || float64(l.Groups-l.Skipped) < fewGroups*float64(l.Groups) {
			l.Why = fmt.Sprintf("%d of %d groups have one value, so that what varies within them is not known", l.Skipped, l.Groups)
		} else if err == nil {
			l.In, l.BetweenCorrected, l.InCorrected, l.Share = &d.In, &d.BetweenCorrected, &d.InCorrected, &d.Share
		}
		out.Levels = append(out.Levels, l)
	}
	calendar := func(name, fact string) {
		if f := x.Calendar(fact); f != nil {
			d, err := stats.Decompose(x.Frame.Values, f.Codes, len(f.Levels))
			add(name, d, err)
		}
	}
	calendar("day", FactDay)
	codes, k := hours(x.Frame.Times, x.Zone)
	d, err := stats.Decompose(x.Frame.Values, codes, k)
	add("hour", d, err)
	calendar("hour of day", FactHour)
	calendar("day of week", FactWeekday)
	if len(out.Levels) == 0 {
		return nil
	}
	return out
}
