package explain

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Dependence is how much rows tell that others do not.
type Dependence struct {
	// Lag1 is the autocorrelation of neighbours in time; null where it cannot be
	// computed. Dependent says that it is more than chance.
	Lag1      *float64 `json:"lag1"`
	Dependent bool     `json:"dependent"`
	// EffectiveN is how many independent rows the rows are worth for the mean, by
	// autocorrelation and by rows of one node being alike; Block the length of
	// blocks, in rows, that are about independent. Where the level changed, that is
	// between the changes: see [Rows.WithinLevels].
	EffectiveN float64 `json:"effective_n"`
	Block      int     `json:"block,omitempty"`
	// InTime is EffectiveN by autocorrelation alone.
	InTime float64 `json:"effective_n_in_time"`
	// LimitedBy is the fact of which rows of one level are alike, so that EffectiveN
	// is what it is ("node"), and Groups how many levels have rows.
	LimitedBy string `json:"limited_by,omitempty"`
	Groups    int    `json:"groups,omitempty"`

	// Clustered is by LimitedBy, in parts between and within; nil without.
	Clustered *stats.Clustered `json:"-"`

	ofTimes  *stats.Clustered // by time, where rows of one time are alike and nothing else limits
	ofSeries float64          // what share of the times is independent
}

// series is the values in the order of their times: where several rows have one
// time, as those of several nodes at once, their mean. from has the first row of
// each, and ends with the number of rows.
type series struct {
	values []float64
	from   []int32 // nil: a row each
}

// first is the first row of the i-th value.
func (s series) first(i int) int {
	if s.from == nil {
		return i
	}
	return int(s.from[i])
}

// codes are the times of rows, from 1.
func (s series) codes() []int32 {
	out := make([]int32, s.from[len(s.from)-1])
	for i := range s.values {
		for row := s.from[i]; row < s.from[i+1]; row++ {
			out[row] = int32(i + 1) //nolint:gosec // a row
		}
	}
	return out
}

// unordered reports whether the order of the rows means nothing: there are no times,
// and the values are sorted.
func unordered(f *frame.Frame) bool {
	falls := func(a, b float64) int { return int(math.Copysign(1, b-a)) }
	return f.Times == nil && len(f.Values) > 2 && (slices.IsSorted(f.Values) || slices.IsSortedFunc(f.Values, falls))
}

// asSeries is nil of values where their order means nothing.
func (x *Rows) asSeries() series {
	values := x.Frame.Values
	if x.Frame.Times == nil {
		if x.unordered {
			return series{}
		}
		return series{values: values}
	}
	times := 1
	for i := 1; i < len(values); i++ {
		if x.Frame.Times[i] != x.Frame.Times[i-1] {
			times++
		}
	}
	if times == len(values) {
		return series{values: values}
	}
	out := series{values: make([]float64, 0, times), from: make([]int32, 0, times+1)}
	for i := 0; i < len(values); {
		k, sum := i, 0.0
		for ; k < len(values) && x.Frame.Times[k] == x.Frame.Times[i]; k++ {
			sum += values[k]
		}
		out.values, out.from = append(out.values, sum/float64(k-i)), append(out.from, int32(i)) //nolint:gosec // a row
		i = k
	}
	out.from = append(out.from, int32(len(values))) //nolint:gosec // rows
	return out
}

// Dependence is how much rows tell that others do not: those that follow each
// other in time, and those of one node, one run, one repetition.
func (x *Rows) Dependence() Dependence {
	n := float64(x.Frame.Len())
	d := Dependence{EffectiveN: n}
	worth := 1.0
	if x.inTime = x.asSeries(); len(x.inTime.values) >= 10 {
		m, times := remembers(x.restsInTime()...), float64(len(x.inTime.values))
		if d.Lag1, d.Dependent = m.lag1, m.dependent; m.dependent {
			worth, d.Block = m.size/times, m.block*int(math.Round(n/times))
		}
	}
	ofTimes := x.worthOfTimes()
	d.ofSeries, d.EffectiveN = worth, max(1, n*worth*ofTimes)
	d.InTime = d.EffectiveN
	var limit *frame.Fact
	for _, of := range x.kin() {
		if icc, worth, ok := x.alikeWithin(of); ok && icc > 0 && worth < d.EffectiveN {
			d.EffectiveN, limit = max(1, worth), of
		}
	}
	if limit != nil {
		if c, err := stats.NewClustered(x.Frame.Values, limit.Codes, len(limit.Levels)); err == nil {
			d.LimitedBy, d.Groups, d.Clustered = limit.Name, c.Groups, &c
		}
	} else if ofTimes < 1 {
		if c, err := stats.NewClustered(x.Frame.Values, x.inTime.codes(), len(x.inTime.from)); err == nil {
			d.ofTimes = &c
		}
	}
	return d
}

// memory is how much values of a series tell of those after them: size is how many
// independent ones they are worth for their mean, block how long blocks are that are
// about independent.
type memory struct {
	lag1      *float64
	dependent bool
	size      float64
	block     int
}

// remembers says how much a series does, which falls into parts, each about its own
// mean: that parts have other levels makes neighbours no more alike. Its size is the
// lesser of what its autocorrelations and what those of an AR(1) process show:
// estimated from the values themselves, the first are too small where neighbours are
// much alike.
func remembers(parts ...[]float64) memory {
	var rests []float64
	for _, part := range parts {
		mean, _ := stats.Mean(part)
		for _, v := range part {
			rests = append(rests, v-mean)
		}
	}
	n := float64(len(rests))
	m := memory{size: n, block: 1}
	r, err := stats.ACF(rests, min(10, len(rests)/4))
	if err != nil || len(r) < 2 {
		return m
	}
	m.lag1 = &r[1]
	sum := 0.0
	for _, v := range r[1:] {
		sum += v
	}
	if m.dependent = r[1] > 1.96/math.Sqrt(n) || sum > 1.96*math.Sqrt(float64(len(r)-1)/n); !m.dependent {
		return m
	}
	if size, block, err := stats.EffectiveSize(rests); err == nil {
		phi := stats.Autocorrelation(parts...)
		m.size, m.block = min(size, n*(1-phi)/(1+phi)), block
	}
	return m
}

// restsInTime are the values in time, divided where their level changed, and less
// their drift; of sorted rows, those of each level.
func (x *Rows) restsInTime() [][]float64 {
	values := x.inTime.values
	if by := x.sortedBy(); by != nil {
		return by.blocks(values)
	}
	if x.course == nil {
		return [][]float64{values}
	}
	if d := x.course.Drift; d != nil && d.Significant {
		return [][]float64{d.without(values, x.seconds(x.inTime, len(values)))}
	}
	return x.inTime.divided(values, x.course.Changes)
}

// WithinLevels is the dependence of rows between the changes of the level, or besides
// its drift: these make neighbours alike without making them worth less. What is asked
// of the rows from then on heeds the course as well, which gets what each part is worth.
func (x *Rows) WithinLevels(c *Course) Dependence {
	x.course, x.rests = c, x.restsOf(c)
	d := x.Dependence()
	for i := range c.Parts {
		p := &c.Parts[i]
		if d.Clustered == nil {
			worth := max(1, float64(p.N)*d.InTime/float64(x.Frame.Len()))
			p.EffectiveN = &worth
		}
	}
	return d
}

// Units are the levels of the fact that limits, for people.
func (d Dependence) Units() string {
	if d.LimitedBy == nodeOfRun {
		return "nodes of runs"
	}
	return d.LimitedBy + "s"
}

// heldBy is how many independent values the interval of the median may count on:
// of few groups how much they differ is not known well, and what Student's t makes
// of that, but no fewer than the groups, which are independent.
func (d Dependence) heldBy(level float64) float64 {
	if d.Clustered == nil {
		return d.EffectiveN
	}
	groups := float64(d.Groups)
	z, errZ := stats.NormalCritical(level)
	t, errT := stats.TCritical(level, groups-1)
	if errZ != nil || errT != nil {
		return min(d.EffectiveN, groups)
	}
	return max(min(d.EffectiveN, groups), d.EffectiveN*z*z/(t*t))
}

// worthOfTimes is what share of the rows is independent where several have one time
// and are alike: the variance of a mean of their times' means is that of these. 1
// where they are no more alike than chance makes them, with an error of 5 %.
func (x *Rows) worthOfTimes() float64 {
	times, rows := float64(len(x.inTime.values)), float64(x.Frame.Len())
	if x.inTime.from == nil || times < 2 || rows == times {
		return 1
	}
	values := x.withinLevels()
	means := x.seriesOf(values).values
	all, _ := stats.SampleSD(values)
	between, _ := stats.SampleSD(means)
	within := 0.0
	for i, mean := range means {
		for _, v := range values[x.inTime.from[i]:x.inTime.from[i+1]] {
			within += (v - mean) * (v - mean)
		}
	}
	within /= rows - times
	if !(between > 0) || !(within > 0) && !(all > 0) {
		return 1
	}
	if within > 0 && stats.FTail(between*between*rows/times/within, times-1, rows-times) > 0.05 {
		return 1
	}
	return min(1, all*all/(between*between)*times/rows)
}

// withinLevels are the values, less the course of the level where that is known: its changes
// make rows of one time, one run or one node alike without making them worth less.
func (x *Rows) withinLevels() []float64 {
	if x.rests != nil {
		return x.rests
	}
	return x.Frame.Values
}

// kin are the facts of which rows of one level may be alike.
func (x *Rows) kin() []*frame.Fact {
	var out []*frame.Fact
	for _, name := range named {
		f := x.Fact(name)
		if f == nil || slices.Contains(frame.Machines, name) && f.Used < leastSampled || name == frame.FactSubject && madeAnew(x.Frame) {
			continue
		}
		out = append(out, &f.Fact)
	}
	if x.nodeOfRun != nil {
		out = append(out, x.nodeOfRun)
	}
	return out
}

// alikeWithin is how alike the rows of one level of a fact are: the intraclass
// correlation by one-way analysis of variance (J. L. Fleiss, The Design and
// Analysis of Clinical Experiments, 1986, section 1.1), and how many independent
// rows they are worth. ok is false where they are no more alike than chance makes
// them, with an error of 5 %.
func (x *Rows) alikeWithin(fact *frame.Fact) (icc, worth float64, ok bool) {
	values := x.withinLevels()
	e, err := stats.EtaSquared(values, fact.Codes, len(fact.Levels), x.Level)
	if err != nil || e.P > 0.05 {
		return 0, 0, false
	}
	icc = e.Omega2
	if d, err := stats.Decompose(values, fact.Codes, len(fact.Levels)); err == nil {
		icc = d.Share
	}
	squares, n := 0.0, float64(e.N)
	for _, count := range countsOf(fact) {
		squares += count * count
	}
	return icc, n / (1 + (squares/n-1)*icc), true
}

// OfNodes reports whether what limits is that rows of one node, or machine, are alike:
// then no number of repetitions tells how others are.
func (d Dependence) OfNodes() bool {
	return d.Clustered != nil && Machines(d.LimitedBy)
}

// Unheeded is the fact that makes the rows worth the least of those that no interval
// heeds, as nothing says whether its levels are all there are, as those of a setting,
// or a sample, as machines are; and how many independent rows they are worth then. ok
// is false where none makes them worth less than half. Facts named in except are not
// asked.
func (x *Rows) Unheeded(d Dependence, effects []Effect, except []string) (limit Effect, worth float64, ok bool) {
	worth = d.EffectiveN / 2
	for _, e := range effects {
		if !e.Significant || e.Levels < leastSampled || slices.Contains(except, e.Fact) || x.Fact(e.Fact).ofCalendar() {
			continue
		}
		if _, w, alike := x.alikeWithin(&x.Fact(e.Fact).Fact); alike && w < worth {
			limit, worth, ok = e, w, true
		}
	}
	return limit, worth, ok
}

// AsSample is the dependence of the rows if the levels of a fact, which make them
// worth so many independent ones, are a sample of others, as nodes are; ok is false
// where that cannot be computed.
func (x *Rows) AsSample(d Dependence, fact string, worth float64) (out Dependence, ok bool) {
	of := x.Frame.Fact(fact)
	c, err := stats.NewClustered(x.Frame.Values, of.Codes, len(of.Levels))
	if err != nil {
		return d, false
	}
	d.EffectiveN, d.LimitedBy, d.Groups, d.Clustered, d.ofTimes = max(1, worth), of.Name, c.Groups, &c, nil
	return d, true
}
