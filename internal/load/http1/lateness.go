package http1

import "time"

const (
	// brief is less time than it takes to fall asleep and to wake up again.
	brief = 3 * time.Microsecond
	// longestEarly bounds how long before a time a loop wakes up, and so the
	// processor time that this can cost.
	longestEarly = 20 * time.Microsecond
	// A sleep in ten ends earlier than supposed. With these steps up and down
	// the supposition comes to rest where that is so.
	stepUp, stepDown = 50 * time.Nanosecond, 450 * time.Nanosecond
)

// lateness is by how much sleeps last longer than they should: some µs on
// hardware, some tens of µs where the processor is virtual. It is told of each
// sleep, and follows their tenth percentile, up and down.
type lateness struct{ supposed time.Duration }

// add tells it of a sleep.
func (l *lateness) add(late time.Duration) {
	if late > l.supposed {
		l.supposed = min(l.supposed+stepUp, longestEarly)
	} else {
		l.supposed = max(l.supposed-stepDown, 0)
	}
}

// least is how late sleeps are, at the least; brief if they are not even that.
func (l *lateness) least() time.Duration { return max(l.supposed, brief) }
