package compare

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// periods heeds when both sides were measured: one after the other, what changes
// with time is taken for a difference. Where values drift within the sides, the
// interval is extended by what the drift comes to from one to the other.
func (l *laying) periods(c *Comparison) {
	ta, tb := seconds(l.a.Times), seconds(l.b.Times)
	if len(ta) == 0 || len(tb) == 0 || slices.Max(ta) >= slices.Min(tb) && slices.Max(tb) >= slices.Min(ta) {
		return
	}
	c.doubts.Warn("periods", "%s was measured before %s: what else changed in between is in the difference; measured "+
		"in turns (study compare with a and b) it is not",
		map[bool]string{true: c.A.Name, false: c.B.Name}[ta[0] < tb[0]],
		map[bool]string{true: c.B.Name, false: c.A.Name}[ta[0] < tb[0]])
	x := c.layout
	if c.CI == nil || x.TimesA == nil || x.Paired || !l.typical {
		return
	}
	if by, ok := stats.CommonDrift(x.TimesA, l.scaled(x.A), x.TimesB, l.scaled(x.B)); ok {
		c.drift = math.Exp(by)
		possible := c.drifting(*c.CI)
		c.Possible = &possible
	}
}

// drifting is an interval of ratios, wider by what drift explains.
func (c *Comparison) drifting(ci stats.Interval) stats.Interval {
	if c.drift == 0 {
		return ci
	}
	return stats.Interval{Lo: min(ci.Lo, ci.Lo/c.drift), Hi: max(ci.Hi, ci.Hi/c.drift)}
}
