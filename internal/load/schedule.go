package load

import (
	"math"
	"math/rand/v2"
	"time"
)

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
// inverted, maps them to the clock; so ramps are exact, too (Çinlar,
// Introduction to Stochastic Processes, 1975, section 4.7: the time change of
// a non-homogeneous Poisson process).
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
	s := &Schedule{stages: p.Stages}
	n := float64(share.Of)
	if p.Arrivals == Poisson {
		rng := rand.New(rand.NewPCG(p.Seed, uint64(share.Index))) //nolint:gosec // repeatable on purpose
		s.step = func() float64 { return n * rng.ExpFloat64() }
		s.next = s.step()
	} else {
		s.step = func() float64 { return n }
		s.next = float64(share.Index)
	}
	return s
}

// Next returns when the next operation is due, from the start of the plan, to
// the nearest nanosecond; ok is false when there is none left. Times do not go
// back, and are before the plan's end.
func (s *Schedule) Next() (due time.Duration, ok bool) {
	for s.stage < len(s.stages) {
		now := s.stages[s.stage]
		if left := s.next - s.before; left < now.expected() {
			s.next += s.step()
			after := time.Duration(math.Round(now.after(left) * 1e9))
			return s.begin + min(after, now.Duration-1), true
		}
		s.before = whole(s.before + now.expected())
		s.begin += now.Duration
		s.stage++
	}
	return 0, false
}

// after is the time in seconds, from the stage's begin, by which n ≥ 0 operations
// were due: the inverse of From·t + (To-From)/(2·Duration)·t². This form of the
// solution is exact for a constant rate and loses no digits near it.
func (s Stage) after(n float64) float64 {
	if n == 0 && s.From == 0 {
		return 0
	}
	slope := (s.To - s.From) / s.Duration.Seconds()
	root := math.Sqrt(max(s.From*s.From+2*slope*n, 0))
	return 2 * n / (s.From + root)
}

// Source says when the operations of one loop are due.
type Source interface {
	// Peek returns when the next operation is due, from the start of the run.
	// ok is false when there is none: for ever, or, in a closed loop, until
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
	thinking times
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
	if len(u.thinking) == 0 || u.thinking[0] >= u.until || u.left == 0 {
		return 0, false
	}
	return u.thinking[0], true
}

func (u *users) Take() {
	u.thinking.pop()
	u.left--
}

func (u *users) Ended(now time.Duration) {
	u.thinking.push(now + time.Duration(u.rng.ExpFloat64()*float64(u.think)))
}

// times is a binary heap, the earliest first. container/heap would put each
// time into an interface: garbage for every answer.
type times []time.Duration

func (t *times) push(x time.Duration) {
	h := append(*t, x)
	for i := len(h) - 1; i > 0 && h[i] < h[(i-1)/2]; i = (i - 1) / 2 {
		h[i], h[(i-1)/2] = h[(i-1)/2], h[i]
	}
	*t = h
}

func (t *times) pop() {
	last := len(*t) - 1
	h := (*t)[:last]
	if last > 0 {
		h[0] = (*t)[last]
	}
	for i, child := 0, 1; child < len(h); i, child = child, 2*child+1 {
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[i] <= h[child] {
			break
		}
		h[i], h[child] = h[child], h[i]
	}
	*t = h
}
