package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/scalebench/scalebench/test/skip"
)

// TestEDPELTAgreesWithRuptures: the changes have the least cost of all, as dynamic
// programming without pruning finds it with the cost written anew.
func TestEDPELTAgreesWithRuptures(t *testing.T) {
	for _, c := range readVariation(t).Changes {
		got := edPELT(c.X, 3*math.Log(float64(len(c.X))), shortestLevel)
		if !slices.Equal(got, c.Changes) {
			t.Errorf("edPELT = %v, want %v", got, c.Changes)
		}
	}
}

// noise has no changes of level.
type noise struct {
	name string
	draw func(*rand.Rand, int) []float64
}

func each(draw func(*rand.Rand) float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = 100 * draw(rng)
		}
		return xs
	}
}

// bands: 30 % of the values at half of the others.
func bands(rng *rand.Rand) float64 {
	x := 1 + .02*rng.NormFloat64()
	if rng.Float64() < .3 {
		x /= 2
	}
	return x
}

// outliers: one value in twenty is anywhere up to ten times the others.
func outliers(rng *rand.Rand) float64 {
	x := normalLevel(rng)
	if rng.Float64() < .05 {
		x *= 10 * rng.Float64()
	}
	return x
}

func dependent(phi float64) func(*rand.Rand, int) []float64 {
	return func(rng *rand.Rand, n int) []float64 {
		xs := autoregressive(rng, phi, n)
		for i := range xs {
			xs[i] = 100 + 10*xs[i]
		}
		return xs
	}
}

func noises() []noise {
	return []noise{
		{"normal", each(normalLevel)},
		{"lognormal", each(lognormalLevel)},
		{"two bands", each(bands)},
		{"outliers", each(outliers)},
		{"AR(1), φ = 0.5", dependent(.5)},
	}
}

// TestChangePointsAlarms: changes in at most 5 % of 200 series without; the table of
// docs/methods.md made anew.
func TestChangePointsAlarms(t *testing.T) {
	skip.UnlessLong(t)
	for _, n := range noises() {
		got := shares(t, "alarm in "+n.name, []int{60, 300}, 200, func(rng *rand.Rand, length int) bool {
			changes, err := ChangePoints(n.draw(rng, length), .05, rng.Uint64())
			if err != nil {
				t.Fatal(err)
			}
			return len(changes) > 0
		})
		if slices.Max(got) > .05 {
			t.Errorf("%s: changes in %v of the series without, want at most .05", n.name, got)
		}
	}
}

// TestChangePointsFound: a step of one SD of the noise is found within 5 % of its
// place, in nine of ten series of 300 independent values; the table of
// docs/methods.md made anew (-run TestChangePointsFound -v -update).
func TestChangePointsFound(t *testing.T) {
	skip.UnlessLong(t)
	for i, n := range noises() {
		got := shares(t, "step in "+n.name, []int{60, 300}, 25, func(rng *rand.Rand, length int) bool {
			xs, at := n.draw(rng, length), length*3/5
			sd, _ := SampleSD(xs)
			for i := at; i < length; i++ {
				xs[i] += sd
			}
			changes, _ := ChangePoints(xs, .05, rng.Uint64())
			return slices.ContainsFunc(changes, func(c Change) bool { return math.Abs(float64(c.Index-at)) <= float64(length)/20 })
		})
		if i < 4 && got[1] < .9 {
			t.Errorf("%s: a step of one SD in 300 values is found in %v of the series, want .9", n.name, got[1])
		}
	}
}

// TestChangesOfMany: each change is found where it is, with the medians, in a series
// long enough to be put together.
func TestChangesOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	xs := dependent(.5)(rng, 120_000)
	for i := range xs {
		switch {
		case i >= 100_000:
			xs[i] += 12
		case i >= 70_000 && i < 72_000:
			xs[i] -= 15
		case i >= 31_234:
			xs[i] += 5
		}
	}
	changes, err := ChangePoints(xs, .05, 1)
	if err != nil || len(changes) != 4 {
		t.Fatalf("%v, %v, want four changes", changes, err)
	}
	for i, want := range []Change{{Index: 31_234, Before: 100, After: 105}, {70_000, 105, 85, 0}, {72_000, 85, 105, 0}, {100_000, 105, 112, 0}} {
		c := changes[i]
		if math.Abs(float64(c.Index-want.Index)) > 150 || math.Abs(c.Before-want.Before) > 2 ||
			math.Abs(c.After-want.After) > 2 || c.P > .01 {
			t.Errorf("change %+v, want %+v", c, want)
		}
	}
}

// TestChangesOfStairs: levels that all fall, or all rise, are found as those that come
// back are: each within two values of its place in nine of ten, and hardly any other.
func TestChangesOfStairs(t *testing.T) {
	for _, levels := range []int{2, 3, 4, 5, 6, 8} {
		for _, least := range []int{10, 20} {
			rng := rand.New(rand.NewPCG(uint64(levels), uint64(least)))
			hits, all, others := 0, 0, 0
			for rep := range 10 {
				var xs []float64
				var cuts []int
				for level := range levels {
					cuts = append(cuts, len(xs))
					for range least + rng.IntN(4) {
						xs = append(xs, float64(100-5*level*(1-2*(rep%2)))+rng.NormFloat64())
					}
				}
				changes, err := ChangePoints(xs, .05, rng.Uint64())
				if err != nil {
					t.Fatal(err)
				}
				near := func(cut int) bool {
					return slices.ContainsFunc(changes, func(c Change) bool { return max(c.Index-cut, cut-c.Index) <= 2 })
				}
				found := len(changes)
				for _, cut := range cuts[1:] {
					if all++; near(cut) {
						hits++
						found--
					}
				}
				others += found
			}
			if 10*hits < 9*all || 20*others > all {
				t.Errorf("%d levels of %d: %d of %d changes found, and %d others", levels, least, hits, all, others)
			}
		}
	}
}

func TestChangePointsRefuse(t *testing.T) {
	_, errFew := ChangePoints([]float64{1, 2, 3}, .05, 1)
	_, errLevel := ChangePoints(make([]float64, 20), 0, 1)
	if !errors.Is(errFew, ErrTooFew) || !errors.Is(errLevel, ErrArgument) {
		t.Errorf("ChangePoints of three values: %v; at level 0: %v; want ErrTooFew, ErrArgument", errFew, errLevel)
	}
	if c, err := ChangePoints(make([]float64, 20), .05, 1); err != nil || len(c) > 0 {
		t.Errorf("ChangePoints of constants = %v, %v, want none", c, err)
	}
	xs := dependent(.5)(rand.New(rand.NewPCG(1, 1)), 200)
	for i := range xs[100:] {
		xs[100+i] += 50
	}
	a, _ := ChangePoints(xs, .05, 3)
	if b, _ := ChangePoints(xs, .05, 3); len(a) == 0 || !slices.Equal(a, b) {
		t.Errorf("the same seed gives %v and %v", a, b)
	}
}

func TestDriftAgrees(t *testing.T) {
	for _, c := range readVariation(t).Drift {
		variance := kendallVariance(c.X)
		slopes, s := pairSlopes(c.T, c.X)
		slices.Sort(slopes)
		median := QuantileSorted(slopes, .5)
		closeTo(t, "slope", median, nil, c.Slope, 1e-12)
		relative(t, "p for independent values", math.Erfc((math.Abs(s)-1)/math.Sqrt(2*variance)), c.Independent, .01) // the oracle takes it as 1 − CDF
		rest := slices.Clone(c.X)
		for i := range rest {
			rest[i] -= median * c.T[i]
		}
		closeTo(t, "factor of Hamed and Rao", hamedRao(ranks(rest)), nil, c.Ratio, 1e-9)
		ratio := dependentTrend(c.T, c.X, median)
		slope, p, err := Drift(c.T, c.X, .95)
		relative(t, "p", p, math.Erfc((math.Abs(s)-1)/math.Sqrt(2*ratio*variance)), 1e-9)
		if err != nil || slope.Lo > c.Interval[0]+1e-3 || slope.Hi < c.Interval[1]-1e-3 || !slope.Contains(median) {
			t.Errorf("Drift = %v, %v, want at least %v, that of independent values", slope, err, c.Interval)
		}
		if ratio == 1 {
			closeTo(t, "lower", slope.Lo, nil, c.Interval[0], 1e-3)
			closeTo(t, "upper", slope.Hi, nil, c.Interval[1], 1e-3)
		}
	}
	_, _, errFlat := Drift(make([]float64, 10), make([]float64, 10), .95)
	_, _, errOrder := Drift([]float64{1, 2, 3, 4, 5, 6, 7, 9, 8, 10}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, .95)
	if !errors.Is(errFlat, ErrNoSpread) || !errors.Is(errOrder, ErrArgument) {
		t.Errorf("Drift of constants: %v, of falling times: %v; want ErrNoSpread, ErrArgument", errFlat, errOrder)
	}
}
