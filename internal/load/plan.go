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

// Stage is a stretch of an open loop's plan at one rate, in operations per second;
// 0 is a pause.
type Stage struct {
	Rate     float64
	Duration time.Duration
}

// Hold is a stage at one rate.
func Hold(rate float64, d time.Duration) Stage { return Stage{rate, d} }

// expected is how many operations are due in the stage.
func (s Stage) expected() float64 { return whole(s.Rate * s.Duration.Seconds()) }

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
	// together; 0: no limit.
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
	switch c := p.Closed; {
	case c != nil && len(p.Stages) > 0:
		return fmt.Errorf("%w: a plan has either stages (open loop) or users (closed loop), not both", model.ErrUsage)
	case c != nil && (c.Users < 1 || c.Duration < 0 || c.Think < 0 || c.Count < 0 || c.Duration == 0 && c.Count == 0):
		return fmt.Errorf("%w: a closed loop of %d users with a think time of %v, for %v or %d operations; it needs users, and a duration or a number of operations; none may be negative",
			model.ErrUsage, c.Users, c.Think, c.Duration, c.Count)
	case c != nil:
		return nil
	case p.Arrivals != Constant && p.Arrivals != Poisson:
		return fmt.Errorf("%w: arrivals %q must be constant or poisson", model.ErrUsage, p.Arrivals)
	case len(p.Stages) == 0:
		return fmt.Errorf("%w: a plan needs a stage", model.ErrUsage)
	}
	for i, s := range p.Stages {
		if s.Duration <= 0 || !(s.Rate >= 0 && s.Rate <= MaxRate) {
			return fmt.Errorf("%w: stage %d has %v operations/s for %v; rates must be from 0 to 1e9, and a stage must take time",
				model.ErrUsage, i+1, s.Rate, s.Duration)
		}
	}
	return nil
}

// Share is one part of a plan that several loops or generators execute
// together: part Index, counted from 0, of Of. Evenly spaced arrivals are dealt
// out in turn, so that they stay evenly spaced in the sum; Poisson arrivals are
// drawn apart, for a sum of Poisson processes is one. The users of a closed
// loop are dealt out, too.
type Share struct{ Index, Of int }

// All is the whole of a plan.
var All = Share{Index: 0, Of: 1}

// Split returns part i of n of this share: every n-th of its operations. So
// generators may have different numbers of loops, and their parts still make
// up the whole, and draw apart.
func (s Share) Split(i, n int) Share { return Share{Index: s.Index + i*s.Of, Of: s.Of * n} }

// of is how many of n users or operations are this share's: they are dealt out
// in turn, as arrivals are, so that the parts of a part make up the part.
func (s Share) of(n int64) int64 { return max(n-int64(s.Index)+int64(s.Of)-1, 0) / int64(s.Of) }

// Schedule computes the times at which one share of an open loop's operations
// is due.
//
// Both kinds of arrivals are made in operational time, in which the rate is 1:
// arrival number j of evenly spaced ones lies at j, Poisson arrivals lie
// exponential distances of mean 1 apart. The integral of the rate over time,
// inverted, maps them to the clock (Çinlar, Introduction to Stochastic Processes,
// 1975, section 4.7: the time change of a non-homogeneous Poisson process).
type Schedule struct {
	stages []Stage
	step   func() float64 // to the next arrival, in operational time

	next   float64 // the next arrival, in operational time
	stage  int
	begin  time.Duration // of the stage
	before float64       // what was due before the stage
}

// NewSchedule is for a plan with stages that passed its Check.
func NewSchedule(p Plan, share Share) *Schedule {
	n := float64(share.Of)
	s := &Schedule{stages: p.Stages, step: func() float64 { return n }, next: float64(share.Index)}
	if p.Arrivals == Poisson {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(share.Index))) //nolint:gosec // repeatable on purpose
		s.step = func() float64 { return n * rng.ExpFloat64() }
		s.next = s.step()
	}
	return s
}

// Next returns when the next operation is due, from the start of the plan, to
// the nearest nanosecond; ok is false when none is left. Times do not go
// back, and are before the plan's end.
func (s *Schedule) Next() (due time.Duration, ok bool) {
	for s.stage < len(s.stages) {
		now := s.stages[s.stage]
		if left := s.next - s.before; left < now.expected() {
			s.next += s.step()
			after := time.Duration(math.Round(left / now.Rate * 1e9))
			return s.begin + min(after, now.Duration-1), true
		}
		s.before = whole(s.before + now.expected())
		s.begin += now.Duration
		s.stage++
	}
	return 0, false
}

// Source says when the operations of one loop are due.
type Source interface {
	// Peek returns when the next operation is due, from the start of the run.
	// ok is false if none is: for ever, or, in a closed loop, until
	// an answer comes.
	Peek() (due time.Duration, ok bool)
	// Take takes it.
	Take()
	// Ended says that an operation taken earlier has ended.
	Ended(now time.Duration)
}

// NewSource is for a share of a plan that passed its Check.
func NewSource(p Plan, share Share) Source {
	if p.Closed != nil {
		return newUsers(p, share)
	}
	o := &openLoop{schedule: NewSchedule(p, share)}
	o.Take()
	return o
}

// openLoop takes no notice of the server.
type openLoop struct {
	schedule *Schedule
	due      time.Duration
	ok       bool
}

func (o *openLoop) Peek() (time.Duration, bool) { return o.due, o.ok }
func (o *openLoop) Take()                       { o.due, o.ok = o.schedule.Next() }
func (o *openLoop) Ended(time.Duration)         {}

// users are those of a closed loop who are thinking; the others wait for their
// answers.
type users struct {
	think    time.Duration
	until    time.Duration
	left     int64 // operations
	rng      *rand.Rand
	thinking Agenda
}

func newUsers(p Plan, share Share) *users {
	u := &users{
		think: p.Closed.Think, until: p.Duration(), left: math.MaxInt64,
		rng: rand.New(rand.NewPCG(p.Seed, uint64(share.Index))), //nolint:gosec // repeatable on purpose
	}
	if n := p.Closed.Count; n > 0 {
		u.left = share.of(n)
	}
	for range share.of(int64(p.Closed.Users)) {
		u.Ended(0)
	}
	return u
}

func (u *users) Peek() (time.Duration, bool) {
	if len(u.thinking) == 0 || u.thinking[0].At >= u.until || u.left == 0 {
		return 0, false
	}
	return u.thinking[0].At, true
}

func (u *users) Take() {
	u.thinking.Pop()
	u.left--
}

func (u *users) Ended(now time.Duration) {
	u.thinking.Push(Appointment{At: now + time.Duration(u.rng.ExpFloat64()*float64(u.think))})
}

// Appointment is when a user has thought for long enough.
type Appointment struct {
	At   time.Duration // from the start of the run
	User int
}

// Agenda is a binary heap of appointments, the earliest first. container/heap
// would put each into an interface: garbage for every answer.
type Agenda []Appointment

// Push adds an appointment.
func (a *Agenda) Push(x Appointment) {
	h := append(*a, x)
	for i := len(h) - 1; i > 0 && h[i].At < h[(i-1)/2].At; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
	*a = h
}

// Pop takes the first; there is one.
func (a *Agenda) Pop() Appointment {
	first, last := (*a)[0], len(*a)-1
	h := (*a)[:last]
	if last > 0 {
		h[0] = (*a)[last]
	}
	for i, child := 0, 1; child < len(h); i, child = child, 2*child+1 {
		if child+1 < len(h) && h[child+1].At < h[child].At {
			child++
		}
		if h[i].At <= h[child].At {
			break
		}
		h[i], h[child] = h[child], h[i]
	}
	*a = h
	return first
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
