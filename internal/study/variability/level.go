package variability

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// course looks for changes of the level and for drift. What repeats with hour and
// weekday is taken out before, where it explains anything; and where another fact
// does, changes are looked for once besides that fact, for a step of 3 % is lost
// among processors that differ by half, and once as measured, each with half of
// the error rate.
func (x *examined) course(effects []Effect) *Course {
	c := &Course{Changes: []Change{}}
	s := x.inTime
	switch {
	case s.values == nil:
		c.Why = "the rows have no times, and their order is that of the values"
		return c
	case len(s.values) < 10:
		c.Why = "there are fewer than 10 times"
		return c
	}
	if x.f.Times == nil {
		x.doubts.Warn("no_times", "the rows have no times: their order is taken for that in which they were measured")
	}
	fact, alpha := x.fact(bestOf(effects, func(e Effect) bool { return !e.Derived })), x.alpha
	if fact != nil {
		alpha /= 2
		c.search(x, x.without(fact), alpha, fact.Name)
	}
	if !c.changed() {
		c.search(x, x.f.Values, alpha, "")
	}
	c.Parts = c.divided(x)
	for _, d := range c.untold {
		x.doubts.Add(d)
	}
	return c
}

// changes are those of a series, by rows.
func (x *examined) changes(values []float64, alpha float64) []Change {
	found, err := stats.ChangePoints(values, alpha, seed)
	if err != nil {
		return []Change{}
	}
	out := make([]Change, 0, len(found))
	for _, f := range found {
		row := x.inTime.first(f.Index)
		out = append(out, Change{Row: row + 1, At: x.at(row), P: f.P})
	}
	return x.between(values, out)
}

// between fills the levels between changes in the values of a series.
func (x *examined) between(values []float64, changes []Change) []Change {
	starts := []int{0}
	for _, c := range changes {
		starts = append(starts, x.inTime.index(c.Row-1))
	}
	starts = append(starts, len(values))
	for i := range changes {
		c := &changes[i]
		c.Before, _ = stats.Mean(values[starts[i]:starts[i+1]])
		c.After, _ = stats.Mean(values[starts[i+1]:starts[i+2]])
		if c.Relative = 0; c.Before != 0 {
			c.Relative = (c.After - c.Before) / math.Abs(c.Before)
		}
	}
	return changes
}

// leastDays is how many days it takes to tell a change of the level from days that
// differ.
const leastDays = 10

// besidesDays keeps of several changes those that the means of days show, too, where
// days may differ from each other anyway: then each day has a level of its own.
// One change in ten days is none of that, unless days differ besides it.
func (x *examined) besidesDays(changes []Change, alpha float64) []Change {
	day := x.fact(factDay)
	if len(changes) == 0 || day == nil || day.used < leastDays || len(changes) <= max(1, day.used/leastDays) && !x.daysDiffer(changes, day) {
		return changes
	}
	s := x.sumsOf(day.Codes, len(day.Levels))
	means, first := []float64{}, []int{}
	for i, c := range day.Codes {
		if c != 0 && (i == 0 || c != day.Codes[i-1]) {
			means, first = append(means, s.sum[c]/s.n[c]), append(first, i)
		}
	}
	found, err := stats.ChangePoints(means, alpha, seed)
	if err != nil {
		return changes
	}
	return slices.DeleteFunc(changes, func(c Change) bool {
		return !slices.ContainsFunc(found, func(f stats.Change) bool {
			from, to := first[max(0, f.Index-1)], x.f.Len()
			if f.Index+1 < len(first) {
				to = first[f.Index+1]
			}
			return c.Row > from && c.Row <= to
		})
	})
}

// daysDiffer reports whether days differ besides the changes.
func (x *examined) daysDiffer(changes []Change, day *factor) bool {
	rest := slices.Clone(x.f.Values)
	for _, p := range (&Course{Changes: changes}).divided(x) {
		for i := p.From; i < p.From+p.N; i++ {
			rest[i] -= p.Mean
		}
	}
	y := *x
	y.f, y.divisions = &frame.Frame{Values: rest, Times: x.f.Times, Facts: x.f.Facts}, nil
	var e Effect
	y.test(&e, day)
	return e.P != nil && *e.P <= x.alpha
}

// search finds the changes of values, or their drift. A drift has other levels from
// time to time, and a step makes a trend: what describes the values better counts.
func (c *Course) search(x *examined, rows []float64, alpha float64, besides string) {
	s := x.seriesOf(rows)
	c.calendar = x.calendarOf(rows)
	values := s.without(c.calendar)
	c.untold, c.cycle = nil, false
	c.Changes = c.besidesCycle(x, values, x.besidesDays(x.changes(values, alpha), alpha))
	if c.Drift = x.drift(values, alpha); c.Drift != nil && c.Drift.Significant {
		c.Drift.Significant = x.driftsByDays(values) && c.driftTold(x, values)
	}
	switch {
	case c.Drift == nil || !c.Drift.Significant || len(c.Changes) == 0:
	case straight(values, c.Changes, x.inTime):
		c.Changes = []Change{}
	default:
		c.Drift.Significant = false
	}
	for i := range c.Changes {
		c.Changes[i].Besides = besides
	}
	if c.Drift != nil {
		c.Drift.Besides = besides
	}
}

// driftsByDays reports whether the means of days show a trend, too: where days differ
// anyway, the hours of one of them are not so many witnesses. Fewer than ten days
// cannot be asked.
func (x *examined) driftsByDays(values []float64) bool {
	day := x.fact(factDay)
	if day == nil || day.used < leastDays {
		return true
	}
	var days, means []float64
	n, last := 0.0, uint16(0)
	for i, v := range values {
		if c := day.Codes[x.inTime.first(i)]; c != last || i == 0 {
			days, means, n, last = append(days, float64(len(days))), append(means, 0), 0, c
		}
		n++
		k := len(means) - 1
		means[k] += (v - means[k]) / n
	}
	_, p, err := stats.Drift(days, means, x.level)
	return err != nil || p <= 1-x.level
}

// drift is the trend of a series; nil where it cannot be computed.
func (x *examined) drift(values []float64, alpha float64) *Drift {
	times := x.seconds(len(values))
	slope, p, err := stats.Drift(times, values, x.level)
	mean, _ := stats.Mean(values)
	if err != nil || mean == 0 {
		return nil
	}
	whole := times[len(times)-1] / math.Abs(mean)
	return &Drift{Relative: whole * (slope.Lo + slope.Hi) / 2, CI: &Interval{whole * slope.Lo, whole * slope.Hi}, P: p, Significant: p <= alpha}
}

// seconds are the times of a series, from the first on; without times the places.
func (x *examined) seconds(n int) []float64 {
	times := make([]float64, n)
	for i := range times {
		times[i] = float64(i)
		if row := x.inTime.first(i); x.f.Times != nil {
			times[i] = float64(x.f.Times[row]-x.f.Times[0]) / float64(time.Second)
		}
	}
	return times
}

// straight reports whether a line describes the values better than levels do, by
// the BIC of normal residuals.
func straight(values []float64, changes []Change, s series) bool {
	n := float64(len(values))
	mean, _ := stats.Mean(values)
	var sxx, sxy, total float64
	for i, v := range values {
		d := float64(i) - (n-1)/2
		sxx, sxy, total = sxx+d*d, sxy+d*(v-mean), total+(v-mean)*(v-mean)
	}
	line := total - sxy*sxy/sxx
	levels, from := 0.0, 0
	for i := 0; i <= len(changes); i++ {
		to := len(values)
		if i < len(changes) {
			to = s.index(changes[i].Row - 1)
		}
		part := values[from:to]
		m, _ := stats.Mean(part)
		for _, v := range part {
			levels += (v - m) * (v - m)
		}
		from = to
	}
	return n*math.Log(line)+2*math.Log(n) < n*math.Log(levels)+float64(2*len(changes)+1)*math.Log(n)
}

// index is which value of the series a row belongs to.
func (s series) index(row int) int {
	if s.from == nil {
		return row
	}
	i, _ := slices.BinarySearch(s.from, int32(row)) //nolint:gosec // a row
	return i
}

// seriesOf is the series of other values of the same rows.
func (x *examined) seriesOf(values []float64) series {
	if x.inTime.from == nil {
		return series{values: values}
	}
	out := series{from: x.inTime.from, values: make([]float64, len(x.inTime.values))}
	for i := range out.values {
		m, _ := stats.Mean(values[out.from[i]:out.from[i+1]])
		out.values[i] = m
	}
	return out
}

// without are the values less what a fact explains of them: each level's mean
// becomes that of all.
func (x *examined) without(fact *factor) []float64 {
	s := x.sumsOf(fact.Codes, len(fact.Levels))
	out := slices.Clone(x.f.Values)
	for i, c := range fact.Codes {
		if c != 0 {
			out[i] += s.mean - s.sum[c]/s.n[c]
		}
	}
	return out
}

// calendarOf are hour and weekday, if they explain something of values of the rows:
// an hour that moves the level by a tenth does not show among processors that differ
// by half, and does besides these.
func (x *examined) calendarOf(rows []float64) []*factor {
	y := *x
	y.f, y.divisions = &frame.Frame{Values: rows, Times: x.f.Times, Facts: x.f.Facts}, nil
	var out []*factor
	for _, name := range []string{factHour, factWeekday} {
		fact := x.fact(name)
		if fact == nil || !fact.derived {
			continue
		}
		var e Effect
		if y.test(&e, fact); e.P != nil && *e.P <= x.alpha/2 {
			out = append(out, fact)
		}
	}
	return out
}

// without takes what facts explain out of a series, one after the other.
func (s series) without(facts []*factor) []float64 {
	out := s.values
	for k, fact := range facts {
		all, _ := stats.Mean(out)
		n, sum := make([]float64, len(fact.Levels)), make([]float64, len(fact.Levels))
		for i, v := range out {
			c := fact.Codes[s.first(i)]
			n[c]++
			sum[c] += v - all
		}
		from := out
		if k == 0 {
			out = make([]float64, len(from)) // the series stays as it is
		}
		for i, v := range from {
			c := fact.Codes[s.first(i)]
			out[i] = v - sum[c]/n[c]
		}
	}
	return out
}

// divided describes the parts between the changes; none without any.
func (c *Course) divided(x *examined) []Part {
	var out []Part
	from := 0
	for i := 0; len(c.Changes) > 0 && i <= len(c.Changes); i++ {
		to := x.f.Len()
		if i < len(c.Changes) {
			to = c.Changes[i].Row - 1
		}
		values := slices.Sorted(slices.Values(x.f.Values[from:to]))
		p := Part{From: from, N: to - from, At: x.at(from), COV: covOf(values)}
		p.Mean, _ = stats.Mean(values)
		out = append(out, p)
		from = to
	}
	return out
}
