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

// densityCase is a case of testdata/density.json, made by testdata/density.py.
type densityCase struct {
	Name             string
	X                []float64
	Bandwidth, Width float64
}

func readDensity(t *testing.T) []densityCase {
	t.Helper()
	data, err := os.ReadFile("testdata/density.json")
	if err != nil {
		t.Fatal(err)
	}
	var cs []densityCase
	if err := json.Unmarshal(data, &cs); err != nil {
		t.Fatal(err)
	}
	return cases(t, cs)
}

// TestDensityAgreesWithKDEpy: the bandwidth is KDEpy's, and the density the sum of
// normal kernels of this bandwidth.
func TestDensityAgreesWithKDEpy(t *testing.T) {
	for _, c := range readDensity(t) {
		lo, hi := c.X[0], c.X[len(c.X)-1]
		size := 1.2 * (hi - lo)
		at, ok := diffusion(cosines(cellShares(c.X, lo-(hi-lo)/10, size)), float64(len(c.X)))
		if h := math.Sqrt(at) * size; !ok || math.Abs(h/c.Bandwidth-1) > 2e-3 {
			t.Errorf("%s: bandwidth %v, want %v", c.Name, h, c.Bandwidth)
		}
		x, y, err := Density(c.X, 200)
		if err != nil {
			t.Fatal(err)
		}
		peak, worst, area := 0.0, 0.0, 0.0
		for i := range x {
			sum := 0.0
			for _, v := range c.X {
				z := (x[i] - v) / c.Bandwidth
				sum += math.Exp(-z*z/2) / (c.Bandwidth * math.Sqrt(2*math.Pi))
			}
			sum /= float64(len(c.X))
			peak, worst = max(peak, sum), max(worst, math.Abs(sum-y[i]))
			area += y[i] * (x[1] - x[0])
		}
		if worst > .01*peak {
			t.Errorf("%s: density differs by %.2g from the sum of kernels, the peak is %.2g", c.Name, worst, peak)
		}
		if len(c.X) == 300 && math.Abs(area-1) > .01 {
			t.Errorf("%s: the area is %v", c.Name, area)
		}
	}
}

// TestDensityKeepsBandsNarrow: peaks of two bands of COV 2 % and 1 % are as high as
// theirs, and nothing lies between them; also of values in steps.
func TestDensityKeepsBandsNarrow(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 5))
	draw := levels([]float64{.3, .7}, []float64{50, 100}, []float64{.02, .01})
	xs := make([]float64, 20_000)
	for _, step := range []float64{0, .5} {
		for i := range xs {
			if xs[i] = draw(rng); step > 0 {
				xs[i] = step * math.Round(xs[i]/step)
			}
		}
		slices.Sort(xs)
		x, y, err := Density(xs, 1001)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct{ at, want, tolerance float64 }{
			{50, .3 / math.Sqrt(2*math.Pi), .08}, {100, .7 / math.Sqrt(2*math.Pi), .08}, {75, 0, 1e-6},
		} {
			got, _ := Interpolate(x, y, c.at, 0)
			if math.Abs(got-c.want) > c.tolerance*max(c.want, 1) {
				t.Errorf("steps of %v: density at %v is %.3g, want %.3g", step, c.at, got, c.want)
			}
		}
		peaks := 0
		for i := 1; i+1 < len(y); i++ {
			if y[i] > y[i-1] && y[i] >= y[i+1] && y[i] > .01 {
				peaks++
			}
		}
		if peaks > 6 {
			t.Errorf("steps of %v: %d peaks, want about 2", step, peaks)
		}
	}
}

func TestDensityOfOddValues(t *testing.T) {
	for name, c := range map[string]struct {
		xs   []float64
		want error
	}{
		"one":          {[]float64{1}, ErrTooFew},
		"constant":     {[]float64{2, 2, 2}, ErrNoSpread},
		"NaN":          {[]float64{1, math.NaN()}, ErrNotFinite},
		"out of order": {[]float64{2, 1}, ErrArgument},
		"overflow":     {[]float64{-1.7e308, 1.7e308}, ErrNotFinite},
		"two":          {[]float64{1, 2}, nil},
		"an outlier":   {[]float64{1, 1.1, 1.2, 1.3, 1e9}, nil},
		"tiny":         {[]float64{1e-300, 2e-300, 3e-300, 5e-300}, nil},
	} {
		x, y, err := Density(c.xs, 50)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if c.want == nil && (len(x) != 50 || len(y) != 50 || x[0] > c.xs[0] || x[49] < c.xs[len(c.xs)-1]) {
			t.Errorf("%s: %d points from %v to %v", name, len(x), x[0], x[len(x)-1])
		}
	}
	if _, _, err := Density([]float64{1, 2}, 1); !errors.Is(err, ErrArgument) {
		t.Errorf("one point: %v, want ErrArgument", err)
	}
}

func TestHistogram(t *testing.T) {
	for _, c := range readDensity(t) {
		edges, _ := Histogram(c.X, 10_000)
		if got := edges[1] - edges[0]; got < c.Width*(1-1e-9) || got > 2.5*c.Width {
			t.Errorf("%s: bins are %v wide, those of Freedman and Diaconis %v", c.Name, got, c.Width)
		}
	}
	rng := rand.New(rand.NewPCG(6, 7))
	random := func(scale, centre float64) []float64 {
		xs := make([]float64, 500)
		for i := range xs {
			xs[i] = centre + scale*rng.NormFloat64()
		}
		slices.Sort(xs)
		return xs
	}
	for name, xs := range map[string][]float64{
		"one": {3}, "constant": {.1, .1, .1}, "zeros": {0, 0}, "huge": {-1e307, 0, 2e307},
		"mostly equal": append(slices.Repeat([]float64{1}, 90), 2, 3, 4), "outlier": append(random(1, 0), 1e12),
		"around 0": random(1, 0), "small steps": random(1e-6, 1e9), "tiny": random(1e-200, 0),
	} {
		for _, most := range []int{2, 7, 60} {
			edges, counts := Histogram(xs, most)
			sum := 0
			for i, c := range counts {
				sum += c
				for _, x := range xs {
					if in := x >= edges[i] && (x < edges[i+1] || i == len(counts)-1 && x <= edges[i+1]); in {
						c--
					}
				}
				if c != 0 || !(edges[i+1] > edges[i]) {
					t.Errorf("%s: bin %v to %v counts %d too many", name, edges[i], edges[i+1], c)
				}
			}
			if sum != len(xs) || len(edges) != len(counts)+1 || len(counts) > most {
				t.Errorf("%s, at most %d: %d of %d values in %d bins", name, most, sum, len(xs), len(counts))
			}
		}
	}
	if edges, _ := Histogram(uniform(rng, 2000), 100); !slices.Contains(edges, .3) || !slices.Contains(edges, .7) {
		t.Errorf("edges %v are not round", edges)
	}
	for _, xs := range [][]float64{nil, {-1.7e308, 0, 1.7e308}} {
		if edges, counts := Histogram(xs, 5); edges != nil || counts != nil {
			t.Errorf("of %v: %v, %v, want nothing", xs, edges, counts)
		}
	}
}

func BenchmarkDensity(b *testing.B) {
	for _, n := range []int{1000, 100_000, 10_000_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		draw := levels([]float64{.22, .78}, []float64{50, 100}, []float64{.02, .02})
		xs := make([]float64, n)
		for i := range xs {
			xs[i] = draw(rng)
		}
		slices.Sort(xs)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := Density(xs, 512); err != nil {
					b.Fatal(err)
				}
				Histogram(xs, 100)
			}
		})
	}
}
