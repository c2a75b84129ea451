package compare

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/stats"
)

// periods heeds when both sides were measured: one after the other, what changes
// with time is taken for a difference. Where values drift within the sides, the
// interval is extended by what the drift comes to from one to the other. It says
// nothing of a time in between that is longer than the sides.
func (l *laying) periods(c *Comparison) {
	ta, tb, first, second := seconds(l.a.Times), seconds(l.b.Times), c.A.Name, c.B.Name
	if len(ta) == 0 || len(tb) == 0 {
		return
	}
	gap := slices.Min(tb) - slices.Max(ta)
	if after := slices.Min(ta) - slices.Max(tb); after > gap {
		gap, first, second = after, second, first
	}
	if gap <= 0 {
		return
	}
	if longest := max(slices.Max(ta)-slices.Min(ta), slices.Max(tb)-slices.Min(tb)); longest > 0 && gap > longest {
		c.doubts.Warn("periods", "%s was measured %s after %s, longer than a side took (%s): drift within the sides does "+
			"not show what else changed in between; measure both in turns (study compare)",
			second, span(gap), first, span(longest))
	} else {
		c.doubts.Warn("periods", "%s was measured before %s: what else changed in between is in the difference; "+
			"measure both in turns (study compare with a and b) to avoid that", first, second)
	}
	x := c.layout
	if c.CI == nil || x.TimesA == nil || x.Paired || !l.typical {
		return
	}
	if by, over, ok := stats.CommonDrift(x.TimesA, l.scaled(x.A), x.TimesB, l.scaled(x.B)); ok {
		c.drift, c.driftOver = math.Exp(by), math.Abs(over)
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

// span is how long so many seconds are, in words.
func span(seconds float64) string { return num.Span(time.Duration(seconds * float64(time.Second))) }
