package load

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Arrivals is how operations of an open loop follow each other.
type Arrivals string

// The kinds of arrivals.
const (
	// Constant arrivals are evenly spaced.
	Constant Arrivals = "constant"
	// Poisson arrivals are independent of each other, as those of many users
	// are: the times between them are exponential.
	Poisson Arrivals = "poisson"
)

// Stage is a stretch of an open loop's plan: the rate goes evenly from one
// value to another. Rates are in operations per second; 0 is a pause.
type Stage struct {
	From, To float64
	Duration time.Duration
}

// Hold is a stage at one rate.
func Hold(rate float64, d time.Duration) Stage { return Stage{From: rate, To: rate, Duration: d} }

// expected is how many operations are due in the stage.
func (s Stage) expected() float64 { return whole((s.From + s.To) / 2 * s.Duration.Seconds()) }

// whole returns the whole number from which x differs by errors of rounding
// only, or else x: 70/s for 1.1 s are 77 operations, although their product is
// 77.00000000000001 and so has room for one more.
func whole(x float64) float64 {
	if n := math.Round(x); math.Abs(x-n) <= 1e-14*n {
		return n
	}
	return x
}

// Closed is a closed loop: users who send, wait for the answer, think, and
// send again. What it measures depends on the server's speed: a slow server is
// asked less. It is here for comparison and for benchmarks defined that way.
type Closed struct {
	// Users is how many there are. They begin at random moments of their
	// first time of thinking.
	Users int
	// Think is the mean time from an answer to the next request, drawn from
	// an exponential distribution; 0: none.
	Think time.Duration
	// Duration is how long they send; 0: until they have sent Count.
	Duration time.Duration
	// Count, for a [Pool], ends the run after so many operations of all users
	// together; 0: there is no such end.
	Count int64
}

// unlimited is the duration of a plan that only a number ends.
const unlimited time.Duration = 1 << 62

// Plan says when operations are due: Stages, or Closed.
type Plan struct {
	Arrivals Arrivals // of Stages
	Stages   []Stage
	Closed   *Closed
	// Seed makes random times and choices repeatable.
	Seed uint64
}

// Duration is the time in which operations fall due.
func (p Plan) Duration() time.Duration {
	if p.Closed != nil {
		return cmp.Or(p.Closed.Duration, unlimited)
	}
	var sum time.Duration
	for _, s := range p.Stages {
		sum += s.Duration
	}
	return sum
}

// MaxRate bounds a rate, in operations per second: above it times are too
// close together to be told apart.
const MaxRate = 1e9

// Check refuses a plan that cannot be executed, with model.ErrUsage.
func (p Plan) Check() error {
	if p.Closed != nil {
		return p.Closed.check(len(p.Stages))
	}
	if p.Arrivals != Constant && p.Arrivals != Poisson {
		return fmt.Errorf("%w: arrivals %q must be constant or poisson", model.ErrUsage, p.Arrivals)
	}
	if len(p.Stages) == 0 {
		return fmt.Errorf("%w: a plan needs a stage", model.ErrUsage)
	}
	for i, s := range p.Stages {
		if s.Duration <= 0 || !validRate(s.From) || !validRate(s.To) {
			return fmt.Errorf("%w: stage %d goes from %v to %v operations/s in %v; rates must be from 0 to 1e9, and a stage must take time",
				model.ErrUsage, i+1, s.From, s.To, s.Duration)
		}
	}
	return nil
}

func validRate(r float64) bool { return r >= 0 && r <= MaxRate }

func (c Closed) check(stages int) error {
	switch {
	case stages > 0:
		return fmt.Errorf("%w: a plan is an open loop (stages) or a closed one (users), not both", model.ErrUsage)
	case c.Users < 1 || c.Duration < 0 || c.Think < 0 || c.Count < 0 || c.Duration == 0 && c.Count == 0:
		return fmt.Errorf("%w: a closed loop of %d users who think %v, for %v or %d operations; it needs users, and a duration or a number; none may be negative",
			model.ErrUsage, c.Users, c.Think, c.Duration, c.Count)
	}
	return nil
}

// Weight is a kind of operation and how often it is done, relative to the
// others.
type Weight struct {
	Name   string
	Weight float64
}

// Mix draws kinds of operations at random, in the proportion of their weights.
type Mix struct {
	upTo []float64 // sums of weights, of this kind and those before it
	rng  *rand.Rand
}

// NewMix is repeatable for a seed and the index of a share. The error is
// model.ErrUsage: weights must be positive, or 0 for what is never done.
func NewMix(kinds []Weight, seed uint64, share Share) (*Mix, error) {
	m := &Mix{rng: rand.New(rand.NewPCG(seed, uint64(share.Index)<<32|mixStream))} //nolint:gosec // repeatable on purpose
	sum := 0.0
	for _, k := range kinds {
		if !(k.Weight >= 0) || math.IsInf(k.Weight, 0) {
			return nil, fmt.Errorf("%w: weight %v of %s; weights must be 0 or more", model.ErrUsage, k.Weight, k.Name)
		}
		sum += k.Weight
		m.upTo = append(m.upTo, sum)
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return nil, fmt.Errorf("%w: the weights of the operations add up to %v; their sum must be more than 0 and finite", model.ErrUsage, sum)
	}
	return m, nil
}

// mixStream keeps what is drawn here apart from times of arrivals.
const mixStream = 1 << 63

// Next draws a kind: its index.
func (m *Mix) Next() int {
	if len(m.upTo) == 1 {
		return 0
	}
	x := m.rng.Float64() * m.upTo[len(m.upTo)-1]
	for i, limit := range m.upTo {
		if x < limit {
			return i
		}
	}
	return len(m.upTo) - 1
}
