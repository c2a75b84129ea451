package compare

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// searches is a side of capacities about a level, of which the first ones are lower bounds,
// all at the load where the searches ended.
func searches(rng *rand.Rand, name string, level float64, runs, bounds int) study.Source {
	var all []row
	for i := range runs {
		r := row{at: float64(i), value: level * (1 + .01*rng.NormFloat64()),
			facts: map[string]string{frame.FactRun: name + strconv.Itoa(i), frame.FactCensored: "no"}}
		if i < bounds {
			r.value, r.facts[frame.FactCensored] = level, frame.Censored
		}
		all = append(all, r)
	}
	f := table("capacity", all)
	if bounds > 0 {
		f.Doubts = []model.Doubt{{Code: frame.FactCensored, Severity: model.Problem, Text: "at least"}}
	}
	return study.Source{Name: name, Frames: []frame.Frame{f}}
}

// TestCensored: no verdict rests on values that are only lower bounds, one that such bounds
// carry is given, and the threshold heeds that the sides may be further apart.
func TestCensored(t *testing.T) {
	const most = 3 // all values of a side
	for name, c := range map[string]struct {
		b                float64 // A has 100
		boundsA, boundsB int     // of most
		want             Verdict
		gate             error // at 5 %
	}{
		"all known":                          {80, 0, 0, Worse, model.ErrThreshold},
		"lower than what is at least":        {80, most, 0, Worse, model.ErrThreshold},
		"lower than some that are at least":  {80, 1, 0, Worse, model.ErrThreshold},
		"lower, and only a bound":            {80, 0, most, Unknown, model.ErrInvalid},
		"lower, and one is a bound":          {80, 0, 1, Unknown, model.ErrInvalid},
		"a little lower":                     {96, 0, 0, Worse, model.ErrInvalid},
		"a little lower than at least":       {96, most, 0, Worse, model.ErrInvalid},
		"much higher, and at least":          {130, 0, most, Better, nil},
		"higher than what is at least":       {130, most, 0, Unknown, model.ErrInvalid},
		"two bounds, lower":                  {80, 1, 1, Unknown, model.ErrInvalid},
		"two bounds, higher":                 {130, most, most, Unknown, model.ErrInvalid},
		"the same, and at least":             {100, 0, most, Unknown, model.ErrInvalid},
		"the same as what is at least":       {100, most, 0, Unknown, model.ErrInvalid},
		"lower by what the margin leaves":    {99.7, most, 0, Unknown, model.ErrInvalid},
		"lower by so little that it is kept": {97.5, most, 0, Worse, model.ErrInvalid},
	} {
		rng := newRNG(3)
		runs, scale := 6+rng.IntN(8), 1.0
		if c.b > 97 && c.b < 98 {
			runs, scale = 40, .5 // its interval lies below 5 %
		}
		all := func(bounds int) int { return map[bool]int{true: runs, false: bounds}[bounds == most] }
		a := searches(rng, "a", 100, runs, all(c.boundsA))
		b := searches(rng, "b", c.b, runs, all(c.boundsB))
		p, five := New(), study.Percent(5)
		p.FailWorse, p.Margin = &five, study.Percent(2*scale)
		res, err := p.Ask(t.Context(), study.Input{}, []study.Source{a, b})
		if err != nil {
			t.Fatal(err)
		}
		r := res.(*Result)
		got, gate := r.Comparisons[0], r.Gate()
		if got.Verdict != c.want || !errors.Is(gate, c.gate) || (gate == nil) != (c.gate == nil) {
			t.Errorf("%s: %s %v, gate %v; want %s, %v (%v)", name, got.Verdict, got.CI, gate, c.want, c.gate, got.Warnings)
		}
		if want := c.boundsA+c.boundsB > 0; has(got.Doubts, frame.FactCensored) != want {
			t.Errorf("%s: doubts %v, want one of bounds: %t", name, got.Doubts, want)
		}
	}
}
