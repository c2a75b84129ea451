package variability

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

const (
	mostGroups    = 60 // groups of one fact in the result
	mostGroupings = 4  // explaining facts that are shown in groups, besides --by
)

// passing are facts of which a level does not come again: there are groups by them
// only for who asks.
var passing = []string{factDay, factWeek, frame.FactRun, frame.FactRepetition, frame.FactTrial, frame.FactBlock}

// groupings are the distributions by the facts that the user names, by those that
// explain something, and by hour and weekday where they do.
func (x *examined) groupings(by []string, effects []Effect) []Grouping {
	names := slices.Clone(by)
	first := best(effects)
	if first != "" && !slices.Contains(passing, first) && !slices.Contains(names, first) {
		names = append(names, first)
	}
	for _, e := range effects {
		if e.Significant && !slices.Contains(passing, e.Fact) && len(names) < len(by)+mostGroupings && !slices.Contains(names, e.Fact) {
			names = append(names, e.Fact)
		}
	}
	var facts []*factor
	for _, name := range names {
		switch fact := x.fact(name); {
		case fact != nil:
			facts = append(facts, fact)
		case slices.ContainsFunc(x.constant, func(c Constant) bool { return c.Fact == name }):
			x.doubts.Warn("one_level", "%s is the same in all rows, so that there is nothing to group by it", name)
		case slices.Contains(x.alike, name):
			x.doubts.Warn("too_many_levels", "%s has a value of its own for nearly each row, so that there are no groups by it", name)
		default:
			x.doubts.Warn("no_fact", "there is no fact %s to group by; there is %s", name, x.factNames())
		}
	}
	out := make([]Grouping, len(facts))
	inParallel(x.ended, len(out), func(i int) { out[i] = x.grouping(facts[i]) })
	return out
}

func (x *examined) factNames() string {
	var out []string
	for _, f := range x.facts {
		out = append(out, f.Name)
	}
	if len(out) == 0 {
		return "none"
	}
	return num.List(out)
}

// byLevel are the ascending values of each level of a fact, by code: of one walk over
// all rows, for they are sorted already. They lie in all, as long as the frame.
func (x *examined) byLevel(fact *factor, all []float64) [][]float64 {
	from := make([]int, len(fact.Levels)+1)
	for _, c := range fact.Codes {
		from[c+1]++
	}
	for c := 1; c < len(from); c++ {
		from[c] += from[c-1]
	}
	next := slices.Clone(from)
	var codes [512]uint16 // looked up ahead: they lie anywhere in memory
	for begin := 0; begin < len(x.order); begin += len(codes) {
		rows := x.order[begin:min(begin+len(codes), len(x.order))]
		for i, row := range rows {
			codes[i] = fact.Codes[row]
		}
		for i, v := range x.sorted[begin : begin+len(rows)] {
			c := codes[i]
			all[next[c]] = v
			next[c]++
		}
	}
	values := make([][]float64, len(fact.Levels))
	for c := range values {
		values[c] = all[from[c]:from[c+1]:from[c+1]]
	}
	return values
}

// covOfGroup is the interval of the COV of the ascending values of a group: of units
// of which rows are alike, over these.
func (x *examined) covOfGroup(values []float64, units *stats.Clustered) *Interval {
	ci := x.covInterval(values)
	if units == nil || ci == nil || units.Groups == len(values) {
		return ci
	}
	wide := interval(units.COVInterval(x.level))
	if wide == nil {
		return nil
	}
	return &Interval{min(ci[0], wide[0]), max(ci[1], wide[1])}
}

// unitsIn are the rows of each level of a fact over the units of which rows are alike,
// by what limits their worth; nil where rows are no more alike than their order makes
// them.
func (x *examined) unitsIn(fact *factor, values []float64, d Dependence) []stats.Clustered {
	switch {
	case d.ofTimes != nil:
		return stats.ClusteredIn(values, fact.Codes, len(fact.Levels), x.inTime.codes())
	case d.clustered == nil:
		return nil
	}
	units := x.nodeOfRun
	if d.LimitedBy != nodeOfRun {
		units = x.f.Fact(d.LimitedBy)
	}
	return stats.ClusteredIn(values, fact.Codes, len(fact.Levels), units.Codes)
}

// grouping is the distribution by one fact. Levels of hour and weekday keep their
// order, those of others are sorted by their number of rows.
func (x *examined) grouping(fact *factor) Grouping {
	out := Grouping{Fact: fact.Name, Rest: x.f.Len() - fact.known}
	// Of each row a group has what it is worth besides what the fact explains: that
	// rows of one processor are alike is no matter among those.
	y, rest := *x, x.without(fact)
	y.f = &frame.Frame{Values: rest, Times: x.f.Times, Facts: x.f.Facts}
	d := y.dependence()
	units, alike := y.unitsIn(fact, x.f.Values, d), math.Sqrt(float64(x.f.Len())/d.EffectiveN)
	if units != nil {
		alike = math.Sqrt(1 / d.ofSeries)
	}
	for c, values := range x.byLevel(fact, rest) { // the rest is no longer needed
		if c == 0 || len(values) == 0 {
			continue
		}
		n := len(values)
		s, err := stats.NewSpread(values)
		g := Group{
			Level: fact.Levels[c], N: n, Share: float64(n) / float64(x.f.Len()), Mean: s.Mean, Median: s.Median,
			Min: s.Min, P01: quantile(values, 0.01), P25: quantile(values, 0.25), P75: quantile(values, 0.75), P99: quantile(values, 0.99), Max: s.Max,
		}
		if err == nil {
			g.COV = &s.COV
			var of *stats.Clustered
			if units != nil {
				of = &units[c]
			}
			g.COVCI = widen(x.covOfGroup(values, of), s.COV, alike)
		}
		out.Groups = append(out.Groups, g)
	}
	if !fact.derived {
		slices.SortStableFunc(out.Groups, func(a, b Group) int { return cmp.Compare(b.N, a.N) })
	}
	for len(out.Groups) > mostGroups {
		out.Rest += out.Groups[len(out.Groups)-1].N
		out.Groups = out.Groups[:len(out.Groups)-1]
	}
	return out
}
