package loadserver

import (
	"math"
	"time"
)

// Now is the time since the machine was started, on the monotonic clock that
// all processes share; so a test can place the times of a [Record] on its own
// clock: Now() - time.Since(start) is when start was.
func Now() time.Duration { return monotonic() }

// clock tells the same by the runtime's faster way to read it.
type clock struct {
	base   time.Time
	offset time.Duration // what Now was at base
}

// newClock finds the offset between two clocks that count the same: from the
// reading that took least time, so that it is within that time.
func newClock() clock {
	c := clock{base: time.Now()}
	best := time.Duration(math.MaxInt64)
	for range 32 {
		before := time.Since(c.base)
		m := monotonic()
		after := time.Since(c.base)
		if took := after - before; took < best {
			best, c.offset = took, m-(before+after)/2
		}
	}
	return c
}

func (c clock) now() time.Duration { return c.offset + time.Since(c.base) }
