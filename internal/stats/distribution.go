package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// TQuantile returns the p-quantile of Student's t distribution with nu > 0
// degrees of freedom, 0 < p < 1. gonum panics at nu = 0, which one node would
// give; here it is an error.
func TQuantile(p, nu float64) (float64, error) {
	if !(p > 0 && p < 1) || !(nu > 0) || math.IsInf(nu, 1) {
		return 0, fmt.Errorf("quantile of t at p %v with %v degrees of freedom: %w", p, nu, ErrArgument)
	}
	if p == 0.5 {
		return 0, nil
	}
	return finite(distuv.StudentsT{Mu: 0, Sigma: 1, Nu: nu}.Quantile(p))
}

// FQuantile returns the p-quantile of the F distribution with d1 and d2 > 0
// degrees of freedom, 0 < p < 1.
func FQuantile(p, d1, d2 float64) (float64, error) {
	if !(p > 0 && p < 1) || !(d1 > 0) || !(d2 > 0) || math.IsInf(d1, 1) || math.IsInf(d2, 1) {
		return 0, fmt.Errorf("quantile of F at p %v with %v and %v degrees of freedom: %w", p, d1, d2, ErrArgument)
	}
	return finite(distuv.F{D1: d1, D2: d2}.Quantile(p))
}

// NormalCDF returns Φ(z) by the complementary error function, which keeps its
// relative precision far out in the lower tail.
func NormalCDF(z float64) float64 { return 0.5 * math.Erfc(-z/math.Sqrt2) }

// NormalQuantile returns Φ⁻¹(p), 0 < p < 1.
func NormalQuantile(p float64) (float64, error) {
	if !(p > 0 && p < 1) {
		return 0, fmt.Errorf("quantile of the normal at p %v: %w", p, ErrArgument)
	}
	return finite(mathext.NormalQuantile(p))
}
