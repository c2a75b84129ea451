package stats

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Clustered is values of groups that are a sample themselves, such as nodes that
// are kept: of how all of them vary, few groups tell little, however many values
// each has.
type Clustered struct {
	N, Groups int
	Mean      float64   // of all values
	Means     []float64 // of the groups, ascending
	// Between and Within are the components of variance: of one group from another,
	// and of values in one (unweighted means: W. A. Thomas and R. G. Hultquist,
	// "Interval estimation for the unbalanced case of the one-way random effects
	// model", Annals of Statistics 6(3), 1978).
	Between, Within float64

	size       float64 // harmonic mean of the groups' sizes
	scatter    float64 // sample variance of the means
	squares    float64 // of the groups' sizes, summed
	dfB, dfW   float64 // degrees of freedom of scatter and of Within
	meansNoise float64 // variance of Mean
}

// NewClustered needs at least two groups, and one with two values. Errors as
// [Decompose].
func NewClustered[C Code](values []float64, codes []C, k int) (Clustered, error) {
	g, err := groupMoments(values, codes, k)
	if err != nil {
		return Clustered{}, fmt.Errorf("groups: %w", err)
	}
	if g.n == g.groups {
		return Clustered{}, fmt.Errorf("groups of one value each: %w", ErrTooFew)
	}
	c := Clustered{N: g.n, Groups: g.groups, Mean: g.mean, Within: g.within / float64(g.n-g.groups)}
	for i, n := range g.count {
		if n > 0 {
			c.Means = append(c.Means, g.means[i])
			c.size += 1 / float64(n)
			c.squares += float64(n) * float64(n)
		}
	}
	c.size = float64(c.Groups) / c.size
	slices.Sort(c.Means)
	middle, scatter := stat.MeanVariance(c.Means, nil)
	c.scatter = scatter
	c.Between = max(0, c.scatter-c.Within/c.size)
	c.meansNoise = c.scatter * c.squares / float64(c.N) / float64(c.N)
	c.dfB = float64(c.Groups-1) * tailed(c.scatter, c.Means, func(i int) float64 { return c.Means[i] - middle })
	c.dfW = float64(c.N-c.Groups) * tailed(c.Within, values, func(i int) float64 {
		if codes[i] == 0 {
			return 0
		}
		return values[i] - g.means[codes[i]]
	})
	_, err = finite(c.scatter + c.Within)
	return c, err
}

// tailed is what share of its degrees of freedom a variance keeps where values
// have longer tails than normal ones: its own variance is σ⁴(κ−1)/n, 2σ⁴/n of
// normal values.
func tailed(variance float64, xs []float64, off func(i int) float64) float64 {
	if !(variance > 0) {
		return 1
	}
	var fourth float64
	for i := range xs {
		d := off(i)
		fourth += d * d * d * d
	}
	return 2 / max(2, fourth/float64(len(xs))/(variance*variance)-1)
}

// MeanInterval is Student's over the groups.
func (c Clustered) MeanInterval(level float64) (Interval, error) {
	t, err := TQuantile((1+level)/2, float64(c.Groups-1))
	if err != nil {
		return Interval{}, fmt.Errorf("interval of the mean over groups: %w", err)
	}
	half := t * math.Sqrt(c.meansNoise)
	return Interval{c.Mean - half, c.Mean + half}.times(1)
}

// COVInterval is the interval at this level of the coefficient of variation of all
// values, √(between + within)/mean: that of F. A. Graybill and C.-M. Wang
// ("Confidence intervals on nonnegative linear combinations of variances", J. Am.
// Stat. Assoc. 75(372), 1980) for the sum of both components,
//
//	S_m²·1 + S_w²·(1 − 1/n),  ends  θ − √Σ(G·c·S²)²,  θ + √Σ(H·c·S²)²,
//	G = 1 − ν/χ²((1+level)/2, ν),  H = ν/χ²((1−level)/2, ν) − 1,
//
// with fewer degrees ν where tails are long, and what the scatter of the mean adds.
// Groups are supposed to be about normal. Errors: ErrZeroMean, ErrNoSpread,
// ErrArgument.
func (c Clustered) COVInterval(level float64) (Interval, error) {
	if !(level > 0 && level < 1) {
		return Interval{}, fmt.Errorf("interval of the coefficient of variation of groups at level %v: %w", level, ErrArgument)
	}
	within := c.Within * (1 - 1/c.size)
	theta := c.scatter + within
	cov, err := ratioToMean(math.Sqrt(theta), c.Mean)
	if err == nil && cov <= noSpread {
		err = ErrNoSpread
	}
	if err != nil {
		return Interval{}, fmt.Errorf("interval of the coefficient of variation of groups: %w", err)
	}
	down, up := 0.0, 0.0
	for _, part := range []struct{ variance, df float64 }{{c.scatter, c.dfB}, {within, c.dfW}} {
		chi := distuv.ChiSquared{K: part.df}
		g := 1 - part.df/chi.Quantile((1+level)/2)
		h := part.df/chi.Quantile((1-level)/2) - 1
		down, up = math.Hypot(down, g*part.variance), math.Hypot(up, h*part.variance)
	}
	t, err := TQuantile((1+level)/2, float64(c.Groups-1))
	if err != nil {
		return Interval{}, err
	}
	ofMean := t * math.Sqrt(c.meansNoise) / c.Mean
	lo := math.Exp(-math.Hypot(math.Log(max(0, theta-down)/theta)/2, ofMean))
	hi := math.Exp(math.Hypot(math.Log1p(up/theta)/2, ofMean))
	return Interval{lo, hi}.times(cov)
}

// Precision is how far [Clustered.MeanInterval] reaches, as a share of the mean.
func (c Clustered) Precision(level float64) (float64, error) {
	iv, err := c.MeanInterval(level)
	if err != nil {
		return 0, err
	}
	return ratioToMean((iv.Hi-iv.Lo)/2, c.Mean)
}

// Needed is how many groups, as large as these are on average, make Student's
// interval of the mean reach at most r (a share of it) to either side; and else how
// many values of each of these groups: 0 where no number of values is enough.
// Errors as [RepetitionsForMean].
func (c Clustered) Needed(r, level float64) (groups, values int, err error) {
	r *= 1 + 1e-9 // what these groups reach is not missed by rounding
	cov, err := ratioToMean(math.Sqrt(c.meansNoise*float64(c.Groups)), c.Mean)
	if err != nil {
		return 0, 0, err
	}
	t, errT := TQuantile((1+level)/2, float64(c.Groups-1))
	if groups, err = RepetitionsForMean(cov, r, level); err != nil || errT != nil {
		return 0, 0, errors.Join(err, errT)
	}
	// The variance of the mean may be (r·mean/t)²; what groups add to it stays.
	reach := r * c.Mean / t
	left := reach*reach - c.Between*c.squares/float64(c.N)/float64(c.N)
	if each := c.Within / left / float64(c.Groups); left > 0 && each < 1e12 {
		values = max(1, int(math.Ceil(each-1e-9)))
	}
	return groups, values, nil
}
