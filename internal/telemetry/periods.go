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
		if d := times[i] - times[i-1]; d > 0 {
			steps = append(steps, d)
		}
	}
	if len(steps) == 0 {
		return 0
	}
	return stats.Median(steps)
}

// begins are those of periods that end at ascending stamps. Most steps are as long as the median, or
// all as period if that is above 0. A longer step is a gap before a period of the usual length. If its
// neighbour is as long, it is a period: monitoring thins out old values. ok: the length is known.
func begins(stamps []float64, period float64) (out []float64, ok bool) {
	usual := period
	if period <= 0 {
		usual = median(stamps)
	}
	if usual <= 0 {
		return nil, false
	}
	step := func(i int) float64 {
		if i < 0 || i >= len(stamps)-1 {
			return math.NaN()
		}
		return stamps[i+1] - stamps[i]
	}
	length := func(i int) float64 { // of the period of a step
		s, most := step(i), jitter*usual
		if period > 0 {
			most = usual
		} else if math.Abs(step(i-1)-s) <= alike*s || math.Abs(step(i+1)-s) <= alike*s {
			most = s
		}
		if s <= most {
			return s
		}
		return usual
	}
	for i, s := range stamps {
		out = append(out, s-length(max(i-1, 0)))
	}
	return out, true
}

// places are those of all periods, and how often their ends go back.
func (r *Recording) places() (places []int, backs int) {
	for i := range r.End {
		if places = append(places, i); i > 0 && r.End[i] < r.End[i-1] {
			backs++
		}
	}
	return places, backs
}

// forward turns a recording around if it has the newest periods first.
func (r *Recording) forward() {
	if places, backs := r.places(); backs > len(places)/2 {
		slices.Reverse(places)
		r.rows(places)
	}
}

// sort sorts the periods by their ends.
func (r *Recording) sort() {
	if places, backs := r.places(); backs > 0 {
		r.remark(Remark{Code: Sorted, Count: backs})
		slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(r.End[a], r.End[b]) })
		r.rows(places)
	}
}

// Settle sorts the periods, and leaves out those that overlap with earlier ones or have no value,
// with a remark, and measures without any.
func (r *Recording) Settle() {
	r.sort()
	last := math.Inf(-1)
	var places []int
	for p, end := range r.End {
		switch begin := r.Begin[p]; {
		case !known(r.row(p)):
			r.remark(Remark{Code: Gap, Count: 1, At: end})
		case begin < last-alike*(end-begin) || end <= last || begin >= end:
			r.remark(Remark{Code: Overlap, Count: 1, At: end})
		default:
			r.Begin[p], last = max(begin, last), end
			places = append(places, p)
		}
	}
	r.rows(places)
	maps.DeleteFunc(r.Rates, func(_ Measure, values Numbers) bool {
		return !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) })
	})
}
