package session

import (
	"math"
	"testing"
)

// expectedVisits is how often a session asks for each interaction, on average,
// exactly, if no page lacks a link and no session is cut: by equations, of which
// the program knows nothing.
//
// Back makes the chain one with a stack. Between two pages that empty the stack
// (states of Z) it is a pushdown system: for a state s that keeps it, b(s) is the
// probability that users come back from the level of s to the one below, V(s)
// the visits until they do or empty the stack, and C(s) where they empty it.
func expectedVisits(c *Chain) []float64 {
	n := len(c.site)
	keeps := func(s int) bool { return c.hasBack(s) }
	// b(s) = back(s) + Σ p(s,t) b(t) b(s), of the t that keep; its least solution.
	b := make([]float64, n)
	for range 10000 {
		for s := range n {
			if keeps(s) {
				b[s] = c.rows[s][back(c.site)] / (1 - returns(c, s, b))
			}
		}
	}
	// V(s) = m(s)(e(s) + Σ p(s,t) V(t)), C(s) = m(s)(Σ p(s,z) e(z) + Σ p(s,t) C(t)),
	// where m(s) is how often users are at s on its level.
	system := make([][]float64, n)
	for s := range n {
		system[s] = make([]float64, 3*n)
		system[s][s] = 1
		if !keeps(s) {
			continue
		}
		m := 1 / (1 - returns(c, s, b))
		system[s][n+s] = m
		for t := range n {
			if keeps(t) {
				system[s][t] -= m * c.rows[s][t]
			} else {
				system[s][2*n+t] = m * c.rows[s][t]
			}
		}
	}
	solve(system)
	// From z to the next state that empties the stack, K(z,z').
	step := make([][]float64, n)
	for z := range n {
		step[z] = make([]float64, n)
		if keeps(z) {
			continue
		}
		for t := range n {
			p := c.rows[z][t]
			if !keeps(t) {
				step[z][t] += p
				continue
			}
			for to := range n {
				step[z][to] += p * system[t][2*n+to]
			}
			returned := z
			if c.site[z].Write {
				returned = 0 // it is not asked for again
			}
			step[z][returned] += p * b[t]
		}
	}
	// N = e(home) (I-K)^-1, as (I-K)ᵀ Nᵀ = e(home)ᵀ.
	linear := make([][]float64, n)
	for i := range n {
		linear[i] = make([]float64, n+1)
		for k := range n {
			linear[i][k] = -step[k][i]
		}
		linear[i][i]++
	}
	linear[0][n] = 1
	solve(linear)
	visits := make([]float64, n)
	for z := range n {
		if keeps(z) {
			continue
		}
		visits[z] += linear[z][n]
		for t := range n {
			if !keeps(t) {
				continue
			}
			for u := range n {
				visits[u] += linear[z][n] * c.rows[z][t] * system[t][n+u]
			}
		}
	}
	return visits
}

// returns is the probability that users who leave s to a level above come back.
func returns(c *Chain, s int, b []float64) float64 {
	sum := 0.0
	for t := range c.site {
		if c.hasBack(t) {
			sum += c.rows[s][t] * b[t]
		}
	}
	return sum
}

// solve makes the left square of a matrix the identity, by Gauss and Jordan.
func solve(m [][]float64) {
	for i := range m {
		pivot := i
		for k := i; k < len(m); k++ {
			if math.Abs(m[k][i]) > math.Abs(m[pivot][i]) {
				pivot = k
			}
		}
		m[i], m[pivot] = m[pivot], m[i]
		for j := len(m[i]) - 1; j >= i; j-- {
			m[i][j] /= m[i][i]
		}
		for k := range m {
			if k == i || m[k][i] == 0 {
				continue
			}
			f := m[k][i]
			for j := i; j < len(m[k]); j++ {
				m[k][j] -= f * m[i][j]
			}
		}
	}
}

// hotelling is n (x̄-μ)ᵀ S⁻¹ (x̄-μ), of sessions that are independent of each
// other: χ² with as many degrees of freedom as there are columns, for large n.
// Counts of visits within a session are not independent, so that a plain χ² over
// them would be wrong.
func hotelling(sessions [][]float64, truth []float64) float64 {
	n, p := float64(len(sessions)), len(truth)
	mean := make([]float64, p)
	for _, x := range sessions {
		for i := range p {
			mean[i] += x[i] / n
		}
	}
	s := make([][]float64, p)
	for i := range p {
		s[i] = make([]float64, p+1)
		s[i][p] = mean[i] - truth[i]
	}
	for _, x := range sessions {
		for i := range p {
			for k := range p {
				s[i][k] += (x[i] - mean[i]) * (x[k] - mean[k]) / (n - 1)
			}
		}
	}
	d := make([]float64, p)
	for i := range p {
		d[i] = s[i][p]
	}
	solve(s)
	t2 := 0.0
	for i := range p {
		t2 += n * d[i] * s[i][p]
	}
	return t2
}

// chiSquared is what 1 in 10,000 values exceed (Wilson and Hilferty, 1931).
func chiSquared(freedom int) float64 {
	k := float64(freedom)
	return k * math.Pow(1-2/(9*k)+3.719*math.Sqrt(2/(9*k)), 3)
}

// TestExpectedVisits: the equations by a chain small enough for a pencil. From
// home h: a with .5, End with .5; from a: Back with .5, a again with .25 (a level
// above), End with .25. b = .5/(1-.25 b), so b = 2 - √2 = .5858.
func TestExpectedVisits(t *testing.T) {
	s := twoPages()
	c, err := newChain(s, [][]float64{{0, .5, 0, .5}, {0, .25, .5, .25}})
	if err != nil {
		t.Fatal(err)
	}
	b := 2 - math.Sqrt2
	m := 1 / (1 - .25*b)
	visitsA := m / (1 - .25*m) // V = m(1 + V/4)
	atHome := 1 / (1 - .5*b)
	got := expectedVisits(c)
	if math.Abs(got[0]-atHome) > 1e-9 || math.Abs(got[1]-.5*atHome*visitsA) > 1e-9 {
		t.Errorf("expectedVisits = %v, want %v and %v", got, atHome, .5*atHome*visitsA)
	}
}
