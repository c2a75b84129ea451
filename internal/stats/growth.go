package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Growth is a curve of total capacity y against the size n of a fleet: a·n, or
// min(a·n, cap) (ScaleBench, section 5.3 and Fig. 11).
type Growth struct {
	Slope float64 // a, capacity a node adds below the cap
	// Capped says that the curve has a cap and that some size lies past its
	// knee. Otherwise Cap and Knee are +Inf, and a·n at the largest size is
	// only a lower bound of a cap that may exist (it is censored).
	Capped bool
	Cap    float64
	Knee   float64 // cap/a, the size at which the cap is reached
	SSE    float64 // sum of squared errors
}

// At is the curve's value at size n.
func (g Growth) At(n float64) float64 { return min(g.Slope*n, g.Cap) }

// leastGrowth is how many observations tell min(a·n, cap) from a·n: with three
// parameters (a, cap, error variance) AICc exists from five on.
const leastGrowth = 5

// FitLinear fits y = a·n by least squares to at least one observation: a =
// Σny/Σn². Sizes are above zero.
func FitLinear(n, y []float64) (g Growth, err error) {
	defer annotate(&err, "fitting a·n")
	if err := checkGrowth(n, y, 1); err != nil {
		return Growth{}, err
	}
	a, err := finite(slopeOf(n, y))
	return linearGrowth(a, n, y), err
}

// FitCapped fits y = min(a·n, cap) by least squares, exactly, to at least two
// observations. Sizes are above zero and may repeat.
//
// Between two neighbouring sizes n_k < knee < n_k+1 the sum of squares falls
// apart into one in a, over the sizes up to n_k, and one in cap, over the rest:
// its least value is at a = Σ_{i≤k}ny/Σ_{i≤k}n², cap = mean of the rest, if the
// knee cap/a of these lies there. If not, the least value in that range is at
// its edge, where the knee is a size n_k itself and the curve is a·min(n, n_k).
// Each candidate is scored with the true min(), so that the best of them is the
// best of all. The result is not Capped when it has no size past its knee.
func FitCapped(n, y []float64) (best Growth, err error) {
	defer annotate(&err, "fitting min(a·n, cap)")
	if err := checkGrowth(n, y, 2); err != nil {
		return Growth{}, err
	}
	ns, ys := bySize(n, y)
	a, err := finite(slopeOf(ns, ys))
	if err != nil {
		return Growth{}, err
	}
	best = linearGrowth(a, ns, ys)
	for k := 1; k < len(ns); k++ {
		if ns[k] == ns[k-1] {
			continue // the curve has one value for one size
		}
		for _, g := range []Growth{splitAt(k, ns, ys), kneeAt(ns[k-1], ns, ys)} {
			if g.Slope > 0 && g.Knee < ns[len(ns)-1] && g.SSE < best.SSE {
				best = g
			}
		}
	}
	return best, nil
}

// splitAt is the candidate with the first k sizes below the knee.
func splitAt(k int, ns, ys []float64) Growth {
	return cappedGrowth(slopeOf(ns[:k], ys[:k]), Average(ys[k:]), ns, ys)
}

// kneeAt is the candidate with its knee at a size that was measured.
func kneeAt(knee float64, ns, ys []float64) Growth {
	bent := make([]float64, len(ns))
	for i, n := range ns {
		bent[i] = min(n, knee)
	}
	a := slopeOf(bent, ys)
	return cappedGrowth(a, a*knee, ns, ys)
}

func linearGrowth(a float64, ns, ys []float64) Growth {
	return Growth{Slope: a, Cap: math.Inf(1), Knee: math.Inf(1)}.scored(ns, ys)
}

func cappedGrowth(a, limit float64, ns, ys []float64) Growth {
	return Growth{Slope: a, Capped: true, Cap: limit, Knee: limit / a}.scored(ns, ys)
}

// scored has the sum of squared errors of the true curve.
func (g Growth) scored(ns, ys []float64) Growth {
	for i, n := range ns {
		d := ys[i] - g.At(n)
		g.SSE += d * d
	}
	return g
}

// slopeOf is Σny/Σn².
func slopeOf(ns, ys []float64) float64 {
	var xy, xx float64
	for i, n := range ns {
		xy += n * ys[i]
		xx += n * n
	}
	return xy / xx
}

// bySize returns the observations in the order of their sizes.
func bySize(n, y []float64) (ns, ys []float64) {
	ns, rows := SortRows(n)
	for _, row := range rows {
		ys = append(ys, y[row])
	}
	return ns, ys
}

// checkGrowth is checkPairs for sizes and capacities.
func checkGrowth(n, y []float64, least int) error {
	if err := checkPairs(n, y, least); err != nil {
		return err
	}
	if slices.Min(n) <= 0 {
		return fmt.Errorf("a size of %v, want above 0: %w", slices.Min(n), ErrArgument)
	}
	return nil
}

// ChooseGrowth returns whichever of a·n and min(a·n, cap) explains at least
// five observations better by [AICc]: the cap must earn its parameter. noise is
// the standard error that an observation has at least (the resolution of the
// instrument, in the unit of y; 0 if not known): a closer fit is chance, and
// proves nothing.
func ChooseGrowth(n, y []float64, noise float64) (Growth, error) {
	if err := checkGrowth(n, y, leastGrowth); err != nil {
		return Growth{}, fmt.Errorf("choosing a curve of growth: %w", err)
	}
	linear, err := FitLinear(n, y)
	if err != nil {
		return Growth{}, err
	}
	capped, err := FitCapped(n, y)
	if err != nil || !capped.Capped {
		return linear, err
	}
	least := leastSquares(y, noise)
	one, err := AICc(max(linear.SSE, least), len(y), 2)
	if err != nil {
		return Growth{}, err
	}
	two, err := AICc(max(capped.SSE, least), len(y), 3)
	if err != nil {
		return Growth{}, err
	}
	if two < one {
		return capped, nil
	}
	return linear, nil
}

// leastSquares is the sum of squared errors that noise gives, and rounding
// where none is known.
func leastSquares(y []float64, noise float64) float64 {
	for _, v := range y {
		noise = max(noise, 1e-9*math.Abs(v))
	}
	return max(float64(len(y))*noise*noise, math.SmallestNonzeroFloat64)
}

// AICc is Akaike's information criterion of a least-squares fit, corrected for
// few observations (C. M. Hurvich, C.-L. Tsai, "Regression and time series
// model selection in small samples", Biometrika 76(2), 1989): n·ln(SSE/n) + 2k
// + 2k(k+1)/(n−k−1), with k parameters, the error variance among them. Less is
// better. It needs n ≥ k+2 and an SSE above zero.
func AICc(sse float64, n, k int) (float64, error) {
	if n < k+2 {
		return 0, fmt.Errorf("AICc of %d observations and %d parameters: %w", n, k, ErrTooFew)
	}
	if !(sse > 0) {
		return 0, fmt.Errorf("AICc of a sum of squares of %v: %w", sse, ErrArgument)
	}
	fn, fk := float64(n), float64(k)
	return finite(fn*math.Log(sse/fn) + 2*fk + 2*fk*(fk+1)/(fn-fk-1))
}

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
// fortieth of the samples show no cap, so that the interval has no upper bound;
// ErrArgument for a curve without a cap.
func CapInterval(g Growth, n, y []float64, level float64, resamples int, seed uint64) (ci Interval, err error) {
	defer annotate(&err, "interval of a cap")
	if err := checkGrowth(n, y, 4); err != nil {
		return Interval{}, err
	}
	if resamples < 100 {
		return Interval{}, fmt.Errorf("from %d resamples, want at least 100: %w", resamples, ErrArgument)
	}
	if !g.Capped || !(g.Slope > 0) || !(g.Cap > 0) {
		return Interval{}, fmt.Errorf("the curve has none: %w", ErrArgument)
	}
	t, err := TCritical(level, float64(len(n)-2))
	if err != nil {
		return Interval{}, err
	}
	caps, err := resampleCaps(g, n, y, resamples, seed)
	if err != nil {
		return Interval{}, err
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
// curve with this line instead of the cap, n−3 degrees of freedom, and is at
// least noise².
//
// Errors: ErrTooFew when fewer than two sizes lie past the knee, or fewer than
// four observations are given.
func LevelOff(g Growth, n, y []float64, level, noise float64) (l Levelling, err error) {
	defer annotate(&err, "levelling off")
	if err := checkGrowth(n, y, 4); err != nil {
		return Levelling{}, err
	}
	ns, ys := bySize(n, y)
	past := len(ns) - len(slices.DeleteFunc(slices.Clone(ns), func(n float64) bool { return n <= g.Knee }))
	ns, ys = ns[past:], ys[past:]
	if len(ns) < 2 || stat.Variance(ns, nil) == 0 {
		return Levelling{}, fmt.Errorf("fewer than two sizes past the knee: %w", ErrTooFew)
	}
	t, err := TCritical(level, float64(len(n)-3))
	if err != nil {
		return Levelling{}, err
	}
	alpha, beta := stat.LinearRegression(ns, ys, nil, false)
	var sse, spread float64
	for i, x := range n {
		fitted := g.At(x)
		if x > g.Knee {
			fitted = alpha + beta*x
			spread += (x - stat.Mean(ns, nil)) * (x - stat.Mean(ns, nil))
		}
		sse += (y[i] - fitted) * (y[i] - fitted)
	}
	sd := max(math.Sqrt(sse/float64(len(n)-3)), noise)
	half := t * sd / math.Sqrt(spread)
	iv, err := Interval{beta - half, beta + half}.times(1)
	return Levelling{iv, beta * (ns[len(ns)-1] - ns[0])}, err
}
