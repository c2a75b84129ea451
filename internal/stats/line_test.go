package stats

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFitLine: the first of Anscombe's quartet (The American Statistician 27, 1973),
// with confint(lm(y1 ~ x1)) of R 4.2.
func TestFitLine(t *testing.T) {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	l, err := FitLine(x, y, .95)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []struct {
		name      string
		got, want float64
	}{
		{"intercept", l.Intercept, 3.0000909}, {"slope", l.Slope, 0.5000909},
		{"slope from", l.SlopeCI.Lo, 0.2333701}, {"to", l.SlopeCI.Hi, 0.7668117},
		{"intercept from", l.InterceptCI.Lo, 0.4557369}, {"to", l.InterceptCI.Hi, 5.5444449},
	} {
		if math.Abs(v.got-v.want) > 5e-7 {
			t.Errorf("%s = %.7f, want %.7f", v.name, v.got, v.want)
		}
	}
	for name, xs := range map[string][]float64{"two": {1, 2}, "alike": {3, 3, 3, 3}} {
		if l, err := FitLine(xs, xs, .95); err == nil {
			t.Errorf("%s: %+v, want an error", name, l)
		}
	}
}

// TestReaches: where the line of the first of Anscombe's quartet is 9 high: where the band of
// the line ends.
func TestReaches(t *testing.T) {
	x := []float64{10, 8, 13, 9, 11, 14, 6, 4, 12, 7, 5}
	y := []float64{8.04, 6.95, 7.58, 8.81, 8.33, 9.96, 7.24, 4.26, 10.84, 4.82, 5.68}
	l, err := FitLine(x, y, .95)
	if err != nil {
		t.Fatal(err)
	}
	at, ci, err := l.Reaches(9)
	if err != nil || math.Abs(at-(9-3.0000909)/.5000909) > 1e-6 {
		t.Fatalf("Reaches(9) = %v, %v", at, err)
	}
	// At each end the band of the line about it just reaches 9.
	for _, end := range []float64{ci.Lo, ci.Hi} {
		half := math.Sqrt(l.varIntercept + 2*end*l.cov + end*end*l.varSlope)
		if d := math.Abs(9 - l.Intercept - l.Slope*end); math.Abs(d/half-1) > 1e-9 {
			t.Errorf("at %v the line is %v off, its band %v", end, d, half)
		}
	}
}

// TestReachesCoverage: the interval has the truth as often as it says, where a
// capacity is extrapolated from below the knee; one that holds the intercept fixed has
// not.
func TestReachesCoverage(t *testing.T) {
	const times = 4000
	rng := rand.New(rand.NewPCG(4, 2))
	held, fixed := 0, 0
	for range times {
		var x, y []float64
		for _, v := range []float64{20, 20, 40, 40, 60, 60, 80, 80} {
			x, y = append(x, v), append(y, .1+.01*v+.02*rng.NormFloat64())
		}
		l, err := FitLine(x, y, .95)
		if err != nil {
			t.Fatal(err)
		}
		if _, ci, err := l.Reaches(1.1); err == nil && ci.Lo <= 100 && 100 <= ci.Hi {
			held++
		}
		if lo, hi := (1.1-l.Intercept)/l.SlopeCI.Hi, (1.1-l.Intercept)/l.SlopeCI.Lo; lo <= 100 && 100 <= hi {
			fixed++
		}
	}
	t.Logf("%.3f hold the truth, with the intercept fixed %.3f", float64(held)/times, float64(fixed)/times)
	if c := float64(held) / times; math.Abs(c-.95) > .012 {
		t.Errorf("coverage %v, want 0.95", c)
	}
}
