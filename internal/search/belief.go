package search

import (
	"math"
	"slices"
)

// belief is the probability of each cell of a grid to hold the boundary, given
// the windows so far: Bayes' rule, as in Horstein's search over a noisy
// channel (IEEE Trans. Inf. Theory 9, 1963; Burnashev and Zigangirov 1974 on a
// grid; Waeber, Frazier and Henderson, SIAM J. Control Optim. 51, 2013).
//
// Those suppose that errors come independently. Here a machine may also be
// disturbed for several windows in a row, which then fail below the boundary
// too: a hidden state that begins and ends at random (a Markov chain of two
// states). So a second failure in a row at one load counts for less than one
// that comes after a pass elsewhere, as it should.
//
// How sharp the boundary is is not known either; several hypotheses stand side
// by side, and the windows decide between them.
type belief struct {
	noise noise
	// logs are the logarithms of the loads, middles those of the middles of
	// the cells.
	logs, middles []float64
	// joint is the probability of a sharpness, a cell and a state together.
	joint [len(softness)][]state
	// cells is the probability of each cell. It sums to 1.
	cells []float64
}

// state holds two probabilities: that the machine is quiet, and disturbed.
type state [2]float64

// softness are the hypotheses on how sharp the boundary is. A quiet window at
// the load T passes, boundary K, with the probability
// 1/(1+exp(−ln(K/T)/scale)): from 3 of 4 windows to 1 of 4 takes 2.2·scale of
// the load.
var softness = [...]struct{ scale, weight float64 }{
	{.002, .8},
	{.01, .15},
	{.03, .05},
}

// The prior belief: the boundary is above the first load in 19 of 20 cases, for
// people begin low; and six octaves further away it is e times less likely,
// which is so slow that the first few windows decide.
const (
	priorAbove  = .95
	priorOctave = 6.
)

func newBelief(g grid, n noise) belief {
	b := belief{noise: n, cells: make([]float64, len(g.loads)+1)}
	for _, load := range g.loads {
		b.logs = append(b.logs, math.Log(load))
	}
	b.middles = middles(b.logs)
	start := b.logs[g.start]
	disturbed := n.begins / (n.begins + n.ends)
	below := 0.0
	for k := range b.cells {
		upTo := 1.0
		if k < len(b.logs) {
			upTo = prior((b.logs[k] - start) / math.Ln2)
		}
		b.cells[k] = upTo - below
		below = upTo
	}
	for h, s := range softness {
		b.joint[h] = make([]state, len(b.cells))
		for k, p := range b.cells {
			b.joint[h][k] = state{s.weight * p * (1 - disturbed), s.weight * p * disturbed}
		}
	}
	return b
}

// prior is the probability that the boundary is less than so many octaves
// above the first load.
func prior(octaves float64) float64 {
	if octaves < 0 {
		return (1 - priorAbove) * math.Exp(octaves/priorOctave)
	}
	return 1 - priorAbove*math.Exp(-octaves/priorOctave)
}

// middles returns the middle of each cell; the two outermost have none and
// count as infinitely far away.
func middles(logs []float64) []float64 {
	ms := make([]float64, len(logs)+1)
	ms[0], ms[len(logs)] = math.Inf(-1), math.Inf(1)
	for k := 1; k < len(logs); k++ {
		ms[k] = (logs[k-1] + logs[k]) / 2
	}
	return ms
}

// reach is how many scales from a load a boundary makes no difference any more
// to whether the load passes: e^−30 is less than what rounding loses.
const reach = 30

// observe takes in a window at load j.
func (b *belief) observe(j int, passed bool) {
	fails, passes := b.noise.likelihood(0, passed), b.noise.likelihood(1, passed)
	total := 0.0
	for h, soft := range softness {
		first, _ := slices.BinarySearch(b.middles, b.logs[j]-reach*soft.scale)
		last, _ := slices.BinarySearch(b.middles, b.logs[j]+reach*soft.scale)
		total += b.noise.weigh(b.joint[h][:first], fails)
		for k := first; k < last; k++ {
			x := (b.middles[k] - b.logs[j]) / soft.scale
			near := b.noise.likelihood(1/(1+math.Exp(-x)), passed)
			total += b.noise.weigh(b.joint[h][k:k+1], near)
		}
		total += b.noise.weigh(b.joint[h][last:], passes)
	}
	b.normalise(total)
}

// normalise makes probabilities of weights. Their total is never 0: a quiet
// window can pass and fail in every cell.
func (b *belief) normalise(total float64) {
	clear(b.cells)
	for h := range b.joint {
		for k := range b.joint[h] {
			s := &b.joint[h][k]
			s[0] /= total
			s[1] /= total
			b.cells[k] += s[0] + s[1]
		}
	}
}

// upTo is the probability that the boundary is in cell k or below it.
func (b *belief) upTo(k int) float64 {
	sum := 0.0
	for _, p := range b.cells[:min(max(k+1, 0), len(b.cells))] {
		sum += p
	}
	return sum
}

// passes is the probability that the boundary is above load j.
func (b *belief) passes(j int) float64 { return 1 - b.upTo(j) }

// tiny makes sums that differ only by rounding equal, so that every machine
// takes the same decisions.
const tiny = 1e-9

// quantile returns the first cell up to which the probability reaches q, and
// which share of that cell's own probability it takes.
func (b *belief) quantile(q float64) (k int, share float64) {
	sum := 0.0
	for k, p := range b.cells {
		if sum+p >= q-tiny {
			return k, min(max((q-sum)/p, 0), 1)
		}
		sum += p
	}
	return len(b.cells) - 1, 1
}
