package pressure

import (
	"math"

	"github.com/scalebench/scalebench/internal/stats"
)

// Bucket is a token bucket, in what its limit counts. NaN: not known.
type Bucket struct {
	Size  float64 // full
	Burst float64 // the rate a second while it is not empty
	Base  float64 // the rate a second while it is empty
	Fill  float64 // what it gains a second
	// Start is the share of a full bucket at the begin of the series. A new volume may begin full; a recording
	// begins at any balance.
	Start float64
	// After is the balance at an earlier time, from which the series goes on, in place of Start; nil: it is not
	// known.
	After *Credit
}

// Credit is the balance of a bucket around one period, as far as it is known.
type Credit struct {
	Begin float64 `json:"begin"`
	End   float64 `json:"end"`
	// Balance is that at the end of the period, in what the limit counts.
	Balance stats.Interval `json:"balance"`
	// Limit is the largest mean rate that the bucket allows in the period: the burst, or less where the
	// balance at its begin does not last.
	Limit stats.Interval `json:"limit"`
}

// Credits are the balances of a bucket over a series.
type Credits struct {
	Bucket  Bucket   `json:"-"`
	Periods []Credit `json:"periods"`
	// Overdrawn is in how many periods the load was more than 5 % larger than the bucket allows: the model, or the
	// balance at the begin, does not hold.
	Overdrawn int `json:"overdrawn,omitempty"`
	// Demand is the mean load of the last hour, a second. RunsOut is when the bucket is empty if it lasts (Unix
	// seconds); nil: it does not run out.
	Demand  float64         `json:"demand"`
	RunsOut *stats.Interval `json:"runs_out,omitempty"`
}

const (
	overdraft  = .05  // of a period's load
	recentTime = 3600 // s
)

// Follow follows the balance under the loads of a series (their means, a second). A provider's readings of the
// balance (share of a full bucket, mean of the period; may be empty) narrow it.
//
// At a load o the balance changes by fill − o a second, between empty and full. A mean hides the order within the
// period: the balance is lowest if the bucket fills first, is full, and the load follows at the burst rate; it is
// highest if nothing is lost at the brim. A balance that is not known begins anywhere between empty and full. Both
// bounds meet when it was certainly full or empty.
func Follow(b Bucket, loads, readings Series) Credits {
	out := Credits{Bucket: b, Periods: make([]Credit, 0, len(loads))}
	now := stats.Interval{Hi: b.Size}
	if !math.IsNaN(b.Start) {
		now = stats.Interval{Lo: b.Start * b.Size, Hi: b.Start * b.Size}
	}
	if b.After != nil {
		now = b.After.Balance
	}
	for i, p := range loads {
		if i > 0 || b.After != nil {
			before := b.After
			if i > 0 {
				before = &out.Periods[i-1]
			}
			gap := max(0, p.Begin-before.End)
			now = b.within(now.Lo-(b.Burst-b.Fill)*gap, now.Hi+b.Fill*gap)
		}
		length := p.seconds()
		c := Credit{Begin: p.Begin, End: p.End, Limit: stats.Interval{
			Lo: min(b.Burst, b.Base+now.Lo/length), Hi: min(b.Burst, b.Base+now.Hi/length)}}
		if math.IsNaN(now.Hi) {
			c.Limit = stats.Interval{Lo: b.Base, Hi: b.Burst}
		}
		used, at := p.Mean*length, min(length, p.Mean*length/b.Burst) // at: s at the burst rate
		highest := now.Hi + b.Fill*length - used
		if highest < -overdraft*used {
			out.Overdrawn++
		}
		now = b.within(min(b.Size, now.Lo+b.Fill*(length-at))+b.Fill*at-used, highest)
		for len(readings) > 0 && readings[0].End <= p.End {
			if readings[0].End > p.Begin {
				now = b.narrow(now, readings[0])
			}
			readings = readings[1:]
		}
		c.Balance = now
		out.Periods = append(out.Periods, c)
	}
	if len(loads) == 0 {
		return out
	}
	end := loads[len(loads)-1].End
	recent := loads.Between(end-recentTime, end)
	if len(recent) == 0 { // the last period is longer
		recent = loads[len(loads)-1:]
	}
	out.Demand = recent.Mean()
	if spent := out.Demand - b.Fill; spent > 0 {
		out.RunsOut = &stats.Interval{Lo: end + now.Lo/spent, Hi: end + now.Hi/spent}
	}
	return out
}

// within keeps a balance between empty and full.
func (b Bucket) within(lo, hi float64) stats.Interval {
	return stats.Interval{Lo: max(0, min(lo, b.Size)), Hi: max(0, min(hi, b.Size))}
}

// narrow combines a balance with a reading. The reading is the mean of its period: since the balance falls by at
// most burst − fill a second, and rises by at most fill, its end is at most half a period's change away. A reading
// that contradicts what was followed counts alone.
func (b Bucket) narrow(now stats.Interval, reading Period) stats.Interval {
	read, half := reading.Mean*b.Size, reading.seconds()/2
	seen := b.within(read-(b.Burst-b.Fill)*half, read+b.Fill*half)
	if both := (stats.Interval{Lo: max(now.Lo, seen.Lo), Hi: min(now.Hi, seen.Hi)}); both.Lo <= both.Hi {
		return both
	}
	return seen
}

// Pressure is that of the loads on the limit of the moment, which depends on the balance: the least, and the most
// that it can be. Both are the same as long as the balance is known.
func (c Credits) Pressure(loads Series) (least, most Series) {
	for i, p := range loads {
		low, high := p, p
		limit := c.Periods[i].Limit
		low.Mean, low.Ceiling = p.Mean/limit.Hi, c.Bucket.Burst/limit.Hi
		high.Mean, high.Ceiling = p.Mean/limit.Lo, c.Bucket.Burst/limit.Lo
		least, most = append(least, low), append(most, high)
	}
	return least, most
}
