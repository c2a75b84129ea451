package stats

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"
)

// pairsCase is one paired sample with what SciPy says of it.
type pairsCase struct {
	Name       string
	Num, Den   []float64
	Cov, Ratio float64
	Fieller    [2]float64
	BCa        struct {
		Distribution []float64  // 500 ratios that SciPy drew
		Interval     [2]float64 // from these
		Many         [2]float64 `json:"interval_many"` // from 100,000 others
	}
}

// reference is testdata/reference.json, made by testdata/reference.py.
type reference struct {
	T              [][3]float64
	F              [][4]float64
	NormalCDF      [][2]float64 `json:"normal_cdf"`
	NormalQuantile [][2]float64 `json:"normal_quantile"`
	Describe       []struct {
		X, P, Quantiles []float64
		Mean, Min, Max  float64
		PopulationSD    float64 `json:"population_sd"`
		SampleSD        float64 `json:"sample_sd"`
	}
	Pairs       []pairsCase
	Unbounded   struct{ Num, Den []float64 }
	MannWhitney []struct {
		X, Y []float64
		U, P float64
	} `json:"mann_whitney"`
}

func readReference(t *testing.T) reference {
	t.Helper()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var ref reference
	if err := json.Unmarshal(data, &ref); err != nil {
		t.Fatal(err)
	}
	if len(ref.T) == 0 || len(ref.F) == 0 || len(ref.Describe) == 0 || len(ref.Pairs) == 0 {
		t.Fatal("testdata/reference.json is incomplete")
	}
	return ref
}

// closeTo compares with a relative tolerance, absolute below 1.
func closeTo(t *testing.T, what string, got float64, err error, want, tolerance float64) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v, want %v", what, err, want)
		return
	}
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s = %.15g, want %.15g", what, got, want)
	}
}

func TestDistributionsAgreeWithSciPy(t *testing.T) {
	ref := readReference(t)
	for _, c := range ref.T {
		got, err := TQuantile(c[0], c[1])
		closeTo(t, "TQuantile", got, err, c[2], 1e-9)
	}
	for _, c := range ref.F {
		got, err := FQuantile(c[0], c[1], c[2])
		closeTo(t, "FQuantile", got, err, c[3], 1e-8)
	}
	for _, c := range ref.NormalCDF {
		got := NormalCDF(c[0])
		closeTo(t, "NormalCDF, relative", got/c[1], nil, 1, 1e-12)
	}
	for _, c := range ref.NormalQuantile {
		got, err := NormalQuantile(c[0])
		closeTo(t, "NormalQuantile", got, err, c[1], 1e-12)
	}
}

func TestDescribeAgreesWithNumPy(t *testing.T) {
	for _, c := range readReference(t).Describe {
		s, err := Describe(c.X)
		closeTo(t, "mean", s.Mean, err, c.Mean, 1e-14)
		closeTo(t, "min", s.Min, err, c.Min, 0)
		closeTo(t, "max", s.Max, err, c.Max, 0)
		closeTo(t, "population SD", s.PopulationSD, err, c.PopulationSD, 1e-9)
		sd, err := SampleSD(c.X)
		closeTo(t, "sample SD", sd, err, c.SampleSD, 1e-9)
		for i, p := range c.P {
			q, err := Quantile(c.X, p)
			closeTo(t, "quantile", q, err, c.Quantiles[i], 1e-14)
		}
	}
}

// TestFiellerAgreesWithInvertedTest: the bounds are where SciPy's t test of
// mean(num − R·den) = 0 is at its limit, found there by root search.
func TestFiellerAgreesWithInvertedTest(t *testing.T) {
	ref := readReference(t)
	for _, c := range ref.Pairs {
		iv, err := Fieller(c.Num, c.Den, .95)
		closeTo(t, c.Name+": lower bound", iv.Lo, err, c.Fieller[0], 1e-9)
		closeTo(t, c.Name+": upper bound", iv.Hi, err, c.Fieller[1], 1e-9)
		closeTo(t, c.Name+": covariance", moments(c.Num, c.Den).Cov, nil, c.Cov, 1e-9)
		ratio, err := RatioOfMeans(c.Num, c.Den)
		closeTo(t, c.Name+": ratio", ratio, err, c.Ratio, 1e-14)
	}
	if iv, err := Fieller(ref.Unbounded.Num, ref.Unbounded.Den, .95); !errors.Is(err, ErrUnbounded) {
		t.Errorf("Fieller of an unbounded set = %v, %v, want ErrUnbounded", iv, err)
	}
}

// TestBCaAgreesWithSciPy: from SciPy's own resamples exactly, and from ours
// within the scatter of resampling.
func TestBCaAgreesWithSciPy(t *testing.T) {
	for _, c := range readReference(t).Pairs {
		iv, err := bcaFrom(c.BCa.Distribution, c.Ratio, jackknifeRatios(c.Num, c.Den), .95)
		closeTo(t, c.Name+": lower bound, same resamples", iv.Lo, err, c.BCa.Interval[0], 1e-9)
		closeTo(t, c.Name+": upper bound, same resamples", iv.Hi, err, c.BCa.Interval[1], 1e-9)
		iv, err = BCa(c.Num, c.Den, .95, DefaultResamples, 42)
		width := c.BCa.Many[1] - c.BCa.Many[0]
		closeTo(t, c.Name+": lower bound", iv.Lo, err, c.BCa.Many[0], .03*width)
		closeTo(t, c.Name+": upper bound", iv.Hi, err, c.BCa.Many[1], .03*width)
	}
}
