package variability

import (
	"errors"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/stats"
)

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

// decomposition is nil where the times are not known, or all are of one hour.
func (x *examined) decomposition() *Decomposition {
	if len(x.f.Times) == 0 {
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
		if f := x.derived(fact); f != nil {
			d, err := stats.Decompose(x.f.Values, f.Codes, len(f.Levels))
			add(name, d, err)
		}
	}
	calendar("day", factDay)
	codes, k := hours(x.f.Times, x.zone)
	d, err := stats.Decompose(x.f.Values, codes, k)
	add("hour", d, err)
	calendar("hour of day", factHour)
	calendar("day of week", factWeekday)
	if len(out.Levels) == 0 {
		return nil
	}
	return out
}

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
