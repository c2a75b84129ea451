package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// dependence is how much values of a series tell about their neighbours.
type dependence struct {
	tau   float64 // n values are worth n/tau independent ones, at least 1
	block int     // length of blocks to permute
	// inflation is by how much the variance of sums exceeds what blocks of this
	// length keep of it.
	inflation float64
}

// dependenceOf estimates from differences within the parts between cuts, so that
// steps do not count: half the mean square of x_{i+k} − x_i is v_k = γ_0 − γ_k (P.
// Hall and I. Van Keilegom, "Using difference-based methods for inference in
// nonparametric regression with time series errors", J. R. Stat. Soc. B 65(2),
// 2003). Where v levels off it is γ_0. τ is the larger of Geyer's sum over
// 1 − v_k/γ_0 and that of an AR(1) process with φ = v_2/v_1 − 1 (S. Chakar, E.
// Lebarbier, C. Lévy-Leduc and S. Robin, "A robust approach for estimating
// change-points in the mean of an AR(1) process", Bernoulli 23(2), 2017), which
// needs no lag at which v levels off. Blocks of 4(τ−1) values of an AR(1) process
// keep τ − (τ²−1)/(2·block) of τ.
func dependenceOf(xs []float64, cuts []int) dependence {
	n := len(xs)
	lags := min(max(4, min(6, n/10), int(1.5*math.Cbrt(float64(n)))), n/2)
	v := lagged(xs, cuts, lags)
	lags = len(v) - 1
	d := dependence{tau: 1, block: 1, inflation: 1}
	if lags < 2 || !(v[1] > 0) {
		return d
	}
	whole := mean(v[lags/2:])
	r := make([]float64, lags/2+1)
	for k := range r {
		r[k] = 1 - v[k]/whole
	}
	tau, _ := monotoneSequence(r)
	phi := min(max(v[2]/v[1]-1, 0), .95)
	d.tau = max(1, tau, (1+phi)/(1-phi))
	d.block = max(1, min(int(math.Round(4*(d.tau-1))), n/10))
	kept := d.tau - (d.tau*d.tau-1)/(2*float64(d.block))
	d.inflation = d.tau / min(d.tau, max(1, kept))
	return d
}

// lagged is v_k for the lags, 0 at lag 0: fewer of them where the parts are so
// short that less than half of the values have a partner.
func lagged(xs []float64, cuts []int, lags int) []float64 {
	v := make([]float64, 1, lags+1)
	ends := append(slices.Clone(cuts), len(xs))
	for k := 1; k <= lags; k++ {
		var sum float64
		pairs, from := 0, 0
		for _, to := range ends {
			for j := from; j < to-k; j++ {
				d := xs[j+k] - xs[j]
				sum += d * d
			}
			pairs += max(0, to-k-from)
			from = to
		}
		if 2*pairs < len(xs) {
			break
		}
		v = append(v, sum/(2*float64(pairs)))
	}
	return v
}

// permutation tests for changes by permuting blocks.
type permutation struct {
	dependence
	rng   *rand.Rand
	level float64
}

// p is the share of permutations of xs that reach the observed statistic, which is
// of squares, both counting the series itself. It stops when they are too many to be
// significant (J. Besag and P. Clifford, "Sequential Monte Carlo p-values",
// Biometrika 78(2), 1991).
func (p permutation) p(xs []float64, block int, observed float64, statistic func(sums []float64) float64) float64 {
	// 400 at a level of 5 %; of a small one, 2000 or as many as can tell.
	rounds := max(200, min(int(20/p.level), 2000), int(math.Ceil(1/p.level))) - 1
	enough := p.level * float64(rounds+1)
	observed = p.deflated(observed, xs)
	order := make([]int, (len(xs)+block-1)/block)
	for i := range order {
		order[i] = i * block
	}
	sums := make([]float64, len(xs)+1)
	reached := 1
	for done := range rounds {
		p.permutedSums(sums, xs, order, block)
		if statistic(sums) >= observed {
			reached++
		}
		if float64(reached) > enough {
			return float64(reached) / float64(done+2)
		}
	}
	return float64(reached) / float64(rounds+1)
}

// deflated is the sum of squares between parts that would be as clear as the
// observed one is, if the scatter about it were as large as that of sums of
// dependent values.
func (p permutation) deflated(between float64, xs []float64) float64 {
	var total float64
	for _, x := range xs {
		total += x * x
	}
	return between * total / (between + p.inflation*(total-between))
}

// permutedSums fills sums with the running sums of xs, closed to a circle, cut into
// blocks at a random place and put together in another order.
func (p permutation) permutedSums(sums, xs []float64, order []int, block int) {
	p.rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	n := len(xs)
	offset := p.rng.IntN(n)
	at := 0
	for _, begin := range order {
		for i := begin; i < min(begin+block, n); i++ {
			from := i + offset
			if from >= n {
				from -= n
			}
			sums[at+1] = sums[at] + xs[from]
			at++
		}
	}
}

// anyChange reports whether any part of the series differs from the rest; xs are means
// of size values each, and the cuts are of these values.
func (p permutation) anyChange(xs []float64, size int, cuts []int) bool {
	xs = centered(xs)
	shortest := max(1, shortestLevel/size)
	most, _, _ := widestArc(runningSums(xs), shortest)
	if size > 1 {
		rough := make([]int, len(cuts))
		for i, c := range cuts {
			rough[i] = c / size
		}
		p.dependence = dependenceOf(xs, rough)
	}
	return p.p(xs, p.block, most, func(sums []float64) float64 {
		m, _, _ := widestArc(sums, shortest)
		return m
	}) <= p.level
}

// widestArc is the part of a series with sum 0 that differs most from the rest.
func widestArc(sums []float64, shortest int) (most float64, from, length int) {
	n := len(sums) - 1
	for l := shortest; l <= n-shortest; l++ {
		var far float64
		at := 0
		for i, before := range sums[:n-l+1] {
			d := sums[i+l] - before
			if d = d * d; d > far {
				far, at = d, i
			}
		}
		if d := far * float64(n) / (float64(l) * float64(n-l)); d > most {
			most, from, length = d, at, l
		}
	}
	return most, from, length
}

// confirmed strikes out candidates until all are significant between their
// neighbours.
func (p permutation) confirmed(xs []float64, candidates []int) (indices []int, ps []float64) {
	indices = slices.Clone(candidates)
	ps, stale := make([]float64, len(indices)), slices.Repeat([]bool{true}, len(indices))
	for len(indices) > 0 {
		worst := 0
		for i, c := range indices {
			if stale[i] {
				from, to := around(indices, i, len(xs))
				ps[i], stale[i] = p.divides(xs[from:to], c-from), false
			}
			if ps[i] > ps[worst] {
				worst = i
			}
		}
		if ps[worst] <= p.level {
			break
		}
		indices, ps = slices.Delete(indices, worst, worst+1), slices.Delete(ps, worst, worst+1)
		stale = slices.Delete(stale, worst, worst+1)
		for i := max(0, worst-1); i < min(worst+1, len(stale)); i++ {
			stale[i] = true
		}
	}
	return indices, ps
}

// around is where the two parts of n values begin and end that meet at a cut.
func around(cuts []int, i, n int) (from, to int) {
	if to = n; i+1 < len(cuts) {
		to = cuts[i+1]
	}
	if i > 0 {
		from = cuts[i-1]
	}
	return from, to
}

// divides is p of a division of xs before index at.
func (p permutation) divides(xs []float64, at int) float64 {
	xs = centered(xs)
	sums := runningSums(xs)
	block := max(1, min(p.block, len(xs)/10))
	return p.p(xs, block, divided(sums[at], at, len(xs)), func(sums []float64) float64 {
		var most float64
		for k := shortestLevel; k <= len(xs)-shortestLevel; k++ {
			most = max(most, divided(sums[k], k, len(xs)))
		}
		return most
	})
}

func centered(xs []float64) []float64 {
	m := mean(xs)
	out := make([]float64, len(xs))
	for i, x := range xs {
		out[i] = x - m
	}
	return out
}

func runningSums(xs []float64) []float64 {
	sums := make([]float64, len(xs)+1)
	for i, x := range xs {
		sums[i+1] = sums[i] + x
	}
	return sums
}

func mean(xs []float64) float64 { return stat.Mean(xs, nil) }
