package stats

import (
	"math"
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
