package stats

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// TestFiellerGolden: 20 nodes, means 100 and 80, SD 5 and 8.
func TestFiellerGolden(t *testing.T) {
	for _, c := range []struct {
		name        string
		correlation float64
		lo, hi      float64 // CDI bounds, percent, to three decimals
	}{
		{"uncorrelated", 0, 15.769, 24.144},
		{"correlation 0.5", .5, 16.757, 23.243},
	} {
		m := Moments{N: 20, MeanDen: 100, MeanNum: 80, VarDen: 25, VarNum: 64, Cov: c.correlation * 5 * 8}
		iv, err := m.Fieller(.95)
		closeTo(t, c.name+": CDI lower bound", 100*(1-iv.Hi), err, c.lo, .0005/c.lo)
		closeTo(t, c.name+": CDI upper bound", 100*(1-iv.Lo), err, c.hi, .0005/c.hi)
	}
}

// TestDegenerate: an input that allows no answer gives the right kind of
// error and never a number.
func TestDegenerate(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	cases := []struct {
		name     string
		num, den []float64
		want     error
	}{
		{"nothing", nil, nil, ErrTooFew},
		{"one pair", []float64{1}, []float64{2}, ErrTooFew},
		{"lengths differ", []float64{1, 2}, []float64{2}, ErrLength},
		{"NaN", []float64{1, nan}, []float64{2, 3}, ErrNotFinite},
		{"infinite", []float64{1, 2}, []float64{2, inf}, ErrNotFinite},
		{"all equal", []float64{8, 8, 8}, []float64{10, 10, 10}, ErrNoSpread},
		{"same ratio", []float64{.8, 1.6, 2.4}, []float64{1, 2, 3}, ErrNoSpread},
		{"both zero", []float64{0, 0, 0}, []float64{0, 0, 0}, ErrZeroMean},
		{"denominator zero on average", []float64{1, 2}, []float64{-3, 3}, ErrZeroMean},
	}
	for _, c := range cases {
		if iv, err := Fieller(c.num, c.den, .95); !errors.Is(err, c.want) {
			t.Errorf("Fieller of %s = %v, %v, want %v", c.name, iv, err, c.want)
		}
		if iv, err := BCa(c.num, c.den, .95, 1000, 1); !errors.Is(err, c.want) {
			t.Errorf("BCa of %s = %v, %v, want %v", c.name, iv, err, c.want)
		}
	}
	for _, level := range []float64{0, 1, -1, 2, nan} {
		if _, err := BCa([]float64{1, 2}, []float64{2, 3}, level, 1000, 1); !errors.Is(err, ErrArgument) {
			t.Errorf("BCa at level %v: %v, want ErrArgument", level, err)
		}
	}
}

func TestScalarsRefuse(t *testing.T) {
	_, errMean := Mean(nil)
	_, errSD := SampleSD([]float64{1})
	_, errPop := PopulationSD(nil)
	_, errDescribe := Describe([]float64{math.NaN()})
	_, errOverflow := Mean([]float64{math.MaxFloat64, math.MaxFloat64})
	_, errT := TQuantile(.975, 0)
	_, errF := FQuantile(.99, 0, 3)
	_, errZ := NormalQuantile(1)
	_, errQ := Quantile([]float64{1}, 1.5)
	for _, c := range []struct {
		name      string
		got, want error
	}{
		{"Mean of nothing", errMean, ErrTooFew},
		{"SampleSD of one", errSD, ErrTooFew},
		{"PopulationSD of nothing", errPop, ErrTooFew},
		{"Describe of NaN", errDescribe, ErrNotFinite},
		{"Mean beyond the range", errOverflow, ErrNotFinite},
		{"TQuantile with no freedom", errT, ErrArgument},
		{"FQuantile with no freedom", errF, ErrArgument},
		{"NormalQuantile of 1", errZ, ErrArgument},
		{"Quantile 1.5", errQ, ErrArgument},
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}

// TestIntervalsScale: the unit of either phase changes the ratio and nothing
// else, however large or small the numbers.
func TestIntervalsScale(t *testing.T) {
	num, den := []float64{41, 38, 44, 40, 39}, []float64{52, 49, 50, 53, 48}
	for _, f := range []float64{1e-150, 1e-9, 1, 1e9, 1e150} {
		scale := func(xs []float64) []float64 {
			out := make([]float64, len(xs))
			for i, x := range xs {
				out[i] = x * f
			}
			return out
		}
		want, err := Fieller(num, den, .95)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Fieller(scale(num), scale(den), .95)
		closeTo(t, "Fieller, both scaled: lower", got.Lo, err, want.Lo, 1e-12)
		got, err = Fieller(scale(num), den, .95)
		closeTo(t, "Fieller, one scaled: upper", got.Hi/f, err, want.Hi, 1e-12)
		wantB, err := BCa(num, den, .95, 500, 3)
		if err != nil {
			t.Fatal(err)
		}
		gotB, err := BCa(scale(num), scale(den), .95, 500, 3)
		closeTo(t, "BCa, both scaled", gotB.Lo, err, wantB.Lo, 1e-12)
	}
}

// TestBCaIsDeterministic: the seed alone decides.
func TestBCaIsDeterministic(t *testing.T) {
	num, den := []float64{41, 38, 44, 40, 39}, []float64{52, 49, 50, 53, 48}
	first, err := BCa(num, den, .95, 1000, 5)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := BCa(num, den, .95, 1000, 5); err != nil || again != first {
		t.Errorf("BCa again = %v, %v, want %v", again, err, first)
	}
	if other, err := BCa(num, den, .95, 1000, 6); err != nil || other == first {
		t.Errorf("BCa with another seed = %v, %v, want another interval", other, err)
	}
}

func TestTwoGroups(t *testing.T) {
	for _, c := range []struct {
		name      string
		xs        []float64
		low, high int
		distinct  bool
	}{
		{"two levels", []float64{1, 2, 1, 2, 1}, 3, 2, true},
		{"fast and slow with scatter", []float64{99, 101, 100, 52, 50, 51, 98, 49}, 4, 4, true},
		{"evenly spread", []float64{1, 2, 3, 4, 5, 6, 7, 8}, 4, 4, false},
		{"one stray value", []float64{10, 10.1, 9.9, 10.2, 9.8, 30}, 4, 2, false},
	} {
		got, err := TwoGroups(c.xs)
		if err != nil || got.Low != c.low || got.High != c.high || got.Distinct != c.distinct {
			t.Errorf("TwoGroups of %s = %+v, %v, want %d and %d, distinct %v", c.name, got, err, c.low, c.high, c.distinct)
		}
	}
	if _, err := TwoGroups([]float64{7, 7, 7, 7}); !errors.Is(err, ErrNoSpread) {
		t.Errorf("TwoGroups of equal values: %v, want ErrNoSpread", err)
	}
	if _, err := TwoGroups([]float64{1, 2, 3}); !errors.Is(err, ErrTooFew) {
		t.Errorf("TwoGroups of three values: %v, want ErrTooFew", err)
	}
}

// TestTwoGroupsFalseAlarms: one normal population is called two groups in
// about one case in two hundred, whatever the number of nodes.
func TestTwoGroupsFalseAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, nodes := range []int{4, 6, 10, 20, 50} {
		const runs = 4000
		alarms := 0
		for range runs {
			xs := make([]float64, nodes)
			for i := range xs {
				xs[i] = 100 + 5*rng.NormFloat64()
			}
			split, err := TwoGroups(xs)
			if err != nil {
				t.Fatal(err)
			}
			if split.Distinct {
				alarms++
			}
		}
		t.Logf("%d nodes: %.2f %% false alarms", nodes, 100*float64(alarms)/runs)
		if share := float64(alarms) / runs; share > .01 {
			t.Errorf("%d nodes of one normal population are called two groups in %.3f of the cases, want at most 0.01",
				nodes, share)
		}
	}
}

// Student's interval of four values against SciPy: t.interval(level, 3, 11,
// sem([8, 10, 11, 15])).
func TestMeanInterval(t *testing.T) {
	for level, want := range map[float64]Interval{
		.95: {6.315565876966801, 15.684434123033199},
		.8:  {8.589305584662737, 13.410694415337263},
	} {
		mean, got, err := MeanInterval([]float64{8, 10, 11, 15}, level)
		if err != nil || mean != 11 || math.Abs(got.Lo-want.Lo) > 1e-6 || math.Abs(got.Hi-want.Hi) > 1e-6 {
			t.Errorf("MeanInterval(level %v) = %v, %v, %v, want 11, %v", level, mean, got, err, want)
		}
	}
	for name, c := range map[string]struct {
		xs   []float64
		want error
	}{"one value": {[]float64{.1}, ErrTooFew}, "no scatter": {[]float64{.1, .1, .1}, ErrNoSpread}} {
		mean, ci, err := MeanInterval(c.xs, .95)
		if b, _ := json.Marshal(ci); !errors.Is(err, c.want) || math.Abs(mean-.1) > 1e-15 || ci.Contains(mean) || string(b) != "null" {
			t.Errorf("%s: %v, %v (%s in JSON), error %v, want 0.1, none, %v", name, mean, ci, b, err, c.want)
		}
	}
	if b, err := json.Marshal(Interval{1, 2.5}); string(b) != "[1,2.5]" {
		t.Errorf("an interval in JSON is %s, %v, want [1,2.5]", b, err)
	}
}
