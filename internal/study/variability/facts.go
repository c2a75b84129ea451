package variability

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// effects are how much each fact explains, those that explain most first. Their
// p-values are corrected by Holm over all facts that could be tested.
func (x *examined) effects() []Effect {
	x.divide()
	all := make([]*Effect, len(x.facts))
	inParallel(x.ended, len(all), func(i int) { all[i] = x.effect(&x.facts[i]) })
	out := make([]Effect, 0, len(all))
	for _, e := range all {
		if e != nil {
			out = append(out, *e)
		}
	}
	var tested []int
	var ps []float64
	for i, e := range out {
		if e.P != nil {
			tested, ps = append(tested, i), append(ps, *e.P)
		}
	}
	if adjusted, err := stats.Holm(ps); err == nil {
		for k, i := range tested {
			e := &out[i]
			e.Adjusted, e.Significant = &adjusted[k], adjusted[k] <= x.alpha
			e.tooFew(x.alpha / float64(len(tested)))
		}
	}
	slices.SortStableFunc(out, func(a, b Effect) int {
		if a.Significant != b.Significant {
			return map[bool]int{true: -1, false: 1}[a.Significant]
		}
		return cmp.Or(cmp.Compare(b.Omega2, a.Omega2), cmp.Compare(a.Levels, b.Levels))
	})
	return out
}

// sums are what a one-way analysis of variance needs to know of the levels.
type sums struct {
	n, sum []float64 // by code; sum of the values less the median
	rows   float64
	levels float64
	mean   float64 // of the rows, less the median
	// squares are those of the values less the median, summed.
	squares float64
}

// sumsOf takes the values less their median, for squares of large numbers lose
// their difference.
func (x *examined) sumsOf(codes []uint16, levels int) sums {
	all := stats.SumLevels(x.f.Values, codes, levels, quantile(x.sorted, 0.5))
	s := sums{n: all.N, sum: all.Sum, squares: all.Squares}
	sum := 0.0
	for c, n := range s.n {
		s.rows += n
		sum += s.sum[c]
	}
	for _, n := range s.n {
		if n > 0 {
			s.levels++
		}
	}
	s.mean = sum / s.rows
	return s
}

// between is the sum of squares of the levels' means.
func (s sums) between() float64 {
	out := 0.0
	for c, n := range s.n {
		if n > 0 {
			d := s.sum[c]/n - s.mean
			out += n * d * d
		}
	}
	return out
}

// within is the sum of squares of the rows about their levels' means.
func (s sums) within() float64 { return max(0, s.squares-s.rows*s.mean*s.mean-s.between()) }

// of are the sums of coarser levels, of which each level here has one.
func (s sums) of(level []uint16, levels int) sums {
	out := sums{n: make([]float64, levels), sum: make([]float64, levels), rows: s.rows, mean: s.mean, squares: s.squares}
	for c, n := range s.n {
		if n > 0 {
			out.n[level[c]] += n
			out.sum[level[c]] += s.sum[c]
		}
	}
	for _, n := range out.n {
		if n > 0 {
			out.levels++
		}
	}
	return out
}

// effect tests one fact; nil where it says nothing of the values: they do not vary.
func (x *examined) effect(fact *factor) *Effect {
	found, err := stats.EtaSquared(x.f.Values, fact.Codes, len(fact.Levels), x.level)
	if err != nil {
		return nil
	}
	e := &Effect{Fact: fact.Name, Levels: found.Levels, Eta2: found.Eta2, Omega2: found.Omega2, Derived: fact.derived}
	e.CI = &Interval{found.CI.Lo, found.CI.Hi}
	x.test(e, fact)
	return e
}

// test is whether the levels differ by more than units of one level do: nested
// analysis of variance (G. W. Snedecor, W. G. Cochran, Statistical Methods, 1989,
// chapter 13). Rows of one node, of one repetition, of one level of a fact that
// tells more, or of one stretch of time may be alike, and are then one unit, if the
// fact is the same in all of them: ten nodes with a hundred rows each are ten
// processors, not a thousand. Of several kinds of units that with the largest p
// counts. F supposes normal units; what it shows of few must show without that, by
// [permuted].
func (x *examined) test(e *Effect, fact *factor) {
	worst := -1.0
	for i, u := range x.units(fact) {
		free := u.n - u.k
		if free < 1 {
			e.P, e.Why = nil, u.why
			return
		}
		among := max(0, u.among) / free
		p := 0.0
		if among > 0 {
			p = stats.FTail(u.between/(u.k-1)/among, max(1, (u.k-1)*u.levels), free)
		}
		if p <= x.alpha && len(u.each) > 0 {
			p = max(p, permuted(u.each, len(fact.Levels)))
		}
		// F does not heed that a small level may vary more than the others. Welch's test
		// is of rows: the spread of larger units is not theirs; and of so few that they
		// were permuted its spread of each level is mere chance.
		if p <= x.alpha && i == 0 && len(u.each) == 0 {
			if welch, err := stats.WelchANOVA(x.f.Values, fact.Codes, len(fact.Levels), min(1, u.n/float64(fact.known))); err == nil {
				p = max(p, welch)
			}
		}
		if p > worst {
			worst, e.P, e.Units = p, &p, fmt.Sprintf("%.0f %s", u.n, u.name)
			e.sizes = sizesOfLevels(u.each, len(fact.Levels))
		}
	}
}

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
}

// units are the kinds of units within which the fact is the same.
func (x *examined) units(fact *factor) []unitSums {
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
		if name != frame.FactSubject || !madeAnew(x.f) {
			nested(x.f.Fact(name), name, name+"s")
		}
	}
	nested(x.nodeOfRun, "node of a run", "nodes of a run")
	out = append(out, x.unitsOfOthers(fact)...)
	if x.f.Times == nil {
		return out
	}
	switch u := x.stretches(fact, sums); {
	case fact.Name == factDay || fact.Name == factWeek || !fact.derived && u.n < 3*float64(fact.used):
		out[0].n *= x.worthBesides(fact)
	default:
		out = append(out, u)
	}
	return out
}

// worthBesides is what share of the rows is independent, besides what the fact
// explains: where each level is measured in one stretch, neighbours are alike, and
// there are no others to compare with. It is the lesser of what the series of
// rests shows and of an AR(1) process with the autocorrelation within levels,
// which heeds that their means were taken out.
func (x *examined) worthBesides(fact *factor) float64 {
	s := x.sumsOf(fact.Codes, len(fact.Levels))
	middle := quantile(x.sorted, 0.5)
	var rests []float64
	levels := make([][]float64, len(fact.Levels))
	for i, c := range fact.Codes[:min(len(fact.Codes), mostRemembered)] {
		if c != 0 {
			rests = append(rests, x.f.Values[i]-middle-s.sum[c]/s.n[c])
			levels[c] = append(levels[c], x.f.Values[i])
		}
	}
	levels = slices.DeleteFunc(levels, func(one []float64) bool { return len(one) < 3 })
	phi := stats.Autocorrelation(levels...)
	worth := (1 - phi) / (1 + phi)
	if size, _, err := stats.EffectiveSize(rests); err == nil {
		worth = min(worth, size/float64(len(rests)))
	}
	return worth
}

// mostRemembered is of how many rows, from the first on, it is asked how much
// neighbours are alike.
const mostRemembered = 1_000_000

// rowUnits takes each row as a unit, and no more of them than are independent of
// each other besides what the fact explains.
func (x *examined) rowUnits(fact *factor, s sums) unitSums {
	u := unitSums{name: "rows", why: "there are too few rows", n: float64(fact.known), k: s.levels, between: s.between(), levels: 1}
	u.among = s.within()
	if fact.known > mostPermuted {
		return u
	}
	middle := quantile(x.sorted, 0.5)
	for i, c := range fact.Codes {
		if c != 0 {
			u.each = append(u.each, unit{1, x.f.Values[i] - middle, c})
		}
	}
	return u
}

// nestedUnits takes the levels of another fact as units; nested is false where
// the fact is not the same within each, or the other fact has no more levels.
func (x *examined) nestedUnits(fact *factor, other *frame.Fact) (u unitSums, nested bool) {
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
	if fact.known < len(codes) {
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
	for c, n := range s.n {
		if n > 0 && s.levels <= mostPermuted {
			u.each = append(u.each, unit{n, s.sum[c], of[c]})
		}
	}
	return u, true
}

// stretches takes the rows that follow each other in time with the same level as
// one unit: the hours of one day, the days of one weekday. Neighbouring stretches
// whose rests have the autocorrelation φ, as those of an AR(1) process, leave of
// the levels' degrees of freedom (1−φ²)/(1+φ²), by F. E. Satterthwaite's
// approximation (Biometrics Bulletin 2(6), 1946).
func (x *examined) stretches(fact *factor, s sums) unitSums {
	u := unitSums{name: "stretches of time", why: "no level comes twice: measure longer"}
	u.k, u.between = s.levels, s.between()
	u.among = -s.rows*s.mean*s.mean - u.between
	middle := quantile(x.sorted, 0.5)
	var rests stats.Neighbours
	var now uint16
	var n, sum float64
	end := func() {
		if n > 0 {
			u.n++
			u.among += sum * sum / n
			rests.Add(sum/n - s.sum[now]/s.n[now])
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
		sum += x.f.Values[i] - middle
	}
	end()
	if len(u.each) > mostPermuted {
		u.each = nil
	}
	phi := rests.Autocorrelation()
	u.levels = (1 - phi*phi) / (1 + phi*phi)
	return u
}

// likeness is the Cramér V from which two facts are said to tell the same.
const likeness = 0.9

const (
	// mostCompared is of how many rows two facts are compared, spread over all.
	mostCompared = 100_000
	// mostPaired is how many rows are looked at for all pairs of facts together: of
	// a thousand facts two are compared over fewer.
	mostPaired = 2_000_000_000
	// leastCompared is of how many rows each pair is compared.
	leastCompared = 2_000
)

// confounded are the pairs of facts that explain something and tell nearly the
// same of each row. Facts of time are not compared with each other: days tell
// weekdays, and repetitions days.
func (x *examined) confounded(effects []Effect) []Confounded {
	var pairs [][2]int
	for i, a := range effects {
		for k, b := range effects[i+1:] {
			if (a.Significant || b.Significant) && (!a.passes() || !b.passes()) {
				pairs = append(pairs, [2]int{i, i + 1 + k})
			}
		}
	}
	if len(pairs) == 0 {
		return nil
	}
	rows := max(leastCompared, min(mostCompared, mostPaired/len(pairs)))
	facts := make([]frame.Fact, len(effects))
	inParallel(x.ended, len(facts), func(i int) { facts[i] = x.fact(effects[i].Fact).spreadOver(rows) })
	vs := make([]float64, len(pairs))
	inParallel(x.ended, len(pairs), func(i int) { vs[i] = cramer(&facts[pairs[i][0]], &facts[pairs[i][1]]) })
	var out []Confounded
	for i, v := range vs {
		if v >= likeness {
			out = append(out, Confounded{effects[pairs[i][0]].Fact, effects[pairs[i][1]].Fact, v})
		}
	}
	return out
}

// spreadOver is the fact of about so many rows, spread over all.
func (f *factor) spreadOver(rows int) frame.Fact {
	out := f.Fact
	if step := len(f.Codes) / rows; step > 1 {
		out.Codes = nil
		for i := 0; i < len(f.Codes); i += step {
			out.Codes = append(out.Codes, f.Codes[min(i+i*31%step, len(f.Codes)-1)]) // not always the same hour
		}
	}
	return out
}

// passes reports whether a fact follows from when a row was measured.
func (e Effect) passes() bool { return e.Derived || slices.Contains(passing, e.Fact) }

// cramer is Cramér's V of two facts, over rows that know both.
func cramer(a, b *frame.Fact) float64 {
	as, bs := (&factor{Fact: *a}).spreadOver(mostCompared), (&factor{Fact: *b}).spreadOver(mostCompared)
	v, _, err := stats.CramersV(as.Codes, bs.Codes, len(a.Levels), len(b.Levels))
	if err != nil {
		return 0 // one of them has one level
	}
	return v
}

// best is the fact that explains most; empty: none explains anything. A day or a
// week does not come again, and is none.
func best(effects []Effect) string { return bestOf(effects, func(Effect) bool { return true }) }

// bestOf is the best of some facts; of those that explain about as much that with
// the fewest levels, for a node explains all that its processor does.
func bestOf(effects []Effect, of func(Effect) bool) string {
	top := 0.0
	counts := func(e Effect) bool { return e.Significant && e.Fact != factDay && e.Fact != factWeek && of(e) }
	for _, e := range effects {
		if counts(e) {
			top = max(top, e.Omega2)
		}
	}
	name, levels := "", 0
	for _, e := range effects {
		if counts(e) && e.Omega2 >= 0.95*top && (name == "" || e.Levels < levels) {
			name, levels = e.Fact, e.Levels
		}
	}
	return name
}
