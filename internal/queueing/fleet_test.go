package queueing

import (
	"math"
	"math/rand/v2"
	"testing"
)

// network is a fleet of nodes that think for so long, and take so long at each station.
func network(think float64, services ...float64) Fleet {
	f, cycle := Fleet{}, think
	for _, d := range services {
		f.Shared = append(f.Shared, Shared{Name: "x", Service: d})
		cycle += d
	}
	f.Rate = 1 / cycle
	return f
}

// rates are X(1) to X(n) by mean value analysis.
func rates(f Fleet, n int) []float64 {
	var out []float64
	for _, x := range f.Rates() {
		if out = append(out, x); len(out) == n {
			break
		}
	}
	return out
}

func TestFleetIsExact(t *testing.T) {
	const balanced = 0.25 // s at each of four stations
	for _, c := range []struct {
		name string
		f    Fleet
		want func(n int) float64
	}{
		{"four equal stations", network(0, balanced, balanced, balanced, balanced), func(n int) float64 { return float64(n) / (balanced * float64(n+3)) }},
		{"machine repairman", network(0.8, 0.2), func(n int) float64 { return machines(n, 1, 0.2, 0.8) }},
		{"nothing shared", Fleet{Rate: 1.5}, func(n int) float64 { return 1.5 * float64(n) }},
	} {
		for i, got := range rates(c.f, 40) {
			if want := c.want(i + 1); math.Abs(got-want) > 1e-12*want {
				t.Errorf("%s: X(%d) = %v, want %v", c.name, i+1, got, want)
			}
		}
	}
}

// someFleet has up to four stations; of some the jobs take longer than 1/r.
func someFleet(rng *rand.Rand) Fleet {
	f := Fleet{Rate: 0.01 + 10*rng.Float64()}
	for range rng.IntN(5) {
		f.Shared = append(f.Shared, Shared{Name: "x", Service: rng.ExpFloat64() / (20 * f.Rate)})
	}
	return f
}

// TestFleetBand: the lower end does not pass the upper one, grows with the
// fleet, and begins at one node's rate.
func TestFleetBand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 4))
	for range 500 {
		f, before := someFleet(rng), 0.0
		for n, x := range rates(f, 200) {
			b := f.Band(n + 1)
			if x > f.Upper(n+1)*(1+1e-9) || x < before*(1-1e-12) || b.Lower > b.Upper {
				t.Fatalf("%+v: X(%d) = %v after %v, below at most %v", f, n+1, x, before, f.Upper(n+1))
			}
			if math.Abs(b.Lower-x) > 2*rounding*x {
				t.Fatalf("%+v: the band of %d begins at %v, X is %v", f, n+1, b.Lower, x)
			}
			before = x
		}
		if one := f.Band(1); f.Network().Think > 0 && math.Abs(one.Lower-f.Rate) > 1e-9*f.Rate {
			t.Errorf("%+v: one node does %v", f, one.Lower)
		}
	}
}

// TestFleetSafe: so many nodes reach the target by the lower end, one less does not.
func TestFleetSafe(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		f := someFleet(rng)
		_, roof := f.Bottleneck()
		target := min(1.2*roof, 50*f.Rate) * rng.Float64()
		n := f.Safe(target, 1)
		switch {
		case target > roof && n != nil:
			t.Errorf("%+v: %d nodes are safe for %v, more than there is", f, *n, target)
		case target <= roof && n == nil:
			t.Errorf("%+v: nothing is safe for %v", f, target)
		case n != nil && len(f.Shared) > 0 &&
			(f.Band(*n).Lower < target*(1-Shortfall)*(1-1e-8) || *n > 1 && f.Band(*n-1).Lower >= target*(1-Shortfall)):
			t.Errorf("%+v: %d nodes are safe for %v: %v", f, *n, target, f.Band(*n))
		}
	}
	if n := (Fleet{Rate: 2}).Safe(39, 20); n == nil || *n != 20 {
		t.Errorf("without limits %v nodes are safe, want the wanted 20", n)
	}
}

// TestLargeFleets: with a tenth of what there is nodes hardly wait, however many.
func TestLargeFleets(t *testing.T) {
	f := network(1, 1e-6)
	if b := f.Band(100_000); b.Lower < 0.999*b.Upper {
		t.Errorf("a tenth of what there is: %+v, want nearly no waiting", b)
	}
	if n := f.Safe(1e5, 100_000); n == nil || *n > 100_100 {
		t.Errorf("%v nodes are safe for a tenth of what there is", n)
	}
	if n := network(0, .5, .5, .5).Safe(1.9999, 1); n == nil || *n >= MostUsers {
		t.Errorf("%v nodes are safe for nearly all there is, want some", n)
	}
}

// TestFleetSlots: one node does its rate, however many slots it has; more customers wait for
// each other more, so that the fleet with more slots has less past that, and never more
// than there is. A fleet with slots that meet nobody else grows in proportion.
func TestFleetSlots(t *testing.T) {
	for _, slots := range []int{1, 2, 8} {
		f := network(.5, .2, .05)
		f.Slots, f.Rate = slots, min(3, float64(slots)*f.Rate/2)
		if one := f.Band(1).Lower; !near(one, f.Upper(1), 1e-9) {
			t.Errorf("%d slots: one node does %v, want %v", slots, one, f.Upper(1))
		}
		if all := f.Band(60).Lower; !near(all, 5, 1e-3) || all > 5 {
			t.Errorf("%d slots: 60 nodes do %v, want nearly the 5 that the station has", slots, all)
		}
	}
	// Rates that the station cannot serve: it is always busy, and no think time is left.
	for _, rate := range []float64{9, 4.1} {
		if got := (Fleet{Rate: rate, Slots: 2, Shared: []Shared{{Service: .25}}}).Least(2); !near(got, 4, 1e-9) {
			t.Errorf("a station that is always busy does %v, want 4", got)
		}
	}
	f := Fleet{Rate: 8, Slots: 4, Shared: []Shared{{Service: 1e-9}}}
	if got := f.Least(100); !near(got, 800, 1e-3) {
		t.Errorf("nobody waits: %v, want 800", got)
	}
}

// TestFleetEnds: the figures lie within what the ends of their intervals give, which a hand
// can compute at both ends: few nodes, and more than there is work for.
func TestFleetEnds(t *testing.T) {
	e := NewEnds(Range{2, 1.9, 2.1}, 1, Limit{"link", Range{.74, .7, .8}, Range{4, 3.8, 4.1}})
	for n := range 20 {
		b, i := e.Band(n+1), e.Interval(n+1)
		if i.Lower > b.Lower || b.Lower > b.Upper || b.Upper > i.Upper {
			t.Errorf("%d nodes: %+v within %+v", n+1, b, i)
		}
	}
	if i := e.Interval(1); !near(i.Lower, 1.9, 1e-9) || !near(i.Upper, 2.1, 1e-9) {
		t.Errorf("one node: %+v, want 1.9 to 2.1", i)
	}
	if i := e.Interval(500); !near(i.Lower, 3.8/.8, 1e-3) || !near(i.Upper, 4.1/.7, 1e-9) {
		t.Errorf("500 nodes: %+v, want 4.75 to 5.857", i)
	}
	if name, roof := e.Bottleneck(); name != "link" || !near(roof, 4/.74, 1e-12) {
		t.Errorf("the bottleneck is %s at %v", name, roof)
	}
}
