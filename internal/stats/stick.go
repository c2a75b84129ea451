package stats

import (
	"fmt"
	"math"
	"slices"
)

// Stick is a line through the origin that bends once: Before·x up to the knee, and
// from there on with the slope After (segmented regression; D. V. Hinkley,
// "Inference in two-phase regression", J. Am. Stat. Assoc. 66(336), 1971).
type Stick struct {
	Before, After, Knee float64
	// CI is where the knee may lie. Its ends are never beyond the values of x: an
	// end at the least or greatest of them says "or beyond".
	CI Interval
	// P is that of so clear a bend where there is none, by the F test against the
	// line alone.
	P   float64
	SSE float64 // sum of squared errors
}

// At is the height of the stick at x.
func (s Stick) At(x float64) float64 {
	return s.Before*min(x, s.Knee) + s.After*max(0, x-s.Knee)
}

// leastStick is at how many x a stick needs observations: its three parameters
// leave one to tell whether it fits.
const leastStick = 4

// stickSteps is how finely a knee is looked for between two neighbouring x.
const stickSteps = 64

// FitStick fits a stick by least squares to observations at four x or more, all
// above zero, which may repeat. noise is the standard error that an observation
// has at least, in the unit of y: a closer fit is chance.
//
// The interval holds every knee with which the stick fits no worse than chance
// allows, SSE(k) ≤ SSE + F(1, ν)·s² (the likelihood-ratio interval; P. M. Lerman,
// "Fitting segmented regression models by grid search", Applied Statistics 29(1),
// 1980). The variance s² is the larger of that of all observations about the stick,
// ν = n−3, and that of the means at each x about it, ν = one for each x less 3: where
// a curve bends gently, more observations at the same x do not make its knee known
// more closely.
//
// Errors: ErrTooFew, ErrArgument, ErrNotFinite, ErrLength.
func FitStick(x, y []float64, level, noise float64) (Stick, error) {
	if err := checkGrowth(x, y, leastStick); err != nil {
		return Stick{}, fmt.Errorf("broken stick: %w", err)
	}
	xs, ys := bySize(x, y)
	at := slices.Compact(slices.Clone(xs))
	if len(at) < leastStick {
		return Stick{}, fmt.Errorf("broken stick of %d different x, want %d: %w", len(at), leastStick, ErrTooFew)
	}
	if !(level > 0 && level < 1) || !(noise >= 0) {
		return Stick{}, fmt.Errorf("broken stick at level %v with noise %v: %w", level, noise, ErrArgument)
	}
	var sticks []Stick
	best := 0
	for _, k := range kneesBetween(at) {
		s := stickWith(k, xs, ys)
		sticks = append(sticks, s)
		if s.SSE < sticks[best].SSE {
			best = len(sticks) - 1
		}
	}
	out := sticks[best]
	variance, free := stickVariance(out, at, xs, ys, noise)
	f, err := FQuantile(level, 1, free)
	if err != nil {
		return Stick{}, fmt.Errorf("broken stick: %w", err)
	}
	out.CI = Interval{out.Knee, out.Knee}
	for _, s := range sticks {
		if s.SSE <= out.SSE+f*variance {
			out.CI.Lo, out.CI.Hi = min(out.CI.Lo, s.Knee), max(out.CI.Hi, s.Knee)
		}
	}
	line := linearGrowth(slopeOf(xs, ys), xs, ys)
	out.P = FTail((line.SSE-out.SSE)/2/variance, 2, free)
	_, err = finite(out.Before + out.After + out.SSE + out.P)
	return out, err
}

// kneesBetween are the candidates: from the least to the greatest x but one, where
// a last part has observations of its own.
func kneesBetween(at []float64) []float64 {
	var out []float64
	for i := range len(at) - 1 {
		for k := range stickSteps {
			out = append(out, at[i]+(at[i+1]-at[i])*float64(k)/stickSteps)
		}
	}
	return out
}

// stickWith is the best stick with its knee there: two slopes by least squares.
func stickWith(knee float64, xs, ys []float64) Stick {
	var uu, uv, vv, uy, vy float64
	for i, x := range xs {
		u, v := min(x, knee), max(0, x-knee)
		uu, uv, vv = uu+u*u, uv+u*v, vv+v*v
		uy, vy = uy+u*ys[i], vy+v*ys[i]
	}
	s := Stick{Knee: knee}
	if det := uu*vv - uv*uv; det > noSpread*uu*vv {
		s.Before, s.After = (vv*uy-uv*vy)/det, (uu*vy-uv*uy)/det
	} else {
		s.Before = uy / uu
	}
	for i, x := range xs {
		d := ys[i] - s.At(x)
		s.SSE += d * d
	}
	return s
}

// stickVariance is the variance of an observation with its degrees of freedom.
func stickVariance(s Stick, at, xs, ys []float64, noise float64) (variance, free float64) {
	free = float64(len(xs) - 3)
	variance = s.SSE / free
	var between float64
	for i, x := range at {
		first, _ := slices.BinarySearch(xs, x)
		last := len(xs)
		if i+1 < len(at) {
			last, _ = slices.BinarySearch(xs, at[i+1])
		}
		sum := 0.0
		for _, v := range ys[first:last] {
			sum += v
		}
		n := float64(last - first)
		between += n * math.Pow(sum/n-s.At(x), 2)
	}
	if few := float64(len(at) - 3); between/few > variance {
		variance, free = between/few, few
	}
	return max(variance, noise*noise, math.SmallestNonzeroFloat64), free
}
