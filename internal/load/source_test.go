package load_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

func closed(users int, think, duration time.Duration) load.Plan {
	return load.Plan{Closed: &load.Closed{Users: users, Think: think, Duration: duration}, Seed: 5}
}

// simulated is what a closed loop did in simulated time.
type simulated struct {
	done     int
	response time.Duration // the sum
}

// simulate lets a source meet a server: respond says when the answer comes to
// what is sent at a time. The time of the next event is always the least.
func simulate(s load.Source, respond func(sent time.Duration) time.Duration) (r simulated) {
	var pending []time.Duration
	for {
		due, ok := s.Peek()
		switch {
		case ok && (len(pending) == 0 || due <= slices.Min(pending)):
			s.Take()
			done := respond(due)
			pending = append(pending, done)
			r.done++
			r.response += done - due
		case len(pending) > 0:
			i := slices.Index(pending, slices.Min(pending))
			s.Ended(pending[i])
			pending = slices.Delete(pending, i, i+1)
		default:
			return r
		}
	}
}

// TestClosedLoopLaw: N users who wait R for an answer and think Z send
// N/(R+Z) a second (the interactive response time law, Denning and Buzen,
// Computing Surveys 1978), whether R is given or comes from a queue.
func TestClosedLoopLaw(t *testing.T) {
	const duration = 2000 * time.Second
	rng := rand.New(rand.NewPCG(8, 9))
	var free time.Duration // when the only worker of the queue is
	queue := func(sent time.Duration) time.Duration {
		free = max(free, sent) + time.Duration(rng.ExpFloat64()*float64(20*time.Millisecond))
		return free
	}
	delay := func(d time.Duration) func(time.Duration) time.Duration {
		return func(sent time.Duration) time.Duration { return sent + d }
	}
	for name, c := range map[string]struct {
		users     int
		think     time.Duration
		respond   func(time.Duration) time.Duration
		tolerance float64
	}{
		"no think time": {10, 0, delay(100 * time.Millisecond), 1e-9},
		"think time":    {50, time.Second, delay(250 * time.Millisecond), .01},
		"queue":         {30, time.Second, queue, .01},
	} {
		r := simulate(load.NewSource(closed(c.users, c.think, duration), load.All), c.respond)
		mean := r.response.Seconds() / float64(r.done)
		want := float64(c.users) / (mean + c.think.Seconds()) * duration.Seconds()
		if got := float64(r.done); math.Abs(got/want-1) > c.tolerance {
			t.Errorf("%s: %v operations, want %v within %v", name, got, want, c.tolerance)
		}
	}
}

// TestUsersAreDivided: all users are in one share each, also where generators
// have different numbers of loops.
func TestUsersAreDivided(t *testing.T) {
	for _, generators := range [][]int{{1}, {1, 1}, {1, 1, 1}, {3, 1}, {1, 3}, {2, 5, 1, 7}, slices.Repeat([]int{1}, 20)} {
		for users := 1; users <= 40; users++ {
			sum := 0
			for i, loops := range generators {
				for loop := range loops {
					sum += first(closed(users, 0, time.Second), load.Share{Index: i, Of: len(generators)}.Split(loop, loops))
				}
			}
			if sum != users {
				t.Errorf("generators with %v loops have %d users, want %d", generators, sum, users)
			}
		}
	}
}

// first is how many users a share has: those who send before the first answer.
func first(p load.Plan, share load.Share) (n int) {
	s := load.NewSource(p, share)
	for _, ok := s.Peek(); ok; _, ok = s.Peek() {
		s.Take()
		n++
	}
	return n
}

// TestUsersComeInOrder: users come in the order in which their think time ends.
func TestUsersComeInOrder(t *testing.T) {
	s := load.NewSource(closed(500, time.Second, time.Hour), load.All)
	rng := rand.New(rand.NewPCG(1, 1))
	var last time.Duration
	for range 20_000 {
		due, ok := s.Peek()
		if !ok || due < last {
			t.Fatalf("Peek() = %v, %v after %v", due, ok, last)
		}
		s.Take()
		last = due
		s.Ended(due + time.Duration(rng.Int64N(int64(time.Second))))
	}
}

// TestClosedLoopEnds: no user comes after the end, and users who wait then do
// not come again.
func TestClosedLoopEnds(t *testing.T) {
	s := load.NewSource(closed(1, 0, time.Second), load.All)
	if due, ok := s.Peek(); due != 0 || !ok {
		t.Errorf("Peek() = %v, %v, want 0, true", due, ok)
	}
	s.Take()
	if _, ok := s.Peek(); ok {
		t.Error("the only user comes again while waiting for an answer")
	}
	s.Ended(time.Second)
	if due, ok := s.Peek(); ok {
		t.Errorf("Peek() = %v, true at the end", due)
	}
}

// TestOpenLoopTakesNoNotice of answers.
func TestOpenLoopTakesNoNotice(t *testing.T) {
	p := poisson(3, load.Hold(1000, time.Second))
	var got []time.Duration
	s := load.NewSource(p, load.All)
	for due, ok := s.Peek(); ok; due, ok = s.Peek() {
		got = append(got, due)
		s.Take()
		s.Ended(due + time.Hour)
	}
	if want := arrivals(p, load.All); !slices.Equal(got, want) {
		t.Errorf("the source has %d arrivals, want the schedule's %d", len(got), len(want))
	}
}

// TestSourcesMakeNoGarbage: a loop that waits for the collector sends late.
func TestSourcesMakeNoGarbage(t *testing.T) {
	for name, p := range map[string]load.Plan{
		"constant": constant(load.Hold(1e6, time.Hour)),
		"poisson":  poisson(1, load.Hold(1e6, time.Hour)),
		"closed":   closed(100, time.Second, time.Hour),
	} {
		s := load.NewSource(p, load.All)
		allocs := testing.AllocsPerRun(1000, func() {
			due, _ := s.Peek()
			s.Take()
			s.Ended(due)
		})
		if allocs != 0 {
			t.Errorf("%s: %v allocations an operation, want 0", name, allocs)
		}
	}
}
