package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// twoCase is two populations with what is true of them; NaN where nothing is.
type twoCase struct {
	name               string
	x, y               func(*rand.Rand) float64
	difference, ratio  float64 // of the means
	a12, shift, factor float64
}

func normalAt(mean, sd float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return mean + sd*r.NormFloat64() }
}

func lognormalAt(median, sigma float64) func(*rand.Rand) float64 {
	return func(r *rand.Rand) float64 { return median * math.Exp(sigma*r.NormFloat64()) }
}

func twoCases() []twoCase {
	none := math.NaN()
	band := levels([]float64{.3, .7}, []float64{50, 100}, []float64{.02, .02})
	return []twoCase{
		{"equal normal", normalAt(100, 10), normalAt(100, 10), 0, 1, .5, 0, 1},
		{"normal, 10 % more", normalAt(110, 10), normalAt(100, 10), 10, 1.1, NormalCDF(math.Sqrt(.5)), 10, none},
		{"five times the scatter", normalAt(100, 25), normalAt(100, 5), 0, 1, .5, 0, none},
		{"apart", normalAt(130, 10), normalAt(100, 10), 30, 1.3, NormalCDF(3 / math.Sqrt2), 30, none},
		{"lognormal, twice", lognormalAt(2, .8), lognormalAt(1, .8), math.Exp(.32), 2, NormalCDF(math.Ln2 / (.8 * math.Sqrt2)), none, 2},
		{"exponential, 1.5 times", func(r *rand.Rand) float64 { return 1.5 * r.ExpFloat64() }, (*rand.Rand).ExpFloat64, .5, 1.5, .6, none, 1.5},
		{"equal bands", band, band, 0, 1, .5, 0, 1},
		{"equal Student's t, 2 degrees",
			func(r *rand.Rand) float64 { return 100 + r.NormFloat64()/math.Sqrt(r.ExpFloat64()) },
			func(r *rand.Rand) float64 { return 100 + r.NormFloat64()/math.Sqrt(r.ExpFloat64()) }, 0, 1, .5, 0, none},
	}
}

// held is how many of the intervals of two samples that are given hold the truth.
func held(c twoCase, n, m, runs int) map[string]float64 {
	out, given := map[string]float64{}, map[string]float64{}
	rng := rand.New(rand.NewPCG(uint64(n), uint64(m)))
	x, y := make([]float64, n), make([]float64, m)
	count := func(what string, iv Interval, err error, truth float64) {
		if err != nil || math.IsNaN(truth) {
			return
		}
		given[what]++
		if iv.Contains(truth) {
			out[what]++
		}
	}
	for range runs {
		for i := range x {
			x[i] = c.x(rng)
		}
		for i := range y {
			y[i] = c.y(rng)
		}
		w, err := WelchT(x, y, .95)
		count("difference", w.Difference, err, c.difference)
		_, iv, err := RatioOfIndependentMeans(x, y, .95)
		count("ratio", iv, err, c.ratio)
		_, iv, err = A12Interval(x, y, .95)
		count("A12", iv, err, c.a12)
		_, iv, err = HodgesLehmann(x, y, .95)
		count("shift", iv, err, c.shift)
		_, iv, err = LogShift(x, y, .95)
		count("factor", iv, err, c.factor)
	}
	for what := range out {
		out[what] /= given[what]
	}
	return out
}

// TestTwoSampleRates compares with testdata/rates.csv how often the intervals
// hold the truth; where both are of one population, the rest of 1 is how often a
// difference is seen that is none.
func TestTwoSampleRates(t *testing.T) {
	r := openRates(t, "two samples")
	for _, c := range twoCases() {
		for _, size := range [][2]int{{5, 5}, {10, 10}, {10, 40}, {40, 10}, {50, 50}, {500, 500}} {
			n, m := size[0], size[1]
			few := map[int]int{5: 200, 10: 100, 40: 100}[n]
			var got map[string]float64
			for what, truth := range map[string]float64{"difference": c.difference, "ratio": c.ratio, "A12": c.a12, "shift": c.shift, "factor": c.factor} {
				if math.IsNaN(truth) {
					continue
				}
				r.compare(fmt.Sprintf("%s/%d/%d/%s", c.name, n, m, what), few, 5000, func(runs int) float64 {
					if got == nil {
						got = held(c, n, m, runs)
					}
					return got[what]
				})
			}
		}
	}
}
