package stats

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat"
)

// growthStream separates its random numbers from those of other users of the
// same seed.
const growthStream = 0x960

// GrowthResamples is how many bootstrap samples make the standard error of a
// cap; more do not change its second digit.
const GrowthResamples = 1000

// CapInterval returns the interval at this level for the cap of a curve that
// [FitCapped] fitted to these observations, by a residual bootstrap (B. Efron,
// R. J. Tibshirani, An Introduction to the Bootstrap, 1993, section 9.4): the
// curve is drawn anew from its residuals and fitted again, many times, which
// carries what is not known of the knee into the cap. The spread of the caps is
// a standard error; the interval is cap ± t(n−2)·error, because percentiles of
// so few residuals are too narrow. The same seed gives the same interval.
//
// Residuals are relative, and scaled by √(n/(n−2)) for the two parameters that
// were fitted to them: totals of large fleets scatter by more.
//
// Errors: ErrTooFew below four observations; ErrUnbounded when more than a
// fortieth of the samples show no cap at all, so that there is no upper bound;
// ErrArgument for a curve without a cap.
func CapInterval(g Growth, n, y []float64, level float64, resamples int, seed uint64) (Interval, error) {
	if err := checkGrowth(n, y, 4); err != nil {
		return Interval{}, fmt.Errorf("interval of a cap: %w", err)
	}
	if resamples < 100 {
		return Interval{}, fmt.Errorf("interval of a cap from %d resamples, want at least 100: %w", resamples, ErrArgument)
	}
	if !g.Capped || !(g.Slope > 0) || !(g.Cap > 0) {
		return Interval{}, fmt.Errorf("interval of a cap: the curve has none: %w", ErrArgument)
	}
	t, err := TQuantile((1+level)/2, float64(len(n)-2))
	if err != nil {
		return Interval{}, fmt.Errorf("interval of a cap: %w", err)
	}
	caps, err := resampleCaps(g, n, y, resamples, seed)
	if err != nil {
		return Interval{}, fmt.Errorf("interval of a cap: %w", err)
	}
	half := t * stat.StdDev(caps, nil)
	return Interval{g.Cap - half, g.Cap + half}.times(1)
}

// resampleCaps returns the cap of each bootstrap sample that has one.
func resampleCaps(g Growth, n, y []float64, resamples int, seed uint64) ([]float64, error) {
	rng := rand.New(rand.NewPCG(seed, growthStream))
	residuals := relativeResiduals(g, n, y)
	caps := make([]float64, 0, resamples)
	drawn := make([]float64, len(y))
	for range resamples {
		for i := range drawn {
			drawn[i] = g.At(n[i]) * (1 + residuals[rng.IntN(len(residuals))])
		}
		again, err := FitCapped(n, drawn)
		if err != nil {
			return nil, err
		}
		if again.Capped {
			caps = append(caps, again.Cap)
		}
	}
	if without := resamples - len(caps); 40*without > resamples {
		return nil, fmt.Errorf("%d of %d samples show no cap: %w", without, resamples, ErrUnbounded)
	}
	return caps, nil
}

// relativeResiduals are y/f − 1 about their mean, with the variance of errors.
func relativeResiduals(g Growth, n, y []float64) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		out[i] = y[i]/g.At(n[i]) - 1
	}
	mean := stat.Mean(out, nil)
	scale := math.Sqrt(float64(len(y)) / float64(len(y)-2))
	for i := range out {
		out[i] = scale * (out[i] - mean)
	}
	return out
}

// Levelling is how the totals past a knee go on.
type Levelling struct {
	Slope  Interval // of a line through them, per node
	Change float64  // of that line, from the smallest to the largest size
}

// LevelOff fits a line to the observations past the knee of a curve, at two
// sizes or more, to test whether they stay on one level: Slope holds 0 if they
// do within noise. The error variance is that of all observations about the
// curve with this line in place of the cap, n−3 degrees of freedom, and is at
// least noise².
//
// Errors: ErrTooFew when fewer than two sizes lie past the knee, or fewer than
// four observations are given.
func LevelOff(g Growth, n, y []float64, level, noise float64) (Levelling, error) {
	if err := checkGrowth(n, y, 4); err != nil {
		return Levelling{}, fmt.Errorf("levelling off: %w", err)
	}
	ns, ys := pastKnee(g, n, y)
	if len(ns) < 2 || stat.Variance(ns, nil) == 0 {
		return Levelling{}, fmt.Errorf("levelling off: fewer than two sizes past the knee: %w", ErrTooFew)
	}
	t, err := TQuantile((1+level)/2, float64(len(n)-3))
	if err != nil {
		return Levelling{}, fmt.Errorf("levelling off: %w", err)
	}
	alpha, beta := stat.LinearRegression(ns, ys, nil, false)
	line := func(x float64) float64 { return alpha + beta*x }
	var sse, spread float64
	for i, x := range n {
		fitted := g.At(x)
		if x > g.Knee {
			fitted = line(x)
			spread += (x - stat.Mean(ns, nil)) * (x - stat.Mean(ns, nil))
		}
		sse += (y[i] - fitted) * (y[i] - fitted)
	}
	sd := max(math.Sqrt(sse/float64(len(n)-3)), noise)
	half := t * sd / math.Sqrt(spread)
	iv, err := Interval{beta - half, beta + half}.times(1)
	return Levelling{iv, beta * (ns[len(ns)-1] - ns[0])}, err
}

// pastKnee returns the observations past the knee, by size.
func pastKnee(g Growth, n, y []float64) (ns, ys []float64) {
	sortedN, sortedY := bySize(n, y)
	for i, x := range sortedN {
		if x > g.Knee {
			ns, ys = append(ns, x), append(ys, sortedY[i])
		}
	}
	return ns, ys
}
