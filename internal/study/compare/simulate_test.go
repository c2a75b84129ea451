package compare

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
	study "github.com/scalebench/scalebench/internal/study/legacy"
)

// row is one measured value with its facts.
type row struct {
	at    float64 // in seconds; NaN: not known
	value float64
	facts map[string]string
}

// table makes a frame of rows.
func table(metric string, rows []row) frame.Frame {
	f := frame.Frame{Key: frame.Key{Metric: metric}, Unit: "op/s", Better: model.Higher}
	names := map[string]*frame.Column{}
	for _, r := range rows {
		for name := range r.facts {
			if names[name] == nil {
				names[name] = frame.NewFact(name)
			}
		}
	}
	for _, r := range rows {
		f.Values = append(f.Values, r.value)
		if !math.IsNaN(r.at) {
			f.Times = append(f.Times, int64(r.at*1e9))
		}
		for name, c := range names {
			c.Append(r.facts[name])
		}
	}
	for _, c := range names {
		f.Facts = append(f.Facts, c.Fact())
	}
	return f
}

// valuesOf are the values of rows.
func valuesOf(rows []row) (out []float64) {
	for _, r := range rows {
		out = append(out, r.value)
	}
	return out
}

// newRNG is a source of random numbers for one history.
func newRNG(seed int) *rand.Rand { return rand.New(rand.NewPCG(uint64(seed), 1)) }

// world draws both sides; B is greater by this factor.
type world func(rng *rand.Rand, factor float64) (a, b []row)

// plain draws independent rows.
func plain(n, m int, draw func(*rand.Rand) float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		for range n {
			a = append(a, row{at: math.NaN(), value: draw(rng)})
		}
		for range m {
			b = append(b, row{at: math.NaN(), value: factor * draw(rng)})
		}
		return a, b
	}
}

func normal(rng *rand.Rand) float64    { return 100 + 5*rng.NormFloat64() }
func lognormal(rng *rand.Rand) float64 { return 100 * math.Exp(.4*rng.NormFloat64()) }
func bimodal(rng *rand.Rand) float64 {
	if rng.Float64() < .3 {
		return 50 + rng.NormFloat64()
	}
	return 100 + 2*rng.NormFloat64()
}

// series is n values of an AR(1) process a side.
func series(n int, rho float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		one := func(from, factor float64) (out []row) {
			x := rng.NormFloat64()
			for i := range n {
				out = append(out, row{at: from + float64(i), value: factor * 100 * math.Exp(.05*x)})
				x = rho*x + math.Sqrt(1-rho*rho)*rng.NormFloat64()
			}
			return out
		}
		return one(0, 1), one(0, factor)
	}
}

// fleet is nodes with trials: nodes differ by node, trials by trial (all nodes of
// a trial alike), and single values by noise, each as a COV.
func fleet(nodes, trials int, same bool, node, trial, noise float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		level := make([]float64, 2*nodes)
		for i := range level {
			level[i] = math.Exp(node * rng.NormFloat64())
		}
		one := func(from int, run string, factor float64) (out []row) {
			for t := range trials {
				shock := math.Exp(trial * rng.NormFloat64())
				for i := range nodes {
					out = append(out, row{at: float64(t * 60), value: factor * 100 * level[from+i] * shock * math.Exp(noise*rng.NormFloat64()),
						facts: map[string]string{"node": "n" + strconv.Itoa(from+i), "trial": strconv.Itoa(t + 1), "run": run}})
				}
			}
			return out
		}
		second := nodes
		if same {
			second = 0
		}
		return one(0, "1", 1), one(second, "2", factor)
	}
}

// turns is a duet on nodes: blocks share what all have in common at a time.
func turns(nodes, blocks int, block, noise float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		for k := range blocks {
			shock := math.Exp(block * rng.NormFloat64())
			for i := range nodes {
				facts := map[string]string{"node": "n" + strconv.Itoa(i), "block": strconv.Itoa(k + 1), "run": "1", "trial": strconv.Itoa(k + 1)}
				a = append(a, row{at: float64(120 * k), value: 100 * shock * math.Exp(noise*rng.NormFloat64()), facts: facts})
				b = append(b, row{at: float64(120*k + 60), value: factor * 100 * shock * math.Exp(noise*rng.NormFloat64()), facts: facts})
			}
		}
		return a, b
	}
}

// campaigns is runs of four nodes with three trials: runs differ by run, values by noise.
func campaigns(n, m int, run, noise float64) world {
	return func(rng *rand.Rand, factor float64) (a, b []row) {
		one := func(side string, runs int, factor float64) (out []row) {
			for k := range runs {
				level := 100 * factor * math.Exp(run*rng.NormFloat64())
				for i := range 12 {
					out = append(out, row{at: float64(1000*k + 10*(i/4)), value: level * math.Exp(noise*rng.NormFloat64()),
						facts: map[string]string{"node": strconv.Itoa(i % 4), "trial": strconv.Itoa(i / 4), "run": side + strconv.Itoa(k)}})
				}
			}
			return out
		}
		return one("a", n, 1), one("b", m, factor)
	}
}

var worlds = []struct {
	name  string
	draw  world
	means bool
	power float64 // with which a difference of 10 % is found
}{
	{"normal, 10 + 10", plain(10, 10, normal), false, 0.87},
	{"normal, 4 + 4", plain(4, 4, normal), false, 0.57},
	{"normal, 3 + 3", plain(3, 3, normal), false, 0.34},
	{"normal, 5 + 50", plain(5, 50, normal), false, 0.89},
	{"lognormal, 20 + 20", plain(20, 20, lognormal), false, 0.08},
	{"lognormal, 20 + 20, means", plain(20, 20, lognormal), true, 0.09},
	{"lognormal, 3 + 30", plain(3, 30, lognormal), false, 0.04},
	{"bimodal, 15 + 15", plain(15, 15, bimodal), false, 0.67},
	{"bimodal, 30 + 30, means", plain(30, 30, bimodal), true, 0.24},
	{"bimodal, 4 + 4", plain(4, 4, bimodal), false, 0.08},
	{"AR(1) .5, 200 + 200", series(200, .5), false, 1},
	{"AR(1) .8, 300 + 300", series(300, .8), false, 0.97},
	{"AR(1) .9, 300 + 300", series(300, .9), false, 1},
	{"AR(1) .3, 60 + 60", series(60, .3), false, 0.98},
	{"AR(1) .7, 40 + 40", series(40, .7), false, 0.69},
	{"AR(1) .3, 15 + 15", series(15, .3), false, 0.8},
	{"AR(1) .5, 30 + 30, means", series(30, .5), true, 0.88},
	{"8 + 8 nodes x 10 trials", fleet(8, 10, false, .1, .02, .03), false, 0.27},
	{"8 + 8 nodes x 5 trials, trials shared", fleet(8, 5, false, .02, .05, .02), false, 0.64},
	{"4 same nodes x 5 trials", fleet(4, 5, true, .1, .03, .03), false, 0.95},
	{"6 same nodes x 2 trials", fleet(6, 2, true, .2, .01, .01), false, 0.73},
	{"20 other nodes x 2 trials", fleet(20, 2, false, 0, .03, .01), false, 0.22},
	{"6 same nodes x 1 trial", fleet(6, 1, true, .2, .03, .03), false, 0},
	{"duet, 3 nodes x 10 blocks", turns(3, 10, .1, .03), false, 0.98},
	{"2 + 3 runs of 4 nodes x 3 trials", campaigns(2, 3, .03, .01), false, 0.43},
	{"2 + 10 runs of 4 nodes x 3 trials", campaigns(2, 10, .03, .01), false, 0.5},
}

// rates is how many histories are simulated in each world. The table of
// docs/compare.md is that of -rates 4000.
var rates = flag.Int("rates", 200, "how often each world is simulated; more than 1000: prints the table of docs/compare.md")

// asked is the first comparison of what a world draws.
func asked(t *testing.T, p *Params, a, b []row) Comparison {
	t.Helper()
	res, err := p.Ask(t.Context(), study.Input{}, []study.Source{{Name: "A", Frames: []frame.Frame{table("x", a)}}, {Name: "B", Frames: []frame.Frame{table("x", b)}}})
	if err != nil {
		t.Fatal(err)
	}
	return res.(*Result).Comparisons[0]
}

// TestRates: the verdicts better and worse are wrong in at most 5 % of all
// comparisons of equal sides (in the short form: no more than chance makes of 6 %
// in one of a thousand), and a difference of 10 % is found as often as the page
// says.
func TestRates(t *testing.T) {
	total, wrong := 0, 0
	for _, w := range worlds {
		count := func(factor float64) map[Verdict]int {
			out := map[Verdict]int{}
			for seed := range *rates {
				a, b := w.draw(newRNG(seed), factor)
				p := New()
				p.Means, p.Margin = w.means, .0001
				out[asked(t, p, a, b).Verdict]++
			}
			return out
		}
		n := float64(*rates)
		null, alt := count(1), count(1.1)
		falsely := null[Better] + null[Worse]
		total, wrong = total+*rates, wrong+falsely
		if *rates > 1000 {
			fmt.Printf("| %s | %.1f %% | %.0f %% | %.0f %% |\n", w.name, 100*float64(falsely)/n, 100*float64(null[Unknown])/n, 100*float64(alt[Better])/n)
		}
		if limit := .06*n + 3.3*math.Sqrt(.06*.94*n); float64(falsely) > limit {
			t.Errorf("%s: %d of %d equal sides are called different, want at most %.0f", w.name, falsely, *rates, limit)
		}
		if found, least := float64(alt[Better])/n, w.power-.1; found < least {
			t.Errorf("%s: a difference of 10 %% is found in %.0f %% of cases, want %.0f %%", w.name, 100*found, 100*least)
		}
		if alt[Worse] > *rates/100 {
			t.Errorf("%s: a gain of 10 %% is called worse in %d of %d cases", w.name, alt[Worse], *rates)
		}
	}
	if share := float64(wrong) / float64(total); share > .05 {
		t.Errorf("over all worlds %.1f %% of equal sides are called different, want at most 5 %%", 100*share)
	}
}

// TestManyMetrics: of twenty equal metrics any is called different in at most 5 %
// of comparisons; of those called different where five of twenty differ, at most
// 5 % are equal ones.
func TestManyMetrics(t *testing.T) {
	const metrics = 20
	n := *rates
	run := func(seed, differ int) (right, falsely int) {
		rng := rand.New(rand.NewPCG(uint64(seed), 2))
		var a, b study.Source
		for i := range metrics {
			factor := 1.0
			if i < differ {
				factor = 1.15
			}
			as, bs := plain(12, 12, normal)(rng, factor)
			name := strconv.Itoa(i)
			a.Frames, b.Frames = append(a.Frames, table(name, as)), append(b.Frames, table(name, bs))
		}
		res, err := New().Ask(t.Context(), study.Input{}, []study.Source{a, b})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range res.(*Result).Comparisons {
			switch {
			case c.Verdict.different() && i < differ:
				right++
			case c.Verdict.different():
				falsely++
			}
		}
		return right, falsely
	}
	any, right, share := 0, 0, 0.0
	for seed := range n {
		if _, falsely := run(seed, 0); falsely > 0 {
			any++
		}
		r, f := run(seed, 5)
		right += r
		share += float64(f) / float64(max(1, r+f))
	}
	if limit := .05*float64(n) + 3.3*math.Sqrt(.05*.95*float64(n)); float64(any) > limit {
		t.Errorf("of 20 equal metrics any is called different in %d of %d comparisons, want at most %.0f", any, n, limit)
	}
	if got := share / float64(n); got > .06 {
		t.Errorf("of the metrics called different %.1f %% are equal, want at most 5 %%", 100*got)
	}
	if got := float64(right) / float64(5*n); got < .8 {
		t.Errorf("a difference of 15 %% is found in %.0f %% of the metrics that have it, want 80 %%", 100*got)
	}
}

// TestDrift: while everything becomes slower by 30 %, B is 5 % slower than A. Ten
// values of A and then ten of B give an interval that misses the truth; values in
// turns give one that holds it, and is narrower than a quarter of the other. That
// A was measured before B while values drift makes the verdict unknown.
func TestDrift(t *testing.T) {
	n, missed, held, narrow, called := *rates, 0, 0, 0, 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(uint64(seed), 3))
		at := func(k int, factor float64, facts map[string]string) row {
			return row{at: float64(60 * k), value: factor * 100 * math.Exp(-.3*float64(k)/20+.01*rng.NormFloat64()), facts: facts}
		}
		var before, after, first, second []row
		for k := range 10 {
			before, after = append(before, at(k, 1, nil)), append(after, at(10+k, .95, nil))
			block := map[string]string{"block": strconv.Itoa(k + 1), "run": "1", "node": "n1"}
			first, second = append(first, at(2*k+k%2, 1, block)), append(second, at(2*k+1-k%2, .95, block))
		}
		apart, duet := asked(t, New(), before, after), asked(t, New(), first, second)
		_, naive, err := stats.RatioOfIndependentMeans(valuesOf(after), valuesOf(before), .95)
		if err != nil {
			t.Fatal(err)
		}
		if !naive.Contains(.95) {
			missed++
		}
		if apart.Verdict == Unknown {
			called++
		}
		if duet.CI.Contains(.95) && duet.Verdict == Worse {
			held++
		}
		if duet.CI.Hi-duet.CI.Lo < .75*(naive.Hi-naive.Lo) {
			narrow++
		}
	}
	for what, got := range map[string]int{"one after the other misses the truth": missed, "is then unknown": called, "in turns holds it and is worse": held, "in turns is a quarter narrower": narrow} {
		if got < n*9/10 {
			t.Errorf("%s in %d of %d cases, want 9 of 10", what, got, n)
		}
	}
}
