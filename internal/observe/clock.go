package observe

import (
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// clocks are what was last known of each node's clock.
type clocks map[model.NodeID]model.Result

// fastestDrift is how much faster or slower than the server's a clock may run
// until it is said to have been set: NTP slews by at most 500 ppm, and a clock
// that nothing corrects may be as far off again (Mills, RFC 5905, section 4).
const fastestDrift = 0.001

// step is how far a node's clock was set between the last result's and this one,
// beyond what both measurements and drift explain; in seconds.
func (c clocks) step(r model.Result) float64 {
	last, known := c[r.Node]
	c[r.Node] = r
	if !known || r.ClockError <= 0 || last.ClockError <= 0 {
		return 0 // not measured, as on the server's own machine
	}
	moved := (r.ClockOffset - last.ClockOffset).Abs()
	drift := time.Duration(fastestDrift * float64(r.Started.Sub(last.Started).Abs()))
	return max(0, moved-r.ClockError-last.ClockError-drift).Seconds()
}

// hostClock is how far off the node's clock may have been, in seconds, if that
// is at least a quarter of the step's start skew.
func hostClock(n Host) (float64, bool) {
	if !(4*n.clock > n.skew) {
		return 0, true
	}
	return n.clock, true
}
