package stats

import (
	"errors"
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
		return Clustered{}, err
	}
	var fourth float64
	for i, c := range codes {
		if c != 0 {
			d := values[i] - g.means[c]
			d *= d
			fourth += d * d
		}
	}
	return newClustered(g, fourth)
}

// newClustered takes what is known of each group, and the fourth powers of the
// distances from the groups' means, summed.
func newClustered(g grouped, fourth float64) (Clustered, error) {
	if g.n == g.groups {
		return Clustered{}, ErrTooFew
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
	var fourthB float64
	for _, m := range c.Means {
		d := m - middle
		fourthB += d * d * d * d
	}
	c.dfB = float64(c.Groups-1) * tailed(c.scatter, fourthB/float64(c.Groups))
	c.dfW = float64(c.N-c.Groups) * tailed(c.Within, fourth/float64(c.N+g.unknown))
	_, err := finite(c.scatter + c.Within)
	return c, err
}

// tailed is what share of its degrees of freedom a variance keeps where values
// have longer tails than normal ones, with this mean of fourth powers: its own
// variance is σ⁴(κ−1)/n, 2σ⁴/n of normal values.
func tailed(variance, fourth float64) float64 {
	if !(variance > 0) {
		return 1
	}
	return 2 / max(2, fourth/(variance*variance)-1)
}

// ClusteredIn is [NewClustered] of the values of each level of a fact, by code, over
// their units: all levels in one walk, in which unit 0 is one like others. Of a
// level that has no such groups (fewer than two units) Groups is 0; where each value
// is a unit of its own Groups is N and nothing else is known. Codes are below
// levels.
func ClusteredIn[C, U Code](values []float64, codes []C, levels int, units []U) []Clustered {
	ids, of := pairCodes(codes, units)
	all := grouped{count: make([]int, len(of)), means: make([]float64, len(of)), squares: make([]float64, len(of))}
	origin := values[0]
	for i, id := range ids {
		all.count[id]++
		all.means[id] += values[i] - origin
	}
	each := make([]grouped, levels)
	for id, level := range of {
		g := &each[level]
		g.n, g.groups = g.n+all.count[id], g.groups+1
		g.mean += all.means[id]
		all.means[id] = origin + all.means[id]/float64(all.count[id])
	}
	fourth := make([]float64, len(of))
	for i, id := range ids {
		d := values[i] - all.means[id]
		d *= d
		all.squares[id] += d
		fourth[id] += d * d
	}
	sums := make([]float64, levels)
	for id, level := range of {
		g := &each[level]
		g.count, g.means, g.within = append(g.count, all.count[id]), append(g.means, all.means[id]), g.within+all.squares[id]
		sums[level] += fourth[id]
	}
	out := make([]Clustered, levels)
	for level, g := range each {
		switch {
		case g.n > 0 && g.groups == g.n:
			out[level] = Clustered{N: g.n, Groups: g.n}
		case g.groups > 1:
			g.mean = origin + g.mean/float64(g.n)
			if c, err := newClustered(g, sums[level]); err == nil {
				out[level] = c
			}
		}
	}
	return out
}

// pairCodes number the pairs of a level and a unit that values have; of is the level
// of each.
func pairCodes[C, U Code](codes []C, units []U) (ids []int32, of []C) {
	pairs := make([]uint64, len(codes))
	for i, c := range codes {
		pairs[i] = uint64(c)<<32 | uint64(units[i]) //nolint:gosec // codes are not below 0
	}
	ids = make([]int32, len(codes))
	var last uint64
	for k, row := range Order(pairs) {
		if k == 0 || pairs[row] != last {
			of, last = append(of, codes[row]), pairs[row]
		}
		ids[row] = int32(len(of) - 1) //nolint:gosec // no more than values
	}
	return ids, of
}

// MeanInterval is Student's over the groups.
func (c Clustered) MeanInterval(level float64) (Interval, error) {
	t, err := TCritical(level, float64(c.Groups-1))
	if err != nil {
		return Interval{}, err
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
		return Interval{}, ErrArgument
	}
	within := c.Within * (1 - 1/c.size)
	theta := c.scatter + within
	cov, err := ratioToMean(math.Sqrt(theta), c.Mean)
	if err == nil && cov <= noSpread {
		err = ErrNoSpread
	}
	if err != nil {
		return Interval{}, err
	}
	down, up := 0.0, 0.0
	for _, part := range []struct{ variance, df float64 }{{c.scatter, c.dfB}, {within, c.dfW}} {
		chi := distuv.ChiSquared{K: part.df}
		g := 1 - part.df/chi.Quantile((1+level)/2)
		h := part.df/chi.Quantile((1-level)/2) - 1
		down, up = math.Hypot(down, g*part.variance), math.Hypot(up, h*part.variance)
	}
	t, err := TCritical(level, float64(c.Groups-1))
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
	t, errT := TCritical(level, float64(c.Groups-1))
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
