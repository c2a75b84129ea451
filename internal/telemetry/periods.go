package telemetry

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/stats"
)

const (
	// jitter: a step of as many median steps is a period that began when the one before ended.
	jitter = 1.5
	// pause: after as many median steps a recorder was stopped, or its clock was set. The time
	// between is a gap, for nobody knows how much of it the values are of.
	pause = 10
	// alike: steps that differ by so small a share are equal.
	alike = .01
)

// median is that of the steps from one time to the next that are ahead; 0: there are none.
func median(times []float64) float64 {
	var steps []float64
	for i := 1; i < len(times); i++ {
		if d := times[i] - times[i-1]; d > 0 && !math.IsInf(d, 0) {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	slices.Sort(steps)
	return stats.QuantileSorted(steps, .5)
}

// periods are those that end at ascending stamps, or begin there. Most steps are as long as the
// median, or all as period if that is above 0. A longer step is a gap before a period of the
// usual length. Where its neighbour is as long, it is a period: monitoring thins out old values.
// ok: the length is known.
func periods(stamps []float64, stampsBegin bool, period float64) (begin, end []float64, ok bool) {
	usual := period
	if period <= 0 {
		usual = median(stamps)
	}
	if usual <= 0 {
		return nil, nil, false
	}
	step := func(i int) float64 {
		if i < 0 || i >= len(stamps)-1 {
			return math.NaN()
		}
		return stamps[i+1] - stamps[i]
	}
	length := func(i int) float64 { // of the period of a step
		s, equal := step(i), func(n float64) bool { return math.Abs(n-step(i)) <= alike*step(i) }
		switch {
		case period > 0 && s >= period, math.IsNaN(s):
			return usual
		case s <= jitter*usual, period <= 0 && (equal(step(i-1)) || equal(step(i+1))):
			return s
		}
		return usual
	}
	for i, s := range stamps {
		switch {
		case stampsBegin:
			begin, end = append(begin, s), append(end, s+length(min(i, max(len(stamps)-2, 0))))
		default:
			begin, end = append(begin, s-length(max(i-1, 0))), append(end, s)
		}
	}
	return begin, end, true
}

// order sorts the periods by time, and leaves out those that overlap with earlier ones or have
// no value, and measures without any.
func (r *Recording) order() {
	places := make([]int, len(r.Begin))
	for i := range places {
		places[i] = i
	}
	back := 0
	for i := 1; i < len(r.End); i++ {
		if r.End[i] < r.End[i-1] {
			back++
		}
	}
	if back > 0 {
		r.remark(Remark{Code: Sorted, Count: back})
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(r.End[a], r.End[b]) })
	}
	last := math.Inf(-1)
	places = slices.DeleteFunc(places, func(p int) bool {
		begin, end := &r.Begin[p], r.End[p]
		switch tolerance := alike * (end - *begin); {
		case !known(r.row(p)):
			r.remark(Remark{Code: Gap, Count: 1, At: end})
			return true
		case *begin < last-tolerance || end <= last:
			r.remark(Remark{Code: Overlap, Count: 1, At: end})
			return true
		}
		*begin, last = max(*begin, last), end
		return false
	})
	r.rows(places)
	maps.DeleteFunc(r.Rates, func(_ Measure, values Numbers) bool {
		return !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
	})
}
