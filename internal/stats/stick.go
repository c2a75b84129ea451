package stats

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Stick is a line through the origin that bends once, at the knee, from the slope Before
// to the slope After (segmented regression; D. V. Hinkley, "Inference in two-phase
// regression", J. Am. Stat. Assoc. 66(336), 1971). Its corner may be round, as that of a
// closed network is: then the two lines are what it comes from and what it goes to, and
// the knee is where they meet.
type Stick struct {
	Before, After, Knee float64
	// CI is where the knee may lie. Its ends are never beyond the values of x: an
	// end at the least or greatest of them says "or beyond".
	CI Interval
	// P is that of so clear a bend where there is none, by the F test against the
	// line alone.
	P   float64
	SSE float64 // sum of squared errors

	corner corner
}

// leastStick is at how many x a stick needs observations: with less, any corner fits.
const leastStick = 4

// stickSteps is how finely a knee is looked for between two neighbouring x.
const stickSteps = 16

// stickParameters are two slopes, the knee, and how round its corner is.
const stickParameters = 4

// FitStick fits a stick by least squares to observations at four x or more, all
// above zero, which may repeat. noise is the standard error that an observation
// has at least, in the unit of y: a closer fit is chance.
//
// The interval holds every knee with which the stick fits no worse than chance
// allows, whatever its corner, SSE(k) ≤ SSE + F(1, ν)·s² (the profile-likelihood interval;
// P. M. Lerman, "Fitting segmented regression models by grid search", Applied Statistics
// 29(1), 1980). A sharp corner alone would put the knee of a round one at the wrong place,
// and the more surely so the more observations there are. The variance s² is the largest of
// that of all observations about the stick, ν = n−4, of that within each x, and of that of
// the means at each x about it where these are too far off for chance (F test, 5 %): then
// no stick fits, and more observations at the same x do not make its knee known more
// closely.
//
// Errors: ErrTooFew, ErrArgument, ErrNotFinite, ErrLength.
func FitStick(x, y []float64, level, noise float64) (out Stick, err error) {
	defer annotate(&err, "broken stick")
	if err := checkGrowth(x, y, leastStick); err != nil {
		return Stick{}, err
	}
	groups := groupByX(x, y)
	if len(groups.x) < leastStick {
		return Stick{}, fmt.Errorf("%d different x, want %d: %w", len(groups.x), leastStick, ErrTooFew)
	}
	if !(level > 0 && level < 1) || !(noise >= 0) {
		return Stick{}, fmt.Errorf("level %v with noise %v: %w", level, noise, ErrArgument)
	}
	sticks := groups.profile()
	out = slices.MinFunc(sticks, func(a, b Stick) int { return cmp.Compare(a.SSE, b.SSE) })
	variance, free := groups.variance(out.SSE, noise)
	f, err := FQuantile(level, 1, free)
	if err != nil {
		return Stick{}, err
	}
	out.CI = kneesWithin(sticks, out.SSE+f*variance)
	const more = 2
	out.P = FTail((lineSquares(x, y)-out.SSE)/more/variance, more, free)
	_, err = finite(out.Before + out.After + out.SSE + out.P)
	return out, err
}

// lineSquares is the sum of squared errors of the line through the origin.
func lineSquares(x, y []float64) (sse float64) {
	var xy, xx float64
	for i := range x {
		xy += x[i] * y[i]
		xx += x[i] * x[i]
	}
	for i := range x {
		d := y[i] - xy/xx*x[i]
		sse += d * d
	}
	return sse
}

// heaps are observations by their x, ascending, with the mean of each.
type heaps struct {
	x, mean, count []float64
	within         float64 // sum of squares about the means
	n              float64 // observations
}

func groupByX(x, y []float64) (h heaps) {
	xs, ys := bySize(x, y)
	h.n = float64(len(xs))
	for at, ys := range equalSizes(xs, ys) {
		mean := Average(ys)
		h.x, h.mean, h.count = append(h.x, at), append(h.mean, mean), append(h.count, float64(len(ys)))
		for _, v := range ys {
			h.within += (v - mean) * (v - mean)
		}
	}
	return h
}

// profile are the best sticks with their knees at so many places from the least to the
// greatest x, ascending.
func (h heaps) profile() (out []Stick) {
	for i := range len(h.x) - 1 {
		for k := range stickSteps {
			knee := h.x[i] + (h.x[i+1]-h.x[i])*float64(k)/stickSteps
			best := Stick{SSE: math.Inf(1)}
			for _, c := range cornerShapes {
				if s := h.stickWith(knee, c); s.SSE < best.SSE {
					best = s
				}
			}
			out = append(out, best)
		}
	}
	return out
}

// stickWith is the best stick with its knee there and such a corner: two slopes by least
// squares.
func (h heaps) stickWith(knee float64, c corner) Stick {
	s := Stick{Knee: knee, corner: c}
	var uu, uv, vv, uy, vy float64
	us := make([]float64, len(h.x))
	for i, x := range h.x {
		us[i] = c.served(x, knee)
		u, v, n := us[i], x-us[i], h.count[i]
		uu, uv, vv = uu+n*u*u, uv+n*u*v, vv+n*v*v
		uy, vy = uy+n*u*h.mean[i], vy+n*v*h.mean[i]
	}
	if det := uu*vv - uv*uv; det > noSpread*uu*vv {
		s.Before, s.After = (vv*uy-uv*vy)/det, (uu*vy-uv*uy)/det
	} else {
		s.Before = uy / uu
	}
	s.SSE = h.within
	for i, x := range h.x {
		d := h.mean[i] - s.Before*us[i] - s.After*(x-us[i])
		s.SSE += h.count[i] * d * d
	}
	return s
}

// variance is that of an observation about a stick with so many squared errors, with its
// degrees of freedom.
func (h heaps) variance(sse, noise float64) (variance, free float64) {
	places := float64(len(h.x))
	free = max(1, h.n-stickParameters)
	variance = sse / free
	if alone := h.n - places; alone > 0 {
		if pure := h.within / alone; pure > variance {
			variance, free = pure, alone
		}
		few := max(1, places-stickParameters)
		off := (sse - h.within) / few
		if off > variance && FTail(off/max(h.within/alone, noise*noise), few, alone) < 1-DefaultLevel {
			variance, free = off, few
		}
	}
	return max(variance, noise*noise, math.SmallestNonzeroFloat64), free
}

// kneesWithin are the knees from the first to the last of a profile that are no worse
// than so much, up to where it crosses that between two of them.
func kneesWithin(profile []Stick, sse float64) Interval {
	out := Interval{math.Inf(1), math.Inf(-1)}
	crossing := func(in, beyond int) float64 {
		if beyond < 0 || beyond == len(profile) || profile[beyond].SSE <= sse {
			return profile[in].Knee
		}
		a, b := profile[in], profile[beyond]
		return a.Knee + (b.Knee-a.Knee)*(sse-a.SSE)/(b.SSE-a.SSE)
	}
	for i, s := range profile {
		if s.SSE <= sse {
			out.Lo, out.Hi = min(out.Lo, crossing(i, i-1)), max(out.Hi, crossing(i, i+1))
		}
	}
	return out
}
