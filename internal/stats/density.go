package stats

import (
	"cmp"
	"math"
	"sort"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// Histogram divides ascending, finite values into at most so many equally wide
// bins between round edges, which are one more than the counts. The width is at
// least that of D. Freedman and P. Diaconis, "On the histogram as a density
// estimator", Z. Wahrscheinlichkeitstheorie 57, 1981: twice the interquartile
// range over ∛n, and 1, 2 or 5 times a power of ten. A value on an edge is in the
// bin above it. Without values, with fewer
// than two bins, or where the range is beyond 4e307, there are none.
func Histogram(sorted []float64, most int) (edges []float64, counts []int) {
	n := len(sorted)
	if n == 0 || most < 2 || sorted[n-1]/4-sorted[0]/4 > 1e307 {
		return nil, nil
	}
	lo, hi := sorted[0], sorted[n-1]
	width := 2 * (QuantileSorted(sorted, .75) - QuantileSorted(sorted, .25)) / math.Cbrt(float64(n))
	if !(width > 0) { // half of the values are equal
		width = (hi - lo) / 2 / (1 + math.Log2(float64(n))) // H. A. Sturges, half of his width
	}
	// No finer than numbers of this size can tell.
	width = max(width, hi/float64(most)-lo/float64(most), 1e-13*max(math.Abs(lo), math.Abs(hi)), 1e-290)
	for at := roundUp(width); ; at = at.next() {
		first, last := math.Floor(at.count(lo)), math.Floor(at.count(hi))
		if last-first >= float64(most) {
			continue
		}
		from := 0
		for k := first; k <= last; k++ {
			edges = append(edges, at.edge(k))
			to := n
			if k < last {
				to = from + sort.SearchFloat64s(sorted[from:], at.edge(k+1))
			}
			counts = append(counts, to-from)
			from = to
		}
		return append(edges, at.edge(last+1)), counts
	}
}

// roundWidth is 1, 2 or 5 times a power of ten.
type roundWidth struct {
	digit    float64
	exponent int
}

// roundUp is the least one that is not smaller.
func roundUp(width float64) roundWidth {
	w := roundWidth{1, int(math.Floor(math.Log10(width)))}
	for w.digit*math.Pow10(w.exponent) < width*(1-1e-9) {
		w = w.next()
	}
	return w
}

func (w roundWidth) next() roundWidth {
	switch w.digit {
	case 1:
		return roundWidth{2, w.exponent}
	case 2:
		return roundWidth{5, w.exponent}
	}
	return roundWidth{1, w.exponent + 1}
}

// count is how many widths x is from 0, edge where so many widths end. A power of
// ten below 1 is divided by: it has no exact number, and 0.3 is not 3·0.1.
func (w roundWidth) count(x float64) float64 {
	if w.exponent < 0 {
		return x * math.Pow10(-w.exponent) / w.digit
	}
	return x / math.Pow10(w.exponent) / w.digit
}

func (w roundWidth) edge(k float64) float64 {
	if w.exponent < 0 {
		return k * w.digit / math.Pow10(-w.exponent)
	}
	return k * w.digit * math.Pow10(w.exponent)
}

// densityCells is how finely values are counted before they are smoothed.
const densityCells = 1 << 14

// Density returns the density of at least two ascending values at so many points
// from a little below the least to a little above the largest: the share of the
// values per unit, smoothed by a normal kernel. The bandwidth is that of Z. I.
// Botev, J. F. Grotowski and D. P. Kroese, "Kernel density estimation via
// diffusion", Ann. Stat. 38(5), 2010, section 5, which supposes nothing of the
// form, so that narrow bands far apart stay narrow. Rounded values are spread over
// their step (see [FindBands]), or each step would be a peak. Values count in
// cells of 1/16384 of their range: a single outlier a thousand times as large as
// the others makes what lies between them coarse.
//
// Errors: ErrTooFew, ErrNotFinite, ErrNoSpread where all values are equal,
// ErrArgument for values that do not ascend or fewer than two points.
func Density(sorted []float64, points int) (x, y []float64, err error) {
	err = checkSorted(sorted, 2)
	if points < 2 {
		err = cmp.Or(err, ErrArgument)
	}
	if err == nil && sorted[0] == sorted[len(sorted)-1] {
		err = ErrNoSpread
	}
	if err != nil {
		return nil, nil, err
	}
	values := lattice{step: stepOf(sorted, 1e-6)}.spread(sorted)
	lo, hi := values[0], values[len(values)-1]
	pad := hi/10 - lo/10
	from, size := lo-pad, 1.2*(hi-lo)
	if _, err := finite(size + from); err != nil {
		return nil, nil, err
	}
	waves := cosines(cellShares(values, from, size))
	t, ok := diffusion(waves, float64(len(values)))
	if !ok { // so few values, or such, that no bandwidth fits: Silverman's
		_, sd := stat.MeanStdDev(values, nil)
		h := .9 * sd * math.Pow(float64(len(values)), -.2) / size
		t = h * h
	}
	smooth := smoothed(waves, t)
	x, y = make([]float64, points), make([]float64, points)
	margin := min(3*math.Sqrt(t)*size, pad)
	for i := range x {
		x[i] = lo - margin + (hi-lo+2*margin)*float64(i)/float64(points-1)
		y[i] = valueAt(smooth, (x[i]-from)/size*densityCells-.5) / size
	}
	return x, y, check(y, 2)
}

// cellShares are the shares of the values in cells of equal width.
func cellShares(values []float64, from, size float64) []float64 {
	cells := make([]float64, densityCells)
	scale, share := densityCells/size, 1/float64(len(values))
	for _, v := range values {
		cells[max(0, min(int((v-from)*scale), densityCells-1))] += share
	}
	return cells
}

// cosines are the coefficients a of Σ a_k·cos(kπx), 0 ≤ x ≤ 1, k ≥ 1 doubled: 2·Σ
// share·cos(kπ(i+½)/n), by a Fourier transform of the cells and their reflection.
func cosines(cells []float64) []float64 {
	n := len(cells)
	both := make([]float64, 2*n)
	for i, c := range cells {
		both[i], both[2*n-1-i] = c, c
	}
	out := make([]float64, n)
	for k, c := range fourier.NewFFT(2*n).Coefficients(nil, both)[:n] {
		turn := math.Pi * float64(k) / float64(2*n)
		out[k] = real(c)*math.Cos(turn) + imag(c)*math.Sin(turn)
	}
	return out
}

// smoothed is the density on the unit interval after the time t: each wave fades
// by exp(−k²π²t/2).
func smoothed(waves []float64, t float64) []float64 {
	n := len(waves)
	coefficients := make([]complex128, n+1)
	for k, a := range waves {
		a *= math.Exp(-float64(k) * float64(k) * math.Pi * math.Pi * t / 2)
		sin, cos := math.Sincos(math.Pi * float64(k) / float64(2*n))
		coefficients[k] = complex(a*cos, a*sin)
	}
	out := fourier.NewFFT(2*n).Sequence(nil, coefficients)[:n]
	for i, v := range out {
		out[i] = max(0, v/2)
	}
	return out
}

// valueAt interpolates between the centres of cells.
func valueAt(cells []float64, at float64) float64 {
	i := max(0, min(int(at), len(cells)-2))
	share := max(0, min(at-float64(i), 1))
	return cells[i] + share*(cells[i+1]-cells[i])
}

// diffusion returns the least t > 0 with t = ξ·γ⁽⁵⁾(t), Botev et al., equations
// 31 to 35, for n values: the square of the bandwidth, as a share of the range. It
// reports false where there is none.
func diffusion(waves []float64, n float64) (t float64, ok bool) {
	over := func(t float64) bool { return t > fixedPoint(waves, n, t) }
	hi := .25 / (densityCells * densityCells) // half a cell
	for ; !over(hi); hi *= 4 {
		if hi > .1 {
			return 0, false
		}
	}
	lo := hi / 4
	for range 12 {
		if mid := math.Sqrt(lo * hi); over(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi, true
}

// fixedPoint is ξ·γ⁽⁵⁾(t).
func fixedPoint(waves []float64, n, t float64) float64 {
	const steps = 7
	norm := roughness(waves, steps, t)
	for s := steps - 1; s >= 2; s-- {
		odd := 1.0 // 1·3·…·(2s−1)
		for k := 3; k < 2*s; k += 2 {
			odd *= float64(k)
		}
		c := (1 + math.Pow(.5, float64(s)+.5)) / 3
		time := math.Pow(2*c*odd/math.Sqrt(2*math.Pi)/(n*norm), 2/(3+2*float64(s)))
		norm = roughness(waves, s, time)
	}
	return math.Pow(2*n*math.Sqrt(math.Pi)*norm, -.4)
}

// roughness is the square of the norm of the s-th derivative after the time t:
// ½·π^(2s)·Σ k^(2s)·a_k²·exp(−k²π²t).
func roughness(waves []float64, s int, t float64) float64 {
	sum := 0.0
	for k := 1; k < len(waves); k++ {
		square := float64(k) * float64(k) * math.Pi * math.Pi
		if square*t > 700 {
			break
		}
		power := square
		for range s - 1 {
			power *= square
		}
		sum += power * waves[k] * waves[k] * math.Exp(-square*t)
	}
	return sum / 2
}
