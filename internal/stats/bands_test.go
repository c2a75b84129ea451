package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/test/skip"
)

// bandsReference is testdata/bands.json, made by testdata/bands.py.
type bandsReference struct {
	Dip []struct {
		X   []float64
		Dip float64
		P   *float64
	}
	Mixture []struct {
		X               []float64
		K               int
		BIC             float64
		Share, Mean, SD []float64
	}
}

func readBands(t *testing.T) bandsReference {
	t.Helper()
	data, err := os.ReadFile("testdata/bands.json")
	if err != nil {
		t.Fatal(err)
	}
	var r bandsReference
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// bandsOf are the bands of independent values.
func bandsOf(xs []float64, seed uint64) (Bands, error) {
	return FindBands(xs, float64(len(xs)), seed)
}

func TestDipAgreesWithDiptest(t *testing.T) {
	for _, c := range cases(t, readBands(t).Dip) {
		dip := dipOf(c.X)
		closeTo(t, fmt.Sprintf("dip of %d values", len(c.X)), dip, nil, c.Dip, 1e-14)
		if c.P == nil {
			continue
		}
		p := dipP(dip, float64(len(c.X)), 4000, 4000, 1)
		closeTo(t, "p", p, nil, *c.P, 4*math.Sqrt(*c.P*(1-*c.P)/4000)+1e-4)
	}
	dip := dipOf([]float64{0, 0, 1, 1})
	if p := dipP(dip, 4, 1000, 1000, 3); dip != .25 || p != 0 {
		t.Errorf("0, 0, 1, 1: dip %v, p %v, want .25 and 0", dip, p)
	}
}

// TestDipOfMany: the p of more values than are drawn is about that of its own
// size; of uniform values it is uniform.
func TestDipOfMany(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const runs = 100
	below := 0.
	for range runs {
		if p := dipP(dipOf(uniform(rng, 3000)), 3000, 200, 30, 7); p < .1 {
			below++
		}
	}
	near(t, "p < .1 for uniform values", below/runs, .1, runs)
}

func uniform(rng *rand.Rand, n int) []float64 {
	xs := make([]float64, n)
	for i := range xs {
		xs[i] = rng.Float64()
	}
	slices.Sort(xs)
	return xs
}

func TestFindBandsRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"none":         {errOf(bandsOf(nil, 1)), ErrTooFew},
		"out of order": {errOf(bandsOf([]float64{2, 1}, 1)), ErrArgument},
		"NaN":          {errOf(bandsOf([]float64{1, math.NaN()}, 1)), ErrNotFinite},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v, want %v", name, c.err, c.want)
		}
	}
}

func TestMixtureAgreesWithScikitLearn(t *testing.T) {
	for _, c := range cases(t, readBands(t).Mixture) {
		s, ok := newSeeker(c.X, float64(len(c.X)), 1)
		if s.log || !ok {
			s = &seeker{values: slices.Clone(c.X)}
			mean, _ := Mean(c.X)
			sd, _ := PopulationSD(c.X)
			for i, x := range c.X {
				s.values[i] = (x - mean) / sd
			}
		}
		fits, bic := fitMixtures(s.values, float64(len(c.X)))
		closeTo(t, "BIC", bic[c.K-1], nil, c.BIC, 1e-4)
		fit := fits[c.K-1]
		slices.SortFunc(fit, func(a, b component) int { return int(math.Copysign(1, a.mean-b.mean)) })
		for j := range c.K {
			closeTo(t, "share", fit[j].share, nil, c.Share[j], 2e-3)
			closeTo(t, "mean", fit[j].mean, nil, c.Mean[j], 2e-3)
			closeTo(t, "SD", fit[j].sd, nil, c.SD[j], 2e-3)
		}
	}
}

// population of one metric: how many bands it has, and a value of it.
type bandCase struct {
	name  string
	bands int
	draw  func(*rand.Rand) float64
}

// levels draws from bands of normal values: shares, means, COVs.
func levels(shares, means, covs []float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		u, j := r.Float64(), 0
		for j < len(shares)-1 && u > shares[j] {
			u -= shares[j]
			j++
		}
		return means[j] * (1 + covs[j]*r.NormFloat64())
	}
}

func gamma2(r *rand.Rand) float64 { return r.ExpFloat64() + r.ExpFloat64() }

func student3(r *rand.Rand) float64 {
	a, b, c := r.NormFloat64(), r.NormFloat64(), r.NormFloat64()
	return 100 + r.NormFloat64()/math.Sqrt((a*a+b*b+c*c)/3)
}

func laplace(r *rand.Rand) float64 { return 100 + r.ExpFloat64() - r.ExpFloat64() }

func rounded(step float64, draw func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return step * math.Round(draw(r)/step) }
}

// sprinkled replaces a share of the values by outliers up to e² times as large.
func sprinkled(share float64, draw func(*rand.Rand) float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 {
		if r.Float64() < share {
			return 100 * math.Exp(2*r.Float64())
		}
		return draw(r)
	}
}

func bandCases() []bandCase {
	normal := func(r *rand.Rand) float64 { return 100 + 10*r.NormFloat64() }
	half := levels([]float64{.5, .5}, []float64{50, 100}, []float64{.02, .02})
	return []bandCase{
		{"normal", 1, normal},
		{"normal about 0", 1, (*rand.Rand).NormFloat64},
		{"lognormal, σ 0.3", 1, func(r *rand.Rand) float64 { return math.Exp(.3 * r.NormFloat64()) }},
		{"lognormal, σ 1", 1, func(r *rand.Rand) float64 { return math.Exp(r.NormFloat64()) }},
		{"gamma, shape 2", 1, gamma2},
		{"exponential", 1, (*rand.Rand).ExpFloat64},
		{"uniform, 50 to 100", 1, func(r *rand.Rand) float64 { return 50 * (1 + r.Float64()) }},
		{"logarithm uniform", 1, func(r *rand.Rand) float64 { return math.Exp(2 * r.Float64()) }},
		{"Student's t, 2 degrees", 1, func(r *rand.Rand) float64 { return 100 + r.NormFloat64()/math.Sqrt(r.ExpFloat64()) }},
		{"Student's t, 3 degrees", 1, student3},
		{"Laplace", 1, laplace},
		{"Pareto, 1.5", 1, func(r *rand.Rand) float64 { return math.Exp(r.ExpFloat64() / 1.5) }},
		{"normal, 3 % outliers", 1, sprinkled(.03, normal)},
		{"normal in 6 steps", 1, rounded(10, normal)},
		{"normal in 3 steps", 1, rounded(30, normal)},
		{"two of 50 %", 2, half},
		{"two, 22 and 78 %", 2, levels([]float64{.22, .78}, []float64{50, 100}, []float64{.02, .02})},
		{"two, 10 and 90 %", 2, levels([]float64{.1, .9}, []float64{50, 100}, []float64{.02, .02})},
		{"two, 7 and 93 %", 2, levels([]float64{.07, .93}, []float64{50, 100}, []float64{.02, .02})},
		{"two, 100 times as large", 2, levels([]float64{.3, .7}, []float64{1, 100}, []float64{.001, .001})},
		{"wide below narrow", 2, levels([]float64{.4, .6}, []float64{100, 200}, []float64{.15, .02})},
		{"narrow below wide", 2, levels([]float64{.4, .6}, []float64{100, 200}, []float64{.01, .15})},
		{"three", 3, levels([]float64{.3, .3, .4}, []float64{50, 75, 100}, []float64{.03, .03, .03})},
		{"three, 10, 20 and 70 %", 3, levels([]float64{.1, .2, .7}, []float64{50, 75, 100}, []float64{.03, .03, .03})},
		{"two gamma", 2, func(r *rand.Rand) float64 {
			if r.Float64() < .4 {
				return 10 + gamma2(r)
			}
			return 40 + 4*gamma2(r)
		}},
		{"two, 2 % outliers", 2, sprinkled(.02, half)},
		{"two in steps", 2, rounded(5, levels([]float64{.3, .7}, []float64{50, 100}, []float64{.07, .05}))},
	}
}

// foundBands is the share of the runs in which as many bands were found as there
// are.
func foundBands(t *testing.T, c bandCase, n, runs int) float64 {
	t.Helper()
	right := 0.
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = c.draw(rng)
		}
		slices.Sort(xs)
		b, err := bandsOf(xs, seed)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if (len(b.Cuts) > 0) == (b.Why != "") {
			t.Fatalf("%s: %+v contradicts itself", c.name, b)
		}
		if len(b.Cuts)+1 == c.bands {
			right++
		}
	}
	return right / float64(runs)
}

// TestBandsFound compares with testdata/rates.csv how often the right number of
// bands is found; docs/methods.md shows that table.
func TestBandsFound(t *testing.T) {
	skip.UnlessLong(t)
	r := openRates(t, "bands")
	for _, c := range bandCases() {
		for _, n := range []int{50, 300, 2000} {
			few, many := map[int]int{50: 40, 300: 6}[n], min(200, 100_000/n)
			r.compare(fmt.Sprintf("%s/%d", c.name, n), few, many, func(runs int) float64 { return foundBands(t, c, n, runs) })
		}
	}
}

// TestSmallBands: a tenth of the values far from all others is a band, though the
// dip test sees nothing, also where the level of all rises by 12 % in the end, so
// that two of three components overlap.
func TestSmallBands(t *testing.T) {
	for n, least := range map[int]int{200: 19, 240: 16} {
		found, dips := 0, 0
		for seed := range uint64(20) {
			rng := rand.New(rand.NewPCG(seed, 5))
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = 98 + 1.9*rng.NormFloat64()
				if i%10 == 3 {
					xs[i] = 70 + 2.4*rng.NormFloat64()
				}
				if i >= 200 {
					xs[i] *= 1.12
				}
			}
			slices.Sort(xs)
			b, err := bandsOf(xs, seed)
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Cuts) > 0 && sort.SearchFloat64s(xs, b.Cuts[0]) == n/10 && b.P < .01 {
				found++
			}
			if b.DipP < bandP {
				dips++
			}
		}
		if found < least || dips >= found {
			t.Errorf("%d values: the small band was found in %d of 20, want %d; the dip test alone shows it in %d", n, found, least, dips)
		}
	}
}

// TestOneBandStaysOne: of values with one mode, of any form, no more than 5 % are
// divided, by dip and gap together. 200 samples let pass 20 of them once in 1000.
func TestOneBandStaysOne(t *testing.T) {
	skip.UnlessLong(t)
	for _, name := range []string{"normal", "lognormal, σ 1", "gamma, shape 2", "uniform, 50 to 100", "logarithm uniform", "Student's t, 3 degrees", "Laplace"} {
		cases := bandCases()
		c := cases[slices.IndexFunc(cases, func(c bandCase) bool { return c.name == name })]
		if right := foundBands(t, c, 60, 200); right < .9 {
			t.Errorf("%s: one band in %.1f %% of 200 samples, want 95 %% at least", name, 100*right)
		}
	}
}

// TestGapOfOneMode: the p of the gap alone holds its error rate where it is least
// favourable: any gap of uniform values, and of such beside a narrow heap.
func TestGapOfOneMode(t *testing.T) {
	for name, draw := range map[string]func(*rand.Rand) float64{
		"uniform": (*rand.Rand).Float64,
		"heap and slope": func(r *rand.Rand) float64 {
			if r.Float64() < .3 {
				return 1e-4 * r.Float64()
			}
			return r.Float64()
		},
		"exponential": (*rand.Rand).ExpFloat64,
	} {
		const runs, n = 2000, 200
		alarms := 0
		for seed := range uint64(runs) {
			rng := rand.New(rand.NewPCG(seed, 9))
			s := seeker{values: make([]float64, n), worth: n}
			for i := range s.values {
				s.values[i] = draw(rng)
			}
			slices.Sort(s.values)
			if s.gapP(0, n) < .05 {
				alarms++
			}
		}
		if alarms > 130 { // 100 and three standard errors
			t.Errorf("%s: p < .05 in %d of %d samples, want 5 %% at most", name, alarms, runs)
		}
	}
}

// TestBandsSayWhatTheyAre: shares, cuts and COVs of the paper's two bands.
func TestBandsSayWhatTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 78))
	draw := levels([]float64{.22, .78}, []float64{50, 100}, []float64{.02, .03})
	xs := make([]float64, 20_000)
	for i := range xs {
		xs[i] = draw(rng)
	}
	slices.Sort(xs)
	b, err := bandsOf(xs, 1)
	if err != nil || len(b.Cuts)+1 != 2 {
		t.Fatalf("bands %+v, %v, want two", b, err)
	}
	cut := b.Cuts[0]
	k, _ := slices.BinarySearch(xs, cut)
	low, _ := NewSpread(xs[:k])
	high, _ := NewSpread(xs[k:])
	closeTo(t, "share", float64(k)/float64(len(xs)), nil, .22, .01)
	closeTo(t, "COV of the lower", low.COV, nil, .02, .001)
	closeTo(t, "COV of the upper", high.COV, nil, .03, .001)
	closeTo(t, "median", high.Median, nil, 100, .002)
	if cut < 55 || cut > 85 {
		t.Errorf("the cut is %v", cut)
	}
	p, r := float64(k)/float64(len(xs)), low.Mean/high.Mean
	closeTo(t, "COV that the bands make", math.Sqrt(p*(1-p))*(1-r)/(1-p*(1-r)), nil, .2327, .005)
}

// TestBandsOfDependentValues: a series that stays at a level for 15 values makes
// heaps; with what its values are worth, they are no bands.
func TestBandsOfDependentValues(t *testing.T) {
	const n, long, runs = 300, 15, 20
	naive, right := 0, 0
	for seed := range uint64(runs) {
		rng := rand.New(rand.NewPCG(seed, 5))
		xs, level := make([]float64, n), 0.0
		for i := range xs {
			if i%long == 0 {
				level = 100 + 5*rng.NormFloat64()
			}
			xs[i] = level + .2*rng.NormFloat64()
		}
		slices.Sort(xs)
		for _, worth := range []float64{n, n / long} {
			b, err := FindBands(xs, worth, seed)
			if err != nil {
				t.Fatal(err)
			}
			if len(b.Cuts) > 0 && worth == n {
				naive++
			} else if len(b.Cuts) > 0 {
				right++
			}
		}
	}
	if right > 3 || naive <= 2*right {
		t.Errorf("bands in %d of %d series, taken as independent in %d; want at most 5 %%, and more", right, runs, naive)
	}
}

func TestOneBandSaysWhy(t *testing.T) {
	same := slices.Repeat([]float64{.1}, 50)
	steps := append(slices.Repeat([]float64{100}, 30), slices.Repeat([]float64{200}, 20)...)
	levels := append(slices.Repeat([]float64{540}, 30), slices.Repeat([]float64{588}, 20)...)
	three := append(slices.Clone(levels), 601)
	for name, c := range map[string]struct {
		xs    []float64
		bands int
		why   string
	}{
		"few":            {[]float64{1, 2, 3, 10, 11}, 1, "too few"},
		"one":            {[]float64{1}, 1, "too few"},
		"constant":       {same, 1, "all values are equal"},
		"two steps":      {steps, 1, "recorded in steps of 100"},
		"two values":     {levels, 1, "recorded in steps of 48"},
		"uneven values":  {three, 2, ""},
		"zeros":          {append(make([]float64, 40), levels...), 2, ""},
		"beyond numbers": {append(slices.Repeat([]float64{-1.7e308}, 20), slices.Repeat([]float64{1.7e308}, 20)...), 1, "all values are equal"},
	} {
		b, err := bandsOf(c.xs, 1)
		if err != nil || len(b.Cuts)+1 < c.bands || !strings.Contains(b.Why, c.why) ||
			(c.bands == 1) != (len(b.Cuts)+1 == 1) {
			t.Errorf("%s: %d bands, %q, %v; want %d, %q", name, len(b.Cuts)+1, b.Why, err, c.bands, c.why)
		}
	}
}

func BenchmarkFindBands(b *testing.B) {
	for _, n := range []int{1000, 100_000, 10_000_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		for name, draw := range map[string]func(*rand.Rand) float64{
			"one": bandCases()[0].draw, "two": levels([]float64{.22, .78}, []float64{50, 100}, []float64{.02, .02}),
		} {
			xs := make([]float64, n)
			for i := range xs {
				xs[i] = draw(rng)
			}
			slices.Sort(xs)
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					if _, err := bandsOf(xs, 1); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
