package variability

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// examined is a frame with what all parts of the analysis read of it. Its size is
// bounded: some columns as long as the frame, nothing else by row.
type examined struct {
	f      *frame.Frame
	zone   *time.Location
	level  float64
	alpha  float64 // error rate of one kind of alarm
	sorted []float64
	order  []int32 // rows in the order of sorted
	facts  []factor
	// constant are facts with one level; alike those that have a level for nearly
	// each row.
	constant []Constant
	alike    []string
	calendar []frame.Fact // those that follow from the times
	// nodeOfRun are the rows of one node in one run; nil: see [nodesOfRuns].
	nodeOfRun *frame.Fact
	inTime    series // set by dependence
	divisions []division
	curve     []stats.ConfirmPoint
	doubts    model.Doubts
	err       func() error // see ended
}

// alarms is among how many kinds of alarm the error rate is shared: bands, facts,
// changes of the level, drift.
const alarms = 4

// factor is a fact that may explain the values.
type factor struct {
	frame.Fact
	derived bool // from the times
	used    int  // levels that rows have
	known   int  // rows of which the level is known
}

// Facts that follow from times, in the zone of the question.
const (
	factHour    = "hour"
	factWeekday = "weekday"
	factDay     = "day"
	factWeek    = "week"
)

// examine sorts the values and finds the facts.
func examine(f *frame.Frame, p *Params, zone *time.Location) *examined {
	x := &examined{f: f, zone: zone, level: p.Level, alpha: (1 - p.Level) / alarms}
	for _, d := range f.Doubts {
		x.doubts.Add(d)
	}
	var many bool
	if x.nodeOfRun, many = nodesOfRuns(f); many {
		x.doubts.Warn("too_many_levels", "there are more than %d pairs of a node and a run: it was not heeded that rows of one pair may be alike, so that intervals may be too narrow and facts stand out by chance; analyse a part of the time", frame.MostLevels)
	}
	x.sorted, x.order = stats.SortRows(f.Values)
	for _, fact := range f.Facts {
		x.addFact(fact, false)
	}
	x.calendar = calendar(f.Times, zone)
	for _, fact := range x.calendar {
		if f.Fact(fact.Name) == nil { // a column of that name is the user's
			x.addFact(fact, true)
		}
	}
	return x
}

// addFact keeps a fact that can explain something: it has several levels, and
// several rows of most of them.
func (x *examined) addFact(fact frame.Fact, derived bool) {
	one := factor{Fact: fact, derived: derived}
	last := uint16(0)
	seen := make([]bool, len(fact.Levels))
	for _, c := range fact.Codes {
		if c == 0 {
			continue
		}
		one.known++
		if !seen[c] {
			seen[c], last = true, c
			one.used++
		}
	}
	switch {
	case one.used == 0:
	case one.used == 1:
		if !derived && one.known == x.f.Len() {
			x.constant = append(x.constant, Constant{fact.Name, fact.Levels[last]})
		}
	case 2*one.used > one.known:
		x.alike = append(x.alike, fact.Name)
	default:
		x.facts = append(x.facts, one)
	}
}

// fact finds a fact by its name; nil where it can explain nothing.
func (x *examined) fact(name string) *factor {
	if i := slices.IndexFunc(x.facts, func(f factor) bool { return f.Name == name }); i >= 0 {
		return &x.facts[i]
	}
	return nil
}

// derived is a fact that follows from the times; nil without them.
func (x *examined) derived(name string) *frame.Fact {
	if i := slices.IndexFunc(x.calendar, func(f frame.Fact) bool { return f.Name == name }); i >= 0 {
		return &x.calendar[i]
	}
	return nil
}

// at is the time of a row in the zone of the question; nil: not known.
func (x *examined) at(row int) *time.Time {
	if x.f.Times == nil || row < 0 || row >= len(x.f.Times) {
		return nil
	}
	t := time.Unix(0, x.f.Times[row]).In(x.zone)
	return &t
}

// calendar is the facts of ascending times in a zone: hour of the day, weekday,
// day and week. Days and weeks sort as texts.
func calendar(times []int64, zone *time.Location) []frame.Fact {
	if len(times) == 0 {
		return nil
	}
	hour, weekday, day, week := frame.NewFact(factHour), frame.NewFact(factWeekday), frame.NewFact(factDay), frame.NewFact(factWeek)
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
				day.Code(at.Format(time.DateOnly)), week.Code(weekName(year, w)),
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

func hourName(h int) string { return string([]byte{'0' + byte(h/10), '0' + byte(h%10)}) + " h" } //nolint:gosec // a digit

func weekName(year, week int) string {
	return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC).Format("2006") + "-W" + hourName(week)[:2]
}

// quantile is the p-quantile of ascending values by definition 7 of Hyndman and
// Fan (stats.Quantile, which sorts).
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// covOf is the COV of ascending values; nil where it is not defined.
func covOf(sorted []float64) *float64 {
	s, err := stats.NewSpread(sorted)
	if err != nil {
		return nil
	}
	return &s.COV
}

// finite is a pointer to a number, nil unless it is finite.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
