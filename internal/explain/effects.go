package explain

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// Effect is how much of the variance a fact explains.
type Effect struct {
	Fact   string `json:"fact"`
	Levels int    `json:"levels"`
	// Eta2 is η² = SS_between/SS_total; Omega2 is ω², the same corrected for chance,
	// and not below 0; CI is the interval of the share that η² of these rows
	// estimates, as if they were independent.
	Eta2   float64   `json:"eta2"`
	Omega2 float64   `json:"omega2"`
	CI     *Interval `json:"eta2_ci"`
	// P tests whether the levels differ at all, over Units that are independent:
	// rows, or nodes, repetitions or stretches of time in which the level stays the
	// same. Adjusted is P after Holm, over all facts. Null: cannot be tested; Why
	// says for what, or that the units are too few for any p to stand out.
	P        *float64 `json:"p"`
	Adjusted *float64 `json:"p_adjusted"`
	Units    string   `json:"units,omitempty"`
	Why      string   `json:"why,omitempty"`
	// Significant: the fact explains something, with the error rate of alarms.
	Significant bool `json:"significant"`
	// Carries: it seems to explain something because its levels follow each other in
	// time, as months do, and the level changed meanwhile; between the changes it does
	// not. All figures are those between them.
	Carries bool `json:"carries,omitempty"`
	// Derived facts follow from the time of a row.
	Derived bool `json:"derived,omitempty"`

	sizes []float64 // units of each level; nil: many
}

// Effects are how much each fact explains, those that explain most first. Their
// p-values are corrected by Holm over all facts that could be tested; facts that
// divide the rows alike, such as a processor and its model, are one of them.
func (x *Rows) Effects() []Effect {
	x.divide()
	all := make([]*Effect, len(x.facts))
	InParallel(x.Ended, len(all), func(i int) { all[i] = x.effect(&x.facts[i]) })
	out := make([]Effect, 0, len(all))
	for _, e := range all {
		if e != nil {
			out = append(out, *e)
		}
	}
	x.carried(out)
	x.correct(out)
	slices.SortStableFunc(out, func(a, b Effect) int {
		if a.Significant != b.Significant {
			return map[bool]int{true: -1, false: 1}[a.Significant]
		}
		return cmp.Or(cmp.Compare(b.Omega2, a.Omega2), cmp.Compare(a.Levels, b.Levels))
	})
	return out
}

// carried asks of facts that may carry the changes of the level what they explain
// between these: whatever follows each other in time has other means where the level
// changed.
func (x *Rows) carried(effects []Effect) {
	if x.course == nil || len(x.course.Changes) == 0 {
		return
	}
	y := x.withValues(x.rests)
	y.course, y.rests = nil, nil
	y.Sorted = slices.Sorted(slices.Values(x.rests))
	for i, e := range effects {
		fact := x.Fact(e.Fact)
		if !x.mayCarry(fact) {
			continue
		}
		between := y.effect(fact)
		if between == nil { // nothing varies between the changes
			between = &Effect{Fact: e.Fact, Levels: e.Levels, Derived: e.Derived, Units: e.Units, Why: e.Why}
		}
		effects[i] = *between
		if e.P != nil && *e.P <= x.Alpha && (between.P == nil || *between.P > x.Alpha) {
			effects[i].Carries = true
			effects[i].Why = "it has other means because the level changed, and explains nothing between the changes"
		}
	}
}

// calendarNames are those of recorded facts that follow from the time alone, and stay
// the same for a day or longer. An hour, or a weekday, comes again soon.
var calendarNames = []string{
	"time", "date", "day_of_year", "dayofyear", "doy", FactWeek, "week_number", "weeknumber", "weeknum", "week_no",
	"week_of_year", "weekofyear", "iso_week", "isoweek", "calendar_week", "kw", "month", "month_name", "monthname",
	"month_number", "monthnumber", "mon", "season", "quarter", "year",
}

// ofCalendar reports whether a fact follows from the time alone.
func (f *Fact) ofCalendar() bool {
	return f.Derived || slices.Contains(calendarNames, frame.Plain(f.Name))
}

// mayCarry reports whether a fact cannot be behind the changes of the level: hardly a
// level of it comes again, and it is of the calendar, or the level changed within its
// levels.
func (x *Rows) mayCarry(fact *Fact) bool {
	if !fact.once() {
		return false
	}
	if fact.ofCalendar() || Passing(fact.Name) {
		return true
	}
	const near = 2 // values, as far as the place of a change is known
	return slices.ContainsFunc(x.course.Changes, func(c Change) bool {
		at := x.inTime.index(c.Row - 1)
		from, to := x.inTime.first(max(0, at-near-1)), x.inTime.first(min(len(x.inTime.values)-1, at+near))
		return fact.Codes[from] == fact.Codes[to]
	})
}

// once reports whether most rows are of levels that do not come again: the rows of
// such a level follow each other. The first week of a year is that of the next, too.
func (f *Fact) once() bool {
	runs, rows, last := make([]int, len(f.Levels)), make([]int, len(f.Levels)), uint16(0)
	for _, c := range f.Codes {
		if c == 0 {
			continue
		}
		if c != last {
			runs[c]++
		}
		rows[c]++
		last = c
	}
	single := 0
	for c, n := range runs {
		if n == 1 {
			single += rows[c]
		}
	}
	return 2*single > f.Known
}

// correct adjusts the p-values of all facts.
func (x *Rows) correct(effects []Effect) {
	var ps []float64
	var first []int // of each hypothesis, the first effect that asks it
	asks := make([]int, len(effects))
	for i := range effects {
		e := &effects[i]
		if e.P == nil {
			continue
		}
		k := slices.IndexFunc(first, func(k int) bool { return x.same(&effects[k], e) })
		if asks[i] = k; k < 0 {
			asks[i], first, ps = len(first), append(first, i), append(ps, *e.P)
		}
	}
	adjusted, err := stats.Holm(ps)
	if err != nil {
		return
	}
	for i := range effects {
		if e := &effects[i]; e.P != nil {
			e.Adjusted, e.Significant = &adjusted[asks[i]], adjusted[asks[i]] <= x.Alpha
			e.tooFew(x.Alpha / float64(len(ps)))
		}
	}
}

// same reports whether two tests are one: of facts that divide the rows alike, over
// units that are as many.
func (x *Rows) same(a, b *Effect) bool {
	if a.Levels != b.Levels || math.Abs(*a.P-*b.P) > 1e-9**a.P {
		return false
	}
	f, g := x.Fact(a.Fact), x.Fact(b.Fact)
	to, from := make([]uint16, len(f.Levels)), make([]uint16, len(g.Levels))
	for i, c := range f.Codes {
		d := g.Codes[i]
		switch {
		case (c == 0) != (d == 0):
			return false
		case c == 0:
		case to[c] == 0 && from[d] == 0:
			to[c], from[d] = d, c
		case to[c] != d || from[d] != c:
			return false
		}
	}
	return true
}

// effect tests one fact; nil where it says nothing of the values: they do not vary.
func (x *Rows) effect(fact *Fact) *Effect {
	found, err := stats.EtaSquared(x.Frame.Values, fact.Codes, len(fact.Levels), x.Level)
	if err != nil {
		return nil
	}
	e := &Effect{Fact: fact.Name, Levels: found.Levels, Eta2: found.Eta2, Omega2: found.Omega2, Derived: fact.Derived}
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
func (x *Rows) test(e *Effect, fact *Fact) {
	worst := -1.0
	for i, u := range x.units(fact) {
		free := u.n - u.k
		if free < 1 || u.wanders {
			e.P, e.Why = nil, u.why
			return
		}
		among := max(0, u.among) / free
		p := 0.0
		if among > 0 {
			p = stats.FTail(u.between/(u.k-1)/among, max(1, (u.k-1)*u.levels), free)
		}
		if p <= x.Alpha && len(u.each) > 0 {
			p = max(p, permuted(u.each, len(fact.Levels)))
		}
		// F does not heed that a small level may vary more than the others. Welch's test
		// is of rows: the spread of larger units is not theirs; and of so few that they
		// were permuted its spread of each level is mere chance.
		if p <= x.Alpha && i == 0 && len(u.each) == 0 {
			if welch, err := stats.WelchANOVA(x.Frame.Values, fact.Codes, len(fact.Levels), min(1, u.n/float64(fact.Known))); err == nil {
				p = max(p, welch)
			}
		}
		if p > worst {
			worst, e.P, e.Units = p, &p, fmt.Sprintf("%.0f %s", u.n, u.name)
			e.sizes = sizesOfLevels(u.each, len(fact.Levels))
		}
	}
}

// differBy reports whether the levels of a fact differ with this error rate.
func (x *Rows) differBy(fact *Fact, alpha float64) bool {
	var e Effect
	x.test(&e, fact)
	return e.P != nil && *e.P <= alpha
}

// Passing reports whether a level of a fact does not come again: a day, a run.
func Passing(fact string) bool { return slices.Contains(passing, fact) }

// Passes reports whether a fact follows from when a row was measured.
func (e Effect) Passes() bool { return e.Derived || Passing(e.Fact) }

// Best is the fact that explains most; empty: none explains anything. A day or a
// week does not come again, and is none.
func Best(effects []Effect) string { return BestOf(effects, func(Effect) bool { return true }) }

// BestOf is the best of some facts; of those that explain about as much that with
// the fewest levels, for a node explains all that its processor does.
func BestOf(effects []Effect, of func(Effect) bool) string {
	top := 0.0
	counts := func(e Effect) bool { return e.Significant && e.Fact != FactDay && e.Fact != FactWeek && of(e) }
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

// LeastExplained is the share of the variance from which a fact is worth a word.
const LeastExplained = 0.05

// tooFew says so where no p of these units can be below alpha, and how many would
// do.
func (e *Effect) tooFew(alpha float64) {
	if e.Significant || e.Carries || e.Why != "" || e.Omega2 < LeastExplained || len(e.sizes) == 0 ||
		leastP(e.sizes) <= alpha {
		return
	}
	even, levels := slices.Clone(e.sizes), len(e.sizes)
	for i := range even {
		even[i] = 1
	}
	for i := 0; leastP(even) > alpha; i++ {
		even[i%levels]++
	}
	for i := range even {
		even[i] = slices.Max(even)
	}
	e.Why = fmt.Sprintf("from %s alone it cannot be told from chance; %.0f, with as many of each level, would do", e.Units, even[0]*float64(levels))
}

// GoesWith reports whether a fact seems to explain much, which cannot be tested.
func (e Effect) GoesWith() bool { return e.Why != "" && e.Omega2 >= 0.2 && !e.Derived && !e.Carries }

// passing are facts of which a level does not come again.
var passing = []string{FactDay, FactWeek, frame.FactRun, frame.FactRepetition, frame.FactTrial, frame.FactBlock}
