package stats

import (
	"math"
	"math/rand/v2"
)

// dipOf returns the dip statistic of at least one ascending value: the largest
// distance of their distribution function from the nearest one with a single
// mode, between 1/(2n) and 1/4 (J. A. Hartigan and P. M. Hartigan, "The dip test
// of unimodality", Ann. Stat. 13(1), 1985; the algorithm of P. M. Hartigan, AS
// 217, Appl. Stat. 34(3), 1985, with the corrections of M. Maechler's R package
// diptest). It takes time in proportion to n.
//
// It follows AS 217: in the interval that may hold the mode, the greatest
// convex minorant and the least concave majorant of the distribution function
// are compared. Where they are furthest apart, the mode's interval shrinks; the
// function's distance from the minorant to the left of it, and from the majorant
// to the right, is what a single mode costs. It ends when they are nowhere
// further apart than that. Heights are counted in values, so that the result is
// divided by 2n.
func dipOf(xs []float64) float64 {
	n := len(xs)
	low, high, dip := 0, n-1, 1.0
	if xs[low] == xs[high] {
		return dip / float64(2*n)
	}
	left, right := minorant(xs), majorant(xs)
	var convex, concave []int32 // corners in the interval: of the minorant from high down, of the majorant from low up
	for {
		convex = corners(convex[:0], left, high, low)
		concave = corners(concave[:0], right, low, high)
		apart, i, j := 1.0, len(convex)-1, len(concave)-1
		if len(convex) > 2 || len(concave) > 2 {
			apart, i, j = furthest(xs, convex, concave)
		}
		if apart < dip {
			break
		}
		dip = max(dip, strays(xs, convex[i:], 1), strays(xs, concave[j:], -1))
		if low == int(convex[i]) && high == int(concave[j]) {
			break
		}
		low, high = int(convex[i]), int(concave[j])
	}
	return dip / float64(2*n)
}

// minorant returns, for each value, the corner before it on the greatest convex
// minorant of the distribution function up to there.
func minorant(xs []float64) []int32 {
	before := make([]int32, len(xs))
	for j := 1; j < len(xs); j++ {
		k := int32(j - 1)
		for k > 0 && !steeper(xs, before[k], k, int32(j)) {
			k = before[k]
		}
		before[j] = k
	}
	return before
}

// majorant returns, for each value, the corner after it on the least concave
// majorant from there on.
func majorant(xs []float64) []int32 {
	last := int32(len(xs) - 1)
	after := make([]int32, len(xs))
	after[last] = last
	for j := last - 1; j >= 0; j-- {
		k := j + 1
		for k < last && !steeper(xs, after[k], k, j) {
			k = after[k]
		}
		after[j] = k
	}
	return after
}

// steeper reports whether the slope from b to c exceeds that from a to b, without
// dividing: values may be equal.
func steeper(xs []float64, a, b, c int32) bool {
	return (xs[c]-xs[b])*float64(b-a) < (xs[b]-xs[a])*float64(c-b)
}

// corners follows the chain from one value to another.
func corners(into []int32, next []int32, from, to int) []int32 {
	into = append(into, int32(from))
	for k := int32(from); k != int32(to); {
		k = next[k]
		into = append(into, k)
	}
	return into
}

// furthest returns how far minorant and majorant are apart at most, at a corner
// of either, and the corners that bound the new interval: the one of the
// minorant at or left of that place, the one of the majorant at or right of it.
func furthest(xs []float64, convex, concave []int32) (apart float64, i, j int) {
	i, j = len(convex)-1, len(concave)-1
	ix, iv := len(convex)-2, 1
	for {
		g, c := convex[ix], concave[iv]
		if g > c { // the next place is a corner of the majorant
			g0 := convex[ix+1]
			d := float64(c-g0+1) - (xs[c]-xs[g0])*float64(g-g0)/(xs[g]-xs[g0])
			if d >= apart {
				apart, i, j = d, ix+1, iv
			}
			iv++
		} else {
			c0 := concave[iv-1]
			d := (xs[g]-xs[c0])*float64(c-c0)/(xs[c]-xs[c0]) - float64(g-c0-1)
			if d >= apart {
				apart, i, j = d, ix, iv
			}
			ix--
		}
		ix, iv = max(ix, 0), min(iv, len(concave)-1)
		if convex[ix] == concave[iv] {
			return apart, i, j
		}
	}
}

// strays is how far the distribution function lies beyond the pieces between corners, at least 1:
// above those of the minorant, or, with the side −1, below those of the majorant.
func strays(xs []float64, corners []int32, side float64) float64 {
	most := 1.0
	for k := 1; k < len(corners); k++ {
		a, b := min(corners[k-1], corners[k]), max(corners[k-1], corners[k])
		if b-a <= 1 || xs[a] == xs[b] {
			continue
		}
		slope := float64(b-a) / (xs[b] - xs[a])
		for i := a; i <= b; i++ {
			most = max(most, side*(float64(i-a)+side-(xs[i]-xs[a])*slope))
		}
	}
	return most
}

// dipSize is the largest sample that is drawn for a dip's p. Beyond it √n·dip
// has about one distribution: from 1000 to 100,000 values its .95 quantile grows
// by less than 3 % (docs/methods.md).
const dipSize = 1000

// dipStream separates the random numbers of the dip test from others of the seed.
const dipStream = 0xd1b

// dipP is in which share of so many samples of the uniform distribution, the one
// with a single mode whose dips are the largest, the dip of n values is as large; 0
// where none is. Equal values are taken as they are: of a coarsely rounded value each
// step is a mode of its own ([FindBands] spreads them). For more than [dipSize] values
// samples of that size are drawn and √n·dip is compared.
//
// It draws until enough samples have had as large a dip: then p is their share
// (J. Besag and P. Clifford, "Sequential Monte Carlo p-values", Biometrika
// 78(2), 1991), and nothing more needs to be known of it.
func dipP(dip, n float64, draws, enough int, seed uint64) float64 {
	size := int(min(n, dipSize))
	dip *= math.Sqrt(n / float64(size))
	rng := rand.New(rand.NewPCG(seed, dipStream))
	xs := make([]float64, size)
	asLarge := 0
	for drawn := 1; drawn <= draws; drawn++ {
		sum := 0.0 // exponential distances make ascending uniform values
		for i := range xs {
			sum += rng.ExpFloat64()
			xs[i] = sum
		}
		if dipOf(xs) >= dip {
			if asLarge++; asLarge == enough {
				return float64(asLarge) / float64(drawn)
			}
		}
	}
	return float64(asLarge) / float64(draws)
}
