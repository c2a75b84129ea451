package search

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
