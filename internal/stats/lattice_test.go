package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// tickCase draws values of one mode that a clock with ticks recorded; a tick is 1,
// and sd that of the values in ticks.
type tickCase struct {
	name string
	draw func(r *rand.Rand, tick, mean, sd float64) func() float64
}

// duration is a positive number of ticks of one mode.
func duration(r *rand.Rand, mean, sd float64) float64 {
	for {
		if x := mean + sd*r.NormFloat64(); x > 0.5 {
			return x
		}
	}
}

func tickCases() []tickCase {
	elapsed := func(r *rand.Rand, mean, sd float64) float64 { // read from a clock that counts ticks
		start := r.Float64()
		return max(1, math.Floor(start+duration(r, mean, sd)))
	}
	digits := func(x, unit float64) float64 { return math.Round(x/unit) * unit }
	return []tickCase{
		{"rounded ticks", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			return func() float64 { return tick * max(1, math.Round(duration(r, mean, sd))) }
		}},
		{"clock read twice", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			return func() float64 { return tick * elapsed(r, mean, sd) }
		}},
		{"rates", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			return func() float64 { return 1000 / (tick * elapsed(r, mean, sd)) }
		}},
		{"rates, 5 digits", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			unit := math.Pow10(int(math.Floor(math.Log10(1000/tick/mean))) - 4)
			return func() float64 { return digits(1000/(tick*elapsed(r, mean, sd)), unit) }
		}},
		{"rates with jitter", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			return func() float64 { return 1000 / (tick * (elapsed(r, mean, sd) + 1e-4*r.NormFloat64())) }
		}},
		{"jitter", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			j := math.Exp(-9 + 4*r.Float64()) // 0.0001 to 0.007
			return func() float64 { return tick * (elapsed(r, mean, sd) + j*r.NormFloat64()) }
		}},
		{"uniform jitter", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			j := .02 * r.Float64()
			return func() float64 { return tick * (elapsed(r, mean, sd) + j*(2*r.Float64()-1)) }
		}},
		{"clock cut to whole units", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			unit := tick / (12 + 20*r.Float64())
			return func() float64 {
				start := math.Floor(1000 * r.Float64())
				return unit * (math.Floor((start+elapsed(r, mean, sd))*tick/unit) - math.Floor(start*tick/unit))
			}
		}},
		{"rounded to whole units", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			unit := tick / (12 + 20*r.Float64())
			return func() float64 { return digits(tick*elapsed(r, mean, sd), unit) }
		}},
		{"means of 3", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			return func() float64 {
				return tick * (elapsed(r, mean, sd) + elapsed(r, mean, sd) + elapsed(r, mean, sd)) / 3
			}
		}},
		{"sums of 10, 6 digits", func(r *rand.Rand, tick, mean, sd float64) func() float64 {
			return func() float64 {
				sum := 0.
				for range 10 {
					sum += elapsed(r, mean, sd)
				}
				return digits(tick*sum, tick*mean/1e5)
			}
		}},
	}
}

// tickedBands is the share of samples of n, with random ticks, that are called bands.
// apart is how far a second mode lies from the first, in ticks beside six deviations;
// 0: there is one mode.
func tickedBands(t *testing.T, c tickCase, n, runs int, apart float64) float64 {
	t.Helper()
	bands := 0
	for seed := range uint64(runs) {
		r := rand.New(rand.NewPCG(seed, uint64(n)))
		sd := .3 * math.Pow(10, r.Float64()) // 0.3 to 3 ticks
		tick, mean := math.Exp(6*r.Float64()-2), 1+sd*(2+10*r.Float64())
		draw := []func() float64{c.draw(r, tick, mean, sd)}
		if apart > 0 {
			draw = append(draw, c.draw(r, tick, mean+6*sd+apart, sd))
		}
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = draw[i%len(draw)]()
		}
		slices.Sort(xs)
		b, err := bandsOf(xs, seed)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Cuts) > 0 {
			bands++
		}
	}
	return float64(bands) / float64(runs)
}

// TestTicks: values of one mode that a clock with ticks recorded are bands in 5 % of
// cases at most, of each kind; two modes further apart than ticks are found.
func TestTicks(t *testing.T) {
	for _, c := range tickCases() {
		for n, runs := range map[int]int{30: 16, 100: 12, 500: 4} {
			if bands := tickedBands(t, c, n, runs, 0) * float64(runs); bands > 3 { // of 16 at 5 %: once in 140
				t.Errorf("%s: %.0f of %d samples of %d are called bands", c.name, bands, runs, n)
			}
		}
		if c.name == "means of 3" || c.name == "sums of 10, 6 digits" {
			continue // they are of other modes than one value
		}
		if found := tickedBands(t, c, 100, 10, 3); found < .7 {
			t.Errorf("%s: two modes were found in %.0f %% of samples", c.name, 100*found)
		}
	}
}

// repeated are values, each as often as the number after it says.
func repeated(pairs ...float64) (xs []float64) {
	for i := 0; i < len(pairs); i += 2 {
		xs = append(xs, slices.Repeat(pairs[i:i+1], int(pairs[i+1]))...)
	}
	slices.Sort(xs)
	return xs
}

// jittered moves values by as much in turns.
func jittered(by float64, xs []float64) []float64 {
	for i := range xs {
		xs[i] += by * math.Sin(float64(i))
	}
	slices.Sort(xs)
	return xs
}

// scattered moves values by normal noise of this SD.
func scattered(sd float64, xs []float64) []float64 {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range xs {
		xs[i] += sd * r.NormFloat64()
	}
	slices.Sort(xs)
	return xs
}

func TestLattice(t *testing.T) {
	for name, c := range map[string]struct {
		xs         []float64
		bands      int
		step       float64 // 0: none
		reciprocal bool
	}{
		"60 Hz":             {repeated(16.7, 36, 33.3, 52, 50, 2), 1, 16.65, false},
		"60 Hz in whole ms": {repeated(16, 14, 17, 24, 33, 33, 34, 17, 50, 2), 1, 16.7, false},
		"60 Hz, two heaps":  {repeated(16, 14, 17, 24, 33, 33, 34, 17), 1, 16.7, false},
		"64 Hz, cut":        {repeated(15, 11, 16, 18, 31, 44, 32, 14, 47, 3), 1, 15.6, false},
		"4 ms and a µs": {repeated(16000, 32, 16001, 8, 20000, 96, 20001, 25, 24000, 175, 28001, 30), 1,
			4000, false},
		"jitter":                    {jittered(.002, repeated(8, 10, 12, 20, 16, 30, 20, 11)), 1, 4, false},
		"rates":                     {repeated(1000./12, 10, 1000./16, 30, 1000./20, 20, 1000./24, 7), 1, .004, true},
		"rates in digits":           {repeated(83.33, 10, 62.5, 30, 50, 20, 41.67, 7), 1, .004, true},
		"rates of 1, 2 and 3 ticks": {repeated(1000, 10, 500, 30, 333.3, 20), 1, .001, true},
		"steps of 10":               {repeated(10, 10, 20, 30, 30, 20), 1, 10, false},
		"two bands on a lattice": {jittered(.002, repeated(8, 10, 12, 20, 16, 10, 80, 10, 84, 20, 88, 8)), 2, 4,
			false},
		"100 Mbit/s and 1 Gbit/s":     {jittered(.05, repeated(94.1, 20, 941.2, 20)), 2, 0, false},
		"narrow in whole ms":          {repeated(103, 12, 104, 10, 161, 10, 162, 9), 2, 1, false},
		"three, no lattice":           {jittered(.4, repeated(100, 20, 117, 20, 130, 20)), 3, 0, false},
		"half, as two processors are": {jittered(1, repeated(50, 20, 100, 20)), 2, 0, false},
		"half, of many":               {scattered(1, repeated(50, 317, 100, 1123)), 2, 0, false},
		"half, narrow":                {scattered(.5, repeated(50, 90, 100, 110)), 2, 0, false},
		"two thirds, of many":         {scattered(.4, repeated(80, 200, 120, 300)), 2, 0, false},
	} {
		b, err := bandsOf(c.xs, 1)
		l := latticeOf(c.xs, finestStep)
		if err != nil || len(b.Cuts)+1 != c.bands || math.Abs(l.step-c.step) > .01*c.step ||
			l.reciprocal != c.reciprocal {
			t.Errorf("%s: %d bands, step %v, reciprocal %v, %v; want %d, %v, %v", name, len(b.Cuts)+1, l.step,
				l.reciprocal, err, c.bands, c.step, c.reciprocal)
		}
	}
}
