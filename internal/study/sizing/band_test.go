package sizing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/queueing"
)

// TestBandWithoutSense: nothing that an interval may reach down to makes a NaN or
// an endless loop.
func TestBandWithoutSense(t *testing.T) {
	limit := 1.
	x := Resource{Resource: "x", Demand: 1, Capacity: ptr(10.), NodeLimit: &limit}
	for name, c := range map[string]struct {
		rate             float64
		demand, capacity *evaluation.Interval
	}{
		"no rate": {0, nil, nil}, "no capacity": {1, nil, &evaluation.Interval{0, 20}}, "no demand": {1, &evaluation.Interval{0, 2}, nil},
	} {
		x.DemandCI, x.CapacityCI = c.demand, c.capacity
		slow := fleetOf(c.rate, 1, []Resource{x}, Resource.slowest).Band(9)
		fast := fleetOf(c.rate, 1, []Resource{x}, Resource.fastest).Band(9)
		for _, v := range []float64{slow.Lower, slow.Upper, fast.Lower, fast.Upper} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s: %+v and %+v", name, slow, fast)
			}
		}
		if slow.Lower > fast.Upper || slow.Upper > fast.Upper {
			t.Errorf("%s: the slowest %+v passes the fastest %+v", name, slow, fast)
		}
	}
}

// TestWorstEnds: intervals widen the band on both sides.
func TestWorstEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	around := func(v float64) *evaluation.Interval {
		return &evaluation.Interval{v * (1 - .3*rng.Float64()), v * (1 + .3*rng.Float64())}
	}
	for range 300 {
		var xs []Resource
		for range 1 + rng.IntN(3) {
			d, c, at := 1+rng.Float64(), 5+20*rng.Float64(), 1.
			xs = append(xs, Resource{Resource: "x", Demand: d, DemandCI: around(d), Capacity: &c, CapacityCI: around(c), NodeLimit: &at})
		}
		ci, n := around(2), 1+rng.IntN(30)
		slow, fast := fleetOf(ci[0], 1, xs, Resource.slowest).Band(n), fleetOf(ci[1], 1, xs, Resource.fastest).Band(n)
		is := fleetOf(2, 1, xs, Resource.asIs).Band(n)
		if slow.Lower > is.Lower*(1+1e-9) || is.Lower > fast.Lower*(1+1e-9) || slow.Upper > is.Upper*(1+1e-9) || is.Upper > fast.Upper*(1+1e-9) {
			t.Fatalf("%d nodes: %+v, %+v, %+v", n, slow, is, fast)
		}
	}
}

// TestNodesWait: what the fleet does at least stands beside the answer.
func TestNodesWait(t *testing.T) {
	for _, c := range []struct {
		name    string
		target  float64
		limit   float64 // jobs/s; 0: none is known
		answer  Answer
		safe    int // 0: none
		warning string
	}{
		{"far below", 4, 1000, Fits, 4, ""},
		{"near", 8, 10, Fits, 10, "because nodes wait for each other at x; 10 nodes do it by that bound"},
		{"at", 10, 10, Fits, 17, "because nodes wait for each other at x; 17 nodes do it by that bound"},
		{"beyond", 12, 10, Fails, 0, ""},
		{"no limit", 12, 0, Untested, 12, ""},
	} {
		q := question{target: c.target, nodeRate: 1, demands: []demand{{resource: "x", amount: 1, unit: "u"}}}
		if c.limit > 0 {
			q.capacities = []capacity{{resource: "x", total: c.limit, unit: "u", limited: true}}
		}
		r, err := q.answer()
		if err != nil {
			t.Fatal(err)
		}
		safe := 0
		if r.NodesSafe != nil {
			safe = *r.NodesSafe
		}
		if r.Answer != c.answer || safe != c.safe || r.Rate == nil || r.Rate.Nodes != r.Nodes {
			t.Errorf("%s: %s, %d nodes are safe, %+v, want %s, %d", c.name, r.Answer, safe, r.Rate, c.answer, c.safe)
		}
		if got := strings.Join(r.Warnings, "\n"); !strings.Contains(got, c.warning) || c.warning == "" && got != "" {
			t.Errorf("%s: warnings %q, want %q", c.name, r.Warnings, c.warning)
		}
	}
	alone := .5
	r, err := question{target: 2, nodeRate: 1, demands: []demand{{resource: "x", amount: 1, unit: "u"}}, capacities: []capacity{{resource: "x", total: 9, unit: "u", alone: &alone}}}.answer()
	if err != nil || r.Rate != nil || r.NodesSafe != nil {
		t.Errorf("not even one node works: %+v, %v, want no band", r, err)
	}
}

// TestRateInterval: what a fleet does lies between the rates that it has at the
// ends of the intervals, whichever figures within them are the right ones.
func TestRateInterval(t *testing.T) {
	const nodes = 6
	ask := func(rate, amount, total float64, ci bool) *Result {
		t.Helper()
		q := question{
			target: nodes, nodeRate: rate, demands: []demand{{resource: "x", amount: amount, unit: "u"}},
			capacities: []capacity{{resource: "x", total: total, unit: "u", limited: true, nodes: 4}},
		}
		if ci {
			q.nodeRateCI = &evaluation.Interval{.95, 1.05}
			q.demands[0].ci, q.capacities[0].ci = &evaluation.Interval{.9, 1.1}, &evaluation.Interval{4.5, 5.5}
		}
		r, err := q.answer()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := ask(1, 1, 5, false); r.RateCI != nil || strings.Contains(r.rateWords(), "intervals") {
		t.Errorf("without intervals: %v, %s; want none", r.RateCI, r.rateWords())
	}
	r := ask(1, 1, 5, true)
	if r.RateCI == nil || !(r.RateCI[0] < r.Rate.Lower && r.Rate.Upper < r.RateCI[1]) {
		t.Fatalf("RateCI = %v, want it around the band %+v", r.RateCI, *r.Rate)
	}
	if want := "; " + span(r.RateCI[0], r.RateCI[1]) + " by the 95 % intervals of what was measured."; !strings.HasSuffix(r.rateWords(), want) {
		t.Errorf("the answer says %q, want at its end %q", r.rateWords(), want)
	}
	// One station: N customers at most use it up, at 5.5/0.9 times the rate of a node.
	if want := min(nodes*1.05, 1.05*5.5/.9); math.Abs(r.RateCI[1]-want) > 1e-9 {
		t.Errorf("the upper end is %v, want %v", r.RateCI[1], want)
	}
	// Wait for a job in the slowest network: 1/0.95 s in all, 1.1/(0.95·4.5) of it at the station.
	service := 1.1 / (.95 * 4.5)
	slow := queueing.Closed{Stations: []queueing.Station{{Demand: service, Servers: 1}}, Think: 1/.95 - service}
	if want, err := slow.Solve(nodes); err != nil || math.Abs(r.RateCI[0]-want[nodes-1]) > 1e-9 {
		t.Errorf("the lower end is %v, want %v, %v", r.RateCI[0], want, err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		within := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
		rate, amount, total := within(.95, 1.05), within(.9, 1.1), within(4.5, 5.5)
		f := fleetOf(rate, 1, []Resource{{NodeLimit: &total, Capacity: &total, Demand: amount}}, Resource.asIs)
		if b := f.Band(nodes); b.Lower < r.RateCI[0]-1e-9 || b.Upper > r.RateCI[1]+1e-9 {
			t.Fatalf("rate %v, demand %v, capacity %v: %+v lies outside of %v", rate, amount, total, b, *r.RateCI)
		}
	}
}

// TestOneNodeWasMeasured: a single node that did its rate alone, while its demand
// was measured, fits, whatever is known of capacities; more nodes do not, nor does
// a rate that was given.
func TestOneNodeWasMeasured(t *testing.T) {
	for _, c := range []struct {
		name   string
		target float64
		q      question
		want   Answer
	}{
		{"one node", .9, question{}, Fits},
		{"two nodes", 1.1, question{}, Untested},
		{"by the interval of its rate perhaps two", .9, question{nodeRateCI: &evaluation.Interval{.8, 1.2}}, Untested},
		{"at a rate that was given", .9, question{rateGiven: true}, Untested},
	} {
		c.q.target, c.q.nodeRate, c.q.demands = c.target, 1, []demand{{resource: "x", amount: 1, unit: "u", measured: true}}
		r, err := c.q.answer()
		if err != nil {
			t.Fatal(err)
		}
		if r.Answer != c.want || strings.Contains(r.lead(), "more than was measured") == (c.want == Fits) {
			t.Errorf("%s: %s, %q, want %s", c.name, r.Answer, r.lead(), c.want)
		}
		if said := strings.HasSuffix(r.Resources[0].Text, oneNodeDid); said != (c.want == Fits) {
			t.Errorf("%s: %q", c.name, r.Resources[0].Text)
		}
	}
}
