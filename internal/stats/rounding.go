package stats

import (
	"math"
	"slices"
)

// sameValue is the share of a value by which equal ones may differ: what arithmetic
// leaves.
const sameValue = 1e-9

// quantization is the different values of both samples, ascending: where values were
// rounded, it shows in what steps.
type quantization struct {
	values []float64
	// least is the smallest distance of neighbours, and at the upper one of them.
	least, at float64
}

func quantized(samples ...[]float64) quantization {
	var q quantization
	all := slices.Sorted(slices.Values(slices.Concat(samples...)))
	for _, x := range all {
		k := len(q.values)
		if k > 0 && x-q.values[k-1] <= sameValue*math.Abs(x) {
			continue
		}
		if k > 0 && (q.least == 0 || x-q.values[k-1] < q.least) {
			q.least, q.at = x-q.values[k-1], x
		}
		q.values = append(q.values, x)
	}
	return q
}

// cell is how wide a range of values may have become this one: up to its neighbours,
// and no more than the smallest distance tells. Of rates, which are reciprocals of
// what was rounded, steps grow with the square.
func (q quantization) cell(x float64) float64 {
	i, _ := slices.BinarySearch(q.values, x-sameValue*math.Abs(x))
	if i == len(q.values) || len(q.values) < 2 {
		return 0
	}
	width := math.Inf(1)
	if i > 0 {
		width = q.values[i] - q.values[i-1]
	}
	if i+1 < len(q.values) {
		width = min(width, q.values[i+1]-q.values[i])
	}
	grown := 1.0
	if q.at > 0 {
		grown = max(1, x/q.at*x/q.at)
	}
	return min(width, q.least*grown, math.Abs(x))
}

// Unrounded are positive samples with equal values spread evenly over the cell of
// their value, as if they had not been rounded. Ranks of rounded values come in
// steps, and so does the interval of a shift, which then holds no difference where
// the values tell one.
func Unrounded(x, y []float64) (ux, uy []float64) {
	q := quantized(x, y)
	if len(q.values) == len(x)+len(y) {
		return x, y
	}
	return q.spread(x), q.spread(y)
}

// spread is the values, ascending, with equal ones spread.
func (q quantization) spread(xs []float64) []float64 {
	out := slices.Sorted(slices.Values(xs))
	for i := 0; i < len(out); {
		j := i + 1
		for j < len(out) && out[j]-out[i] <= sameValue*math.Abs(out[j]) {
			j++
		}
		n, x, width := float64(j-i), out[i], q.cell(out[i])
		for k := i; j > i+1 && k < j; k++ {
			out[k] = x + width*((float64(k-i)+.5)/n-.5)
		}
		i = j
	}
	return out
}

// RoundingBias is by which share of itself the ratio of the means of two positive
// samples may be off because their values were rounded: what each side may be off by.
func RoundingBias(x, y []float64) float64 {
	q := quantized(x, y)
	if len(q.values) == len(x)+len(y) {
		return 0
	}
	return q.bias(x) + q.bias(y)
}

// bias is by which share of it the mean of rounded values may be off. Of values in two
// steps of h it is up to √(h²/4 − v), v their variance: they may all lie close to where
// one step ends. Of more it is about the first term of a Fourier series, which is
// exp(−2π²(v/h² − 1/12))·h/π (B. Widrow, I. Kollár and M.-C. Liu, "Statistical theory of
// quantization", IEEE Trans. Instrum. Meas. 45(2), 1996); half a step in place of h/π
// covers the others.
func (q quantization) bias(xs []float64) float64 {
	mean := Average(xs)
	h := q.cell(slices.Sorted(slices.Values(xs))[len(xs)/2])
	if !(h > 0) || !(mean > 0) {
		return 0
	}
	sd, err := SampleSD(xs)
	if err != nil {
		return h / 2 / mean
	}
	v := sd * sd / (h * h)
	return h * max(math.Sqrt(max(0, .25-v)), min(.5, math.Exp(-2*math.Pi*math.Pi*(v-1./12))/2)) / mean
}

// HalfDigit is half a unit of the last decimal digit that any of these values has, and
// of whole numbers a half: by so much each may be off because it was rounded.
func HalfDigit(xs ...float64) float64 {
	unit := 1.0
	for _, x := range xs {
		for math.Abs(x/unit-math.Round(x/unit)) > sameValue*math.Abs(x/unit) {
			unit /= 10
		}
	}
	return unit / 2
}
