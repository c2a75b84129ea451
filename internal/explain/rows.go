// Package explain is what the rows of a frame tell: how much each tells that others
// do not, which recorded facts explain the values, whether they fall into bands, and
// how the level goes. Studies that ask of measurements (study.Kind.Takes) put their
// question on top: what is shown of it, in which words, with which verdict.
//
//  1. [New] reads a frame once: [Rows] has its values sorted, its facts, and those of
//     the calendar that follow from its times.
//  2. [Rows.Dependence] comes before the rest: how much the rows are worth decides how
//     wide intervals are ([Rows.Spread]).
//  3. [Rows.Effects] tests each fact over what is independent, and [Rows.Course] looks
//     for changes of the level besides what the facts explain.
//  4. [Rows.Bands], [Rows.Group], [Rows.Decomposition], [Rows.Outliers] and
//     [Rows.Clusters] each tell a part; [Correlate] is about several frames.
//
// The results are parts of the JSON form of studies: a contract. Shares and COVs are
// fractions, means in the unit of the values; null is what cannot be computed. Every
// alarm (bands, a fact that explains, a change, a drift) is raised of pure noise in at
// most [Question.Alpha] of cases.
package explain

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Question is what is asked of rows.
type Question struct {
	Zone  *time.Location // of hours and weekdays
	Level float64        // of intervals
	// Alpha is the error rate of one kind of alarm: bands, facts, changes of the
	// level, a drift.
	Alpha float64
	// Ended is why nothing more needs to be computed, an error; what is under way
	// then stays unfinished. Nil: never.
	Ended func() error
}

// Rows is a frame with what is read of it to explain its values. Its size is
// bounded: some columns as long as the frame, nothing else by row. Its
// methods are called one after the other, but for [Rows.Group], which may be called
// for several facts at once.
type Rows struct {
	Question
	Frame  *frame.Frame
	Sorted []float64 // the values, ascending
	// Constant are facts with one level; Alike those that have a level for nearly
	// each row, by their names. Neither explains anything.
	Constant []Constant
	Alike    []string
	// Doubts are what speaks against the answers so far, those of the frame first.
	Doubts model.Doubts

	order    []int32 // rows in the order of Sorted
	facts    []Fact
	calendar []frame.Fact // those that follow from the times
	// nodeOfRun are the rows of one node in one run; nil: see [nodesOfRuns].
	nodeOfRun *frame.Fact
	inTime    series     // see asSeries
	course    *Course    // see WithinLevels; nil: the level stays
	rests     []float64  // the values less the course; nil: the level stays
	unordered bool       // there are no times, and the values are sorted
	divisions []division // see divide
}

// Constant is a fact that is the same in all rows.
type Constant struct {
	Fact  string `json:"fact"`
	Level string `json:"level"`
}

// Fact is a recorded fact, or one of the calendar, that may explain the values.
type Fact struct {
	frame.Fact
	Derived bool // from the times
	Used    int  // levels that rows have
	Known   int  // rows of which the level is known
}

// New sorts the values and finds the facts. The frame stays as it is.
func New(f *frame.Frame, q Question) *Rows {
	if q.Ended == nil {
		q.Ended = func() error { return nil }
	}
	x := &Rows{Question: q, Frame: f, unordered: unordered(f)}
	for _, d := range f.Doubts {
		x.Doubts.Add(d)
	}
	var many bool
	if x.nodeOfRun, many = nodesOfRuns(f); many {
		x.Doubts.Warn("too_many_levels", "there are more than %d pairs of a node and a run: it was not heeded that rows of one pair may be alike, so that intervals may be too narrow and facts stand out by chance; analyse a part of the time", frame.MostLevels)
	}
	x.Sorted, x.order = stats.SortRows(f.Values)
	bounded := slices.Contains(f.Bounds(), true)
	for _, fact := range f.Facts {
		if fact.Name != frame.FactCensored || !bounded { // it follows from the value
			x.addFact(fact, false)
		}
	}
	x.calendar = calendar(f.Times, q.Zone)
	for _, fact := range x.calendar {
		if f.Fact(fact.Name) == nil { // a column of that name is the user's
			x.addFact(fact, true)
		}
	}
	return x
}

// withValues are the same rows with other values, of which only what depends on the rows is known yet.
func (x *Rows) withValues(values []float64) *Rows {
	y := *x
	y.Frame, y.divisions = &frame.Frame{Values: values, Times: x.Frame.Times, Facts: x.Frame.Facts}, nil
	return &y
}

// addFact keeps a fact that can explain something: it has several levels, and
// several rows of most of them.
func (x *Rows) addFact(fact frame.Fact, derived bool) {
	one := Fact{Fact: fact, Derived: derived}
	last := uint16(0)
	seen := make([]bool, len(fact.Levels))
	for _, c := range fact.Codes {
		if c == 0 {
			continue
		}
		one.Known++
		if !seen[c] {
			seen[c], last = true, c
			one.Used++
		}
	}
	switch {
	case one.Used == 0:
	case one.Used == 1:
		if !derived && one.Known == x.Frame.Len() {
			x.Constant = append(x.Constant, Constant{fact.Name, fact.Levels[last]})
		}
	case 2*one.Used > one.Known:
		x.Alike = append(x.Alike, fact.Name)
	default:
		x.facts = append(x.facts, one)
	}
}

// Distinct reports whether something tells rows apart, so that equal ones are not
// copies of one: different times, or a recorded fact.
func (x *Rows) Distinct() bool {
	if ts := x.Frame.Times; len(ts) > 1 && ts[0] != ts[len(ts)-1] {
		return true
	}
	recorded := func(f Fact) bool { return !f.Derived }
	return len(x.Alike) > 0 || slices.ContainsFunc(x.facts, recorded)
}

// Fact finds a fact by its name; nil where it can explain nothing.
func (x *Rows) Fact(name string) *Fact {
	if i := slices.IndexFunc(x.facts, func(f Fact) bool { return f.Name == name }); i >= 0 {
		return &x.facts[i]
	}
	return nil
}

// Calendar is a fact of the calendar, such as [FactHour]; nil without times.
func (x *Rows) Calendar(name string) *frame.Fact {
	if i := slices.IndexFunc(x.calendar, func(f frame.Fact) bool { return f.Name == name }); i >= 0 {
		return &x.calendar[i]
	}
	return nil
}

// At is the time of a row, from 0, in the zone of the question; nil: not known.
func (x *Rows) At(row int) *time.Time {
	if x.Frame.Times == nil || row < 0 || row >= len(x.Frame.Times) {
		return nil
	}
	t := time.Unix(0, x.Frame.Times[row]).In(x.Zone)
	return &t
}

// FactNames names the facts that may explain something: "node, zone"; "none".
func (x *Rows) FactNames() string {
	var out []string
	for _, f := range x.facts {
		out = append(out, f.Name)
	}
	if len(out) == 0 {
		return "none"
	}
	return num.List(out)
}

// Independent are ascending values, as many values as the rows are worth, evenly by rank, so that
// their distribution is that of all.
func (x *Rows) Independent(effective float64) []float64 {
	n := min(len(x.Sorted), max(1, int(effective)))
	if n == len(x.Sorted) {
		return x.Sorted
	}
	out := make([]float64, n)
	for i := range out {
		out[i] = stats.QuantileSorted(x.Sorted, (float64(i)+0.5)/float64(n))
	}
	return out
}

// InParallel calls f for each index, on all processors, as long as err is nil.
func InParallel(ended func() error, n int, f func(i int)) {
	var wg sync.WaitGroup
	var next atomic.Int64
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && ended() == nil; i = next.Add(1) - 1 {
				f(int(i))
			}
		})
	}
	wg.Wait()
}
