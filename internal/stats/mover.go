package stats

import "math"

// DifferenceInterval is the interval of a − b for two independent estimates with
// intervals of one level, which need not be symmetric: the method of variance estimates
// recovery (G. Y. Zou and A. Donner, "Construction of confidence limits about effect
// measures: a general approach", Stat. Med. 27, 2008, equation 8).
func DifferenceInterval(a float64, ciA Interval, b float64, ciB Interval) Interval {
	return Interval{
		Lo: a - b - math.Hypot(a-ciA.Lo, ciB.Hi-b),
		Hi: a - b + math.Hypot(ciA.Hi-a, b-ciB.Lo),
	}
}
