package explain

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// unitSums are units of rows that may be alike.
type unitSums struct {
	name, why string
	n         float64
	// k levels of the fact have units. between is the sum of squares of these levels'
	// means, among that of the units' within the levels, both weighted by rows.
	k, between, among float64
	// levels is what share of the levels' means is independent: those of one hour
	// and the next are not where the noise remembers.
	levels float64
	each   []unit // nil of more than mostPermuted
	// within is the sum of squares of the rows within nested units, rows how many.
	within, rows float64
	// wanders: the units are worth too few to tell a fact from a level that wanders.
	wanders bool
}

// fewStretches are too few beyond one of each level to say how much stretches of one
// level differ.
const fewStretches = 10

// units are the kinds of units within which the fact is the same.
func (x *Rows) units(fact *Fact) []unitSums {
	sums := x.sumsOf(fact.Codes, len(fact.Levels))
	out := []unitSums{x.rowUnits(fact, sums)}
	nested := func(other *frame.Fact, name, several string) {
		if other == nil || other.Name == fact.Name {
			return
		}
		if u, ok := x.nestedUnits(fact, other); ok {
			u.name = several
			u.why = fmt.Sprintf("each level is that of one %s only, and the two cannot be told apart", name)
			out = append(out, u)
		}
	}
	for _, name := range named {
		if name != frame.FactSubject || !madeAnew(x.Frame) {
			nested(x.Frame.Fact(name), name, name+"s")
		}
	}
	nested(x.nodeOfRun, "node of a run", "nodes of a run")
	out = append(out, x.unitsOfOthers(fact)...)
	if x.unordered {
		return out
	}
	u := x.stretches(fact, sums)
	few := !fact.Derived && u.n < 3*float64(fact.Used) && u.n < float64(fact.Used)+fewStretches
	if fact.ofCalendar() && (!fact.Derived || fact.Name == FactDay || fact.Name == FactWeek) {
		few = fact.once() // of months that come again each is a unit, as a level that changed is in some of them
	}
	if few {
		x.besides(fact, &out[0], len(out) > 1)
		return out
	}
	return append(out, u)
}

// besides takes no more of the rows than are independent besides what the fact
// explains. Of few, each level may be where a level that wanders went by chance. A
// table without times is often in the order of its nodes: then these are the units
// (nested), and why neighbours are alike.
func (x *Rows) besides(fact *Fact, rows *unitSums, nested bool) {
	worth, dependent := x.worthBesides(fact)
	rows.n *= worth
	if fact.Derived && x.neighboursAlike(fact) {
		rows.wanders = true
		rows.why = fmt.Sprintf("neighbouring %ss are alike, as those of a level that wanders or changes are", fact.Name)
		return
	}
	if !dependent || rows.n >= leastWorth || nested && x.Frame.Times == nil {
		return
	}
	rows.wanders = true
	rows.why = fmt.Sprintf("the values depend so much on those before them that %s are worth only %.0f independent ones, and a level that wanders by chance differs as much; measure longer, or in turns", num.Grouped(int64(fact.Known)), rows.n)
}

// neighboursAlike reports whether the means of days, or weeks, depend on those before
// them: then the level takes longer than a day to change, and a day explains nothing.
func (x *Rows) neighboursAlike(fact *Fact) bool {
	s := x.sumsOf(fact.Codes, len(fact.Levels))
	var means []float64 // in the order of time, as levels of the calendar are
	for c, n := range s.N {
		if n > 0 && c > 0 {
			means = append(means, s.Sum[c]/n)
		}
	}
	return len(means) >= 10 && remembers(means).dependent
}

// rowUnits takes each row as a unit, and no more of them than are independent of
// each other besides what the fact explains.
func (x *Rows) rowUnits(fact *Fact, s sums) unitSums {
	u := unitSums{name: "rows", why: "there are too few rows", n: float64(fact.Known), k: s.levels, between: s.between(), levels: 1}
	u.among = s.within()
	if fact.Known > mostPermuted {
		return u
	}
	middle := stats.QuantileSorted(x.Sorted, 0.5)
	for i, c := range fact.Codes {
		if c != 0 {
			u.each = append(u.each, unit{1, x.Frame.Values[i] - middle, c})
		}
	}
	return u
}

// nestedUnits takes the levels of another fact as units; nested is false where
// the fact is not the same within each, or the other fact has no more levels.
func (x *Rows) nestedUnits(fact *Fact, other *frame.Fact) (u unitSums, nested bool) {
	of := make([]uint16, len(other.Levels))
	for i, c := range other.Codes {
		switch {
		case c == 0 || fact.Codes[i] == 0:
		case of[c] == 0:
			of[c] = fact.Codes[i]
		case of[c] != fact.Codes[i]:
			return u, false
		}
	}
	codes := other.Codes
	if fact.Known < len(codes) {
		codes = slices.Clone(codes)
		for i, c := range fact.Codes {
			if c == 0 {
				codes[i] = 0
			}
		}
	}
	s := x.sumsOf(codes, len(other.Levels))
	levels := s.of(of, len(fact.Levels))
	u.n, u.levels, u.k, u.between = s.levels, 1, levels.levels, levels.between()
	u.among, u.within, u.rows = s.between()-u.between, s.within(), s.rows
	for c, n := range s.N {
		if n > 0 && s.levels <= mostPermuted {
			u.each = append(u.each, unit{n, s.Sum[c], of[c]})
		}
	}
	return u, true
}

// stretches takes the rows that follow each other with the same level as
// one unit: the hours of one day, the days of one weekday. Neighbouring stretches
// whose rests have the autocorrelation φ, as those of an AR(1) process, leave of
// the levels' degrees of freedom (1−φ²)/(1+φ²), by F. E. Satterthwaite's
// approximation (Biometrics Bulletin 2(6), 1946).
func (x *Rows) stretches(fact *Fact, s sums) unitSums {
	u := unitSums{name: "stretches of time", why: "no level comes twice: measure longer"}
	if x.Frame.Times == nil {
		u.name = "stretches of rows"
	}
	u.k, u.between = s.levels, s.between()
	u.among = -s.rows*s.mean*s.mean - u.between
	middle := stats.QuantileSorted(x.Sorted, 0.5)
	var rests []float64
	var now uint16
	var n, sum float64
	end := func() {
		if n > 0 {
			u.n++
			u.among += sum * sum / n
			rests = append(rests, sum/n-s.Sum[now]/s.N[now])
			if len(u.each) <= mostPermuted {
				u.each = append(u.each, unit{n, sum, now})
			}
		}
		n, sum = 0, 0
	}
	for i, c := range fact.Codes {
		if c == 0 {
			continue
		}
		if c != now {
			end()
			now = c
		}
		n++
		sum += x.Frame.Values[i] - middle
	}
	end()
	if len(u.each) > mostPermuted {
		u.each = nil
	}
	phi := stats.Autocorrelation(rests)
	u.levels = (1 - phi*phi) / (1 + phi*phi)
	return u
}

// worthBesides is what share of the rows is independent, besides what the fact
// explains and the changes of the level that are known: where each level is measured
// in one stretch, neighbours are alike, and there are no others to compare with. It is
// the lesser of what the series of rests shows and of an AR(1) process with the
// autocorrelation within levels, which heeds that their means were taken out.
// dependent says that it is more than chance.
func (x *Rows) worthBesides(fact *Fact) (worth float64, dependent bool) {
	part, parts := x.partOf(), 1
	if x.course != nil {
		parts += len(x.course.Changes)
	}
	levels := make([][]float64, len(fact.Levels)*parts)
	at := make([]int, 0, min(len(fact.Codes), mostRemembered)) // the level of each row
	for i, c := range fact.Codes[:cap(at)] {
		if c != 0 {
			k := int(c)*parts + part(i)
			levels[k], at = append(levels[k], x.Frame.Values[i]), append(at, k)
		}
	}
	rests, next := make([]float64, len(at)), make([]int, len(levels))
	means := make([]float64, len(levels))
	for k, level := range levels {
		means[k], _ = stats.Mean(level)
	}
	for i, k := range at {
		rests[i] = levels[k][next[k]] - means[k]
		next[k]++
	}
	levels = slices.DeleteFunc(levels, func(one []float64) bool { return len(one) < 3 })
	phi := stats.Autocorrelation(levels...)
	worth = (1 - phi) / (1 + phi)
	if size, _, err := stats.EffectiveSize(rests); err == nil {
		worth = min(worth, size/float64(len(rests)))
	}
	return worth, remembers(rests).dependent
}

// partOf is the number of the part of the time of a row, of rows asked in their order.
func (x *Rows) partOf() func(row int) int {
	part := 0
	return func(row int) int {
		for x.course != nil && part < len(x.course.Changes) && row >= x.course.Changes[part].Row-1 {
			part++
		}
		return part
	}
}

// mostRemembered is of how many rows, from the first on, it is asked how much
// neighbours are alike.
const mostRemembered = 1_000_000

// division is how a recorded fact divides the rows.
type division struct {
	fact            *Fact
	between, within float64 // sums of squares
	whole           bool    // the fact is known of all rows
}

// divide computes the divisions by all recorded facts, once for all tests.
func (x *Rows) divide() {
	x.divisions = nil
	for i := range x.facts {
		if f := &x.facts[i]; !f.Derived && !slices.Contains(named, f.Name) {
			x.divisions = append(x.divisions, division{fact: f, whole: f.Known == x.Frame.Len()})
		}
	}
	InParallel(x.Ended, len(x.divisions), func(i int) {
		d := &x.divisions[i]
		s := x.sumsOf(d.fact.Codes, len(d.fact.Levels))
		d.between, d.within = s.between(), s.within()
	})
}

// unitsOfOthers are the levels of facts that tell more than this one, and of which
// rows of one level are alike besides it: a column without a name that says so may
// hold machines. A fact that only refines this one is none.
func (x *Rows) unitsOfOthers(fact *Fact) []unitSums {
	if fact.Derived {
		return nil
	}
	var out []unitSums
	var between float64
	if i := slices.IndexFunc(x.divisions, func(d division) bool { return d.fact == fact }); i >= 0 {
		between = x.divisions[i].between
	}
	for _, d := range x.divisions {
		if d.fact.Used <= fact.Used || !nestedSample(fact, d.fact) {
			continue
		}
		u := unitSums{n: float64(d.fact.Used), k: float64(fact.Used), among: d.between - between, within: d.within, rows: float64(x.Frame.Len())}
		exact := d.whole && fact.Known == x.Frame.Len() && between > 0
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
func nestedSample(fact, other *Fact) bool {
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

// alikeP is the error rate of the test whether the levels of a fact are units. It is
// larger than that of other tests: with 5 %, six machines that differ by half of the
// noise are mostly not seen, and what is nested in them is tested over rows (T. A.
// Bancroft, Ann. Math. Stat. 15(2), 1944, on preliminary tests). It costs power where
// the levels are alike by chance (docs/methods.md).
const alikeP = .25

// alike reports whether rows of one unit are alike besides the fact that is tested.
func (u unitSums) alike() bool {
	among, within := u.n-u.k, u.rows-u.n
	if among < 1 || within < 1 || !(u.among > 0) {
		return false
	}
	return !(u.within > 0) || stats.FTail(u.among/among/(u.within/within), among, within) <= alikeP
}

// same reports whether two divisions of the rows are one.
func (u unitSums) same(v unitSums) bool {
	return u.n == v.n && math.Abs(u.among-v.among) <= 1e-9*math.Abs(u.among)
}
