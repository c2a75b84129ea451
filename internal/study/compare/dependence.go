package compare

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// ordered reports whether values follow each other in time, so that neighbours may
// depend on each other. Rows without times are in the order of measurement.
func (x *layout) ordered() bool { return x.Rows || x.TimesA != nil }

// independent heeds that neighbours in time depend on each other. Successive values
// are averaged until they do not; where that would leave too few, they stay as they
// are then, and count for less (Correlation). Times of one side alone order nothing.
func (l *laying) independent(x layout) layout {
	if x.TimesA == nil || x.TimesB == nil {
		x.TimesA, x.TimesB = nil, nil
	}
	if l.alone || !x.ordered() || constant(x.A) && constant(x.B) {
		return x
	}
	if x.TimesA != nil {
		x.sort()
	}
	x.Successive = 1
	for beyond := 1.28; ; beyond = 2.33 { // of level .1; averages are few, and only long memory is left
		r := correlation(beyond, l.series(x)...)
		n := int(math.Ceil(4 * (1 + r) / (1 - r)))
		if r == 0 || min(len(x.A), len(x.B)) < n*fewValues {
			x.Correlation = r
			return x
		}
		x.Successive *= n
		x.A, x.B = l.every(x.A, n), l.every(x.B, n)
		if x.TimesA != nil {
			times := laying{}
			x.TimesA, x.TimesB = times.every(x.TimesA, n), times.every(x.TimesB, n)
		}
	}
}

// series are what may be correlated with itself: the differences of pairs, or
// the values of each side, on the scale on which they are averaged.
func (l *laying) series(x layout) [][]float64 {
	if !x.Paired {
		return [][]float64{l.scaled(x.A), l.scaled(x.B)}
	}
	a, b := l.scaled(x.A), l.scaled(x.B)
	for i := range a {
		b[i] -= a[i]
	}
	return [][]float64{b}
}

// every averages each n values that follow each other. What is left at the end
// is in the last one where it is at most half of one.
func (l *laying) every(xs []float64, n int) []float64 {
	var out []float64
	for len(xs) > 0 {
		k := n
		if rest := len(xs) - n; rest <= n/2 {
			k = len(xs)
		}
		out = append(out, l.mean(xs[:k]))
		xs = xs[k:]
	}
	return out
}

// sort puts values into the order of their times; pairs by those of A.
func (x *layout) sort() {
	order := func(times []float64) []int {
		out := make([]int, len(times))
		for i := range out {
			out[i] = i
		}
		slices.SortStableFunc(out, func(i, j int) int { return cmp.Compare(times[i], times[j]) })
		return out
	}
	a := order(x.TimesA)
	b := a
	if !x.Paired {
		b = order(x.TimesB)
	}
	x.A, x.TimesA, x.B, x.TimesB = at(x.A, a), at(x.TimesA, a), at(x.B, b), at(x.TimesB, b)
}

// at are the values at these places, in this order.
func at(xs []float64, order []int) []float64 {
	out := make([]float64, len(order))
	for i, k := range order {
		out[i] = xs[k]
	}
	return out
}

// correlation is that of neighbours, where it is so many standard errors above 0,
// and half of one more, for it is not known better; 0 else. Series are taken
// together.
func correlation(beyond float64, series ...[]float64) float64 {
	n, shortest := 0, math.MaxInt
	for _, s := range series {
		n, shortest = n+len(s), min(shortest, len(s))
	}
	if n < 20 || shortest < 8 { // so few show some correlation too often by chance
		beyond = 2.33
	}
	r, one := stats.Autocorrelation(series...), 1/math.Sqrt(float64(n))
	if n < 8 || r < beyond*one {
		return 0
	}
	return min(.95, r+one/2)
}
