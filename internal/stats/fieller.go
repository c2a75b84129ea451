package stats

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Interval is a closed interval with finite bounds, Lo ≤ Hi. In JSON it is
// [lo, hi], or null where its ends are no numbers.
type Interval struct{ Lo, Hi float64 }

// MarshalJSON implements json.Marshaler.
func (i Interval) MarshalJSON() ([]byte, error) {
	if math.IsNaN(i.Lo) || math.IsNaN(i.Hi) {
		return []byte("null"), nil
	}
	return json.Marshal([2]float64{i.Lo, i.Hi})
}

// Contains reports whether x lies in the interval.
func (i Interval) Contains(x float64) bool { return i.Lo <= x && x <= i.Hi }

// Moments is what Fieller's interval needs to know of n pairs.
type Moments struct {
	N                int
	MeanNum, MeanDen float64
	VarNum, VarDen   float64 // sample variances, divisor n−1
	Cov              float64 // sample covariance, divisor n−1
}

// noSpread is the scatter about the fitted ratio, relative to the largest
// value, below which only rounding is left.
const noSpread = 1e-12

// Fieller returns the interval at this confidence level (0 < level < 1) for
// mean(num)/mean(den) of at least two pairs (E. C. Fieller, "Some problems in
// interval estimation", J. R. Stat. Soc. B 16(2), 1954). The pairs are
// supposed to be independent of each other and the residuals num − R·den to
// be normal; num and den themselves need not be.
//
// Errors: ErrUnbounded when the denominator cannot be told from zero at this
// level; ErrNoSpread when all pairs have the same ratio.
func Fieller(num, den []float64, level float64) (Interval, error) {
	if err := checkPairs(num, den, 2); err != nil {
		return Interval{}, fmt.Errorf("Fieller interval: %w", err)
	}
	// Scaled to at most 1, squares neither overflow nor vanish.
	n, scaleN := scaled(num)
	d, scaleD := scaled(den)
	if scaleD == 0 || stat.Mean(d, nil) == 0 {
		return Interval{}, fmt.Errorf("Fieller interval: %w", ErrZeroMean)
	}
	if sameRatio(n, d) {
		return Interval{}, fmt.Errorf("Fieller interval: %w", ErrNoSpread)
	}
	iv, err := moments(n, d).Fieller(level)
	if err != nil {
		return Interval{}, err
	}
	return iv.times(scaleN / scaleD)
}

// Fieller is the function Fieller for pairs of which only the moments are
// known. With variances v = s²/n and covariance c = cov/n,
//
//	A = m_d² − t²·v_d,  B = m_n·m_d − t²·c,  C = m_n² − t²·v_n,
//	R = (B ± √(B² − A·C)) / A,  t = t((1+level)/2, n−1).
//
// A ≤ 0 means that the set of ratios which the data allow has no bounds.
func (m Moments) Fieller(level float64) (Interval, error) {
	if m.N < 2 {
		return Interval{}, fmt.Errorf("Fieller interval of %d pairs: %w", m.N, ErrTooFew)
	}
	t, err := TQuantile((1+level)/2, float64(m.N-1))
	if err != nil {
		return Interval{}, fmt.Errorf("Fieller interval: %w", err)
	}
	if m.VarNum == 0 && m.VarDen == 0 {
		return Interval{}, fmt.Errorf("Fieller interval: %w", ErrNoSpread)
	}
	k := t * t / float64(m.N)
	a := m.MeanDen*m.MeanDen - k*m.VarDen
	b := m.MeanNum*m.MeanDen - k*m.Cov
	c := m.MeanNum*m.MeanNum - k*m.VarNum
	if !(a > 0) {
		return Interval{}, fmt.Errorf("Fieller interval: %w", ErrUnbounded)
	}
	// The estimate itself always lies between the roots, so that with A > 0
	// they are real; only rounding can make the discriminant negative.
	root := math.Sqrt(math.Max(0, b*b-a*c))
	return Interval{(b - root) / a, (b + root) / a}.times(1)
}

// times scales the interval by a positive factor and checks the bounds.
func (i Interval) times(f float64) (Interval, error) {
	lo, errLo := finite(i.Lo * f)
	hi, errHi := finite(i.Hi * f)
	if err := errors.Join(errLo, errHi); err != nil {
		return Interval{}, err
	}
	return Interval{lo, hi}, nil
}

// moments computes the moments of checked pairs.
func moments(num, den []float64) Moments {
	m := Moments{N: len(num), Cov: stat.Covariance(num, den, nil)}
	m.MeanNum, m.VarNum = stat.MeanVariance(num, nil)
	m.MeanDen, m.VarDen = stat.MeanVariance(den, nil)
	return m
}

// scaled returns the values divided by a power of two so that the largest
// magnitude is between 1/2 and 1, and that power: 0 when all values are zero.
// A power of two changes no digit.
func scaled(xs []float64) ([]float64, float64) {
	most := 0.0
	for _, x := range xs {
		most = math.Max(most, math.Abs(x))
	}
	out := make([]float64, len(xs))
	if most == 0 {
		return out, 0
	}
	_, exponent := math.Frexp(most)
	for i, x := range xs {
		out[i] = math.Ldexp(x, -exponent)
	}
	return out, math.Ldexp(1, exponent)
}

// sameRatio reports whether every pair has the ratio of the means, up to
// rounding. The pairs are scaled to at most 1.
func sameRatio(num, den []float64) bool {
	ratio := stat.Mean(num, nil) / stat.Mean(den, nil)
	for i := range num {
		if math.Abs(num[i]-ratio*den[i]) > noSpread*math.Max(1, math.Abs(ratio)) {
			return false
		}
	}
	return true
}
