package stats

import (
	"math"
	"slices"
)

// edPELT returns where the distribution of a series changes, as the first index of
// each new part: ED-PELT (K. Haynes, P. Fearnhead and I. A. Eckley, "A
// computationally efficient nonparametric approach for changepoint detection",
// Statistics and Computing 27, 2017). The cost of a part is twice the negative
// log-likelihood of its empirical distribution at K = ⌈4·ln n⌉ points, closest in
// the tails,
//
//	2·c/K·Σ_k L·(F ln F + (1−F) ln(1−F)),  c = −ln(2n−1),
//
// F the share of the part's L values below the k-th point, values equal to it
// counting half. Each change costs the penalty; 3·ln n is usual for independent
// values. Parts have at least shortest values. It takes up to the square of n.
func edPELT(xs []float64, penalty float64, shortest int) []int {
	return cheapestParts(len(xs), penalty, shortest, newEmpirical(xs).cost)
}

// levelPELT is where levels change, by the squares about the mean of each part, in units
// of the variance of the noise (R. Killick, P. Fearnhead and I. A. Eckley, "Optimal
// detection of changepoints with a linear computational cost", J. Am. Stat. Assoc.
// 107(500), 2012). [edPELT] sees of levels that all fall, or all rise, only the few points
// between one and the next.
func levelPELT(xs []float64, penalty float64, shortest int) []int {
	noise := lagged(xs, nil, 1)[1]
	xs = centered(xs)
	sums, squares := runningSums(xs), make([]float64, len(xs)+1)
	for i, x := range xs {
		squares[i+1] = squares[i] + x*x
	}
	return cheapestParts(len(xs), penalty*noise, shortest, func(from, to int) float64 {
		sum := sums[to] - sums[from]
		return squares[to] - squares[from] - sum*sum/float64(to-from)
	})
}

// cheapestParts is how n values are divided at the least cost, that of all parts and a
// penalty for each change.
func cheapestParts(n int, penalty float64, shortest int, cost func(from, to int) float64) []int {
	if n < 2*shortest {
		return nil
	}
	best := make([]float64, n+1) // of the values before an index, with all penalties
	last := make([]int, n+1)     // where the last part begins
	best[0] = -penalty
	for i := 1; i < shortest; i++ {
		best[i] = math.Inf(1)
	}
	begins, costs := []int{0}, make([]float64, n+1)
	for t := shortest; t <= n; t++ {
		best[t] = math.Inf(1)
		for i, s := range begins {
			costs[i] = best[s] + cost(s, t)
			if c := costs[i] + penalty; c < best[t] {
				best[t], last[t] = c, s
			}
		}
		// A begin that is worse than a change here stays worse.
		kept := begins[:0]
		for i, s := range begins {
			if costs[i] <= best[t] {
				kept = append(kept, s)
			}
		}
		begins = append(kept, t-shortest+1)
	}
	var changes []int
	for t := last[n]; t > 0; t = last[t] {
		changes = append(changes, t)
	}
	slices.Reverse(changes)
	return changes
}

// empirical has the empirical distribution of every part of a series.
type empirical struct {
	points int
	// below is, for each index, twice the number of values before it that are below
	// each point, equal ones counting once.
	below []int32
	// entropy is i·ln i for twice a number of values.
	entropy []float64
	weight  float64
}

func newEmpirical(xs []float64) *empirical {
	n := len(xs)
	sorted := slices.Clone(xs)
	slices.Sort(sorted)
	k := min(n, int(math.Ceil(4*math.Log(float64(n)))))
	c := -math.Log(float64(2*n - 1))
	points := make([]float64, k)
	for i := range points {
		p := 1 / (1 + float64(2*n-1)*math.Exp(c/float64(k)*float64(2*i+1)))
		points[i] = sorted[int(float64(n-1)*p)]
	}
	e := &empirical{points: k, below: make([]int32, (n+1)*k), entropy: make([]float64, 2*n+1), weight: -c / float64(k)}
	for i, x := range xs {
		before, after := e.below[i*k:(i+1)*k], e.below[(i+1)*k:(i+2)*k]
		for j, p := range points {
			after[j] = before[j]
			switch {
			case x < p:
				after[j] += 2
			case x == p:
				after[j]++
			}
		}
	}
	for i := 1; i < len(e.entropy); i++ {
		e.entropy[i] = float64(i) * math.Log(float64(i))
	}
	return e
}

// cost is that of the part [from, to). With a = 2·L·F, the sum of the two terms of a
// point is (a ln a + (2L−a) ln (2L−a))/2 − L ln 2L.
func (e *empirical) cost(from, to int) float64 {
	before, after := e.below[from*e.points:(from+1)*e.points], e.below[to*e.points:(to+1)*e.points]
	length := int32(2 * (to - from)) //nolint:gosec // a few thousand
	var sum float64
	for j, a := range after {
		a -= before[j]
		sum += e.entropy[a] + e.entropy[length-a]
	}
	return -e.weight * (sum - float64(e.points)*e.entropy[length])
}
