package explain

import (
	"math"
	"math/rand/v2"
	"slices"
)

// unit is rows that count as one: how many they are, the sum of their values less
// the median, and the level of the fact that is tested.
type unit struct {
	n, sum float64
	level  uint16
}

const (
	// mostPermuted is up to how many units a test does not rely on their being
	// about normal.
	mostPermuted = 100
	// mostArrangements are gone through one by one; of more, so many are drawn.
	mostArrangements = 9_999
)

// permuted is how likely the levels differ as much as they do, if they were dealt
// out to the units by chance: the share of all ways to deal them out, or of those
// drawn, that set the levels as far apart (R. A. Fisher, The Design of Experiments,
// 1935, section 21). Of four nodes of which two are slow, one way in three gives
// those the same processor.
func permuted(units []unit, levels int) float64 {
	dealt := make([]uint16, len(units))
	for i, u := range units {
		dealt[i] = u.level
	}
	n, sum := make([]float64, levels), make([]float64, levels)
	between := func() float64 {
		clear(n)
		clear(sum)
		for i, u := range units {
			n[dealt[i]] += u.n
			sum[dealt[i]] += u.sum
		}
		out := 0.0
		for c, s := range sum {
			if n[c] > 0 {
				out += s * s / n[c]
			}
		}
		return out
	}
	least := between()
	least -= 1e-9 * math.Abs(least)
	as, all := 0.0, 0.0
	count := func() {
		all++
		if between() >= least {
			as++
		}
	}
	if math.Exp(logArrangements(sizesOfLevels(units, levels))) <= mostArrangements {
		slices.Sort(dealt)
		for count(); next(dealt); {
			count()
		}
		return as / all
	}
	count()                                                                  // as measured
	for rng := rand.New(rand.NewPCG(seed, seed)); all <= mostArrangements; { //nolint:gosec // the same question has the same answer
		rng.Shuffle(len(dealt), func(i, k int) { dealt[i], dealt[k] = dealt[k], dealt[i] })
		count()
	}
	return as / all
}

// next is the next arrangement in lexical order; false after the last.
func next(codes []uint16) bool {
	i := len(codes) - 2
	for i >= 0 && codes[i] >= codes[i+1] {
		i--
	}
	if i < 0 {
		return false
	}
	k := len(codes) - 1
	for codes[k] <= codes[i] {
		k--
	}
	codes[i], codes[k] = codes[k], codes[i]
	slices.Reverse(codes[i+1:])
	return true
}

// sizesOfLevels is how many units each level has, those that have any.
func sizesOfLevels(units []unit, levels int) []float64 {
	out := make([]float64, levels)
	for _, u := range units {
		out[u.level]++
	}
	return slices.DeleteFunc(out, func(n float64) bool { return n == 0 })
}

// logArrangements is the logarithm of in how many ways levels of these sizes can be
// dealt out.
func logArrangements(sizes []float64) float64 {
	n, out := 0.0, 0.0
	for _, size := range sizes {
		lg, _ := math.Lgamma(size + 1)
		n, out = n+size, out-lg
	}
	lg, _ := math.Lgamma(n + 1)
	return out + lg
}

// leastP is the least p that [permuted] can find: levels with as many units can
// change places.
func leastP(sizes []float64) float64 {
	same := make(map[float64]float64)
	for _, size := range sizes {
		same[size]++
	}
	log := -logArrangements(sizes)
	for _, k := range same {
		lg, _ := math.Lgamma(k + 1)
		log += lg
	}
	return math.Exp(log)
}
