package stats

import (
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// ACF returns the autocorrelations of a series at lags 0 (which is 1) to lags:
//
//	r_k = Σ (x_i − x̄)(x_{i+k} − x̄) / Σ (x_i − x̄)²
//
// (G. E. P. Box and G. M. Jenkins, Time Series Analysis, section 2.1.5). Long
// series go through the fast Fourier transform, in pieces, so that ten million
// values take no more memory than ten thousand. Errors: ErrTooFew unless there
// are more values than lags and at least two; ErrNoSpread; ErrArgument.
func ACF(xs []float64, lags int) ([]float64, error) {
	if lags < 0 {
		return nil, fmt.Errorf("autocorrelation up to lag %d: %w", lags, ErrArgument)
	}
	if err := check(xs, max(2, lags+1)); err != nil {
		return nil, fmt.Errorf("autocorrelation: %w", err)
	}
	if constant(xs) {
		return nil, fmt.Errorf("autocorrelation: %w", ErrNoSpread)
	}
	return acf(xs, lags)
}

func acf(xs []float64, lags int) ([]float64, error) {
	mean := stat.Mean(xs, nil)
	var most float64
	for _, x := range xs {
		most = max(most, math.Abs(x-mean))
	}
	if _, err := finite(most); err != nil {
		return nil, err
	}
	d := deviations{xs, mean, most}
	var out []float64
	switch {
	case len(xs)*(lags+1) < 1<<16:
		out = d.laggedProducts(lags)
	case lags < fewLags:
		out = d.laggedDots(lags)
	default:
		out = d.laggedTransform(lags)
	}
	for k := lags; k >= 0; k-- {
		out[k] /= out[0]
	}
	return out, nil
}

// deviations are values about their mean, the largest of them 1: squares neither
// overflow nor vanish.
type deviations struct {
	xs         []float64
	mean, most float64
}

func (d deviations) at(i int) float64 { return (d.xs[i] - d.mean) / d.most }

// copy is those from a place on, as many as fit.
func (d deviations) copy(into []float64, from int) int {
	have := d.xs[from:min(from+len(into), len(d.xs))]
	for i, x := range have {
		into[i] = (x - d.mean) / d.most
	}
	return len(have)
}

// laggedProducts is Σ x_i·x_{i+k} for each lag k.
func (d deviations) laggedProducts(lags int) []float64 {
	out := make([]float64, lags+1)
	for k := range out {
		for i := range len(d.xs) - k {
			out[k] += d.at(i) * d.at(i+k)
		}
	}
	return out
}

// fewLags is up to how many lags products are faster than a transform.
const fewLags = 64

// laggedDots is laggedProducts in pieces that stay in the processor's cache.
func (d deviations) laggedDots(lags int) []float64 {
	const piece = 1 << 12
	out, values := make([]float64, lags+1), make([]float64, piece+lags)
	for start := 0; start < len(d.xs); start += piece {
		have := values[:d.copy(values, start)]
		for k := range min(lags+1, len(have)) {
			own := have[:min(piece, len(have)-k)]
			out[k] += floats.Dot(own, have[k:k+len(own)])
		}
	}
	return out
}

// laggedTransform is laggedProducts in O(n·log lags): the products of each piece
// with itself and with the next one, summed up as spectra. Each piece is
// transformed once, filled up with as many zeros; the next one lies behind it,
// which turns every other coefficient (C. M. Rader, "An improved algorithm for high
// speed autocorrelation", IEEE Trans. Audio Electroacoust. 18(4), 1970).
func (d deviations) laggedTransform(lags int) []float64 {
	piece := 1 << bits.Len(uint(max(lags-1, 1<<11-1))) // no shorter than lags
	fft := fourier.NewFFT(2 * piece)
	values, sum := make([]float64, 2*piece), make([]complex128, piece+1)
	spectrum := func(into []complex128, start int) []complex128 {
		clear(values[d.copy(values[:piece], start):])
		return fft.Coefficients(into, values)
	}
	own, next := spectrum(nil, 0), make([]complex128, piece+1)
	for start := 0; start < len(d.xs); start += piece {
		if clear(next); start+piece < len(d.xs) {
			next = spectrum(next, start+piece)
		}
		for i, a := range own {
			both := a + next[i]
			if i%2 == 1 {
				both = a - next[i]
			}
			sum[i] += complex(real(a), -imag(a)) * both
		}
		own, next = next, own
	}
	return fft.Sequence(nil, sum)[:lags+1]
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
		return 0, 0, fmt.Errorf("effective size: %w", err)
	}
	if constant(xs) {
		return 0, 0, fmt.Errorf("effective size: %w", ErrNoSpread)
	}
	n = float64(len(xs))
	means, size := binned(xs, mostRelated)
	if constant(means) {
		return n, size, nil // values of one bin make up for each other
	}
	r, err := acf(means, blockLags(len(means)))
	if err != nil {
		return 0, 0, fmt.Errorf("effective size: %w", err)
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
		return Interval{}, fmt.Errorf("interval at level %v from %d resamples in blocks of %d, want 0 to 1, at least 100 and 1: %w", level, resamples, block, ErrArgument)
	}
	if err := check(xs, 2*block); err != nil {
		return Interval{}, fmt.Errorf("interval from blocks of %d: %w", block, err)
	}
	estimate := stat(slices.Clone(xs))
	boot := resampleBlocks(xs, stat, block, resamples, seed)
	if err := check(append(boot, estimate), 2); err != nil {
		return Interval{}, fmt.Errorf("interval from blocks: the statistic of a resample: %w", err)
	}
	slices.Sort(boot)
	if boot[0] == boot[len(boot)-1] {
		return Interval{}, fmt.Errorf("interval from blocks: %w", ErrNoSpread)
	}
	blocks := float64(len(xs)) / float64(block)
	t, err := TQuantile((1+level)/2, blocks-1)
	if err != nil {
		return Interval{}, err
	}
	z, err := NormalQuantile((1 + level) / 2)
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
