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
)

// fleetOf is the values of 24 nodes in two regions, an hour each: every node has a level of
// its own (5 %), values scatter by 4 %, and all follow a daily cycle of ±10 %. level has
// what happens to a node besides, as a factor.
func fleetOf(rng *rand.Rand, rounds int, better model.Better, level func(node, round int) float64) *frame.Frame {
	f := &frame.Frame{Key: frame.Key{Metric: "capacity"}, Better: better}
	node, region := frame.NewFact(frame.FactSubject), frame.NewFact("region")
	repetition := frame.NewFact(frame.FactRepetition)
	at := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
	own := make([]float64, 24)
	for i := range own {
		own[i] = 1000 * math.Exp(.05*rng.NormFloat64()) * float64(1+i%2)
	}
	for round := range rounds {
		cycle := 1 + .1*math.Sin(2*math.Pi*float64(round)/24)
		for i := range own {
			v := own[i] * cycle * math.Exp(.04*rng.NormFloat64())
			if better == model.Lower {
				v /= level(i, round)
			} else {
				v *= level(i, round)
			}
			f.Values = append(f.Values, v)
			f.Times = append(f.Times, at.Add(time.Duration(round)*time.Hour+time.Duration(i)*time.Minute).UnixNano())
			node.Append(fmt.Sprint("n-", i))
			region.Append([]string{"eu", "us"}[i%2])
			repetition.Append(fmt.Sprint(round + 1))
		}
	}
	f.Facts = []frame.Fact{node.Fact(), region.Fact(), repetition.Fact()}
	return f
}

func poorOf(f *frame.Frame) []Poor {
	return New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125}).Poor()
}

// TestPoor: nodes that fell for good and nodes that always were slow are named, all of them and
// no others; one that recovered is not, nor is any where the whole fleet falls.
func TestPoor(t *testing.T) {
	skip.IfShort(t)
	right := 0
	const fleets = 20
	for seed := range uint64(fleets) {
		rng := rand.New(rand.NewPCG(seed, 2912))
		better := []model.Better{model.Higher, model.Lower}[seed%2]
		drawn := rng.Perm(24)
		fell, dipped, slow := drawn[0], drawn[1], drawn[2]
		from, by := 10+rng.IntN(50), .6+.25*rng.Float64()
		found := poorOf(fleetOf(rng, 72, better, func(node, round int) float64 {
			all := 1.0
			if round >= 50 {
				all = .7
			}
			switch {
			case node == fell && round >= from, node == dipped && round >= 20 && round < 40:
				return all * by
			case node == slow:
				return all * .55
			}
			return all
		}))
		got := make(map[string]Poor)
		for _, p := range found {
			got[p.Node] = p
		}
		a, b := got[fmt.Sprint("n-", fell)], got[fmt.Sprint("n-", slow)]
		begin := time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC).Add(time.Duration(from) * time.Hour)
		if len(got) == 2 && a.Why == PoorFell && b.Why == PoorBelow && b.Peers >= 10 &&
			a.Since.Sub(begin).Abs() < 4*time.Hour {
			right++
		} else {
			t.Logf("fleet %d: node %d fell to %.2f in round %d, %d was slow, %d dipped: %+v", seed, fell, by, from, slow,
				dipped, found)
		}
	}
	if right < 18 {
		t.Errorf("right in %d of %d fleets", right, fleets)
	}
}

// TestNoPoor: of healthy fleets at most one in twenty has a node named.
func TestNoPoor(t *testing.T) {
	skip.IfShort(t)
	const fleets = 100
	named := 0
	for seed := range uint64(fleets) {
		rng := rand.New(rand.NewPCG(seed, 2913))
		wander := make([]float64, 24) // in odd fleets values depend on those before them
		found := poorOf(fleetOf(rng, 48, model.Higher, func(node, _ int) float64 {
			wander[node] = .6*wander[node] + .03*rng.NormFloat64()
			return math.Exp(wander[node] * float64(seed%2))
		}))
		if len(found) > 0 {
			named++
			t.Logf("fleet %d: %+v", seed, found)
		}
	}
	if named > fleets/20 {
		t.Errorf("a node is named in %d of %d healthy fleets", named, fleets)
	}
}

// TestPoorBounds: lower bounds do not make a node poor, nor values without a better side.
func TestPoorBounds(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2914))
	f := fleetOf(rng, 30, model.Higher, func(node, round int) float64 {
		if node == 3 && round >= 15 {
			return .5
		}
		return 1
	})
	if found := poorOf(f); len(found) != 1 || found[0].Node != "n-3" {
		t.Errorf("found %+v, want n-3", found)
	}
	bound := frame.NewFact(frame.FactCensored)
	for i := range f.Values {
		bound.Append(map[bool]string{true: frame.Censored, false: "no"}[i%24 == 3 && i >= 15*24])
	}
	g := *f
	g.Facts = append(slices.Clone(f.Facts), bound.Fact())
	if found := poorOf(&g); len(found) > 0 {
		t.Errorf("of lower bounds found %+v, want none", found)
	}
	f.Better = ""
	if found := poorOf(f); len(found) > 0 {
		t.Errorf("of values with no better side found %+v, want none", found)
	}
}
