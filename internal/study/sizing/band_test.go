package sizing

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
)

// network is a fleet of nodes that think for so long, and take so long at each station.
func network(think float64, services ...float64) fleet {
	f, cycle := fleet{}, think
	for _, d := range services {
		f.stations = append(f.stations, station{resource: "x", service: d})
		cycle += d
	}
	f.rate = 1 / cycle
	return f
}

// rates are X(1) to X(n) by mean value analysis.
func rates(f fleet, n int) []float64 {
	var out []float64
	for _, x := range f.network().Rates() {
		if out = append(out, x); len(out) == n {
			break
		}
	}
	return out
}

// convolved is X(n) of the same network by its normalisation constants, without
// mean values: Buzen 1973, "Computational algorithms for closed queueing networks
// with exponential servers". X(n) = G(n−1)/G(n).
func convolved(n int, think float64, services ...float64) float64 {
	g := make([]float64, n+1)
	g[0] = 1
	for k := 1; k <= n; k++ {
		g[k] = g[k-1] * think / float64(k) // a delay: Z^k/k!
	}
	for _, d := range services {
		for k := 1; k <= n; k++ {
			g[k] += d * g[k-1]
		}
	}
	return g[n-1] / g[n]
}

// repairman is X(n) of one station with exponential times, M/M/1//n, by the
// stationary distribution of how many wait there.
func repairman(n int, think, service float64) float64 {
	sum, term := 1.0, 1.0
	for k := range n {
		term *= float64(n-k) * service / think
		sum += term
	}
	return (1 - 1/sum) / service
}

func TestLowerIsExact(t *testing.T) {
	const balanced = 0.25 // s at each of four stations
	for _, c := range []struct {
		name string
		f    fleet
		want func(n int) float64
	}{
		{"four equal stations", network(0, balanced, balanced, balanced, balanced), func(n int) float64 { return float64(n) / (balanced * float64(n+3)) }},
		{"machine repairman", network(0.8, 0.2), func(n int) float64 { return repairman(n, 0.8, 0.2) }},
		{"two stations", network(0.5, 0.2, 0.3), func(n int) float64 { return convolved(n, 0.5, 0.2, 0.3) }},
		{"three stations", network(2, 0.1, 0.01, 0.4), func(n int) float64 { return convolved(n, 2, 0.1, 0.01, 0.4) }},
		{"nothing shared", fleet{rate: 1.5}, func(n int) float64 { return 1.5 * float64(n) }},
	} {
		for i, got := range rates(c.f, 40) {
			if want := c.want(i + 1); math.Abs(got-want) > 1e-12*want {
				t.Errorf("%s: X(%d) = %v, want %v", c.name, i+1, got, want)
			}
		}
	}
}

// someFleet has up to four stations; of some the jobs take longer than 1/r.
func someFleet(rng *rand.Rand) fleet {
	f := fleet{rate: 0.01 + 10*rng.Float64()}
	for range rng.IntN(5) {
		f.stations = append(f.stations, station{resource: "x", service: rng.ExpFloat64() / (20 * f.rate)})
	}
	return f
}

// TestBandProperties: the lower end does not pass the upper one, grows with the
// fleet, and begins at one node's rate.
func TestBandProperties(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 500 {
		f, before := someFleet(rng), 0.0
		for n, x := range rates(f, 200) {
			b := f.at(n + 1)
			if x > f.upper(n+1)*(1+1e-9) || x < before*(1-1e-12) || b.Lower > b.Upper {
				t.Fatalf("%+v: X(%d) = %v after %v, below at most %v", f, n+1, x, before, f.upper(n+1))
			}
			if math.Abs(b.Lower-x) > 2*rounding*x {
				t.Fatalf("%+v: the band of %d begins at %v, X is %v", f, n+1, b.Lower, x)
			}
			before = x
		}
		if one := f.at(1); f.network().Think > 0 && math.Abs(one.Lower-f.rate) > 1e-9*f.rate {
			t.Errorf("%+v: one node does %v", f, one.Lower)
		}
	}
}

// TestSafe: so many nodes reach the target by the lower end, one less does not.
func TestSafe(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		f := someFleet(rng)
		_, roof := f.bottleneck()
		target := min(1.2*roof, 50*f.rate) * rng.Float64()
		n := f.safe(target, 1)
		switch {
		case target > roof && n != nil:
			t.Errorf("%+v: %d nodes are safe for %v, more than there is", f, *n, target)
		case target <= roof && n == nil:
			t.Errorf("%+v: nothing is safe for %v", f, target)
		case n != nil && len(f.stations) > 0 && (f.at(*n).Lower < target*.99*(1-1e-8) || *n > 1 && f.at(*n-1).Lower >= target*.99):
			t.Errorf("%+v: %d nodes are safe for %v: %v", f, *n, target, f.at(*n))
		}
	}
	if n := (fleet{rate: 2}).safe(39, 20); n == nil || *n != 20 {
		t.Errorf("without limits %v nodes are safe, want the wanted 20", n)
	}
}

// TestLargeFleets: with a tenth of what there is nodes hardly wait, however many.
func TestLargeFleets(t *testing.T) {
	f := network(1, 1e-6)
	if b := f.at(100_000); b.Lower < 0.999*b.Upper {
		t.Errorf("a tenth of what there is: %+v, want nearly no waiting", b)
	}
	if n := f.safe(1e5, 100_000); n == nil || *n > 100_100 {
		t.Errorf("%v nodes are safe for a tenth of what there is", n)
	}
	if n := network(0, .5, .5, .5).safe(1.9999, 1); n == nil || *n >= maxFleet {
		t.Errorf("%v nodes are safe for nearly all there is, want some", n)
	}
}

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
		slow, fast := fleetOf(c.rate, []Resource{x}, Resource.slowest).at(9), fleetOf(c.rate, []Resource{x}, Resource.fastest).at(9)
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
		slow, is, fast := fleetOf(ci[0], xs, Resource.slowest).at(n), fleetOf(2, xs, Resource.asIs).at(n), fleetOf(ci[1], xs, Resource.fastest).at(n)
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
	if want := convolved(nodes, 1/.95-service, service); math.Abs(r.RateCI[0]-want) > 1e-9 {
		t.Errorf("the lower end is %v, want %v", r.RateCI[0], want)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		within := func(lo, hi float64) float64 { return lo + (hi-lo)*rng.Float64() }
		rate, amount, total := within(.95, 1.05), within(.9, 1.1), within(4.5, 5.5)
		f := fleetOf(rate, []Resource{{NodeLimit: &total, Capacity: &total, Demand: amount}}, Resource.asIs)
		if b := f.at(nodes); b.Lower < r.RateCI[0]-1e-9 || b.Upper > r.RateCI[1]+1e-9 {
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
