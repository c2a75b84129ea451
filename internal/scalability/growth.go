package scalability

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/scalebench/scalebench/internal/stats"
)

// leastGrowth is how many observations tell min(γn, cap) from γn: with three
// parameters (γ, cap, error variance) AICc exists from five on.
const leastGrowth = 5

// ChooseGrowth returns whichever of γn and min(γn, cap) explains at least five
// observations better by AICc: the cap must earn its parameter (ScaleBench, section 5.3
// and Fig. 11). noise is the standard error that an observation has at least (the
// resolution of the instrument, in the unit of y; 0 if not known): a closer fit is chance,
// and proves nothing. Without a cap, γn at the largest size is only a lower bound of one
// that may exist.
func ChooseGrowth(n, y []float64, noise float64) (Curve, error) {
	if _, _, err := stats.BySize(n, y); err != nil {
		return Curve{}, fmt.Errorf("choosing a curve of growth: %w", err)
	}
	if len(y) < leastGrowth {
		return Curve{}, fmt.Errorf("choosing a curve of growth from %d observations, want %d: %w", len(y), leastGrowth,
			stats.ErrTooFew)
	}
	d := observed(n, y, noise)
	linear, err := d.curve(Linear)
	if err != nil {
		return Curve{}, err
	}
	if capped, err := d.curve(Capped); err != nil || capped.AICc < linear.AICc {
		return capped, err
	}
	return linear, nil
}

// growthStream separates its random numbers from those of other users of the
// same seed.
const growthStream = 0x960

// mostResamples is how many bootstrap samples make the standard error of a
// cap; more do not change its second digit.
const mostResamples = 1000

// CapInterval is the interval at 95 % of the cap of a curve that [ChooseGrowth] chose for
// these observations, by a residual bootstrap (B. Efron, R. J. Tibshirani, An Introduction
// to the Bootstrap, 1993, section 9.4): the curve is drawn anew from its residuals and
// fitted again, up to 1,000 times, which carries what is not known of the knee into the
// cap. The spread of the caps is a standard error; the interval is cap ± t(n−2)·error,
// because percentiles of so few residuals are too narrow. The same seed gives the same
// interval.
//
// Residuals are relative, and scaled by √(n/(n−2)) for the two parameters that
// were fitted to them: totals of large fleets scatter by more.
//
// [stats.ErrUnbounded]: more than a fortieth of the samples show no cap, so that the
// interval has no upper bound.
func (c Curve) CapInterval(n, y []float64, resamples int, seed uint64) (stats.Interval, error) {
	rng := rand.New(rand.NewPCG(seed, growthStream))
	residuals := c.relativeResiduals(n, y)
	drawn := make([]float64, len(y))
	var caps []float64
	resamples = min(resamples, mostResamples)
	for range resamples {
		for i := range drawn {
			drawn[i] = c.At(n[i]) * (1 + residuals[rng.IntN(len(residuals))])
		}
		d := observed(n, drawn, 0)
		if f := d.capped(pinned{}); f.shape.knee < d.largest() {
			caps = append(caps, f.scale*f.shape.knee)
		}
	}
	if without := resamples - len(caps); 40*without > resamples {
		return stats.Interval{}, fmt.Errorf("interval of a cap: %d of %d samples show no cap: %w", without, resamples,
			stats.ErrUnbounded)
	}
	sd, err := stats.SampleSD(caps)
	if err != nil {
		return stats.Interval{}, fmt.Errorf("interval of a cap: %w", err)
	}
	out, _ := c.Interval(c.Cap, sd)
	return out, nil
}

// relativeResiduals are y/f − 1 about their mean, with the variance of errors.
func (c Curve) relativeResiduals(n, y []float64) []float64 {
	out := make([]float64, len(y))
	for i := range y {
		out[i] = y[i]/c.At(n[i]) - 1
	}
	mean := stats.Average(out)
	scale := math.Sqrt(float64(len(y)) / float64(len(y)-2))
	for i := range out {
		out[i] = scale * (out[i] - mean)
	}
	return out
}

// Levelling is how the totals past a knee go on.
type Levelling struct {
	Slope  stats.Interval // of a line through them, per node
	Change float64        // of that line, from the smallest to the largest size
}

// LevelOff fits a line to the observations past the knee of a curve, at two
// sizes or more, to test whether they stay on one level: Slope holds 0 if they
// do within noise, at 95 %. The error variance is that of all observations about the
// curve with this line instead of the cap, n−3 degrees of freedom, and is at
// least noise².
//
// Errors: [stats.ErrTooFew] when fewer than two sizes lie past the knee, or fewer than
// four observations are given.
func (c Curve) LevelOff(n, y []float64, noise float64) (Levelling, error) {
	var past, totals []float64
	for i, x := range n {
		if x > c.Knee() {
			past, totals = append(past, x), append(totals, y[i])
		}
	}
	mx, my, sxx, sxy := stats.Average(past), stats.Average(totals), 0.0, 0.0
	first, last := mx, mx
	for i, x := range past {
		sxx, sxy = sxx+(x-mx)*(x-mx), sxy+(x-mx)*(totals[i]-my)
		first, last = min(first, x), max(last, x)
	}
	if !(sxx > 0) {
		return Levelling{}, fmt.Errorf("levelling off: fewer than two sizes past the knee: %w", stats.ErrTooFew)
	}
	t, err := stats.TCritical(level, float64(len(n)-3))
	if err != nil {
		return Levelling{}, fmt.Errorf("levelling off: %d observations: %w", len(n), stats.ErrTooFew)
	}
	slope, sse := sxy/sxx, 0.0
	for i, x := range n {
		fitted := c.formula(x)
		if x > c.Knee() {
			fitted = my + slope*(x-mx)
		}
		sse += (y[i] - fitted) * (y[i] - fitted)
	}
	half := t * max(math.Sqrt(sse/float64(len(n)-3)), noise) / math.Sqrt(sxx)
	return Levelling{stats.Interval{Lo: slope - half, Hi: slope + half}, slope * (last - first)}, nil
}

// What a miss is: the chance that a curve is refused that holds, and the share of the
// largest total below which a deviation does not count.
const (
	fitLevel  = 0.005
	leastMiss = 0.1
)

// Misses returns the size at which the totals lie farthest from a curve, where
// that is more than noise and matters: more than a tenth of the largest total, and
// significant at 0.5 % with the Bonferroni correction for the sizes. ok is false
// where the curve holds.
func (c Curve) Misses(sizes []stats.SizeTotals, noise stats.Noise) (worst stats.SizeTotals, ok bool) {
	t, err := stats.TQuantile(1-fitLevel/2/float64(len(sizes)), noise.Degrees)
	if err != nil {
		return worst, false
	}
	top, far := 0.0, 0.0
	for _, s := range sizes {
		top = max(top, s.Mean)
	}
	for _, s := range sizes {
		fitted := c.At(s.Size)
		off := math.Abs(s.Mean - fitted)
		if off > far && off > leastMiss*top && off > t*noise.SD*max(fitted, s.Mean)/math.Sqrt(s.Count) {
			worst, far, ok = s, off, true
		}
	}
	return worst, ok
}
