package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
)

// twoSamples is a case of testdata/samples.json: two samples and what others
// say of them.
type twoSamples struct {
	X, Y, D       []float64
	Level         float64
	T, Degrees, P float64
	U, W, A12, SE float64
	Shift, Ratio  float64
	CI            [2]float64
}

// samples is testdata/samples.json, made by testdata/samples.py.
type samples struct {
	Paper            twoSamples
	Welch            []twoSamples
	MannWhitneyAuto  []twoSamples `json:"mann_whitney_auto"`
	BrunnerMunzel    []twoSamples `json:"brunner_munzel"`
	Shift            []twoSamples
	IndependentRatio []twoSamples `json:"independent_ratio"`
	SignedRank       []twoSamples `json:"signed_rank"`
	Pseudomedian     []twoSamples
	PairedT          []twoSamples `json:"paired_t"`
	Multiple         []struct{ P, BH, Holm []float64 }
}

func readSamples(t *testing.T) samples {
	t.Helper()
	data, err := os.ReadFile("testdata/samples.json")
	if err != nil {
		t.Fatal(err)
	}
	var s samples
	if err := json.Unmarshal(data, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

// cases fails the test if there are none: then it would test nothing.
func cases[C any](t *testing.T, cs []C) []C {
	t.Helper()
	if len(cs) == 0 {
		t.Fatal("testdata/samples.json is incomplete")
	}
	return cs
}

func within(t *testing.T, what string, got Interval, err error, want [2]float64, tolerance float64) {
	t.Helper()
	closeTo(t, what+", lower", got.Lo, err, want[0], tolerance)
	closeTo(t, what+", upper", got.Hi, err, want[1], tolerance)
}

// TestWelchAgreesWithSciPy: the paper's means with its p among the cases, and a
// p so small that 1−CDF is 0.
func TestWelchAgreesWithSciPy(t *testing.T) {
	s := readSamples(t)
	for _, c := range append(cases(t, s.Welch), s.Paper) {
		w, err := WelchT(c.X, c.Y, .95)
		closeTo(t, "T", w.T, err, c.T, 1e-10)
		closeTo(t, "degrees", w.Degrees, err, c.Degrees, 1e-10)
		closeTo(t, "P, relative", w.P/c.P, err, 1, 1e-7)
		within(t, "difference", w.Difference, err, c.CI, 1e-9)
	}
	w, err := WelchT(s.Paper.X, s.Paper.Y, .95)
	closeTo(t, "mean inside a zone", w.MeanX, err, 588, 1e-12)
	closeTo(t, "mean across zones", w.MeanY, err, 540, 1e-12)
	closeTo(t, "P of the paper, relative", w.P/1.1853e-11, err, 1, 1e-9)
}

func TestMannWhitneyOfFewIsExact(t *testing.T) {
	for _, c := range cases(t, readSamples(t).MannWhitneyAuto) {
		got, err := MannWhitney(c.X, c.Y)
		closeTo(t, "U", got.U, err, c.U, 1e-12)
		closeTo(t, "P, relative", got.P/c.P, err, 1, 1e-9)
	}
	if got, _ := MannWhitney([]float64{1, 2, 3}, []float64{4, 5, 6}); !got.Exact || math.Abs(got.P-.1) > 1e-15 {
		t.Errorf("three below three: %+v, want exactly .1", got)
	}
}

func TestA12StandardErrorAgreesWithSciPy(t *testing.T) {
	for _, c := range cases(t, readSamples(t).BrunnerMunzel) {
		a12, _, err := A12Interval(c.X, c.Y, .95)
		closeTo(t, "A12", a12, err, c.A12, 1e-13)
		p := superiority(ascending(c.X), ascending(c.Y), 0)
		closeTo(t, "standard error", math.Sqrt(p.Var), nil, c.SE, 1e-10)
		z := (p.Mean - .5) / math.Sqrt(p.Var)
		closeTo(t, "P of Brunner and Munzel, relative", tTails(z, p.Degrees)/c.P, nil, 1, 1e-9)
	}
}

// TestShiftAgreesWithR compares with wilcox.test where the samples scatter alike:
// the interval there is R's, or that of the next ranks outside.
func TestShiftAgreesWithR(t *testing.T) {
	for _, c := range cases(t, readSamples(t).Shift) {
		xs, ys := ascending(c.X), ascending(c.Y)
		rank, err := rankOfU(xs, ys, c.Level)
		s := &selector{pairs: differences{xs, ys}}
		closeTo(t, "shift", s.middle(), err, c.Shift, 1e-13)
		within(t, "exact interval", Interval{s.at(rank), s.at(s.pairs.size() + 1 - rank)}, err, c.CI, 1e-13)
		shift, ci, err := HodgesLehmann(c.X, c.Y, c.Level)
		closeTo(t, "shift", shift, err, c.Shift, 1e-13)
		if ci.Lo > c.CI[0]+1e-12 || ci.Hi < c.CI[1]-1e-12 {
			t.Errorf("interval %v is narrower than R's %v", ci, c.CI)
		}
	}
}

// TestSelection compares with all differences, sorted.
func TestSelection(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	kinds := map[string]func() float64{
		"normal":  rng.NormFloat64,
		"ties":    func() float64 { return float64(rng.IntN(5)) },
		"wide":    func() float64 { return math.Exp(200 * rng.NormFloat64()) },
		"two far": func() float64 { return float64(rng.IntN(2))*1e300 + rng.Float64() },
	}
	for name, value := range kinds {
		for range 20 {
			x, y := make([]float64, 1+rng.IntN(30)), make([]float64, 1+rng.IntN(30))
			var all []float64
			for i := range x {
				x[i] = value()
			}
			for i := range y {
				y[i] = value()
			}
			for _, a := range x {
				for _, b := range y {
					all = append(all, a-b)
				}
			}
			slices.Sort(all)
			s := &selector{pairs: differences{ascending(x), ascending(y)}}
			for k := 1; k <= len(all); k += 1 + rng.IntN(9) {
				if got := s.at(float64(k)); got != all[k-1] {
					t.Fatalf("%s: difference %d of %d = %v, want %v", name, k, len(all), got, all[k-1])
				}
			}
			if want := QuantileSorted(all, .5); math.Abs(s.middle()-want) > 1e-15*math.Abs(want) {
				t.Errorf("%s: middle = %v, want %v", name, s.middle(), want)
			}
		}
	}
}

func TestRatioOfIndependentMeansAgreesWithInvertedTest(t *testing.T) {
	for _, c := range cases(t, readSamples(t).IndependentRatio) {
		ratio, ci, err := RatioOfIndependentMeans(c.X, c.Y, .95)
		closeTo(t, "ratio", ratio, err, c.Ratio, 1e-12)
		within(t, "interval", ci, err, c.CI, 1e-9)
	}
}

func TestLogShift(t *testing.T) {
	x, y := []float64{2, 4, 8, 16, 32}, []float64{1, 2, 4, 8, 16}
	ratio, ci, err := LogShift(x, y, .95)
	closeTo(t, "factor", ratio, err, 2, 1e-12)
	if !ci.Contains(2) || ci.Lo <= 0 {
		t.Errorf("interval %v, want one about 2", ci)
	}
	if _, _, err := LogShift(x, []float64{1, 0, 2, 3}, .95); !errors.Is(err, ErrArgument) {
		t.Errorf("with a value of 0: %v, want ErrArgument", err)
	}
}

func errOf[T any](_ T, err error) error { return err }

func TestTwoSamplesRefuse(t *testing.T) {
	nan, same := []float64{1, math.NaN(), 2, 3}, []float64{.1, .1, .1, .1}
	some := []float64{1, 2, 3, 4}
	for name, c := range map[string]struct {
		x, y []float64
		want error
	}{
		"nothing":      {nil, some, ErrTooFew},
		"not finite":   {some, nan, ErrNotFinite},
		"no scatter":   {same, same, ErrNoSpread},
		"beyond 1e308": {[]float64{1.7e308, -1.7e308, 1.7e308, 1.6e308}, []float64{-1.7e308, 1.7e308, -1.7e308, -1.6e308}, ErrNotFinite},
	} {
		_, errWelch := WelchT(c.x, c.y, .95)
		_, _, errA12 := A12Interval(c.x, c.y, .95)
		_, _, errShift := HodgesLehmann(c.x, c.y, .95)
		_, _, errRatio := RatioOfIndependentMeans(c.x, c.y, .95)
		for what, err := range map[string]error{"WelchT": errWelch, "A12Interval": errA12, "HodgesLehmann": errShift, "RatioOfIndependentMeans": errRatio} {
			if name == "beyond 1e308" && (what == "A12Interval" || what == "RatioOfIndependentMeans") {
				continue // ranks and scaled values do not overflow
			}
			if !errors.Is(err, c.want) {
				t.Errorf("%s of %s: %v, want %v", what, name, err, c.want)
			}
		}
	}
	if _, _, err := HodgesLehmann(some[:3], some, .95); !errors.Is(err, ErrTooFew) {
		t.Errorf("shift of 3 and 4 values at 95 %%: %v, want ErrTooFew", err)
	}
	if _, _, err := RatioOfIndependentMeans(some, []float64{-1, .5, 1.5, 2}, .95); !errors.Is(err, ErrUnbounded) {
		t.Errorf("ratio to a mean near 0: %v, want ErrUnbounded", err)
	}
}

func BenchmarkTwoSamples(b *testing.B) {
	for _, n := range []int{1000, 100_000, 5_000_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		x, y := make([]float64, n), make([]float64, n)
		for i := range x {
			x[i], y[i] = math.Exp(.3*rng.NormFloat64()), 1.01*math.Exp(.3*rng.NormFloat64())
		}
		for name, f := range map[string]func() error{
			"WelchT":        func() error { return errOf(WelchT(x, y, .95)) },
			"MannWhitney":   func() error { return errOf(MannWhitney(x, y)) },
			"A12Interval":   func() error { _, _, err := A12Interval(x, y, .95); return err },
			"HodgesLehmann": func() error { _, _, err := HodgesLehmann(x, y, .95); return err },
		} {
			b.Run(fmt.Sprintf("%s/%d+%d", name, n, n), func(b *testing.B) {
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
