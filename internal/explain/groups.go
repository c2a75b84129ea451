package explain

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Grouping is the distribution of the values by the levels of a fact.
type Grouping struct {
	Fact   string  `json:"fact"`
	Groups []Group `json:"groups"` // those with most values first
	Rest   int     `json:"rest"`   // rows of further levels, or of none
}

// Group is the values of one level. P01 to P99 are for box plots as in AISLE:
// whiskers at 1 and 99 %, the box at 25 and 75 %.
type Group struct {
	Level  string    `json:"level"`
	N      int       `json:"n"`
	Share  float64   `json:"share"`
	Mean   float64   `json:"mean"`
	Median float64   `json:"median"`
	COV    *float64  `json:"cov"`
	COVCI  *Interval `json:"cov_ci"`
	Min    float64   `json:"min"`
	P01    float64   `json:"p01"`
	P25    float64   `json:"p25"`
	P75    float64   `json:"p75"`
	P99    float64   `json:"p99"`
	Max    float64   `json:"max"`
}

// mostGroups is how many groups of one fact are in the result.
const mostGroups = 60

// byLevel are the ascending values of each level of a fact, by code: of one walk over
// all rows, for they are sorted already. They lie in all, as long as the frame.
func (x *Rows) byLevel(fact *Fact, all []float64) [][]float64 {
	from := make([]int, len(fact.Levels)+1)
	for _, c := range fact.Codes {
		from[c+1]++
	}
	for c := 1; c < len(from); c++ {
		from[c] += from[c-1]
	}
	next := slices.Clone(from)
	for i, row := range x.order {
		c := fact.Codes[row]
		all[next[c]] = x.Sorted[i]
		next[c]++
	}
	values := make([][]float64, len(fact.Levels))
	for c := range values {
		values[c] = all[from[c]:from[c+1]:from[c+1]]
	}
	return values
}

// covOfGroup is the interval of the COV of the ascending values of a group: of units
// of which rows are alike, over these.
func (x *Rows) covOfGroup(values []float64, units *stats.Clustered) *Interval {
	ci := x.covInterval(values)
	if units == nil || ci == nil || units.Groups == len(values) {
		return ci
	}
	wide := interval(units.COVInterval(x.Level))
	if wide == nil {
		return nil
	}
	return &Interval{min(ci[0], wide[0]), max(ci[1], wide[1])}
}

// unitsIn are the rows of each level of a fact over the units of which rows are alike,
// by what limits their worth; nil where rows are no more alike than their order makes
// them.
func (x *Rows) unitsIn(fact *Fact, values []float64, d Dependence) []stats.Clustered {
	switch {
	case d.ofTimes != nil:
		return stats.ClusteredIn(values, fact.Codes, len(fact.Levels), x.inTime.codes())
	case d.Clustered == nil:
		return nil
	}
	units := x.nodeOfRun
	if d.LimitedBy != nodeOfRun {
		units = x.Frame.Fact(d.LimitedBy)
	}
	return stats.ClusteredIn(values, fact.Codes, len(fact.Levels), units.Codes)
}

// Group is the distribution by one fact. Levels of hour and weekday keep their
// order, those of others are sorted by their number of rows.
func (x *Rows) Group(fact *Fact) Grouping {
	out := Grouping{Fact: fact.Name, Rest: x.Frame.Len() - fact.Known}
	out.Groups = slices.DeleteFunc(x.groups(fact), func(g Group) bool { return g.N == 0 })
	if !fact.Derived {
		slices.SortStableFunc(out.Groups, func(a, b Group) int { return cmp.Compare(b.N, a.N) })
	}
	for len(out.Groups) > mostGroups {
		out.Rest += out.Groups[len(out.Groups)-1].N
		out.Groups = out.Groups[:len(out.Groups)-1]
	}
	return out
}

// groups are the distributions of the levels of a fact, by code. Codes without rows
// have an empty one.
func (x *Rows) groups(fact *Fact) []Group {
	// Of each row a group has what it is worth besides what the fact explains: that
	// rows of one processor are alike is no matter among those.
	rest := x.without(fact)
	y := x.withValues(rest)
	d := y.Dependence()
	units, alike := y.unitsIn(fact, x.Frame.Values, d), math.Sqrt(float64(x.Frame.Len())/d.EffectiveN)
	if units != nil {
		alike = math.Sqrt(1 / d.ofSeries)
	}
	out := make([]Group, len(fact.Levels))
	for c, values := range x.byLevel(fact, rest) { // the rest is no longer needed
		if c == 0 || len(values) == 0 {
			continue
		}
		n := len(values)
		s, err := stats.NewSpread(values)
		at := func(p float64) float64 { return stats.QuantileSorted(values, p) }
		g := Group{
			Level: fact.Levels[c], N: n, Share: float64(n) / float64(x.Frame.Len()), Mean: s.Mean, Median: s.Median,
			Min: s.Min, P01: at(0.01), P25: at(0.25), P75: at(0.75), P99: at(0.99), Max: s.Max,
		}
		if err == nil {
			g.COV = &s.COV
			var of *stats.Clustered
			if units != nil {
				of = &units[c]
			}
			g.COVCI = widen(x.covOfGroup(values, of), s.COV, alike)
		}
		out[c] = g
	}
	return out
}
