package service

import (
	"slices"
	"testing"

	"github.com/scalebench/scalebench/internal/unit"
)

// TestWithCPU: a step at the beginning of the measurement is its limit, and that of the
// preparation stays what the file says, unless the other is larger.
func TestWithCPU(t *testing.T) {
	from := func(at unit.Duration, cpu float64) []Step { return []Step{{At: at, CPU: cpu}} }
	for name, c := range map[string]struct {
		before      float64 // limits.cpu; 0: none
		steps       []Step
		cores       float64
		preparation float64
		measured    float64
	}{
		"no limit":                  {0, nil, .5, .5, .5},
		"no step":                   {2, nil, .5, .5, .5},
		"a step at the beginning":   {2, from(0, .2), .25, 2, .25},
		"a step, and no limit":      {0, from(0, .2), .25, 0, .25},
		"more than the preparation": {2, from(0, 1), 3, 3, 3},
		"a step later":              {2, from(5e9, 1), .5, .5, .5},
	} {
		s := Settings{Steps: c.steps}
		if c.before > 0 {
			s.Bounds = &Bounds{CPU: c.before, Memory: unit.MiB}
		}
		steps := slices.Clone(c.steps)
		got := s.WithCPU(c.cores)
		if got.bounds().CPU != c.preparation || got.CPU() != c.measured {
			t.Errorf("%s: %v cores before and %v from the beginning, want %v and %v", name, got.bounds().CPU, got.CPU(), c.preparation, c.measured)
		}
		if s.bounds().CPU != c.before || !slices.Equal(s.Steps, steps) || got.bounds().Memory != s.bounds().Memory {
			t.Errorf("%s: the file's are now %+v %+v, and the others %+v", name, s.Bounds, s.Steps, got.Bounds)
		}
	}
}
