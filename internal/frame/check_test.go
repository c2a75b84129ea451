package frame

import (
	"errors"
	"math"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestCheck: values with which nothing can be computed are refused, also where
// frames are put together.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		values []float64
		ok     bool
	}{
		{nil, true},
		{[]float64{0, 0}, true},
		{[]float64{0, 1e-300, -2}, true},
		{[]float64{1, -1e150}, true},
		{[]float64{1, -1.1e150}, false},
		{[]float64{1, math.Inf(1)}, false},
		{[]float64{1, math.NaN()}, false},
		{[]float64{0, -1e-151}, false},
	} {
		f := Frame{Key: Key{Metric: "score"}, Values: c.values}
		_, err := Join(f)
		for _, err := range []error{f.Check(), err} {
			if (err == nil) != c.ok || err != nil && !errors.Is(err, model.ErrUsage) {
				t.Errorf("%v: %v, want ok %t", c.values, err, c.ok)
			}
		}
	}
}
