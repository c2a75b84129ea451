package http1

import (
	"math"
	"time"
)

// anchor ties the wall clock, by which the kernel stamps what arrives, to the
// clock of a run. The kernel slows down and speeds up both together: their
// distance changes only when the wall clock is set. So each comparison narrows
// down the same distance, until one contradicts those before.
type anchor struct {
	// The distance, the wall clock's time less that of the run, lies from least
	// to most; in ns.
	least, most int64
	// set is when the wall clock was last found to have been set.
	set time.Duration
}

const (
	// slack is by how much comparisons may contradict each other although the
	// clock was not set: processors do not agree on the time to the nanosecond.
	slack = time.Microsecond
	// narrow is how well the distance must be known for a stamp to be believed.
	narrow = 20 * time.Microsecond
)

// unanchored knows no more than that the run is after 1970.
func unanchored() anchor { return anchor{most: math.MaxInt64, set: math.MinInt64} }

// compare takes a reading of the wall clock, in ns since 1970, that was made
// between two of the run's.
func (a *anchor) compare(before time.Duration, wall int64, after time.Duration) {
	least, most := wall-int64(after), wall-int64(before)
	apart := max(a.least, least) - min(a.most, most)
	if apart <= 0 {
		a.least, a.most = max(a.least, least), min(a.most, most)
		return
	}
	a.least, a.most = least, most
	if apart > int64(slack) {
		a.set = after
	}
}

// convert returns when, on the clock of the run, the wall clock showed a stamp.
// It is believed only if that lies from when the request was sent to now, and if
// the wall clock was not set since, for the stamp may be from before that.
func (a *anchor) convert(stamp int64, sent, now time.Duration) (at time.Duration, believed bool) {
	at = time.Duration(stamp - a.least - (a.most-a.least)/2)
	return at, a.most-a.least <= int64(narrow) && sent > a.set && at >= sent && at <= now
}
