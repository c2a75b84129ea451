package explain

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/skip"
)

var fleetEpoch = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)

// fleetOf is the values of 24 nodes, one an hour each: every node has a level of its own,
// values scatter by 4 %. All follow a daily cycle of ±10 % and a drift drawn at random, up to
// ±40 % from begin to end. A quarter of the nodes joins after a third of the time, and one
// value in ten is missing. level has what happens to a node besides, as a factor.
func fleetOf(rng *rand.Rand, rounds int, better model.Better, level func(node, round int) float64) *frame.Frame {
	f := &frame.Frame{Key: frame.Key{Metric: "capacity"}, Better: better}
	node := frame.NewFact(frame.FactSubject)
	own, drift := make([]float64, 24), .8*rng.Float64()-.4
	for i := range own {
		own[i] = 1000 * math.Exp(.3*rng.NormFloat64())
	}
	for round := range rounds {
		course := 1 + .1*math.Sin(2*math.Pi*float64(round)/24) + drift*float64(round)/float64(rounds)
		for i := range own {
			v := course * math.Exp(.04*rng.NormFloat64()) * level(i, round)
			if better == model.Lower {
				v = 1 / v
			}
			if rng.IntN(10) == 0 || i%4 == 0 && round < rounds/3 {
				continue
			}
			f.Values = append(f.Values, own[i]*v)
			f.Times = append(f.Times, fleetEpoch.Add(time.Duration(60*round+2*i+rng.IntN(10))*time.Minute).UnixNano())
			node.Append(fmt.Sprint("n-", i))
		}
	}
	f.Facts = []frame.Fact{node.Fact()}
	return f
}

func poorOf(f *frame.Frame) []Poor {
	return New(f, Question{Zone: time.UTC, Level: .95, Alpha: .0125}).Poor()
}

// TestPoor: nodes that fell for good are named, all of them and no others; one that recovered
// is not, nor one that always was slow, nor any where the whole fleet falls.
func TestPoor(t *testing.T) {
	skip.IfShort(t)
	right := 0
	const fleets = 20
	for seed := range uint64(fleets) {
		rng := rand.New(rand.NewPCG(seed, 2912))
		better := []model.Better{model.Higher, model.Lower}[seed%2]
		drawn := rng.Perm(24)
		fell, dipped, slow := drawn[:2], drawn[2], drawn[3]
		from, by := 36+rng.IntN(26), .6+.25*rng.Float64()
		found := poorOf(fleetOf(rng, 72, better, func(node, round int) float64 {
			all := 1.0
			if round >= 50 {
				all = .7
			}
			switch {
			case slices.Contains(fell, node) && round >= from, node == dipped && round >= 26 && round < 40:
				return all * by
			case node == slow:
				return all * .55
			}
			return all
		}))
		begin, ok := fleetEpoch.Add(time.Duration(from)*time.Hour), len(found) == 2
		want := by - 1
		if better == model.Lower {
			want = 1/by - 1
		}
		for _, p := range found {
			ok = ok && slices.ContainsFunc(fell, func(node int) bool { return p.Node == fmt.Sprint("n-", node) }) &&
				p.Since.Sub(begin).Abs() < 5*time.Hour && math.Abs(p.Relative-want) < .06 &&
				math.Abs(p.Now/p.Expected-1-p.Relative) < 1e-9
		}
		if ok {
			right++
		} else {
			t.Logf("fleet %d: nodes %v fell to %.2f in round %d, %d was slow, %d dipped: %+v", seed, fell, by, from, slow,
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
	const fleets = 200
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
	t.Logf("a node is named in %d of %d healthy fleets", named, fleets)
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
	bound, half := frame.NewFact(frame.FactCensored), fleetEpoch.Add(15*time.Hour).UnixNano()
	for i, at := range f.Times {
		bound.Append(map[bool]string{true: frame.Censored, false: "no"}[f.Facts[0].Level(i) == "n-3" && at >= half])
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

// TestPoorOfKind: a node is not poor if its kind fell with it, or if the others became better.
// One that falls within its kind is.
func TestPoorOfKind(t *testing.T) {
	skip.IfShort(t)
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 2915))
		kind := func(node int) string { return []string{"small", "large"}[node*5/12%2] }
		of := func(change map[string]float64, alone float64) []Poor {
			f := fleetOf(rng, 40, model.Higher, func(node, round int) float64 {
				switch {
				case round < 20:
					return 1
				case node == 3:
					return alone * cmp.Or(change[kind(node)], 1)
				}
				return cmp.Or(change[kind(node)], 1)
			})
			kinds := frame.NewFact("type")
			for row := range f.Values {
				node, _ := strconv.Atoi(strings.TrimPrefix(f.Facts[0].Level(row), "n-"))
				kinds.Append(kind(node))
			}
			f.Facts = append(f.Facts, kinds.Fact())
			return poorOf(f)
		}
		for _, change := range []map[string]float64{{"small": .8}, {"small": 1.25}, {"large": .7, "small": .9}} {
			if found := of(change, 1); len(found) > 0 {
				t.Errorf("seed %d, %v: found %+v, want none", seed, change, found)
			}
			if found := of(change, .6); len(found) != 1 || found[0].Node != "n-3" {
				t.Errorf("seed %d, %v: found %+v, want n-3", seed, change, found)
			}
		}
	}
}
