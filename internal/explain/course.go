package explain

import (
	"errors"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Course is how the level went over time, or over the rows in their order.
type Course struct {
	// Changes are where the level changed for good; Parts what lies between them.
	Changes []Change `json:"changes"`
	Parts   []Part   `json:"parts,omitempty"`
	Drift   *Drift   `json:"drift,omitempty"`
	Why     string   `json:"why,omitempty"` // changes or drift could not be looked for

	calendar []*Fact      // hour or weekday, where they were taken out
	cycle    bool         // a daily cycle was taken out
	untold   model.Doubts // of what cannot be told from something else
}

// Change is a change of the level.
type Change struct {
	Row int        `json:"row"` // the first of the new level, from 1
	At  *time.Time `json:"at"`
	// Before and After are the means of the parts; Relative is After/Before − 1.
	Before   float64 `json:"before"`
	After    float64 `json:"after"`
	Relative float64 `json:"relative"`
	P        float64 `json:"p"`
	// Besides is the fact besides which the level changed: it shows only without
	// what that explains. Before and After are then as if nothing else had changed.
	Besides string `json:"besides,omitempty"`
}

// Part is what lies between two changes.
type Part struct {
	From int        `json:"from"` // row, from 0
	N    int        `json:"n"`
	At   *time.Time `json:"at"`
	Mean float64    `json:"mean"`
	COV  *float64   `json:"cov"`
	// EffectiveN is how many independent rows these are worth in time; null where
	// rows of one node, or the like, are alike.
	EffectiveN *float64 `json:"effective_n"`
}

// Changed reports whether one mean does not describe all of it.
func (c *Course) Changed() bool {
	return c != nil && (len(c.Changes) > 0 || c.Drift != nil && c.Drift.Significant)
}

// parts is a fact that tells the part of the time of each row.
func (c *Course) parts(rows int) frame.Fact {
	fact := frame.Fact{Name: factPart, Levels: []string{""}, Codes: make([]uint16, rows)}
	for i, p := range c.Parts {
		name := "part " + strconv.Itoa(i+1)
		if p.At != nil {
			name = "from " + num.Clock(*p.At)
		}
		fact.Levels = append(fact.Levels, name)
		for row := p.From; row < p.From+p.N; row++ {
			fact.Codes[row] = uint16(i + 1) //nolint:gosec // few
		}
	}
	return fact
}

// Course looks for changes of the level and for drift. What repeats with hour and
// weekday is taken out before, where it explains anything; and where another fact
// does, changes are looked for once besides that fact, for a step of 3 % is lost
// among processors that differ by half, and once as measured, each with half of
// the error rate. A fact of which no level comes again, such as a month, would take
// the changes out with it.
func (x *Rows) Course(effects []Effect) *Course {
	c := &Course{Changes: []Change{}}
	if x.inTime.values == nil { // Dependence was not asked
		x.inTime = x.asSeries()
	}
	s := x.inTime
	switch {
	case s.values == nil:
		c.Why = "the rows have no times, and their order is that of the values"
		return c
	case len(s.values) < 10:
		c.Why = "there are fewer than 10 times"
		return c
	}
	if by := x.sortedBy(); by != nil {
		c.Why = "the rows have no times, and are sorted by " + by.Name
		return c
	}
	if x.Frame.Times == nil {
		x.Doubts.Warn("no_times", "the rows have no times: their order is taken for that in which they were measured")
	}
	fact, alpha := x.Fact(BestOf(effects, func(e Effect) bool { return !e.Derived && !x.Fact(e.Fact).once() })), x.Alpha
	if fact != nil {
		alpha /= 2
		c.search(x, x.without(fact), alpha, fact.Name)
	}
	if !c.Changed() {
		c.search(x, x.Frame.Values, alpha, "")
	}
	c.Parts = c.divided(x)
	for _, d := range c.untold {
		x.Doubts.Add(d)
	}
	return c
}

// changes are those of a series, by rows.
func (x *Rows) changes(values []float64, alpha float64) []Change {
	found, err := stats.ChangePoints(values, alpha, seed)
	if errors.Is(err, stats.ErrArgument) {
		x.Doubts.Warn("small_level", "changes of level are not looked for: the error rate %.2g is too small to be "+
			"tested; give a lower --level", 1-x.Level)
	}
	if err != nil {
		return []Change{}
	}
	out := make([]Change, 0, len(found))
	for _, f := range found {
		row := x.inTime.first(f.Index)
		out = append(out, Change{Row: row + 1, At: x.At(row), P: f.P})
	}
	return x.between(values, out)
}

// between fills the levels between changes in the values of a series.
func (x *Rows) between(values []float64, changes []Change) []Change {
	parts := x.inTime.divided(values, changes)
	for i := range changes {
		c := &changes[i]
		c.Before, _ = stats.Mean(parts[i])
		c.After, _ = stats.Mean(parts[i+1])
		if c.Relative = 0; c.Before != 0 {
			c.Relative = (c.After - c.Before) / math.Abs(c.Before)
		}
	}
	return changes
}

// leastDays is how many days it takes to tell a change of the level from days that
// differ.
const leastDays = 10

// besidesUnits keeps of several changes those that the means of days show, too, where days
// may differ from each other anyway: then each day has a level of its own. One change
// in ten days is none of that, unless days differ besides it. Of less than two days
// it is so of hours, with one change in five.
func (x *Rows) besidesUnits(changes []Change, alpha float64) []Change {
	fact, each := x.Fact(FactDay), leastDays
	if x.span() < leastCycles {
		fact, each = x.Fact(FactHour), leastDays/2
	}
	if len(changes) == 0 || fact == nil || fact.Used < leastDays || len(changes) <= max(1, fact.Used/each) && !x.differ(changes, fact) {
		return changes
	}
	means, first := fact.runs(x.Frame.Values, series{})
	found, err := stats.ChangePoints(means, alpha, seed)
	if err != nil {
		return changes
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		return !slices.ContainsFunc(found, func(f stats.Change) bool {
			from, to := first[max(0, f.Index-1)], x.Frame.Len()
			if f.Index+1 < len(first) {
				to = first[f.Index+1]
			}
			return c.Row > from && c.Row <= to
		})
	})
}

// differ reports whether levels of a fact do besides the changes.
func (x *Rows) differ(changes []Change, fact *Fact) bool {
	rest := slices.Clone(x.Frame.Values)
	for _, p := range (&Course{Changes: changes}).divided(x) {
		for i := p.From; i < p.From+p.N; i++ {
			rest[i] -= p.Mean
		}
	}
	return x.withValues(rest).differBy(fact, x.Alpha)
}

// TakenOut is what was taken out of the values before changes were looked for: the
// facts of the calendar, and whether a daily cycle.
func (c *Course) TakenOut() (calendar []string, cycle bool) {
	for _, f := range c.calendar {
		calendar = append(calendar, f.Name)
	}
	return calendar, c.cycle
}

// search finds the changes of values, or their drift. A drift has other levels from
// time to time, and a step makes a trend: what describes the values better counts.
func (c *Course) search(x *Rows, rows []float64, alpha float64, besides string) {
	s := x.seriesOf(rows)
	c.calendar = x.calendarOf(rows)
	values := s.without(c.calendar)
	c.untold, c.cycle = nil, false
	changes := x.changes(values, alpha)
	c.Changes = c.besidesCycle(x, values, x.besidesUnits(changes, alpha))
	if len(c.Changes) < len(changes) && x.Frame.Times != nil && x.span() < leastCycles {
		c.doubt("the level seems to change, as a daily cycle may make it: these are only %s; measure for two days or longer", num.Span(x.span()))
	}
	if c.Drift = x.drift(values, alpha); c.Drift != nil && c.Drift.Significant {
		line := len(c.Changes) == 0 || straight(values, c.Changes, x.inTime) // else the steps make the trend
		if c.Drift.Significant = line && x.driftsByDays(values) && c.driftTold(x, values); c.Drift.Significant {
			c.Changes = []Change{}
		}
	}
	for i := range c.Changes {
		c.Changes[i].Besides = besides
	}
	if c.Drift != nil {
		c.Drift.Besides = besides
	}
}

// without are the values less what a fact explains of them: each level's mean
// becomes that of all.
func (x *Rows) without(fact *Fact) []float64 {
	s := x.sumsOf(fact.Codes, len(fact.Levels))
	out := slices.Clone(x.Frame.Values)
	for i, c := range fact.Codes {
		if c != 0 {
			out[i] += s.mean - s.Sum[c]/s.N[c]
		}
	}
	return out
}

// calendarOf are hour and weekday, if they explain something of values of the rows:
// an hour that moves the level by a tenth does not show among processors that differ
// by half, and does besides these.
func (x *Rows) calendarOf(rows []float64) []*Fact {
	y := x.withValues(rows)
	var out []*Fact
	for _, name := range []string{FactHour, FactWeekday} {
		if fact := x.Fact(name); fact != nil && fact.Derived && y.differBy(fact, x.Alpha/2) {
			out = append(out, fact)
		}
	}
	return out
}

// restsOf are the values of the rows less the course of their level: less the mean of their
// part, or less the drift. What is left of values that do not vary within a part is 0, and
// not the rounding of their mean.
func (x *Rows) restsOf(c *Course) []float64 {
	if !c.Changed() {
		return nil
	}
	if len(c.Changes) == 0 {
		return c.Drift.without(x.Frame.Values, x.seconds(series{}, x.Frame.Len()))
	}
	out := slices.Clone(x.Frame.Values)
	for _, p := range c.Parts {
		part := out[p.From : p.From+p.N]
		for i, v := range part {
			if part[i] = v - p.Mean; math.Abs(part[i]) <= leastCOV*math.Abs(p.Mean) {
				part[i] = 0
			}
		}
	}
	return out
}

// divided describes the parts between the changes; none without any.
func (c *Course) divided(x *Rows) []Part {
	var out []Part
	from := 0
	for i := 0; len(c.Changes) > 0 && i <= len(c.Changes); i++ {
		to := x.Frame.Len()
		if i < len(c.Changes) {
			to = c.Changes[i].Row - 1
		}
		values := slices.Sorted(slices.Values(x.Frame.Values[from:to]))
		p := Part{From: from, N: to - from, At: x.At(from), COV: covOf(values)}
		p.Mean, _ = stats.Mean(values)
		out = append(out, p)
		from = to
	}
	return out
}
