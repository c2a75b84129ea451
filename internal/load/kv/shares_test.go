package kv

import "math"

// zeta is ζ(n, theta), the sum of i^-theta for i from 1 to n: added up for the
// first ten thousand, and by the Euler–Maclaurin formula beyond, whose next
// term is below 1e-15 there.
func zeta(n int64) float64 {
	sum := 0.0
	head := min(n, 10_000)
	for i := head; i > 0; i-- { // the small ones first
		sum += math.Pow(float64(i), -theta)
	}
	if n == head {
		return sum
	}
	a, b := float64(head), float64(n)
	return sum + (math.Pow(b, 1-theta)-math.Pow(a, 1-theta))/(1-theta) +
		(math.Pow(b, -theta)-math.Pow(a, -theta))/2 -
		theta*(math.Pow(b, -theta-1)-math.Pow(a, -theta-1))/12
}

// zipfShares are the exact shares of ranks among n: 1 / (i^theta ζ(n, theta)).
func zipfShares(n int64) []float64 {
	total := zeta(n)
	p := make([]float64, n)
	for i := range p {
		p[i] = math.Pow(float64(i+1), -theta) / total
	}
	return p
}

// grayShares are the shares that Gray's method gives to the first so many
// ranks, by inverting how it maps u to a rank.
func grayShares(g gray, ranks int) []float64 {
	p := make([]float64, ranks)
	p[0], p[1] = 1/g.zeta, math.Pow(.5, theta)/g.zeta
	for k := 2; k < ranks; k++ {
		upTo := func(i int) float64 { return math.Pow(float64(i)/g.items, 1-theta) / g.eta }
		p[k] = upTo(k+1) - upTo(k)
	}
	return p
}

// scrambledShares are the shares of records: those of the first ranks go where
// their hash says, and the rest is spread evenly, as the hashes of ten billion
// ranks, none of which has a share above 2e-8, do it but for .1 % of a record's
// share.
func scrambledShares(s scrambled) []float64 {
	p := make([]float64, s.records)
	rest := 1.0
	for rank, share := range grayShares(s.ranks, 2_000_000) {
		p[fnv(int64(rank))%s.records] += share
		rest -= share
	}
	for i := range p {
		p[i] += rest / float64(s.records)
	}
	return p
}

// chiSquare compares how often things were drawn with how often they should
// have been. What it returns is about standard normal if they were drawn so
// (Wilson and Hilferty, 1931): far above 0 they were not, far below they were
// not random.
func chiSquare(counts []int64, expected []float64) float64 {
	sum, cells := 0.0, 0
	var fewCount, fewExpected float64 // cells too small for the test are joined
	add := func(count, expected float64) {
		sum += (count - expected) * (count - expected) / expected
		cells++
	}
	for i, e := range expected {
		if e < 10 {
			fewCount, fewExpected = fewCount+float64(counts[i]), fewExpected+e
			continue
		}
		add(float64(counts[i]), e)
	}
	if fewExpected > 0 {
		add(fewCount, fewExpected)
	}
	df := float64(cells - 1)
	return (math.Cbrt(sum/df) - (1 - 2/(9*df))) / math.Sqrt(2/(9*df))
}

// times multiplies shares by a number of draws.
func times(p []float64, draws int) []float64 {
	e := make([]float64, len(p))
	for i := range p {
		e[i] = p[i] * float64(draws)
	}
	return e
}

// distance is the total variation distance of two distributions: the share of
// draws that would have to be others.
func distance(p, q []float64) float64 {
	sum := 0.0
	for i := range p {
		sum += math.Abs(p[i] - q[i])
	}
	return sum / 2
}
