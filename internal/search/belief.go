package search

import (
	"math"
	"slices"
	"strconv"
)

// grid is the loads that the default algorithm may try, ascending, evenly
// spaced in the logarithm so that a whole number of them makes a step of the
// ramp. Loads are named by their index. Trying only these means that the same load comes up again, so that windows of one load can be
// counted against each other, instead of each load being tried once.
//
// Between and beside them are the cells in which the boundary may lie: cell k
// is from load k-1 up to, not including, load k. Cell 0 is below the smallest
// load, the last one from the largest upwards; there is one cell more than
// loads. So load j passes, apart from errors, if the boundary's cell is above j.
type grid struct {
	loads []float64
	start int
	// ramp is how many loads a step of the ramp takes.
	ramp int
}

const (
	// perStep is how many cells fit between Passed and Failed. More than one,
	// so that a load that lies on the boundary and will neither pass nor fail
	// can be left between them.
	perStep = 2
	// digits is to how many significant digits loads are rounded, for people
	// to read. It is finer than the finest resolution by a factor of 20.
	digits = 5
)

func newGrid(o Options) grid {
	ramp := math.Ceil(perStep * math.Log(o.Factor) / math.Log1p(o.Resolution))
	steps := func(to float64) float64 { return ramp * math.Log(to/o.Start) / math.Log(o.Factor) }
	loads := []float64{o.Min, o.Start, o.Max}
	for i := math.Floor(steps(o.Min)); i <= math.Ceil(steps(o.Max)); i++ {
		load := round(o.Start * math.Pow(o.Factor, i/ramp))
		if i != 0 && load > o.Min && load < o.Max {
			loads = append(loads, load)
		}
	}
	slices.Sort(loads)
	loads = slices.Compact(loads)
	return grid{loads: loads, start: slices.Index(loads, o.Start), ramp: int(ramp)}
}

func round(load float64) float64 {
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(load, 'g', digits, 64), 64)
	if err != nil { // beyond what a float64 holds
		return load
	}
	return rounded
}

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

// noise is what is supposed about windows that say the wrong thing; each value
// is a probability.
type noise struct {
	unlucky float64 // a quiet window below the boundary fails
	lucky   float64 // a quiet window above it passes
	begins  float64 // a disturbance begins before the next window
	ends    float64 // it ends
	through float64 // a disturbed window below the boundary passes nevertheless
}

// meanBurst is how many windows a disturbance is expected to last.
const meanBurst = 4

// newNoise splits a rate of failures below the boundary: half come alone, half
// in disturbances.
func newNoise(rate float64) noise {
	half := rate / 2
	return noise{
		unlucky: half,
		lucky:   rate / 5,
		begins:  half / (1 - half) / meanBurst,
		ends:    1. / meanBurst,
		through: .1,
	}
}

// plainly is how rarely a window below the boundary fails plainly.
const plainly = 1e-3

// plain is the noise of a window that failed plainly.
func (n noise) plain() noise {
	n.unlucky, n.through = plainly, 1-plainly
	return n
}

// likelihood is how probable the outcome of a window is in each state; below is
// the probability that a window without error passes.
func (n noise) likelihood(below float64, passed bool) state {
	pass := state{n.lucky + (1-n.lucky-n.unlucky)*below, n.through * below}
	if !passed {
		return state{1 - pass[0], 1 - pass[1]}
	}
	return pass
}

// weigh takes states to the next window, weighs them by the likelihood of what
// that came to, and returns the sum of the weights.
func (n noise) weigh(states []state, likelihood state) (sum float64) {
	for i, s := range states {
		quiet := (s[0]*(1-n.begins) + s[1]*n.ends) * likelihood[0]
		disturbed := (s[0]*n.begins + s[1]*(1-n.ends)) * likelihood[1]
		states[i] = state{quiet, disturbed}
		sum += quiet + disturbed
	}
	return sum
}

// credible is how probable the boundary is in the interval, as believed. What
// is promised is 95 %; the rest covers boundaries and errors that are not
// quite like any that the belief knows. docs/capacity-search.md shows how
// often the interval holds the truth.
const credible = .98

// estimate is the median of the belief, between the loads of its cell by their
// logarithms, and the interval of whole cells that leaves at most half of
// 1−credible on each side. The estimate is NaN outside the grid.
func (b *belief) estimate(g grid) (estimate, low, high float64) {
	estimate = math.NaN()
	if k, share := b.quantile(.5); k > 0 && k < len(b.logs) {
		estimate = math.Exp(b.logs[k-1] + share*(b.logs[k]-b.logs[k-1]))
		estimate = min(max(estimate, g.loads[k-1]), g.loads[k]) // of rounding
	}
	high = math.Inf(1)
	if k, _ := b.quantile((1 - credible) / 2); k > 0 {
		low = g.loads[k-1]
	}
	if k, _ := b.quantile((1 + credible) / 2); k < len(b.logs) {
		high = g.loads[k]
	}
	return estimate, low, high
}

// unknown is a result in which nothing is known.
func unknown() Result {
	nan := math.NaN()
	return Result{Passed: nan, Failed: nan, Estimate: nan, Low: nan, High: nan}
}
