package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Summary describes values in their own unit.
type Summary struct {
	N    int
	Mean float64
	Min  float64
	Max  float64
	// PopulationSD divides by n (Stdev.P), as the tables of ScaleBench,
	// section 4 do: the n nodes are all the nodes there are.
	PopulationSD float64
}

// Describe returns the summary of at least one value.
func Describe(xs []float64) (Summary, error) {
	if err := check(xs, 1); err != nil {
		return Summary{}, fmt.Errorf("describing: %w", err)
	}
	mean, errMean := Mean(xs)
	sd, errSD := PopulationSD(xs)
	if err := cmp.Or(errMean, errSD); err != nil {
		return Summary{}, err
	}
	return Summary{N: len(xs), Mean: mean, Min: slices.Min(xs), Max: slices.Max(xs), PopulationSD: sd}, nil
}

// Mean returns the arithmetic mean of at least one value.
func Mean(xs []float64) (float64, error) { return statistic("mean", xs, 1, stat.Mean) }

// Average is the mean of values that are known to be finite, added up in their order;
// NaN of none. Unlike [Mean] it has no error.
func Average(xs []float64) float64 {
	sum := 0.0
	for _, x := range xs {
		sum += x
	}
	return sum / float64(len(xs))
}

// PopulationSD returns the standard deviation with divisor n of at least one
// value: √(Σ(x−x̄)²/n).
func PopulationSD(xs []float64) (float64, error) {
	return statistic("population SD", xs, 1, stat.PopStdDev)
}

// SampleSD returns the standard deviation with divisor n−1 of at least two
// values: √(Σ(x−x̄)²/(n−1)).
func SampleSD(xs []float64) (float64, error) { return statistic("sample SD", xs, 2, stat.StdDev) }

func statistic(name string, xs []float64, least int, of func(xs, weights []float64) float64) (float64, error) {
	if err := check(xs, least); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	return finite(of(xs, nil))
}

// RatioOfMeans returns mean(num)/mean(den) of at least one pair. It is the
// efficiency E = C_p/C_s of ScaleBench, equations 5 to 8, and not the mean of
// the ratios.
func RatioOfMeans(num, den []float64) (float64, error) {
	if err := checkPairs(num, den, 1); err != nil {
		return 0, fmt.Errorf("ratio of means: %w", err)
	}
	d := stat.Mean(den, nil)
	if d == 0 {
		return 0, fmt.Errorf("ratio of means: %w", ErrZeroMean)
	}
	return finite(stat.Mean(num, nil) / d)
}

// Quantile returns the p-quantile, 0 ≤ p ≤ 1, of at least one value by
// definition 7 of Hyndman and Fan (The American Statistician 50(4), 1996): the
// default of R and NumPy. gonum's LinInterp is definition 4, under which the
// median of 1, 2, 3, 4 is 2.
func Quantile(xs []float64, p float64) (float64, error) {
	out, err := Quantiles(xs, p)
	if err != nil {
		return 0, err
	}
	return out[0], nil
}

// QuantileSorted is Quantile of at least one ascending, finite value.
func QuantileSorted(sorted []float64, p float64) float64 {
	h := p * float64(len(sorted)-1)
	below := int(math.Floor(h))
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (h-float64(below))*(sorted[below+1]-sorted[below])
}

// MeanHalfWidth returns half the width of Student's interval at this level for
// the mean of at least two values: t(n−1)·s/√n.
func MeanHalfWidth(xs []float64, level float64) (float64, error) {
	sd, err := SampleSD(xs)
	if err != nil {
		return 0, err
	}
	t, err := TCritical(level, float64(len(xs)-1))
	if err != nil {
		return 0, err
	}
	return finite(t * sd / math.Sqrt(float64(len(xs))))
}

// MeanInterval returns the mean of at least one value, and Student's interval at
// this level for it, see [MeanHalfWidth]. Fewer than two values are an
// ErrTooFew, values without any scatter an ErrNoSpread: then the interval has
// no ends, and the mean is NaN only without values.
func MeanInterval(xs []float64, level float64) (mean float64, ci Interval, err error) {
	none := Interval{math.NaN(), math.NaN()}
	if mean, err = Mean(xs); err != nil {
		return math.NaN(), none, err
	}
	half, err := MeanHalfWidth(xs, level)
	switch {
	case err != nil:
		return mean, none, err
	case half <= noSpread*math.Abs(mean):
		return mean, none, ErrNoSpread
	}
	return mean, Interval{mean - half, mean + half}, nil
}

// MeanWithin is [MeanInterval] with nil where there is no interval.
func MeanWithin(xs []float64, level float64) (mean float64, ci *Interval) {
	mean, within, err := MeanInterval(xs, level)
	if err != nil {
		return mean, nil
	}
	return mean, &within
}

// Interpolate returns the value at x of the line through the points (xs[i],
// ys[i]), which must be at least two, xs ascending; beyond the ends it is the
// nearest end's value. Where two points share an x, the later one counts.
//
// The search begins at index from, and the index it returns serves the next
// call with an x no smaller, so that a walk along the line looks at each point
// once.
func Interpolate(xs, ys []float64, x float64, from int) (y float64, next int) {
	i := from
	for i+2 < len(xs) && xs[i+1] < x {
		i++
	}
	x0, x1 := xs[i], xs[i+1]
	if x1 <= x0 {
		return ys[i+1], i
	}
	share := min(max((x-x0)/(x1-x0), 0), 1)
	return ys[i] + share*(ys[i+1]-ys[i]), i
}

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

// TCritical is the t that is exceeded on either side with the probability 1−level
// together, see [TQuantile].
func TCritical(level, nu float64) (float64, error) { return TQuantile((1+level)/2, nu) }

// NormalCritical is that of the normal distribution, for a level above 0 and below 1.
func NormalCritical(level float64) (float64, error) {
	if !(level > 0) {
		return 0, fmt.Errorf("level %v: %w", level, ErrArgument)
	}
	return NormalQuantile((1 + level) / 2)
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
