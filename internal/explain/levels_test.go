package explain

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// daily is a value a day of levels about 100, one after the other, each of so many
// days; noise has an SD of 1.
func daily(rng *rand.Rand, days []int, levels []float64) *frame.Frame {
	f := &frame.Frame{Key: frame.Key{Metric: "rate"}}
	month, version := frame.NewFact("month"), frame.NewFact("version")
	at := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
	for k, n := range days {
		for range n {
			f.Values, f.Times = append(f.Values, 100+levels[k]+rng.NormFloat64()), append(f.Times, at.UnixNano())
			month.Append(at.Format("2006-01"))
			version.Append(fmt.Sprint(k))
			at = at.AddDate(0, 0, 1)
		}
	}
	f.Facts = []frame.Fact{month.Fact(), version.Fact()}
	return f
}

// TestLevels: changes are found at their places, what lies between is worth as much as
// it is, and months and weeks explain nothing of what they only carry. A version that
// changes with the level does.
func TestLevels(t *testing.T) {
	skip.IfShort(t)
	falsely := 0
	for name, c := range map[string]struct {
		days   []int
		levels []float64
		least  int // of 6 in which all changes are found, and no other
	}{
		"ten days, five SDs":   {[]int{30, 10, 30, 10, 30}, []float64{0, -5, 0, -5, 0}, 5},
		"two steps in a year":  {[]int{121, 98, 146}, []float64{0, -4, 3}, 5},
		"stairs of ten":        {[]int{10, 10, 10, 10, 10, 10}, []float64{0, 5, 10, 15, 10, 5}, 4},
		"the last five of 65":  {[]int{60, 5}, []float64{0, -4}, 4},
		"to and fro":           {[]int{23, 17, 12, 31}, []float64{0, 6, 0, 6}, 4},
		"a dip of seven of 90": {[]int{40, 7, 43}, []float64{0, -5, 0}, 4},
	} {
		found := 0
		for seed := range uint64(6) {
			rng := rand.New(rand.NewPCG(seed, 7))
			x := New(daily(rng, c.days, c.levels), Question{Zone: time.UTC, Level: .95, Alpha: .0125})
			x.Dependence()
			course := x.Course(x.Effects())
			if !placesAre(course.Changes, c.days) {
				continue
			}
			found++
			d := x.WithinLevels(course)
			if n := float64(x.Frame.Len()); d.EffectiveN < n/3 {
				t.Errorf("%s, seed %d: %v independent values are worth %.1f", name, seed, n, d.EffectiveN)
			}
			for _, p := range course.Parts {
				if *p.EffectiveN < float64(p.N)/3 {
					t.Errorf("%s, seed %d: a part of %d is worth %.1f", name, seed, p.N, *p.EffectiveN)
				}
			}
			falsely += explained(x.Effects())
		}
		if found < c.least {
			t.Errorf("%s: exactly the changes are found in %d of 6, want %d", name, found, c.least)
		}
	}
	if falsely > 2 { // of 36 tables, 1.25 % each
		t.Errorf("the calendar explains something in %d of 36 tables, want at most 2", falsely)
	}
}

// placesAre reports whether changes lie within two days of where they are.
func placesAre(changes []Change, days []int) bool {
	at := 0
	if len(changes) != len(days)-1 {
		return false
	}
	for i, c := range changes {
		if at += days[i]; math.Abs(float64(c.Row-1-at)) > 2 {
			return false
		}
	}
	return true
}

// explained is how many facts of the calendar explain something.
func explained(effects []Effect) (n int) {
	for _, e := range effects {
		if e.Fact != "version" && (e.Significant || e.GoesWith()) {
			n++
		}
	}
	return n
}

// calendarOnly are values of one a day with facts of the calendar as people write them,
// and one whose name says nothing.
func calendarOnly(rng *rand.Rand, days int, level func(day int, at time.Time) float64) *frame.Frame {
	f := &frame.Frame{Key: frame.Key{Metric: "rate"}}
	names := []string{"week number", "month", "month name", "era"}
	columns := make([]*frame.Column, len(names))
	for i, name := range names {
		columns[i] = frame.NewFact(name)
	}
	at := time.Date(2025, 1, 3, 2, 0, 0, 0, time.UTC)
	for day := range days {
		f.Values, f.Times = append(f.Values, 100+level(day, at)+rng.NormFloat64()), append(f.Times, at.UnixNano())
		_, week := at.ISOWeek()
		for i, text := range []string{fmt.Sprint(week), fmt.Sprint(int(at.Month())), at.Month().String(),
			fmt.Sprint((at.YearDay() + 3) % 365 / 20)} {
			columns[i].Append(text)
		}
		at = at.AddDate(0, 0, 1)
	}
	for _, c := range columns {
		f.Facts = append(f.Facts, c.Fact())
	}
	return f
}

// TestCalendarComesAgain: the numbers of weeks and months come again after a year, and
// carry a change of the level all the same. A season of three years is found.
func TestCalendarComesAgain(t *testing.T) {
	skip.IfShort(t)
	ask := func(f *frame.Frame) (*Rows, []Effect) {
		x := New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
		x.Dependence()
		x.WithinLevels(x.Course(x.Effects()))
		return x, x.Effects()
	}
	falsely := 0
	for seed := range uint64(7) {
		rng := rand.New(rand.NewPCG(seed, 11))
		days := []int{366, 380, 420, 460, 600, 700, 900}[seed%7]
		step := (40+rng.IntN(days-80))/20*20 + 4 // within an era
		x, effects := ask(calendarOnly(rng, days, func(day int, _ time.Time) float64 {
			if day < step {
				return 0
			}
			return 8
		}))
		if n := explained(effects); n > 0 {
			falsely++
			t.Logf("%d days, step at %d: %d facts, %+v", days, step, n, effects[0])
		}
		if e, _, ok := x.Unheeded(x.WithinLevels(x.course), effects, nil); ok {
			t.Errorf("%d days, step at %d: rows of one %s are called alike", days, step, e.Fact)
		}
	}
	if falsely > 1 {
		t.Errorf("the calendar explains something in %d of 7 tables, want at most 1", falsely)
	}
	found := 0
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 12))
		_, effects := ask(calendarOnly(rng, 1096, func(_ int, at time.Time) float64 {
			return 2 * math.Sin(2*math.Pi*float64(at.Month())/12)
		}))
		for _, e := range effects {
			if e.Fact == "month" && e.Significant {
				found++
			}
		}
	}
	if found < 3 {
		t.Errorf("a season of three years is found in %d of 3 tables", found)
	}
}

// TestDrifting: a drift makes neighbours alike, too, and values about it are worth as
// much as they are.
func TestDrifting(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 9))
		f := daily(rng, []int{200}, []float64{0})
		for i := range f.Values {
			f.Values[i] += float64(i) / 20
		}
		x := New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
		before := x.Dependence().EffectiveN
		course := x.Course(x.Effects())
		if course.Drift == nil || !course.Drift.Significant {
			t.Errorf("seed %d: a drift of ten SDs is not seen: %+v", seed, course.Changes)
			continue
		}
		if d := x.WithinLevels(course); d.EffectiveN < 60 || before > 30 {
			t.Errorf("seed %d: 200 values about a line are worth %.0f, want 60 or more; with it %.0f", seed,
				d.EffectiveN, before)
		}
	}
}

// TestStepIsNoDrift: a step makes a trend, and what that leaves wanders; the step is told,
// and no doubt of a drift.
func TestStepIsNoDrift(t *testing.T) {
	for name, c := range map[string]struct {
		days   []int
		levels []float64
		times  bool
	}{
		"one step":            {[]int{139, 66}, []float64{0, 4}, true},
		"one step, no times":  {[]int{70, 135}, []float64{0, -4}, false},
		"early":               {[]int{30, 150}, []float64{0, 6}, true},
		"three levels":        {[]int{60, 50, 70}, []float64{0, 5, 9}, true},
		"to and not all back": {[]int{70, 30, 60}, []float64{0, 9, 5}, false},
	} {
		for seed := range uint64(6) {
			f := daily(rand.New(rand.NewPCG(seed, 32)), c.days, c.levels)
			if f.Facts = nil; !c.times {
				f.Times = nil
			}
			x := New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
			x.Dependence()
			course := x.Course(x.Effects())
			if len(course.Changes) == 0 || slices.ContainsFunc(x.Doubts, func(d model.Doubt) bool { return d.Code == "not_told" }) {
				t.Errorf("%s, seed %d: %d changes, %+v", name, seed, len(course.Changes), x.Doubts)
			}
		}
	}
}

// TestStepsBetweenRuns: a step or a drift of the level makes rows of one run, or of one time,
// alike, and these are worth as much as they are all the same. Runs that differ besides are
// not.
func TestStepsBetweenRuns(t *testing.T) {
	for name, c := range map[string]struct {
		runs, rows int
		step       float64 // in SDs of a row, in the middle
		drift      float64 // in SDs, from begin to end
		differ     float64 // SD of the runs
		together   bool    // the rows of a run have one time
		fact       string
		worth      [2]float64 // of each row, in most tables
	}{
		"a step":                  {20, 10, 3, 0, 0, false, "run", [2]float64{.6, 1}},
		"a step of repetitions":   {14, 15, -4, 0, 0, false, "repetition", [2]float64{.6, 1}},
		"a large step":            {30, 5, 12, 0, 0, false, "run", [2]float64{.6, 1}},
		"a drift":                 {30, 6, 0, 6, 0, false, "run", [2]float64{.6, 1}},
		"rows of one time":        {40, 4, 5, 0, 0, true, "core", [2]float64{.6, 1}},
		"rows of one time, drift": {40, 4, 0, 8, 0, true, "core", [2]float64{.6, 1}},
		"runs differ, too":        {40, 5, 9, 0, .8, false, "run", [2]float64{.2, .6}},
	} {
		found, right := 0, 0
		for seed := range uint64(4) {
			rng, tab := rand.New(rand.NewPCG(seed, 21)), simulated.NewTable(c.fact)
			for run := range c.runs {
				level := 100 + c.differ*rng.NormFloat64() + c.drift*float64(run)/float64(c.runs)
				if 2*run >= c.runs {
					level += c.step
				}
				for row := range c.rows {
					at, of := 24*time.Hour*time.Duration(run)+time.Minute*time.Duration(row), fmt.Sprint(run)
					if c.together {
						at, of = 24*time.Hour*time.Duration(run), fmt.Sprint(row)
					}
					tab.At(level+rng.NormFloat64(), int64(at), of)
				}
			}
			f := tab.Frame()
			x := New(&f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
			x.Dependence()
			course := x.Course(x.Effects())
			if !course.Changed() {
				continue
			}
			found++
			d, n := x.WithinLevels(course), float64(f.Len())
			if d.EffectiveN >= c.worth[0]*n && d.EffectiveN <= c.worth[1]*n {
				right++
			}
		}
		if found < 3 || right < found-1 {
			t.Errorf("%s: the change is found in %d of 4 tables, and the rows of %d are worth %v of their number", name,
				found, right, c.worth)
		}
	}
}

// TestNoScatterBetweenChanges: where nothing scatters between the changes, month and week
// explain nothing there either, whatever the rounding of means leaves.
func TestNoScatterBetweenChanges(t *testing.T) {
	for _, levels := range [][]float64{{100, 110}, {100.1, 110.3, 99.7}, {1. / 3, .7, .1}} {
		f := daily(rand.New(rand.NewPCG(1, 1)), []int{59, 62, 61}[:len(levels)], make([]float64, len(levels)))
		for i, at := range f.Times {
			month := time.Unix(0, at).UTC().Month()
			f.Values[i] = levels[min(len(levels)-1, int(month-1)/2)]
		}
		x := New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
		x.Dependence()
		course := x.Course(x.Effects())
		if len(course.Changes) != len(levels)-1 {
			t.Errorf("%v: %d changes, want %d", levels, len(course.Changes), len(levels)-1)
			continue
		}
		x.WithinLevels(course)
		for _, e := range x.Effects() {
			if (e.Fact == "month" || e.Fact == FactWeek) && (e.Omega2 > 0 || e.Significant || !e.Carries && e.Why == "") {
				t.Errorf("%v: %+v, want that %s explains nothing", levels, e, e.Fact)
			}
		}
	}
}

// TestSmallLevel: where the error rate is too small for changes to be looked for, that is said.
func TestSmallLevel(t *testing.T) {
	for alpha, looked := range map[float64]bool{.0125: true, 3e-5: true, 3e-6: false} {
		f := daily(rand.New(rand.NewPCG(1, 1)), []int{40, 40}, []float64{0, 9})
		x := New(f, Question{Zone: time.UTC, Level: .95, Alpha: alpha})
		x.Dependence()
		course := x.Course(x.Effects())
		said := slices.ContainsFunc(x.Doubts, func(d model.Doubt) bool { return d.Code == "small_level" })
		if said == looked || course.Changed() != looked {
			t.Errorf("at %v: changes %+v, doubts %v; want that they are looked for: %t", alpha, course.Changes, x.Doubts, looked)
		}
	}
}

// TestHoursAreNoLevels: where the hours of half a day have levels of their own, these
// are no changes; a pulse that does not heed hours is.
func TestHoursAreNoLevels(t *testing.T) {
	falsely, found := 0, 0
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 19))
		own, at := 1+7*rng.Float64(), 20+rng.IntN(60)
		byHour, pulse := &frame.Frame{}, &frame.Frame{}
		level := 0.0
		for i := range 144 {
			now := time.Date(2026, 1, 1, 6, 5*i, 0, 0, time.UTC).UnixNano()
			if i%12 == 0 {
				level = own * rng.NormFloat64()
			}
			far := 0.0
			if i >= at && i < at+30 {
				far = 8
			}
			byHour.Values, byHour.Times = append(byHour.Values, 100+level+2*rng.NormFloat64()), append(byHour.Times, now)
			pulse.Values, pulse.Times = append(pulse.Values, 100+far+2*rng.NormFloat64()), append(pulse.Times, now)
		}
		course := func(f *frame.Frame) *Course {
			x := New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125})
			return x.Course(x.Effects())
		}
		if course(byHour).Changed() {
			falsely++
		}
		if len(course(pulse).Changes) == 2 {
			found++
		}
	}
	if falsely > 2 || found < 9 {
		t.Errorf("of 12 half days each: %d whose hours differ change, want at most 2; %d pulses are found, want at least 9", falsely, found)
	}
}
