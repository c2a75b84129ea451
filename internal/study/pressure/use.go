package pressure

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

// Use is how much of a limit the present throughput uses: u = a·X/L, if each of X requests a second needs a of the
// level L.
type Use struct {
	LimitOf
	// Rate is the present level, in what the limit counts, a second.
	Rate float64
	// Pressure is the mean in the busiest window ([Busiest]), which all limits share.
	Pressure float64
	// Mean is the interval of that mean; nil: too few periods.
	Mean *stats.Interval
	// Peak is the 99th percentile of the whole series: what a lower level has to bear, too.
	Peak float64

	// load is the mean of the busiest window, and burst the rate of a bucket; 0: there is none. A level above the burst
	// has no credits.
	load, burst float64
	// sustained: only in the long run does the load need more than a bucket gains. The demand is not clipped yet.
	sustained bool
	of        *Service
}

// needed is the level for a throughput that is a multiple (growth) of the present one.
func (u Use) needed(growth float64) float64 {
	out := growth * u.Pressure * u.Rate
	if load := growth * u.load; load > u.burst {
		return max(out, load)
	}
	return out
}

// NewUse is the use of a limit at this rate, from its pressures and the busiest window.
func NewUse(rate float64, s Series, begin, end float64) (Use, error) {
	all, err := s.Summary()
	if err != nil {
		return Use{}, err
	}
	window := s.Between(begin, end)
	if len(window) == 0 { // its periods are longer
		window = s
	}
	out := Use{Rate: rate, Pressure: window.Mean(), Peak: all.P99}
	if iv, err := window.MeanInterval(); err == nil {
		out.Mean = &iv
	}
	return out, nil
}

// highest is the upper end of the mean's interval.
func (u Use) highest() float64 {
	if u.Mean == nil {
		return u.Pressure
	}
	return max(u.Pressure, u.Mean.Hi)
}

// sufficient is the share of the level at which the pressure is target: by its peak, and by the upper end of
// its interval.
func (u Use) sufficient(target float64) float64 { return max(u.highest(), u.Peak) / target }

// clipped reports whether the demand is at the limit. The interval of a mean alone, which few periods make
// wide, does not show it.
func (u Use) clipped() bool { return u.Pressure >= saturated || min(u.highest(), u.Peak) >= saturated }

// Range is a number with its interval.
type Range struct {
	Value float64 `json:"value"`
	Lo    float64 `json:"lo"`
	Hi    float64 `json:"hi"`
}

// growth is by how much the throughput grows until the limit binds.
func (u Use) growth() Range {
	g := 1 / u.Pressure
	if u.Mean == nil || !(u.Mean.Lo > 0) {
		return Range{g, g, g}
	}
	return Range{g, min(g, 1/u.Mean.Hi), max(g, 1/u.Mean.Lo)}
}

// reach is by how much the throughput grows until another level of the limit binds.
func (u Use) reach(level float64) Range {
	g, most := u.growth(), math.Inf(1)
	if u.load > 0 {
		most = max(level, u.burst) / u.load
	}
	x := level / u.Rate
	return Range{min(x*g.Value, most), min(x*g.Lo, most), min(x*g.Hi, most)}
}

const (
	// alike is the share of a pressure within which another one binds at the same time, as far as can be measured.
	alike = .95
	// saturated is the pressure from which a demand counts as clipped: limits that held a database back showed
	// 0.94 to 1.
	saturated = .9
)

// bottlenecks are those of the limits, of which that with the highest pressure u₁ comes first, that bind first: when
// the throughput has grown by 1/u₁.
func bottlenecks(limits []Use) []Use {
	n := 0
	for n < len(limits) && limits[n].Pressure > 0 && limits[n].Pressure >= alike*limits[0].Pressure {
		n++
	}
	return limits[:n]
}

// busyWindow is the least time, in s, and busyPeriods the least number of periods of the
// window of the highest load.
const busyWindow, busyPeriods = 60, 10

// often is the share of the time at a limit, in percent, from which the demand is clipped.
const often = 5

// candidates are the limits that the advice is about: each of a service once.
func (r *Result) candidates() (out []*Service) {
	for _, s := range r.Services {
		if !s.line.again {
			out = append(out, s)
		}
	}
	return out
}

// uses are how much of each limit the throughput of the busiest window uses, the highest pressure first. Where a
// service is at its limit often, and for shorter than the usual window, the window is as
// long as that lasts: all limits are looked at in the moments that count.
func (r *Result) uses() ([]Use, error) {
	length := max(busyWindow, busyPeriods*r.Period)
	if w := r.worst(); w != nil && w.TCPT.Percent >= often && w.MCPT.Seconds > 0 {
		length = min(length, w.MCPT.Seconds)
	}
	services := r.candidates()
	all := make([]Series, len(services))
	for i, s := range services {
		all[i] = s.line.series
	}
	begin, end := Busiest(all, length)
	out := make([]Use, len(services))
	for i, s := range services {
		u, err := NewUse(s.Limit, s.line.series, begin, end)
		if err != nil {
			return nil, fmt.Errorf("the use of %s: %w", s.Service, err)
		}
		if err := s.line.allow(&u, begin, end); err != nil {
			return nil, err
		}
		u.LimitOf, u.of = s.limit(), s
		out[i] = u
	}
	slices.SortStableFunc(out, func(a, b Use) int { return cmp.Compare(b.Pressure, a.Pressure) })
	return out, nil
}

// allow sets what a bucket adds to a use. If the limit of the moment binds, that is its rate:
// in a burst, a higher base rate is of no use. In the long run a bucket gives what it gains.
// Less is enough only if the base rate alone bears the loads.
func (l *line) allow(u *Use, begin, end float64) error {
	if l.credits == nil {
		return nil
	}
	loads := l.loads.Between(begin, end)
	if len(loads) == 0 {
		loads = l.loads
	}
	all, err := l.loads.Summary()
	if err != nil {
		return fmt.Errorf("the loads of %s: %w", l.service, err)
	}
	clipped := u.clipped()
	u.Peak = max(u.Peak, all.P99/l.level.Rate.Level())
	u.load, u.burst = loads.Mean(), l.level.Bucket.Burst
	if clipped {
		u.Rate = loads.Mean() / u.Pressure
	} else if lasting := all.Mean / l.level.Bucket.Fill; lasting > u.Pressure {
		u.Pressure, u.Mean, u.sustained = lasting, nil, true
	}
	return nil
}

// undecided reports whether the balance of a bucket, which is not known, decides what holds
// the throughput back: then there is no advice.
func (r *Result) undecided() bool {
	return slices.ContainsFunc(r.candidates(), func(s *Service) bool {
		return s.line.most != nil && s.SLP.P99 < saturated && s.line.most.peak() >= saturated
	})
}
