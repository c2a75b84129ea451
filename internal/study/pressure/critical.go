package pressure

import (
	"cmp"
	"math"
)

// Sampling says what a critical pressure is, and what is known of the time within periods.
type Sampling struct {
	Above     float64 // c, larger than 0
	Inclusive bool    // whether the pressure c is critical itself: a capped service sits exactly at 1
	// Ceiling is the largest pressure that is possible; 0: [Series.Ceiling] without a bucket. A kernel enforces limits in
	// slices of 0.1 s: then single seconds reach 1.1, though no minute exceeds 1.
	Ceiling float64
}

// resolution is the length of the shortest pause in seconds that ends a run of critical pressure.
const resolution = 1

// Critical says for how long a pressure was critical. A value takes each period's mean for the whole period, as
// the paper does (3.2). The mean hides shorter moments: bounds are what they can add or take away, and
// the value need not lie within, for example if a period was partly idle.
type Critical struct {
	TCPT TCPT `json:"tcpt"`
	MCPT MCPT `json:"mcpt"`
	// Begin and End are those of the longest sampled run; 0: there is none.
	Begin float64 `json:"-"`
	End   float64 `json:"-"`
}

// TCPT is the total critical pressure time in percent of the observed time, with its bounds.
type TCPT struct {
	Percent float64 `json:"percent"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
}

// MCPT is the longest run of critical pressure, with its bounds; Percent of the observed time. A gap ends a run.
type MCPT struct {
	Seconds float64 `json:"seconds"`
	Lo      float64 `json:"lo"`
	Hi      float64 `json:"hi"`
	Percent float64 `json:"percent"`
	// Tolerant is the longest sampled run in which no two successive periods are below, s: one short dip does not
	// halve it, as it does the MCPT. It begins and ends with a critical period.
	Tolerant float64 `json:"tolerant"`
}

// part is what a period adds to the bounds, in seconds.
type part struct {
	sure, rest float64 // certainly critical, and the others
	most       float64 // possibly critical
	whole      bool    // the whole period may be critical
}

// Critical measures the time above a threshold of a series that is not empty.
//
// Within a period of mean p, of which the share i was idle, let x be the share above c, and P the ceiling. The time
// above has at most P, the rest of the busy time at most c: p ≤ x·P + (1−i−x)·c. The time above has at least c:
// x·c ≤ p. Therefore max(0, (p−c(1−i))/(P−c)) ≤ x ≤ min(1−i, p/c). A bucket may run empty at any moment of
// the period, or at its end: as long as it lasts, P·c is not critical, and takes the place of c in the lower bound.
//
// A run passes through periods that may be critical as a whole, and reaches into one more at each end: that
// bounds the MCPT from above. If in some stretch A seconds are certainly critical and B are left, then B holds at
// most ⌊B/δ⌋ pauses of δ, and the longest run has at least A/(⌊B/δ⌋+1).
func (s Series) Critical(o Sampling) (out Critical) {
	o.Ceiling = cmp.Or(o.Ceiling, s.Ceiling(0))
	total, longest := &out.TCPT, &out.MCPT
	for _, stretch := range s.stretches() {
		out.addRuns(stretch, o)
		parts, through := make([]part, len(stretch)), 0.0 // through: the longest run that reaches the end so far
		for i, p := range stretch {
			x := o.part(p)
			parts[i] = x
			total.Lo, total.Hi = total.Lo+x.sure, total.Hi+x.most
			longest.Hi = max(longest.Hi, through+x.most)
			if x.whole {
				through += x.most
			} else {
				through = x.most
			}
		}
		longest.Lo = leastRun(parts, longest.Lo)
	}
	seconds := s.Seconds()
	for _, v := range []*float64{&total.Percent, &total.Lo, &total.Hi} {
		*v = min(100, 100**v/seconds)
	}
	longest.Percent = 100 * longest.Seconds / seconds
	return out
}

// critical reports whether a pressure is, but for rounding.
func (o Sampling) critical(p float64) bool {
	return p > o.Above*(1+same) || o.Inclusive && p >= o.Above*(1-same)
}

// part bounds for how long a period was critical.
func (o Sampling) part(p Period) part {
	c, peak := o.Above, max(cmp.Or(p.Ceiling, o.Ceiling), p.Mean)
	quiet := c * max(1, p.Ceiling) // the most that is not critical: while credits last, c of the burst
	// An idle share that leaves too little time for the work is not believed.
	busy := min(1, max(1-p.Idle, p.Mean/peak))
	lo, hi := 0.0, min(busy, p.Mean/c)
	switch {
	case peak > quiet*(1+same): // sums are rounded
		lo = max(0, min(1-p.Idle, (p.Mean-quiet*busy)/(peak-quiet), hi))
	case peak > c*(1+same):
	case peak < c || !o.Inclusive:
		hi = 0
	case p.Mean >= peak*(1-same): // always at the ceiling
		lo = hi
	}
	length := p.seconds()
	return part{sure: lo * length, rest: (1 - lo) * length, most: hi * length, whole: hi >= 1-same}
}

// addRuns adds what is sampled in a stretch without gaps.
func (c *Critical) addRuns(stretch Series, o Sampling) {
	run, begin := 0.0, 0.0                // the run so far, s, and its begin
	tolerant, pause, below := 0.0, 0.0, 2 // the tolerant run so far, and the periods below since its last critical one
	for _, p := range stretch {
		if !o.critical(p.Mean) {
			run, pause, below = 0, p.seconds(), below+1
			continue
		}
		if run == 0 {
			begin = p.Begin
		}
		switch below {
		case 0:
		case 1:
			tolerant += pause
		default:
			tolerant = 0
		}
		run, tolerant, below = run+p.seconds(), tolerant+p.seconds(), 0
		c.TCPT.Percent += p.seconds() // which become percent
		c.MCPT.Tolerant = max(c.MCPT.Tolerant, tolerant)
		if run > c.MCPT.Seconds {
			c.MCPT.Seconds, c.Begin, c.End = run, begin, p.End
		}
	}
}

// leastRun is the least possible length of the longest run, and at least so much: the largest A/(⌊B/δ⌋+1) of the
// stretches that it looks at. It looks for the best by Dinkelbach's iteration (W. Dinkelbach, "On nonlinear
// fractional programming", Management Science 13(7), 1967): a stretch beats the run L if the sum of A − L·B/δ
// exceeds L, and the largest such sum is found in one pass (J. Bentley, CACM 27(9), 1984).
func leastRun(parts []part, least float64) float64 {
	for {
		better, sum, sure, rest := least, 0.0, 0.0, 0.0
		for _, p := range parts {
			if sum <= 0 {
				sum, sure, rest = 0, 0, 0
			}
			sum += p.sure - least*p.rest/resolution
			sure, rest = sure+p.sure, rest+p.rest
			better = max(better, sure/(math.Floor(rest/resolution+1e-9)+1))
		}
		if better <= least*(1+1e-12) {
			return least
		}
		least = better
	}
}
