package compare

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// shape draws one value.
type shape func(rng *rand.Rand) float64

// sides draws n rows of each side, of shapes of their own.
func sides(n int, a, b shape) world {
	return func(rng *rand.Rand, factor float64) (as, bs []row) {
		for i := range n {
			facts := map[string]string{"i": strconv.Itoa(i), "node": "n" + strconv.Itoa(i%4),
				"trial": strconv.Itoa(i / 4)}
			as = append(as, row{at: math.NaN(), value: a(rng), facts: facts})
			bs = append(bs, row{at: math.NaN(), value: factor * b(rng), facts: facts})
		}
		return as, bs
	}
}

// bare has rows without facts and times.
func bare(draw world) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		a, b = draw(rng, factor)
		for _, side := range [][]row{a, b} {
			for i := range side {
				side[i].facts, side[i].at = nil, math.NaN()
			}
		}
		return a, b
	}
}

// band draws 100, and another level with some probability, with a COV of .5 %.
func band(share, level float64) shape {
	return func(rng *rand.Rand) float64 {
		x := 100.0
		if rng.Float64() < share {
			x = level
		}
		return x * (1 + .005*rng.NormFloat64())
	}
}

// bell draws normal values about 100 with this COV.
func bell(cov float64) shape {
	return func(rng *rand.Rand) float64 { return 100 * (1 + cov*rng.NormFloat64()) }
}

// tally counts verdicts, exit codes of the gate, and intervals that hold the truth.
type tally struct {
	verdicts                  map[Verdict]int
	passed, missed            int
	held, all, means, allMean int
}

func (y tally) differ() int { return y.verdicts[Better] + y.verdicts[Worse] }

// judged asks n times about what a world draws.
func judged(t *testing.T, n int, draw world, factor, limit float64, set func(*Params)) tally {
	t.Helper()
	out := tally{verdicts: make(map[Verdict]int)}
	for seed := range n {
		a, b := draw(newRNG(seed), factor)
		p, most := New(), study.Percent(limit)
		p.FailWorse = &most
		if set != nil {
			set(p)
		}
		res, err := p.Ask(t.Context(), study.Input{},
			[]study.Source{{Name: "A", Frames: []frame.Frame{table("x", a)}},
				{Name: "B", Frames: []frame.Frame{table("x", b)}}})
		if err != nil {
			t.Fatal(err)
		}
		r := res.(*Result)
		c := r.Comparisons[0]
		out.verdicts[c.Verdict]++
		switch err := r.Gate(); {
		case err == nil:
			out.passed++
		case errors.Is(err, model.ErrThreshold):
			out.missed++
		}
		if c.CI != nil {
			out.all++
			out.held += map[bool]int{true: 1}[c.CI.Contains(factor)]
		}
		if c.MeanRatioCI != nil {
			out.allMean++
			out.means += map[bool]int{true: 1}[c.MeanRatioCI.Contains(factor)]
		}
	}
	if *rates > 1000 {
		fmt.Printf("%s: differ %d, equivalent %d, unknown %d of %d; exit 0 %d, 3 %d; ci %d/%d, means %d/%d\n", t.Name(),
			out.differ(), out.verdicts[Equivalent], out.verdicts[Unknown], n, out.passed, out.missed, out.held, out.all,
			out.means, out.allMean)
	}
	return out
}

// TestEquivalentByEverySummary: sides of which the mean or a percentile differs by more
// than the margin are not equivalent, and pass no gate, although their typical values
// are equal; sides that are equal are, as often as before but for a tenth.
func TestEquivalentByEverySummary(t *testing.T) {
	n := *rates
	pair := func(p *Params) { p.Pair = "i" }
	for name, c := range map[string]struct {
		draw     world
		set      func(*Params)
		pass     float64 // share that passes a gate of 5 %, at most
		from, to float64 // share that is equivalent
	}{
		"10 to 30 % slow, 15":            {bare(sides(15, band(.1, 50), band(.3, 50))), nil, .02, 0, .02},
		"10 to 30 % slow, 30":            {bare(sides(30, band(.1, 50), band(.3, 50))), nil, .005, 0, .005},
		"5 to 25 % slow, 100":            {bare(sides(100, band(.05, 50), band(.25, 50))), nil, .005, 0, .005},
		"10 to 30 % slow, pairs":         {sides(40, band(.1, 50), band(.3, 50)), pair, .005, 0, .005},
		"10 to 30 % slow, nodes, trials": {sides(80, band(.1, 50), band(.3, 50)), nil, .02, 0, .02},
		"30 to 10 % fast":                {bare(sides(40, band(.3, 150), band(.1, 150))), nil, .005, 0, .005},
		".5 to 3 % slow":                 {bare(sides(600, band(.005, 50), band(.03, 50))), nil, .12, 0, .12},
		"twice the scatter":              {bare(sides(120, bell(.02), bell(.04))), nil, .1, 0, .02},
		"equal, COV .5 %":                {bare(sides(10, bell(.005), bell(.005))), nil, 1, .9, 1},
		"equal, COV 1 %":                 {bare(sides(30, bell(.01), bell(.01))), nil, 1, .9, 1},
		"equal, COV 5 %":                 {bare(sides(250, bell(.05), bell(.05))), nil, 1, .85, 1},
		"equal, nodes and trials":        {sides(80, bell(.01), bell(.01)), nil, 1, .9, 1},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(t, n, c.draw, 1, 5, c.set)
			if share := float64(got.passed) / float64(n); share > c.pass {
				t.Errorf("%.1f %% pass the gate, want at most %.1f %%", 100*share, 100*c.pass)
			}
			if share := float64(got.verdicts[Equivalent]) / float64(n); share < c.from || share > c.to {
				t.Errorf("%.1f %% are equivalent, want %.1f to %.1f %%", 100*share, 100*c.from, 100*c.to)
			}
		})
	}
}

// TestScatterThatIsNotTold: sides that scatter differently, of which dependence leaves
// too few values to tell that, are not equivalent.
func TestScatterThatIsNotTold(t *testing.T) {
	for name, scatter := range map[string]func(k int) float64{
		"a noisy end":     func(k int) float64 { return map[bool]float64{true: .08, false: .003}[k >= 42] },
		"noisy all along": func(int) float64 { return .04 },
		"a noisy middle":  func(k int) float64 { return map[bool]float64{true: .1, false: .003}[k/15 == 1] },
	} {
		equivalent, passed := 0, 0
		for seed := range 80 {
			rng := newRNG(seed)
			var sides [2][]float64
			for k := range 60 {
				sides[0] = append(sides[0], 100*(1+.003*rng.NormFloat64()))
				sides[1] = append(sides[1], 100*(1+scatter(k)*rng.NormFloat64()))
			}
			p, five := New(), study.Percent(5)
			p.FailWorse, p.Better = &five, "lower"
			res, err := p.Ask(t.Context(), study.Input{}, []study.Source{
				{Name: "A", Frames: []frame.Frame{table("x", rows(sides[0]...))}},
				{Name: "B", Frames: []frame.Frame{table("x", rows(sides[1]...))}}})
			if err != nil {
				t.Fatal(err)
			}
			if res.(*Result).Comparisons[0].Verdict == Equivalent {
				equivalent++
			}
			if res.(*Result).Gate() == nil {
				passed++
			}
		}
		if equivalent > 0 || passed > 0 {
			t.Errorf("%s: %d of 80 are equivalent, %d pass the gate, want none", name, equivalent, passed)
		}
	}
}

// untold is a fleet of a table: no runs, and no times.
func untold(draw world, trials bool) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		a, b = draw(rng, factor)
		for _, side := range [][]row{a, b} {
			for i := range side {
				side[i].at = math.NaN()
				delete(side[i].facts, "run")
				if !trials {
					delete(side[i].facts, "trial")
				}
			}
		}
		return a, b
	}
}

// TestTrialIsAUnit: what all nodes of a trial have in common is in the interval, with
// two trials of a side; with one there is no answer.
func TestTrialIsAUnit(t *testing.T) {
	n := *rates
	rng := rand.New(rand.NewPCG(5, 5))
	draws := map[string]world{}
	for range 8 {
		nodes, trials, same := 3+rng.IntN(15), 1+rng.IntN(3), rng.IntN(2) == 0
		node, trial, known := .03*rng.Float64(), []float64{0, .01, .03}[rng.IntN(3)], trials == 1 || rng.IntN(3) > 0
		draws[fmt.Sprintf("%d nodes (%.3f) x %d trials (%.2f), same %v, numbered %v", nodes, node, trials, trial, same,
			known)] =
			untold(fleet(nodes, trials, same, node, trial, .01), known)
	}
	draws["5 same nodes x 2 trials"] = untold(fleet(5, 2, true, 0, .03, .01), true)
	draws["20 other nodes x 2 trials"] = untold(fleet(20, 2, false, 0, .03, .01), true)
	draws["5 same nodes x 1 trial"] = untold(fleet(5, 1, true, 0, .01, .01), true)
	draws["5 other nodes x 5 trials"] = untold(fleet(5, 5, false, .03, .03, .01), true)
	draws["2 trials of 20 rows"] = bareNodes(untold(fleet(20, 2, true, 0, .03, .01), true))
	for name, draw := range draws {
		t.Run(name, func(t *testing.T) {
			got := judged(t, n, draw, 1, 1, nil)
			if limit := .05*float64(n) + 3.3*math.Sqrt(.05*.95*float64(n)); float64(got.differ()) > limit ||
				float64(got.missed) > limit/2 {
				t.Errorf("%d of %d equal sides are called different, and %d miss a gate of 1 %%", got.differ(), n,
					got.missed)
			}
			if got.all > n/2 && float64(got.held) < .9*float64(got.all) {
				t.Errorf("%d of %d intervals hold the truth", got.held, got.all)
			}
		})
	}
	if got := judged(t, n, untold(fleet(5, 2, true, 0, .01, .01), true), 1.3, 1, nil); got.differ() < n*9/10 {
		t.Errorf("2 trials with a difference of 30 %%: %d of %d are called different", got.differ(), n)
	}
}

// bareNodes has rows that do not say of which node they are.
func bareNodes(draw world) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		a, b = draw(rng, factor)
		for _, side := range [][]row{a, b} {
			for i := range side {
				delete(side[i].facts, "node")
			}
		}
		return a, b
	}
}

// TestOtherTestsHeedDependence: the interval of the ratio of means beside the one that
// decides holds the truth of series as well; tests for independent values are left out
// where they are none.
func TestOtherTestsHeedDependence(t *testing.T) {
	n := *rates
	for name, draw := range map[string]world{
		"AR(1) .5, 20": bare(series(20, .5)), "AR(1) .5, 50": bare(series(50, .5)),
		"AR(1) .8, 200": bare(series(200, .8)),
		"8 + 8 racks":   units("rack", 8),
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(t, n, draw, 1, 1, nil)
			if least := .94*float64(got.allMean) - 3.3*math.Sqrt(.94*.06*float64(got.allMean)); float64(
				got.means) < least || got.allMean < n*9/10 {
				t.Errorf("%d of %d intervals of the ratio of means hold the truth", got.means, got.allMean)
			}
		})
	}
	a, b := bare(series(20, .9))(newRNG(1), 1)
	c := asked(t, New(), a, b)
	if c.layout.Correlation == 0 || c.T != nil || c.Ranks != nil || c.A12CI != nil || c.ShiftCI != nil {
		t.Errorf("values with the correlation %v have the tests %v %v %v %v", c.layout.Correlation, c.T, c.Ranks,
			c.A12CI, c.ShiftCI)
	}
}

// TestFarApart: what no drift within a side comes to is told, although ten values that
// rise depend on each other; series and random walks of equal truth are not called
// different more often for it.
func TestFarApart(t *testing.T) {
	n := *rates
	warm := func(n int, drift float64) world {
		return func(rng *rand.Rand, factor float64) (a, b []row) {
			for i := range n {
				at := func(f float64) row {
					return row{at: math.NaN(), value: 100 * f * (1 + drift*float64(i)/float64(n)) * (1 +
						.01*rng.NormFloat64())}
				}
				a, b = append(a, at(1)), append(b, at(factor))
			}
			return a, b
		}
	}
	walk := func(rng *rand.Rand, _ float64) (a, b []row) {
		x := 0.0
		for i := range 40 {
			x += .01 * rng.NormFloat64()
			r := row{at: math.NaN(), value: 100 * math.Exp(x)}
			if i < 20 {
				a = append(a, r)
			} else {
				b = append(b, r)
			}
		}
		return a, b
	}
	for name, c := range map[string]struct {
		draw        world
		factor      float64
		least, most float64
	}{
		"ten that rise by 4 %, five times": {warm(10, .04), 5, .99, 1},
		"ten that rise, half":              {warm(10, .04), .5, .99, 1},
		"thirty that rise by 12 %, twice":  {warm(30, .12), 2, .99, 1},
		"they rise alike":                  {warm(10, .04), 1, 0, .01},
		"a random walk goes on":            {walk, 1, 0, .08},
		"AR(1) .95, 15":                    {bare(series(15, .95)), 1, 0, .14},
		"AR(1) .99, 30":                    {bare(series(30, .99)), 1, 0, .14},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(t, n, c.draw, c.factor, 1, nil)
			if share := float64(got.differ()) / float64(n); share < c.least || share > c.most {
				t.Errorf("%.1f %% are called different, want %.0f to %.0f %%", 100*share, 100*c.least, 100*c.most)
			}
		})
	}
	if c := asked(t, New(), rows(10, 10.2, 10.4, 10.6, 10.8, 11, 11.2, 11.4, 11.6, 11.8),
		rows(make([]float64, 10)...)); c.Verdict != Worse {
		t.Errorf("what becomes 0 is %s: %v", c.Verdict, c.Warnings)
	}
}

// rounded has values that a clock or a meter reads in steps.
func rounded(draw world, step float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		a, b = draw(rng, factor)
		for _, side := range [][]row{a, b} {
			for i := range side {
				side[i].value = step * math.Round(side[i].value/step)
			}
		}
		return a, b
	}
}

// reciprocal has rates of what was measured as durations.
func reciprocal(draw world) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		a, b = draw(rng, 1/factor)
		for _, side := range [][]row{a, b} {
			for i := range side {
				side[i].value = 1000 / side[i].value
			}
		}
		return a, b
	}
}

// TestRounding: values that were rounded to steps of their standard deviation tell a
// difference about as well as others; those of twice that are not unknown, and
// intervals hold the truth.
func TestRounding(t *testing.T) {
	n := *rates
	five := func(n int) world { return bare(sides(n, bell(.05), bell(.05))) }
	for name, c := range map[string]struct {
		draw        world
		factor      float64
		least, most float64 // share that is called different
		unknown     float64 // at most
	}{
		"not rounded":             {five(30), 1.05, .9, 1, .01},
		"steps of 2 %":            {rounded(five(30), 2), 1.05, .88, 1, .01},
		"steps of 5 %":            {rounded(five(30), 5), 1.05, .82, 1, .01},
		"steps of 10 %":           {rounded(five(30), 10), 1.05, .56, 1, .01},
		"steps of 5 %, equal":     {rounded(five(30), 5), 1, 0, .05, .01},
		"steps of 10 %, equal":    {rounded(five(30), 10), 1, 0, .05, .01},
		"steps of 7 %, far apart": {rounded(bare(sides(30, bell(.02), bell(.02))), 7), 1.1, .95, 1, .01},
		"reciprocals":             {reciprocal(rounded(bare(sides(30, bell(.12), bell(.12))), 8)), 1.12, .8, 1, .01},
		"reciprocals, equal":      {reciprocal(rounded(bare(sides(30, bell(.12), bell(.12))), 8)), 1, 0, .05, .01},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(t, n, c.draw, c.factor, 1, nil)
			if share := float64(got.differ()) / float64(n); share < c.least || share > c.most {
				t.Errorf("%.1f %% are called different, want %.0f to %.0f %%", 100*share, 100*c.least, 100*c.most)
			}
			if share := float64(got.verdicts[Unknown]) / float64(n); share > c.unknown {
				t.Errorf("%.1f %% are unknown", 100*share)
			}
			if float64(got.held) < .9*float64(got.all) {
				t.Errorf("%d of %d intervals hold the truth", got.held, got.all)
			}
		})
	}
}
