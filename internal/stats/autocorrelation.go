package stats

import (
	"math"
	"math/bits"
	"math/cmplx"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// ACF returns the autocorrelations of a series at lags 0 (which is 1) to lags:
//
//	r_k = Σ (x_i − x̄)(x_{i+k} − x̄) / Σ (x_i − x̄)²
//
// (G. E. P. Box and G. M. Jenkins, Time Series Analysis, section 2.1.5). Many
// lags of long series go through the fast Fourier transform. Errors: ErrTooFew unless there
// are more values than lags and at least two; ErrNoSpread; ErrArgument.
func ACF(xs []float64, lags int) ([]float64, error) {
	if lags < 0 {
		return nil, ErrArgument
	}
	if err := check(xs, max(2, lags+1)); err != nil {
		return nil, err
	}
	if constant(xs) {
		return nil, ErrNoSpread
	}
	return acf(xs, lags)
}

func acf(xs []float64, lags int) ([]float64, error) {
	mean, most := stat.Mean(xs, nil), 0.0
	for _, x := range xs {
		most = max(most, math.Abs(x-mean))
	}
	if _, err := finite(most); err != nil {
		return nil, err
	}
	off := make([]float64, len(xs)) // at most 1: squares neither overflow nor vanish
	for i, x := range xs {
		off[i] = (x - mean) / most
	}
	out := make([]float64, lags+1)
	if lags < fewLags || len(xs)*(lags+1) < 1<<16 {
		for k := range out {
			for i, x := range off[k:] {
				out[k] += off[i] * x
			}
		}
	} else {
		out = laggedTransform(off, lags)
	}
	for k := lags; k >= 0; k-- {
		out[k] /= out[0]
	}
	return out, nil
}

// fewLags is up to how many lags products are faster than a transform.
const fewLags = 64

// laggedTransform is Σ x_i·x_{i+k} for each lag k, by the spectrum of the values behind which zeros keep
// their end from meeting their beginning.
func laggedTransform(xs []float64, lags int) []float64 {
	fft := fourier.NewFFT(1 << bits.Len(uint(len(xs)+lags)))
	spectrum := fft.Coefficients(nil, append(xs, make([]float64, fft.Len()-len(xs))...))
	for i, c := range spectrum {
		spectrum[i] = c * cmplx.Conj(c)
	}
	return fft.Sequence(nil, spectrum)[:lags+1]
}

// EffectiveSize returns how many independent values tell as much about the mean as
// those of the series do, and the length of blocks for [BlockInterval].
//
// The size is n/τ, τ = 1 + 2·Σr_k, summed by C. J. Geyer's initial monotone
// sequence ("Practical Markov chain Monte Carlo", Statistical Science 7(4), 1992,
// section 3.3): pairs of neighbouring lags, as long as they are positive, none
// larger than the one before. It is at most n. The block is the optimum for the
// circular bootstrap (D. N. Politis and H. White, "Automatic block-length selection
// for the dependent bootstrap", Econometric Reviews 23(1), 2004, with the
// correction of A. Patton, D. N. Politis and H. White, ibid. 28(4), 2009), rounded
// up, at least 1.
//
// Of more than a million values, means of neighbours take the place of values, at
// most a million of them: their mean is the same, and so is its variance, σ_b²·τ_b/b
// of b means. docs/methods.md shows what that changes.
//
// A step or a drift in the series looks like strong autocorrelation: look for
// [ChangePoints] first. Errors: ErrTooFew below 10 values, ErrNoSpread.
func EffectiveSize(xs []float64) (n float64, block int, err error) {
	if err := check(xs, 10); err != nil {
		return 0, 0, err
	}
	if constant(xs) {
		return 0, 0, ErrNoSpread
	}
	n = float64(len(xs))
	means, size := binned(xs, mostRelated)
	if constant(means) {
		return n, size, nil // values of one bin make up for each other
	}
	r, err := acf(means, blockLags(len(means)))
	if err != nil {
		return 0, 0, err
	}
	optimum := min(circularBlock(float64(len(means)), r)*float64(size), longestBlock(n))
	tau, err := integratedTime(means, r)
	worth := float64(len(means)) / tau
	if size > 1 {
		worth = min(n, worth*stat.PopVariance(xs, nil)/stat.PopVariance(means, nil))
	}
	return worth, max(1, int(math.Ceil(optimum-1e-9))), err
}

// mostRelated is of how many values, or means of them, EffectiveSize has the
// autocorrelations.
const mostRelated = 1 << 20

// integratedTime is τ, at least 1. It asks for more lags than r has until the
// sequence ends.
func integratedTime(xs, r []float64) (float64, error) {
	for {
		tau, ended := monotoneSequence(r)
		if ended || len(r) == len(xs) {
			return max(1, tau), nil
		}
		var err error
		if r, err = acf(xs, min(32*len(r), len(xs)-1)); err != nil {
			return 1, err
		}
	}
}

// monotoneSequence sums up until a pair of lags is not positive.
func monotoneSequence(r []float64) (tau float64, ended bool) {
	tau = -1
	last := math.Inf(1)
	for k := 0; k+1 < len(r); k += 2 {
		pair := r[k] + r[k+1]
		if pair <= 0 {
			return tau, true
		}
		last = min(last, pair)
		tau += 2 * last
	}
	return tau, false
}

// circularBlock is the length of blocks by Politis and White: a flat-top window over
// twice as many lags as are significant gives g = Σ|k|·R(k) and the spectrum at 0,
// and the optimum is (2g²/D)^⅓·n^⅓ with D = 4/3 of the spectrum squared. r are the
// autocorrelations of n values up to [blockLags].
func circularBlock(n float64, r []float64) float64 {
	kn, most := silence(n), len(r)-1
	limit := 2 * math.Sqrt(math.Log10(n)/n)
	m, silent := most, 0
	for k, v := range r {
		silent++
		if math.Abs(v) >= limit {
			silent = 0
		}
		if silent == kn && k < most {
			m = min(2*max(k-kn+1, 1), most)
			break
		}
	}
	var g float64
	spectrum := 1.0
	for k := 1; k <= m; k++ {
		weight := min(1, 2*(1-float64(k)/float64(m)))
		g += 2 * weight * float64(k) * r[k]
		spectrum += 2 * weight * r[k]
	}
	optimum := math.Cbrt(2 * g * g / (4. / 3 * spectrum * spectrum) * n)
	return min(optimum, longestBlock(n))
}

func longestBlock(n float64) float64 { return math.Ceil(min(3*math.Sqrt(n), n/3)) }

// blockLags is up to which lag circularBlock looks at n values.
func blockLags(n int) int {
	return min(int(math.Ceil(math.Sqrt(float64(n))))+silence(float64(n)), n-1)
}

// silence is how many lags in a row must be insignificant to end those that count.
func silence(n float64) int { return max(5, int(math.Log10(n))) }

// mostDrawn is how many values a resample has at most.
const mostDrawn = 100_000

// blockStream separates the random numbers of BlockInterval from those of other
// users of the same seed.
const blockStream = 0xb10c

// BlockInterval returns the interval at this level for a statistic of a series
// that depends on its own past, by the circular block bootstrap (D. N. Politis and
// J. P. Romano, "A circular block-resampling procedure for stationary data", in
// Exploring the Limits of Bootstrap, 1992): blocks of neighbours are drawn, so that
// what they have in common stays in common; block is that of [EffectiveSize], 1 for
// independent values. The interval is that of the quantiles, widened for few blocks
// as Student's is: by t/z·√(k/(k−1)) for k blocks.
//
// stat gets the values of a resample in the order of their blocks, in a slice that
// it may sort and must not keep. Of more than 100,000 values, resamples have
// 100,000, and their deviations are scaled by the root of the share (P. J. Bickel,
// F. Götze and W. R. van Zwet, "Resampling fewer than n observations", Statistica
// Sinica 7, 1997): right for statistics with an error of 1/√n, such as means,
// quantiles and coefficients of variation.
//
// Errors: ErrTooFew of fewer than two blocks, ErrNotFinite where stat has no
// result, ErrNoSpread where it has always the same, ErrArgument.
func BlockInterval(xs []float64, stat func(xs []float64) float64, block int, level float64, resamples int, seed uint64) (Interval, error) {
	if !(level > 0 && level < 1) || resamples < 100 || block < 1 {
		return Interval{}, ErrArgument
	}
	if err := check(xs, 2*block); err != nil {
		return Interval{}, err
	}
	estimate := stat(slices.Clone(xs))
	boot := resampleBlocks(xs, stat, block, resamples, seed)
	if err := check(append(boot, estimate), 2); err != nil {
		return Interval{}, err
	}
	slices.Sort(boot)
	if boot[0] == boot[len(boot)-1] {
		return Interval{}, ErrNoSpread
	}
	blocks := float64(len(xs)) / float64(block)
	t, err := TCritical(level, blocks-1)
	if err != nil {
		return Interval{}, err
	}
	z, err := NormalCritical(level)
	if err != nil {
		return Interval{}, err
	}
	scale := t / z * math.Sqrt(blocks/(blocks-1)) * math.Sqrt(float64(min(len(xs), mostDrawn))/float64(len(xs)))
	lo := estimate + scale*(QuantileSorted(boot, (1-level)/2)-estimate)
	hi := estimate + scale*(QuantileSorted(boot, (1+level)/2)-estimate)
	return Interval{lo, hi}.times(1)
}

// resampleBlocks is the statistic of each resample.
func resampleBlocks(xs []float64, stat func(xs []float64) float64, block, resamples int, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, blockStream))
	drawn, out := make([]float64, min(len(xs), mostDrawn)), make([]float64, resamples)
	for i := range out {
		for filled := 0; filled < len(drawn); {
			from := rng.IntN(len(xs))
			to := min(from+block, len(xs), from+len(drawn)-filled)
			filled += copy(drawn[filled:], xs[from:to])
			if rest := min(from+block-len(xs), len(drawn)-filled); rest > 0 {
				filled += copy(drawn[filled:], xs[:rest]) // the series closes to a circle
			}
		}
		out[i] = stat(drawn)
	}
	return out
}
