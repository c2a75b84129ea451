package load

import (
	"math"
	"math/rand/v2"
	"time"
)

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
