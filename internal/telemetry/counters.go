package telemetry

import (
	"math"
	"slices"
)

// counted makes a recording of readings of counters: their times are its ends, and by how much each
// may be later is a measure.
func (r *Recording) counted(service string, more Remark) Recording {
	guessed, _ := unfold(r.End, r.Rates[laterMeasure], always)
	delete(r.Rates, laterMeasure)
	out := FromCounters(service, r.End, r.Rates)
	out.remark(more)
	out.remark(Remark{Code: Repeated, Count: guessed})
	return out
}

// FromCounters makes a recording of counters that only grow: bytes, operations, seconds of
// processors. times are those of the readings, in Unix s; counters are each as long, NaN where
// the service was not there. A period is a gap if a counter fell, since the service was made
// anew, if the clock was set back, or if the recorder paused for more than ten median steps.
func FromCounters[S ~[]float64](service string, times []float64, counters map[Measure]S) Recording {
	r := Recording{Service: service}
	usual := median(times)
	for i := range times {
		of := make(map[Measure]float64, len(counters))
		present := false
		for m, c := range counters {
			present = present || !math.IsNaN(c[i])
			if i > 0 {
				of[m] = c[i] - c[i-1]
			}
		}
		if !present {
			r.remark(Remark{Code: Gap, Count: 1, At: times[i]})
		}
		if i == 0 || !known(of) {
			continue
		}
		length := times[i] - times[i-1]
		reset := false
		for m, gain := range of {
			reset = reset || gain < 0
			if of[m] = gain / length; slices.Contains(measures[:shares], m) {
				of[m] = min(of[m], 1) // clocks may see a little more than all
			}
		}
		switch {
		case !(length > 0):
			r.remark(Remark{Code: ClockSet, Count: 1, At: times[i]})
		case length > pause*usual:
			r.remark(Remark{Code: Paused, Count: 1, At: times[i]})
		case reset:
			r.remark(Remark{Code: Reset, Count: 1, At: times[i]})
		default:
			r.add(times[i-1], times[i], of)
		}
	}
	return r
}
