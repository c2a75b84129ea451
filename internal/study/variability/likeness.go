package variability

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// otherThings are names that tables have for what was measured, besides node.
var otherThings = []string{"machine", "host", "hostname", "server", "instance", "vm"}

// named are the facts of which rows of one level may be alike by what they mean:
// their levels are a sample of others.
var named = append(append([]string{frame.FactSubject}, otherThings...), frame.FactRepetition, frame.FactRun)

// leastSampled is from how many levels on a fact may be a sample of things: a server
// may be one of two products, and a machine one of three types.
const leastSampled = 5

// things reports whether a fact tells what was measured.
func things(fact string) bool {
	return fact == frame.FactSubject || slices.Contains(otherThings, fact)
}

// division is how a recorded fact divides the rows.
type division struct {
	fact            *factor
	between, within float64 // sums of squares
	whole           bool    // the fact is known of all rows
}

// divide computes the divisions by all recorded facts, once for all tests.
func (x *examined) divide() {
	x.divisions = nil
	for i := range x.facts {
		if f := &x.facts[i]; !f.derived && !slices.Contains(named, f.Name) {
			x.divisions = append(x.divisions, division{fact: f, whole: f.known == x.f.Len()})
		}
	}
	inParallel(x.ended, len(x.divisions), func(i int) {
		d := &x.divisions[i]
		s := x.sumsOf(d.fact.Codes, len(d.fact.Levels))
		d.between, d.within = s.between(), s.within()
	})
}

// unitsOfOthers are the levels of facts that tell more than this one, and of which
// rows of one level are alike besides it: a column without a name that says so may
// hold machines. A fact that only refines this one is none.
func (x *examined) unitsOfOthers(fact *factor) []unitSums {
	if fact.derived {
		return nil
	}
	var out []unitSums
	var between float64
	if i := slices.IndexFunc(x.divisions, func(d division) bool { return d.fact == fact }); i >= 0 {
		between = x.divisions[i].between
	}
	for _, d := range x.divisions {
		if d.fact.used <= fact.used || !nestedSample(fact, d.fact) {
			continue
		}
		u := unitSums{n: float64(d.fact.used), k: float64(fact.used), among: d.between - between, within: d.within, rows: float64(x.f.Len())}
		exact := d.whole && fact.known == x.f.Len() && between > 0
		if exact && (!u.alike() || slices.ContainsFunc(out, u.same)) {
			continue
		}
		u, nested := x.nestedUnits(fact, &d.fact.Fact)
		if nested && u.n > u.k && u.alike() && !slices.ContainsFunc(out, u.same) {
			u.name = fmt.Sprintf("levels of %s", d.fact.Name)
			out = append(out, u)
		}
	}
	return out
}

// mostSampled is of how many rows it is asked first whether a fact is nested.
const mostSampled = 512

// nestedSample reports whether a fact is the same within each level of another, as
// far as some rows tell: most pairs of many facts need no look at all rows.
func nestedSample(fact, other *factor) bool {
	of := make([]uint16, len(other.Levels))
	n := len(fact.Codes)
	step := max(1, n/mostSampled)
	for i := 0; i < n; i += step {
		row := min(n-1, i+i*31%step) // not always the same hour
		c, level := other.Codes[row], fact.Codes[row]
		switch {
		case c == 0 || level == 0:
		case of[c] == 0:
			of[c] = level
		case of[c] != level:
			return false
		}
	}
	return true
}

// alike reports whether rows of one unit are alike besides the fact that is tested,
// with an error of 5 %.
func (u unitSums) alike() bool {
	among, within := u.n-u.k, u.rows-u.n
	if among < 1 || within < 1 || !(u.among > 0) {
		return false
	}
	return !(u.within > 0) || stats.FTail(u.among/among/(u.within/within), among, within) <= 0.05
}

// same reports whether two divisions of the rows are one.
func (u unitSums) same(v unitSums) bool {
	return u.n == v.n && math.Abs(u.among-v.among) <= 1e-9*math.Abs(u.among)
}

// unheeded doubts intervals where the rows of one level of some fact are alike, and
// nothing says whether its levels are all there are, as those of a setting, or a
// sample, as machines are.
func (x *examined) unheeded(m *Metric) {
	limit, worst := Effect{}, m.Dependence.EffectiveN/2
	for _, e := range m.Facts {
		if !e.Significant || e.Derived || e.Levels < leastSampled || slices.Contains(ids, e.Fact) {
			continue
		}
		if _, worth, ok := x.alikeWithin(&x.fact(e.Fact).Fact); ok && worth < worst {
			limit, worst = e, worth
		}
	}
	if limit.Fact != "" {
		x.doubts.Warn("alike", "rows of one %s are alike (it explains %s of the variance): if its %d levels are a sample of others, as nodes are, %s are worth about %.0f independent ones, and intervals are too narrow; call the column node to have that heeded", limit.Fact, num.Fraction(limit.Omega2), limit.Levels, countOf(m.N, "value"), worst)
	}
}
