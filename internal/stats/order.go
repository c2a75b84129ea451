package stats

import (
	"math"
	"math/bits"
	"slices"
)

// SortRows returns finite values ascending, and the row of each; rows of one value
// stay in their order.
func SortRows(values []float64) (sorted []float64, rows []int32) {
	keys := make([]uint64, len(values))
	for i, v := range values {
		key := math.Float64bits(v + 0)                   // −0 is 0
		keys[i] = key ^ (uint64(int64(key)>>63) | 1<<63) //nolint:gosec // all bits of one below 0, the sign of others
	}
	rows, sorted = Order(keys), make([]float64, len(values))
	for i, row := range rows {
		sorted[i] = values[row] + 0
	}
	return sorted, rows
}

// Order is the rows of keys in their ascending order; rows of one key stay in theirs. It is a radix sort by
// bytes, for ten million rows in half a second.
func Order(keys []uint64) []int32 {
	n := len(keys)
	keys, rows := slices.Clone(keys), make([]int32, n)
	var counts [8][256]int
	for i, key := range keys {
		rows[i] = int32(i) //nolint:gosec // fewer rows than that
		for b := range counts {
			counts[b][byte(key>>(8*b))]++
		}
	}
	keys2, rows2 := make([]uint64, n), make([]int32, n)
	for b := range counts {
		next := &counts[b]
		if slices.Max(next[:]) == n {
			continue // all alike in this byte
		}
		from := 0
		for i, count := range next {
			next[i], from = from, from+count
		}
		for i, k := range keys {
			at := &next[byte(k>>(8*b))]
			keys2[*at], rows2[*at] = k, rows[i]
			*at++
		}
		keys, keys2, rows, rows2 = keys2, keys, rows2, rows
	}
	return rows
}

// Quantiles returns what [Quantile] returns for each p, of at least one value. It
// sorts only what is near the quantiles (quickselect: Hoare, Algorithm 65, CACM 1961, for several ranks at
// once).
func Quantiles(xs []float64, ps ...float64) ([]float64, error) {
	if err := check(xs, 1); err != nil {
		return nil, err
	}
	var ranks []int
	for _, p := range ps {
		if !(p >= 0 && p <= 1) {
			return nil, ErrArgument
		}
		lo := int(p * float64(len(xs)-1))
		ranks = append(ranks, lo, min(lo+1, len(xs)-1))
	}
	slices.Sort(ranks)
	some := slices.Clone(xs)
	selectRanks(some, 0, slices.Compact(ranks), 2*bits.Len(uint(len(xs))))
	out := make([]float64, len(ps))
	for i, p := range ps {
		q, err := finite(QuantileSorted(some, p)) // sorted as far as it looks
		if err != nil {
			return nil, err
		}
		out[i] = q
	}
	return out, nil
}

// selectRanks puts those values where sorting would put them that belong at the ranks,
// which are of the whole of which xs begins at an index. Where pivots are bad for
// too long, it sorts.
func selectRanks(xs []float64, begin int, ranks []int, depth int) {
	for len(ranks) > 0 {
		if len(xs) <= 32 || depth == 0 {
			slices.Sort(xs)
			return
		}
		depth--
		below, above := partition(xs)
		first, _ := slices.BinarySearch(ranks, begin+below)
		last, _ := slices.BinarySearch(ranks, begin+above)
		selectRanks(xs[:below], begin, ranks[:first], depth)
		xs, begin, ranks = xs[above:], begin+above, ranks[last:]
	}
}

// partition moves values below a pivot to the front and those above it to the
// back; what is between the indices is equal to it.
func partition(xs []float64) (below, above int) {
	n := len(xs)
	third := func(at int) float64 { return median3(xs[at-n/9], xs[at], xs[at+n/9]) }
	pivot := median3(third(n/6), third(n/2), third(n-1-n/6))
	below, above = 0, n
	for i := 0; i < above; {
		switch x := xs[i]; {
		case x < pivot:
			xs[i], xs[below] = xs[below], x
			below++
			i++
		case x > pivot:
			above--
			xs[i], xs[above] = xs[above], x
		default:
			i++
		}
	}
	return below, above
}

func median3(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
