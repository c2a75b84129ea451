package session

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// The distributions of think times.
const (
	Exponential = "exponential"
	Constant    = "constant"
	Uniform     = "uniform"
	Lognormal   = "lognormal"
	Empirical   = "empirical"
)

// Think is how long users think before they go on.
type Think struct {
	Distribution string
	// Mean is that of all distributions but the empirical.
	Mean time.Duration
	// Spread is half of the width of the uniform distribution, or the standard
	// deviation of the lognormal, as a share of the mean.
	Spread float64
	// Values are those of the empirical distribution, each as likely as the
	// others.
	Values []time.Duration
}

// longestThink is the longest mean; a week, for overflow is far away then.
const longestThink = 7 * 24 * time.Hour

// Check refuses what cannot be drawn from, with a *model.InputError at the key of
// a file.
func (t Think) Check() error {
	bad := func(key, problem, allowed string) error {
		return &model.InputError{Path: key, Problem: problem, Allowed: allowed}
	}
	switch t.Distribution {
	case Exponential, Constant, Uniform, Lognormal, Empirical:
	default:
		return bad("think_distribution", fmt.Sprintf("%q is no distribution", t.Distribution), "use exponential, constant, uniform, lognormal or empirical")
	}
	spreads := t.Distribution == Uniform || t.Distribution == Lognormal
	switch {
	case t.Mean < 0 || t.Mean > longestThink:
		return bad("think", "a user cannot think for "+t.Mean.String(), "use 0s to 7d")
	case !spreads && t.Spread != 0:
		return bad("think_spread", "the "+t.Distribution+" distribution has no spread", "leave it out, or use uniform or lognormal")
	case spreads && !(t.Spread > 0 && t.Spread <= 10) || t.Distribution == Uniform && t.Spread > 1:
		return bad("think_spread", fmt.Sprintf("%v is no spread of the %s distribution", t.Spread, t.Distribution), "use more than 0, up to 1 for uniform, up to 10 for lognormal")
	case (t.Distribution == Empirical) != (len(t.Values) > 0):
		return bad("think_values", fmt.Sprintf("the %s distribution with %d values", t.Distribution, len(t.Values)), "give values with think_distribution: empirical, and only with that")
	}
	for _, v := range t.Values {
		if v < 0 || v > longestThink {
			return bad("think_values", "a user cannot think for "+v.String(), "use 0s to 7d")
		}
	}
	return nil
}

// Draw is for a Think that passed its Check.
func (t Think) Draw(rng *rand.Rand) time.Duration {
	mean := float64(t.Mean)
	switch t.Distribution {
	case Constant:
		return t.Mean
	case Uniform:
		return time.Duration(mean * (1 + t.Spread*(2*rng.Float64()-1)))
	case Lognormal:
		// Of this mean and standard deviation: μ = ln mean - σ²/2.
		variance := math.Log1p(t.Spread * t.Spread)
		return time.Duration(min(mean*math.Exp(math.Sqrt(variance)*rng.NormFloat64()-variance/2), float64(1000*longestThink)))
	case Empirical:
		return t.Values[rng.IntN(len(t.Values))]
	}
	return time.Duration(rng.ExpFloat64() * mean)
}

// Rest draws how much longer users think who have come and gone on for long: with
// it, users who come evenly ask for as much from the start as they do later.
func (t Think) Rest(rng *rand.Rand) time.Duration {
	mean := t.Mean
	if t.Distribution == Empirical {
		var sum float64
		for _, v := range t.Values {
			sum += float64(v) / float64(len(t.Values))
		}
		mean = time.Duration(sum)
	}
	// Think times one after the other, seen at a moment long after the first.
	const long = 10
	left := time.Duration((long + rng.Float64()) * float64(mean))
	for mean > 0 && left > 0 {
		left -= t.Draw(rng)
	}
	return max(-left, 0)
}
