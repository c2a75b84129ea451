package stats

import (
	"math"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"
)

// The tails below are survival functions computed as such: 1 − CDF has no digit
// left where it matters. They are 0 only below about 1e-300.

// tTails is the two-sided p of t with nu > 0 degrees of freedom: P(|T| ≥ |t|).
func tTails(t, nu float64) float64 {
	if t == 0 {
		return 1
	}
	return mathext.RegIncBeta(nu/2, .5, nu/(nu+t*t))
}

// FTail is P(F ≥ f) for the F distribution with d1 and d2 > 0 degrees of freedom: the
// p of an analysis of variance that puts together its own mean squares.
func FTail(f, d1, d2 float64) float64 {
	if f <= 0 {
		return 1
	}
	return mathext.RegIncBeta(d2/2, d1/2, d2/(d2+d1*f))
}

// noncentralF is P(F ≤ f) for the noncentral F distribution with d1 and d2
// degrees of freedom and noncentrality lambda ≥ 0: the mean of central
// distributions over a Poisson variate of mean λ/2 (N. L. Johnson, S. Kotz and
// N. Balakrishnan, Continuous Univariate Distributions, vol. 2, chapter 30). With
// lambda beyond a thousand it is the normal approximation of the cube root (N.
// C. Severo and M. Zelen, "Normal approximation to the chi-square and non-central
// F probability functions", Biometrika 47, 1960), which by then is good to 0.001.
func noncentralF(f, d1, d2, lambda float64) float64 {
	if f <= 0 {
		return 0
	}
	if lambda == 0 {
		return 1 - FTail(f, d1, d2)
	}
	if lambda > 1000 {
		q := math.Cbrt(d1 * f / (d1 + lambda))
		v := 2 * (d1 + 2*lambda) / (9 * (d1 + lambda) * (d1 + lambda))
		return NormalCDF((q*(1-2/(9*d2)) - (1 - v)) / math.Sqrt(v+2/(9*d2)*q*q))
	}
	// From the last term that counts downwards: I_x(a−1, b) = I_x(a, b) + the next of
	// a falling series, so that all but adding is done once.
	x := d1 * f / (d1*f + d2)
	j := math.Ceil(lambda/2 + 8*math.Sqrt(lambda/2) + 30)
	a, b := d1/2+j, d2/2
	central := mathext.RegIncBeta(a, b, x)
	weight := distuv.Poisson{Lambda: lambda / 2}.Prob(j)
	step := math.Exp(a*math.Log(x) + b*math.Log1p(-x) - math.Log(a) - mathext.Lbeta(a, b))
	var sum float64
	for ; j >= 0; j-- {
		sum += weight * central
		weight *= j / (lambda / 2)
		step *= a / ((a + b - 1) * x)
		a--
		central += step
	}
	return math.Min(sum, 1)
}

// Telling is the least number of n events, that many of a kind, which tells that more
// than a share of all are of it: with exactly that share there would be as many with a
// probability of at most 1−level (exact binomial tail).
func Telling(n int, share, level float64) int {
	for m := 1 + int(share*float64(n)); m <= n; m++ { // as many as are expected tell nothing
		if mathext.RegIncBeta(float64(m), float64(n-m+1), share) <= 1-level {
			return m
		}
	}
	return n + 1
}
