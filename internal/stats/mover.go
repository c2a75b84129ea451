package stats

import "math"

// Measured is a value with its interval.
type Measured struct {
	Value float64
	CI    Interval
	// Degrees are the degrees of freedom of the t distribution that the interval comes
	// from; 0: it comes from something else.
	Degrees float64
}

// Minus is the interval of a − b for two independent estimates with intervals of one level,
// which need not be symmetric: the method of variance estimates recovery (G. Y. Zou and
// A. Donner, "Construction of confidence limits about effect measures: a general approach",
// Stat. Med. 27, 2008, equation 8). If both intervals come from t distributions, their
// standard errors are combined as [Sum] does. The t of the difference is smaller than both,
// so that the interval would be too wide.
func (a Measured) Minus(b Measured, level float64) Interval {
	return Interval{
		Lo: a.Value - b.Value - a.combined(b, a.Value-a.CI.Lo, b.CI.Hi-b.Value, level),
		Hi: a.Value - b.Value + a.combined(b, a.CI.Hi-a.Value, b.Value-b.CI.Lo, level),
	}
}

// combined joins two distances from the values to the ends of their intervals.
func (a Measured) combined(b Measured, ofA, ofB, level float64) float64 {
	tA, errA := TCritical(level, a.Degrees)
	tB, errB := TCritical(level, b.Degrees)
	if errA != nil || errB != nil {
		return math.Hypot(ofA, ofB)
	}
	seA, seB := ofA/tA, ofB/tB
	difference := Sum([]Estimate{{Var: seA * seA, Degrees: a.Degrees}, {Var: seB * seB, Degrees: b.Degrees}},
		[]float64{1, -1})
	ci, err := difference.Interval(level)
	if err != nil {
		return math.Hypot(ofA, ofB)
	}
	return ci.Hi
}
