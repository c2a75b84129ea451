package explain

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/stats"
)

// Interval is the ends of a confidence interval; a pointer to it is nil where
// there is none.
type Interval [2]float64

// Spread is how far values vary, in their own unit. COV is SD/mean with the sample
// SD (the paper, section 4.5); null of fewer than two values, or where the mean is
// not above 0.
type Spread struct {
	Mean     float64   `json:"mean"`
	MeanCI   *Interval `json:"mean_ci"`
	Median   float64   `json:"median"`
	MedianCI *Interval `json:"median_ci"`
	Min      float64   `json:"min"`
	Max      float64   `json:"max"`
	Range    float64   `json:"range"`
	SD       *float64  `json:"sd"`
	COV      *float64  `json:"cov"`
	COVCI    *Interval `json:"cov_ci"`
	// Intervals says how they were computed, as rows may depend on each other:
	// "independent rows", "blocks of 12 rows", "nodes".
	Intervals string `json:"intervals"`
}

// Spread is mean, median, SD and COV with intervals that heed how much the rows
// depend on each other.
func (x *Rows) Spread(d Dependence) Spread {
	s, err := stats.NewSpread(x.Sorted)
	out := Spread{Mean: s.Mean, Median: s.Median, Min: s.Min, Max: s.Max, Range: s.Max - s.Min, Intervals: "independent rows"}
	if s.N < 2 {
		return out
	}
	out.SD = &s.SD
	if err == nil {
		out.COV = &s.COV
	}
	switch {
	case err == nil && s.COV <= leastCOV:
		out.byResolution()
	case s.SD > 0:
		x.intervals(&out, s, d)
		if out.COV != nil {
			out.COVCI = bounded(out.COVCI, *out.COV)
		}
	}
	return out
}

// Equal reports whether the values are equal but for the rounding of sums.
func (s *Spread) Equal() bool { return s.Range == 0 || s.COV != nil && *s.COV <= leastCOV }

// leastCOV is the COV up to which values are equal but for the rounding of sums.
const leastCOV = 1e-12

// byResolution fills the intervals of equal values: each is known to half a unit of its
// last digit, and no further scatter is seen. There are none where the digits are so few
// that they might be those of other values.
func (s *Spread) byResolution() {
	share := s.Resolution()
	if !(s.Mean > 0) || share > coarsest {
		return
	}
	half := share * s.Mean
	s.Intervals = "the resolution of the values"
	s.MeanCI = &Interval{s.Mean - half, s.Mean + half}
	s.MedianCI = &Interval{s.Median - half, s.Median + half}
	s.COVCI = &Interval{0, share}
}

// Resolution is by what share of their mean equal values may differ: half a unit of their
// last digit ([stats.HalfDigit]), and what rounding of sums shows.
func (s *Spread) Resolution() float64 {
	return max(stats.HalfDigit(s.Min, s.Max)/s.Mean, *s.COV)
}

// coarsest is what share of a value half a unit of its last digit may be: a table does
// not tell 1 from 1.000.
const coarsest = .05

// mostAbove is how many times as large as the COV the upper end of its interval is at
// most. What reaches further is no bound: the rows are worth too few.
const mostAbove = 100

// bounded is nil for an interval without bound.
func bounded(ci *Interval, middle float64) *Interval {
	if ci == nil || !(ci[1] <= mostAbove*middle) {
		return nil
	}
	return ci
}

// intervals fills those of mean, median and COV.
func (x *Rows) intervals(out *Spread, s stats.Spread, d Dependence) {
	n := float64(s.N)
	held := d.heldBy(x.Level)
	if lo, hi, err := stats.MedianRanks(max(1, int(held)), x.Level); err == nil {
		e := math.Floor(held)
		at := func(rank int) float64 { return x.Sorted[min(s.N-1, int((float64(rank)-0.5)/e*n))] }
		out.MedianCI = &Interval{at(lo), at(hi)}
	}
	if c := d.Clustered; c != nil {
		out.Intervals = fmt.Sprintf("rows of %d %s, worth %.0f independent ones", c.Groups, d.Units(), d.EffectiveN)
		out.MeanCI = interval(c.MeanInterval(x.Level))
		if ci := interval(c.COVInterval(x.Level)); ci != nil && out.COV != nil {
			out.COVCI = &Interval{min(ci[0], s.COV), max(ci[1], s.COV)}
		}
		return
	}
	t, err := stats.TCritical(x.Level, d.EffectiveN-1)
	if err == nil && d.EffectiveN >= 2 { // of fewer, t grows beyond all bounds
		half := t * s.SD / math.Sqrt(d.EffectiveN)
		out.MeanCI = &Interval{s.Mean - half, s.Mean + half}
	}
	if out.COV == nil {
		return
	}
	out.COVCI = x.covInterval(x.Sorted)
	if c := d.ofTimes; c != nil && out.COVCI != nil {
		if ci := interval(c.COVInterval(x.Level)); ci != nil {
			out.COVCI = &Interval{min(out.COVCI[0], ci[0]), max(out.COVCI[1], ci[1])}
		}
	}
	if d.EffectiveN < n {
		out.Intervals = fmt.Sprintf("rows that depend on each other, worth %.0f independent ones", d.EffectiveN)
		x.covInTime(out, n, d)
	}
}

// covFactor is by how much the interval of a COV is wider where n values are worth
// fewer for their mean, as they depend on those before them. Variances of an AR(1)
// process, of which n values are worth n/τ for the mean, are worth 2τn/(τ²+1) (M. B.
// Priestley, Spectral Analysis and Time Series, 1981, section 5.3), with Student's t
// of so many. ok is false where they are worth none.
func covFactor(n, effective, level float64) (factor float64, ok bool) {
	tau := n / effective
	worth := n * 2 * tau / (tau*tau + 1)
	z, errZ := stats.NormalCritical(level)
	t, errT := stats.TCritical(level, worth-1)
	return math.Sqrt(n/worth) * t / z, errZ == nil && errT == nil
}

// covInTime makes the interval of the COV heed that rows depend on those before
// them, by [covFactor]. Drawing blocks keeps most of what
// neighbours have in common, of whatever kind. The wider interval counts.
func (x *Rows) covInTime(out *Spread, n float64, d Dependence) {
	effective := d.EffectiveN
	if d.ofTimes != nil { // which heeds how alike rows of one time are
		n, effective = float64(d.ofTimes.Groups), float64(d.ofTimes.Groups)*d.ofSeries
	}
	factor, ok := covFactor(n, effective, x.Level)
	if !ok {
		out.COVCI = nil
		return
	}
	out.COVCI = widen(out.COVCI, *out.COV, factor)
	if d.Block < 2 || out.COVCI == nil {
		return
	}
	if ci, err := stats.BlockInterval(x.Frame.Values, covStatistic, d.Block, x.Level, 400, seed); err == nil && ci.Lo > 0 {
		out.COVCI = &Interval{min(out.COVCI[0], ci.Lo), max(out.COVCI[1], ci.Hi)}
		out.Intervals += fmt.Sprintf("; of the COV with a bootstrap of blocks of %d rows", d.Block)
	}
}

// covStatistic is the COV as a statistic of a resample.
func covStatistic(xs []float64) float64 {
	v, err := stats.COV(xs)
	if err != nil {
		return math.NaN()
	}
	return v
}

// covInterval is that of ascending values that are independent; nil where there is
// none.
func (x *Rows) covInterval(sorted []float64) *Interval {
	return interval(stats.COVInterval(sorted, x.Level, seed))
}

// widen makes an interval wider by a factor, on the scale of logarithms.
func widen(ci *Interval, middle, factor float64) *Interval {
	if ci == nil || factor <= 1 {
		return ci
	}
	out := Interval{middle * math.Pow(ci[0]/middle, factor), middle * math.Pow(ci[1]/middle, factor)}
	if !(out[0] >= 0) {
		return nil
	}
	return bounded(&out, middle)
}

// covOf is the COV of ascending values; nil where it is not defined.
func covOf(sorted []float64) *float64 {
	s, err := stats.NewSpread(sorted)
	if err != nil {
		return nil
	}
	return &s.COV
}

// interval is the pointer form of an interval that may have failed.
func interval(ci stats.Interval, err error) *Interval {
	if err != nil {
		return nil
	}
	return &Interval{ci.Lo, ci.Hi}
}
