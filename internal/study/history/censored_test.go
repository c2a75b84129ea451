package history

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// searches is a history of capacities of one search a day; those of which the bound
// alone is known are at least what they are.
func searches(days int, value func(day int) float64, bound func(day int) bool) frame.Frame {
	rng := rand.New(rand.NewPCG(4, 4))
	f := frame.Frame{Key: frame.Key{Metric: "capacity", Phase: model.Search}, Unit: "op/s", Better: model.Higher}
	run, censored := frame.NewFact(frame.FactRun), frame.NewFact(frame.FactCensored)
	for day := range days {
		v := value(day) * (1 + .01*rng.NormFloat64())
		f.Values, f.Times = append(f.Values, v), append(f.Times, begin.AddDate(0, 0, day).UnixNano())
		run.Append(begin.AddDate(0, 0, day).Format("01J20060102000000000000000"))
		if bound(day) {
			censored.Append(frame.Censored)
			f.Ends = append(f.Ends, [2]float64{})
			f.Doubts = append(f.Doubts, model.Doubt{Code: frame.FactCensored, Severity: model.Problem,
				Text: "at least"})
		} else {
			censored.Append("no")
			f.Ends = append(f.Ends, [2]float64{.9 * v, 1.2 * v})
		}
	}
	f.Facts = []frame.Fact{run.Fact(), censored.Fact()}
	return f
}

// TestBoundGate: a run that is a little worse than lower bounds may be much worse than what
// they bound: the threshold is not kept for sure.
func TestBoundGate(t *testing.T) {
	for name, c := range map[string]struct {
		level float64 // of the latest; those before have 100
		bound func(day int) bool
		gate  error
	}{
		"known":              {96, func(int) bool { return false }, nil},
		"below bounds":       {96, func(day int) bool { return day < 19 }, model.ErrInvalid},
		"below one bound":    {96, func(day int) bool { return day == 3 }, model.ErrInvalid},
		"far below bounds":   {70, func(day int) bool { return day < 19 }, model.ErrThreshold},
		"above, and a bound": {130, func(day int) bool { return day == 19 }, nil},
	} {
		ten, p := study.Percent(10), params()
		p.FailWorse = &ten
		r := ask(t, p, searches(20, func(day int) float64 { return map[bool]float64{true: c.level, false: 100}[day == 19] }, c.bound))
		if err := r.Gate(); !errors.Is(err, c.gate) || (err == nil) != (c.gate == nil) {
			t.Errorf("%s: %s %v, gate %v, want %v", name, r.Metrics[0].Latest.Verdict, r.Metrics[0].Latest.CI, err, c.gate)
		}
	}
}

// TestCensored: no verdict and no change rests on a value that is only a lower bound,
// and one that such a bound carries is given.
func TestCensored(t *testing.T) {
	const days = 20
	last := func(day int) bool { return day == days-1 }
	before := func(day int) bool { return day < days-1 }
	all := func(int) bool { return true }
	none := func(int) bool { return false }
	to := func(from int, level float64) func(int) float64 {
		return func(day int) float64 { return map[bool]float64{true: level, false: 100}[day >= from] }
	}
	for name, c := range map[string]struct {
		value   func(int) float64
		bound   func(int) bool
		want    Verdict
		changes int
	}{
		"all known":                         {to(days-1, 80), none, Worse, 0},
		"lower, and only a bound":           {to(days-1, 80), last, Unknown, 0},
		"higher, and at least":              {to(days-1, 130), last, Better, 0},
		"lower than what is at least":       {to(days-1, 80), before, Worse, 0},
		"higher than what is at least":      {to(days-1, 130), before, Unknown, 0},
		"two bounds":                        {to(days-1, 130), all, Unknown, 0},
		"as before, and at least":           {to(days, 0), last, Unknown, 0},
		"a level of bounds that is lower":   {to(10, 80), func(day int) bool { return day >= 10 }, Unknown, 0},
		"a level of bounds that is higher":  {to(10, 140), func(day int) bool { return day >= 10 }, Unknown, 1},
		"a lower level that is known":       {to(10, 80), func(day int) bool { return day < 10 }, As, 1},
		"a level below bounds, one of them": {to(10, 80), func(day int) bool { return day == 12 }, Unknown, 1},
	} {
		zero, p := study.Percent(0), params()
		p.FailWorse = &zero
		r := ask(t, p, searches(days, c.value, c.bound))
		m := r.Metrics[0]
		if m.Latest.Verdict != c.want || len(m.Changes) != c.changes {
			t.Errorf("%s: %s with %d changes, want %s with %d (%v)", name, m.Latest.Verdict, len(m.Changes), c.want,
				c.changes, m.Warnings)
		}
		if c.want == Unknown && !errors.Is(r.Gate(), model.ErrInvalid) {
			t.Errorf("%s: gate %v", name, r.Gate())
		}
		for i, run := range m.Runs {
			if run.AtLeast != c.bound(i) || (run.CI == nil) != c.bound(i) || run.CI != nil && run.CI.Lo != .9*run.Mean {
				t.Errorf("%s: run %d is %+v, want the search's own interval, or a bound", name, i, run)
			}
		}
		rows := r.Document().Sections[0].Blocks
		if text := fmt.Sprint(rows[len(rows)-1].Table.Rows[days-1].Cells[2]); strings.Contains(text,
			"≥ ") != c.bound(days-1) {
			t.Errorf("%s: the latest is shown as %q", name, text)
		}
	}
}
