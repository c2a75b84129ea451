package pressure

import (
	"math"

	"github.com/scalebench/scalebench/internal/levels"
	"github.com/scalebench/scalebench/internal/stats"
)

// Credit is the balance of a bucket around one period, as far as it is known.
type Credit struct {
	End float64 // of the period, Unix s
	// Balance is that at the end of the period, in what the limit counts.
	Balance stats.Interval
	// Limit is the largest mean rate that the bucket allows in the period: the burst, or less where the
	// balance at its begin does not last.
	Limit stats.Interval
}

// Credits are the balances of a bucket over a series.
type Credits struct {
	Periods []Credit
	// Overdrawn is in how many periods the load was more than 5 % larger than the bucket allows: the model, or the
	// balance at the begin, does not hold.
	Overdrawn int
	// RunsOut is when the bucket is empty if the mean load of the last hour goes on (Unix seconds); nil: it does not
	// run out.
	RunsOut *stats.Interval
	// Least and Most are the pressure on the limit of the moment. They are the same as long as the balance is known.
	Least, Most Series
}

const (
	overdraft  = .05  // of a period's load
	recentTime = 3600 // s
)

// Follow follows the balance of a limit's bucket under the loads of a series (their means, a second), from a share of
// a full bucket at its begin; NaN: not known, since a recording begins at any balance. If after is not nil, the series
// goes on from that earlier balance. A provider's readings of the balance (share of a full bucket, mean of the period;
// may be empty) narrow it.
//
// At a load o the balance changes by fill − o a second, between empty and full. A mean hides the order within the
// period: the balance is lowest if the bucket fills first, is full, and the load follows at the burst rate; it is
// highest if nothing is lost at the brim. A balance that is not known begins anywhere between empty and full. Both
// bounds meet when it was certainly full or empty.
func Follow(l levels.Level, start float64, after *Credit, loads, readings Series) Credits {
	var out Credits
	b, base, now := *l.Bucket, l.Rate.Level(), stats.Interval{Hi: l.Bucket.Size}
	if !math.IsNaN(start) {
		now = stats.Interval{Lo: start * b.Size, Hi: start * b.Size}
	}
	usable := 1.0
	if b.Fill < base { // bursts use up the difference, too
		usable = (b.Burst - base) / (b.Burst - b.Fill)
	}
	base = max(base, b.Fill) // what comes in can be used
	known := math.Inf(1)     // s, the time that the balance is of; before the first period it may be any
	if after != nil {
		now, known = after.Balance, after.End
	}
	for _, p := range loads {
		gap := max(0, p.Begin-known)
		now = within(b.Size, now.Lo-(b.Burst-b.Fill)*gap, now.Hi+b.Fill*gap)
		length := p.seconds()
		limit := func(balance float64) float64 { return min(b.Burst, base+usable*balance/length) }
		c := Credit{End: p.End, Limit: stats.Interval{Lo: limit(now.Lo), Hi: limit(now.Hi)}}
		out.Least = append(out.Least, p.over(c.Limit.Hi, b.Burst))
		out.Most = append(out.Most, p.over(c.Limit.Lo, b.Burst))
		used, at := p.Mean*length, min(length, p.Mean*length/b.Burst) // at: s at the burst rate
		highest := now.Hi + b.Fill*length - used
		if p.Mean*(1-overdraft) > base+usable*now.Hi/length {
			out.Overdrawn++
		}
		now = within(b.Size, min(b.Size, now.Lo+b.Fill*(length-at))+b.Fill*at-used, highest)
		for len(readings) > 0 && readings[0].End <= p.End {
			if readings[0].End > p.Begin {
				now = narrow(b, now, readings[0])
			}
			readings = readings[1:]
		}
		c.Balance, known = now, p.End
		out.Periods = append(out.Periods, c)
	}
	if len(loads) > 0 {
		out.RunsOut = runsOut(loads, now, b.Fill)
	}
	return out
}

// runsOut is when a balance at the end of the loads is used up, if that of the last hour goes on.
func runsOut(loads Series, now stats.Interval, fill float64) *stats.Interval {
	last := loads[len(loads)-1:]
	end := last[0].End
	recent := loads.Between(end-recentTime, end)
	if len(recent) == 0 { // the last period is longer
		recent = last
	}
	if spent := recent.Mean() - fill; spent > 0 {
		return &stats.Interval{Lo: end + now.Lo/spent, Hi: end + now.Hi/spent}
	}
	return nil
}

// within keeps a balance between empty and full.
func within(full, lo, hi float64) stats.Interval {
	return stats.Interval{Lo: max(0, min(lo, full)), Hi: max(0, min(hi, full))}
}

// narrow combines a balance with a reading. The reading is the mean of its period: since the balance falls by at
// most burst − fill a second, and rises by at most fill, its end is at most half a period's change away. A reading
// that contradicts what was followed counts alone.
func narrow(b levels.Bucket, now stats.Interval, reading Period) stats.Interval {
	read, half := reading.Mean*b.Size, reading.seconds()/2
	seen := within(b.Size, read-(b.Burst-b.Fill)*half, read+b.Fill*half)
	if both := (stats.Interval{Lo: max(now.Lo, seen.Lo), Hi: min(now.Hi, seen.Hi)}); both.Lo <= both.Hi {
		return both
	}
	return seen
}

// over is the pressure of a load on a limit that may be exceeded up to the burst.
func (p Period) over(limit, burst float64) Period {
	p.Mean, p.Ceiling = p.Mean/limit, burst/limit
	return p
}
