package stats

import (
	"errors"
	"math"
	"testing"
)

// TestRidge: a line through four points, with and without a penalty on its slope, and
// columns that cannot be told apart.
func TestRidge(t *testing.T) {
	ones, slope, values := []float64{1, 1, 1, 1}, []float64{-3, -1, 1, 3}, []float64{1, 2, 4, 5}
	for name, c := range map[string]struct {
		penalty         float64
		want, variances [2]float64
	}{
		"least squares": {0, [2]float64{3, .7}, [2]float64{.25, .05}},
		"a penalty":     {20, [2]float64{3, .35}, [2]float64{.25, .025}},
	} {
		got, variances, err := Ridge([][]float64{ones, slope}, values, []float64{0, c.penalty})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i := range 2 {
			if math.Abs(got[i]-c.want[i]) > 1e-14 || math.Abs(variances[i]-c.variances[i]) > 1e-14 {
				t.Errorf("%s: coefficient %d is %v with variance %v, want %v and %v", name, i, got[i], variances[i],
					c.want[i], c.variances[i])
			}
		}
	}
	for name, columns := range map[string][][]float64{
		"one twice": {ones, ones}, "no number": {ones, {1, math.NaN(), 1, 1}},
	} {
		if got, _, err := Ridge(columns, values, []float64{0, 0}); !errors.Is(err, ErrNoSpread) {
			t.Errorf("%s: coefficients %v, error %v; want %v", name, got, err, ErrNoSpread)
		}
	}
}
