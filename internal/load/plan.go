package load

import (
	"fmt"
	"math"
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
	if p.Closed != nil && p.Closed.Duration == 0 {
		return unlimited
	}
	if p.Closed != nil {
		return p.Closed.Duration
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
		return fmt.Errorf("%w: arrivals %q; they are constant or poisson", model.ErrUsage, p.Arrivals)
	}
	if len(p.Stages) == 0 {
		return fmt.Errorf("%w: a plan without a stage", model.ErrUsage)
	}
	for i, s := range p.Stages {
		if s.Duration <= 0 || !validRate(s.From) || !validRate(s.To) {
			return fmt.Errorf("%w: stage %d goes from %v to %v operations/s in %v; rates are from 0 to 1e9 and a stage takes time",
				model.ErrUsage, i+1, s.From, s.To, s.Duration)
		}
	}
	return nil
}

func validRate(r float64) bool { return r >= 0 && r <= MaxRate && !math.IsNaN(r) }

func (c Closed) check(stages int) error {
	switch {
	case stages > 0:
		return fmt.Errorf("%w: a plan is an open loop (stages) or a closed one (users), not both", model.ErrUsage)
	case c.Users < 1 || c.Duration < 0 || c.Think < 0 || c.Count < 0 || c.Duration == 0 && c.Count == 0:
		return fmt.Errorf("%w: a closed loop of %d users who think %v, for %v or %d operations; it needs users, a duration or a number, and none that is negative",
			model.ErrUsage, c.Users, c.Think, c.Duration, c.Count)
	}
	return nil
}
