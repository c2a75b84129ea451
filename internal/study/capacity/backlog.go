package capacity

import (
	"time"

	"github.com/scalebench/scalebench/internal/load"
	work "github.com/scalebench/scalebench/internal/workload/load"
)

// Bounds of how long a target may take to work off the load before.
const (
	// backlogMargin is how much slower it may do so than it has answered.
	backlogMargin = 1.5
	// mostRecovery is what a recovery takes at most; where nothing is known that is to
	// be worked off, [work.RecoverWithin].
	mostRecovery = 3 * time.Minute
)

// backlog is what a target may have left of windows that it missed: it may go on
// with operations that their clients have given up.
type backlog struct {
	left float64 // operations
	rate float64 // at which it has answered in a window that it missed; 0: not known
	// waited: it was let go of all that it can have left before the next window.
	waited bool
	// tried: it was let go for as long as anybody waits, though no rate was known.
	tried bool
}

// in reports whether a window that was missed began before all was worked off. A
// target that refuses most operations does not work them off.
func (b *backlog) in(w load.Window) bool {
	return w.Unrecovered && !b.waited && 2*w.Counts.Refused() < w.Counts.Due
}

// take adds what a window has left, and returns for how long the target is let go
// of it before the next; 0: as long as usual. What it can have left is what it was
// given and has not answered, at the rate at which it did answer.
func (b *backlog) take(j Assessment, warmUp time.Duration) time.Duration {
	if j.Verdict == Passed || j.Unrecovered && b.waited { // nothing can be left of those before
		b.left = 0
	}
	if j.Verdict == Passed || j.Scored <= 0 {
		b.waited, b.tried = false, false
		return 0
	}
	whole := (warmUp + j.Scored).Seconds() / j.Scored.Seconds()
	b.left += whole * float64(max(j.Counts.Due-j.Replies-j.Counts.Refused()-j.Counts.Dropped, 0))
	if answering := (j.Scored - j.Window.Stall()).Seconds(); answering > 0 && j.Replies > 0 {
		b.rate = float64(j.Replies) / answering
	}
	if b.rate == 0 {
		again := b.tried || b.left == 0
		if b.waited, b.tried = false, true; again {
			return 0
		}
		return mostRecovery
	}
	takes := min(backlogMargin*b.left/b.rate, mostRecovery.Seconds())
	b.waited = takes <= (mostRecovery - work.RecoverWithin).Seconds()
	return min(work.RecoverWithin+seconds(takes), mostRecovery).Round(time.Second)
}
