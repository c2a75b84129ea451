package compare

import (
	"fmt"
	"math"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/frame"
	"github.com/scalebench/scalebench/internal/stats"
)

// lowerBounds is how many rows are only lower bounds, as what a search found that ended
// before it had a capacity.
func lowerBounds(f *frame.Frame) (n int) {
	for _, bound := range f.Bounds() {
		if bound {
			n++
		}
	}
	return n
}

// heedBounds doubts a verdict that lower bounds do not carry: B is higher only than values
// that are known, and lower only by such. Of one that they carry it says that the sides may
// be further apart.
func (c *Comparison) heedBounds(word Verdict) {
	if c.A.bounds+c.B.bounds == 0 {
		return
	}
	who := c.A.bounded()
	if c.A.bounds > 0 && c.B.bounds > 0 {
		who += " and "
	}
	who += c.B.bounded()
	ci := c.CI
	if ci == nil || !word.different() || ci.Lo > 1 && c.A.bounds > 0 || ci.Hi < 1 && c.B.bounds > 0 {
		c.doubts.Problem(frame.FactCensored, "%s are only lower bounds, so that it is not known how they compare; "+
			"search again with room above it", who)
		return
	}
	c.doubts.Warn(frame.FactCensored, "%s are only lower bounds: the sides differ by at least as much as the "+
		"interval says, and perhaps by more; search again with room above it", who)
}

// bounded says how many rows of a side are lower bounds; empty: none.
func (s *Side) bounded() string {
	if s.bounds == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the %s of %s", s.bounds, num.Count(s.Rows, "value"), s.Name)
}

// open is an interval of B/A as far as lower bounds leave it open: a side may be higher than
// its bounds.
func (c *Comparison) open(ci stats.Interval) stats.Interval {
	if c.A.bounds > 0 {
		ci.Lo = 0
	}
	if c.B.bounds > 0 {
		ci.Hi = math.Inf(1)
	}
	return ci
}
