package sizing

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/observe"
	"github.com/scalebench/scalebench/internal/queueing"
	"github.com/scalebench/scalebench/test/truth/simulated"
)

// somePlan is a question of up to three resources: given and measured, with and
// without intervals, on totals that grow, stay or fall.
func somePlan(rng *rand.Rand) question {
	around := func(v float64) *evaluation.Interval {
		if rng.IntN(2) == 0 {
			return nil
		}
		return &evaluation.Interval{v * (1 - .2*rng.Float64()), v * (1 + .2*rng.Float64())}
	}
	q := question{target: 1 + 20*rng.Float64(), nodeRate: .3 + 5*rng.Float64(), rateGiven: rng.IntN(2) == 0}
	if !q.rateGiven {
		q.nodeRateCI = around(q.nodeRate)
	}
	for _, name := range []string{"x", "y", "z"}[:1+rng.IntN(3)] {
		d := demand{resource: name, amount: .1 + 5*rng.Float64(), unit: "u", source: sourceGiven,
			measured: rng.IntN(4) == 0}
		d.ci = around(d.amount)
		q.demands = append(q.demands, d)
		c := capacity{resource: name, unit: "u", limited: rng.IntN(4) > 0,
			total: d.amount * q.target / q.nodeRate * (.5 + rng.Float64())}
		c.ci = around(c.total)
		if rng.IntN(2) == 0 {
			alone := d.amount * (1 + rng.Float64())
			c.alone = &alone
			most := 0.0
			for _, n := range []int{1, 2, 3, 5, 8} {
				total := min(float64(n)*alone, c.total) * (1 + .05*rng.NormFloat64())
				if n > 4 && rng.IntN(2) == 0 {
					total, c.falls = total/3, true
				}
				most = max(most, total)
				c.sizes, c.nodes = append(c.sizes, sizeTotal{n, total}), n
			}
			if c.falls {
				c.total, c.ci = most, around(most)
			}
		}
		if rng.IntN(8) > 0 {
			q.capacities = append(q.capacities, c)
		}
	}
	return q
}

// TestAnswerWithinItsBand: a plan fails only where no fleet reaches the target by
// the upper end of its own band, and beyond every size that was measured. It fits
// only where some fleet reaches it by the lower end. A gate of exit code 3 is a plan
// that fails.
func TestAnswerWithinItsBand(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 27))
	seen := make(map[Answer]int)
	for range 4000 {
		q := somePlan(rng)
		r, err := q.answer()
		if err != nil {
			t.Fatal(err)
		}
		seen[r.Answer]++
		r.held = true
		if err := r.Gate(); errors.Is(err, model.ErrThreshold) && r.Answer != Fails || err == nil && r.Answer != Fits {
			t.Fatalf("%s with the gate's %v", r.Answer, err)
		}
		if r.Rate == nil {
			continue // not even one node works
		}
		upper := r.Rate.Upper
		if r.RateCI != nil {
			upper = r.RateCI[1]
		}
		fits := r.NodesSafe != nil && (len(r.fleet().Shared) == 0 ||
			r.fleet().Band(*r.NodesSafe).Lower >= r.Target*(1-queueing.Shortfall)*(1-1e-9))
		switch {
		case r.Answer == Fails && (upper >= r.Target || r.NodesSafe != nil):
			t.Fatalf("fails %v/s, but %+v, %v, safe %v", r.Target, *r.Rate, r.RateCI, r.NodesSafe)
		case r.Answer == Fits && !fits:
			t.Fatalf("fits %v/s, but %+v, %v, safe %v", r.Target, *r.Rate, r.RateCI, r.NodesSafe)
		}
		for _, x := range r.Resources {
			for _, s := range x.sizes {
				if x.Answer == Fails && s.total >= x.AtTarget && x.NodeLimit != nil {
					t.Fatalf("%s fails, but %d nodes had %v of %v", x.Resource, s.nodes, s.total, x.AtTarget)
				}
			}
		}
	}
	for _, a := range []Answer{Fits, Fails, Untested} {
		if seen[a] < 200 {
			t.Errorf("%d plans of 4000 are %s: too few to tell", seen[a], a)
		}
	}
}

// TestPlanKeepsToWhatWasMeasured: a size of fleet that had what the target takes
// is an answer.
func TestPlanKeepsToWhatWasMeasured(t *testing.T) {
	collapse := map[int]float64{1: 1, 2: 2, 3: 3, 4: 4, 5: 1.2, 7: 1.2}
	for _, c := range []struct {
		name                 string
		total                func(active []int, solo float64) float64
		trials               int
		target, rate, amount float64
		want                 Answer
		nodes                int // that are safe; 0: none
	}{
		{"collapse, one trial", func(a []int, s float64) float64 {
			return s * collapse[len(a)]
		}, 1, 3.85, .97, 194, Fits, 4},
		{"collapse, three trials", func(a []int, s float64) float64 {
			return s * collapse[len(a)]
		}, 3, 3.85, .97, 194, Fits, 4},
		{"more noise", func(a []int, s float64) float64 {
			return s * (collapse[len(a)] - .06*float64(len(a)%2)*float64(len(a)-1))
		}, 1, 3.85, .97, 194, Fits, 4},
		{"beyond the peak", func(a []int, s float64) float64 {
			return s * collapse[len(a)]
		}, 3, 4.4, .97, 194, Fails, 0},
		{"more nodes than the peak", func(a []int, s float64) float64 {
			return s * collapse[len(a)]
		}, 3, 3.8, .5, 100, Untested, 0},
		{"a limit of 3.4 nodes", simulated.Cap(3.4 * solo), 2, 3.3, 1, 200, Fits, 4},
		{"more than that", simulated.Cap(3.4 * solo), 2, 3.6, 1, 200, Fails, 0},
	} {
		data := simulated.Sweep{Fleet: 7, Trials: c.trials, Sizes: []int{2, 3, 4, 5}, Noise: .003,
			Total: c.total}.Run(rand.New(rand.NewPCG(5, 4))).Data
		r, err := answerOf(question{
			target: c.target, nodeRate: c.rate,
			demands: []demand{{resource: "work/rate", amount: c.amount, unit: "op/s", source: sourceGiven}},
			capacities: capacitiesOf([]evaluation.Finding{one(t, data, quick)}, []evaluation.Scaling{scaled(t, data)},
				observe.Of(data)),
		})
		if err != nil {
			t.Fatal(err)
		}
		safe := 0
		if r.NodesSafe != nil {
			safe = *r.NodesSafe
		}
		if r.Answer != c.want || safe != c.nodes {
			t.Errorf("%s: %s, %d nodes are safe, %q, want %s, %d", c.name, r.Answer, safe, r.lead(), c.want, c.nodes)
		}
		if said := strings.Join(r.Warnings, "\n"); strings.Contains(c.name, "collapse") &&
			!strings.Contains(said, "the sum is largest with 4 nodes") {
			t.Errorf("%s: warnings %q, want the peak among them", c.name, said)
		}
	}
}

// TestFallWithoutVerdict: a total that falls limits a plan also where its verdict is
// unknown: more nodes than were measured are sure of nothing.
func TestFallWithoutVerdict(t *testing.T) {
	alone := 10.
	c := capacity{resource: "x", unit: "u", total: 40, nodes: 4, alone: &alone, falls: true, doubt: "disturbed",
		sizes: []sizeTotal{{1, 10}, {2, 20}, {4, 40}, {7, 12}}}
	for _, k := range []struct {
		rate float64
		want Answer
	}{{9.8, Fits}, {4, Untested}, {6, Untested}} {
		r, err := answerOf(question{target: 38, nodeRate: k.rate,
			demands: []demand{{resource: "x", amount: k.rate, unit: "u"}}, capacities: []capacity{c}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer != k.want {
			t.Errorf("at %v a node: %s, %q, want %s", k.rate, r.Answer, r.lead(), k.want)
		}
	}
}
