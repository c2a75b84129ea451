package capacity

import (
	"fmt"
	"math"
	"time"
)

// A server that is offered more than it can do falls behind, and its answers
// come the later the longer it goes on: at a load of 1+x times what it can do,
// an operation that is due after a time t waits for x·t. A window ends before
// such a wait has grown beyond what the SLA allows, if x is small.

// Lengths of windows.
const (
	// shortest is the least that is scored.
	shortest = 10 * time.Second
	// tolerable is the overload that a window may fail to notice.
	tolerable = .02
)

// Unnoticed is the overload that windows fail to notice, as a share of what
// the server can do: with less the SLA is kept until the window's end. scored
// follows warmUp.
func (s SLA) Unnoticed(warmUp, scored time.Duration) float64 {
	least := math.Inf(1)
	for t := range s.Latencies() {
		// A share Quantile of the window is due before then.
		at := warmUp.Seconds() + t.Quantile*scored.Seconds()
		least = min(least, t.Latency.Seconds()/at)
	}
	return least
}

// Scored is how long windows have to be scored, in whole seconds, to fail to
// notice an overload of 2 % at most, and 10 s at least.
func (s SLA) Scored(warmUp time.Duration) time.Duration {
	scored := time.Duration(math.MaxInt64)
	for t := range s.Latencies() {
		seconds := (t.Latency.Seconds()/tolerable - warmUp.Seconds()) / t.Quantile
		scored = min(scored, time.Duration(math.Ceil(seconds))*time.Second)
	}
	return max(scored, shortest)
}

// unnoticed is the overload that this search's windows fail to notice; 0 where
// their length is not known.
func (c Config) unnoticed() float64 {
	if c.Scored <= 0 {
		return 0
	}
	return c.SLA.Unnoticed(c.WarmUp, c.Scored)
}

// tooShort warns of windows that cannot tell what a server sustains.
func (c Config) tooShort() []string {
	x := c.unnoticed()
	if x <= tolerable {
		return nil
	}
	return []string{fmt.Sprintf("windows of %v are short for %v: a server offered up to %s more than it can do keeps that until they end, and what it sustains may be less by so much; let them be %v long",
		c.Scored, c.SLA, about(x), c.SLA.Scored(c.WarmUp))}
}

// few is how many operations more may be under way at the end of a window than
// at its beginning without meaning anything.
const few = 10

// behind says by how much a server fell behind in a window; empty if it did not.
func (w Window) behind() string {
	late := w.Counts.OK - w.Replies
	inTime := w.share(w.Counts.Due - late)
	if late <= few || inTime >= achievedAtLeast {
		return ""
	}
	return fmt.Sprintf("%s of the load was answered while it was offered, not %s: the server fell behind", about(inTime), percent(achievedAtLeast))
}
