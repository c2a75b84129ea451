package svg

import "math"

// Axis maps values to shares of its length; its ends are round numbers.
type Axis struct {
	Lo, Hi float64
	Step   float64 // between two ticks
}

// NewAxis returns an axis that covers lo to hi with about n ticks at round
// numbers (1, 2, 5 times a power of ten). Without a finite extent it is 0 to 1.
func NewAxis(lo, hi float64, n int) Axis {
	if math.IsNaN(lo+hi) || math.IsInf(lo+hi, 0) || hi <= lo {
		lo, hi = 0, 1
	}
	step := niceStep((hi - lo) / float64(max(n, 1)))
	return Axis{Lo: math.Floor(lo/step+1e-9) * step, Hi: math.Ceil(hi/step-1e-9) * step, Step: step}
}

// TightAxis is NewAxis with its ends exactly at lo and hi: for time, where
// empty space would look like time in which nothing happened.
func TightAxis(lo, hi float64, n int) Axis {
	a := NewAxis(lo, hi, n)
	if hi > lo && !math.IsInf(hi-lo, 0) {
		a.Lo, a.Hi = lo, hi
	}
	return a
}

// niceStep is the round number nearest to raw on a logarithmic scale: the
// thresholds are the geometric means of neighbours.
func niceStep(raw float64) float64 {
	return roundStep(raw, math.Sqrt2, math.Sqrt(10), math.Sqrt(50))
}

// roundStep returns 1, 2, 5 or 10 times a power of ten: the first whose limit
// raw does not exceed.
func roundStep(raw, one, two, five float64) float64 {
	power := math.Pow(10, math.Floor(math.Log10(raw)+1e-12))
	const slack = 1 + 1e-9
	switch m := raw / power; {
	case m <= one*slack:
		return power
	case m <= two*slack:
		return 2 * power
	case m <= five*slack:
		return 5 * power
	}
	return 10 * power
}

// Share returns where v lies: 0 at Lo, 1 at Hi.
func (a Axis) Share(v float64) float64 { return (v - a.Lo) / (a.Hi - a.Lo) }

// Pct is Share as a length along x.
func (a Axis) Pct(v float64) Len { return Pct(100 * a.Share(v)) }

// Y is Share as pixels downwards in a plot of this height that begins at top.
func (a Axis) Y(v, top, height float64) Len { return Px(top + height*(1-a.Share(v))) }

// Ticks returns the values of the ticks within the axis.
func (a Axis) Ticks() []float64 {
	var out []float64
	first := math.Ceil(a.Lo/a.Step - 1e-9)
	for k := first; k*a.Step <= a.Hi+1e-9*a.Step && len(out) < 100; k++ {
		// Rounded to the step: 3·0.1 is meant to be 0.3.
		out = append(out, math.Round(k)*a.Step)
	}
	return out
}

// Thin returns every how many of n labels may be shown so that no more than
// most are: 1, 2, 5, 10, 20, 50, …
func Thin(n, most int) int {
	if n <= max(most, 1) {
		return 1
	}
	return int(math.Max(1, math.Round(roundStep(float64(n)/float64(max(most, 1)), 1, 2, 5))))
}
