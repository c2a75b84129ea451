package capacity

import (
	"fmt"
	"slices"

	"github.com/scalebench/scalebench/internal/model"
)

// The path is compared with what it is without the load. That is best seen in
// the window, of those that were passed, in which round trips were shortest: one
// that was missed may have filled the path itself, and the first one, too.

// compare makes a window the baseline before it is judged, while none has been
// passed: the shortest round trips so far are the nearest to those without a
// load. A lower load that does not fill the path is so no change of it.
func (r *replay) compare(w Window) {
	if !r.rebased && r.lighter(w) {
		r.baseline = w
	}
}

// rebase takes the path into account as it was in a window that was passed.
func (r *replay) rebase(w Window) {
	switch {
	case len(w.RTT) < fewestRTT:
	case !r.rebased:
		r.baseline, r.rebased = w, true
	case r.settle(w):
	case r.lighter(w):
		r.baseline = w
	}
}

// lighter reports whether round trips from a window's generators took less than
// in the baseline, or are not known there.
func (r *replay) lighter(w Window) bool {
	was := r.baseline.roundTripsFrom(w.nodes())
	return len(w.RTT) >= fewestRTT && (len(was) < fewestRTT || median(w.RTT) < median(was))
}

// knownPath reports whether the path is as bad in a window as it has been
// confirmed to be under load, or not as bad.
func (r *replay) knownPath(w Window) bool {
	if r.congested == nil {
		return false
	}
	shift, changed := pathChange(r.congested.roundTripsFrom(w.nodes()), w.RTT)
	return (!changed || shift <= 0) && w.lost() <= r.congested.lost()+2*lostShare
}

// settle looks at a window that was passed after the path had changed under
// load. If it is still as it was then, it has changed for good.
func (r *replay) settle(w Window) bool {
	if r.congested == nil {
		return false
	}
	shift, changed := pathChange(r.baseline.roundTripsFrom(w.nodes()), w.RTT)
	_, moved := pathChange(r.congested.roundTripsFrom(w.nodes()), w.RTT)
	if !changed || moved {
		return false
	}
	r.settled = append(r.settled, len(r.judged))
	r.baseline, r.congested = w, nil
	r.warnings = slices.Concat(r.warnings, []string{fmt.Sprintf("at %s %s for good; round-trip times are compared with the new ones from then on", rateText(w.Load), pathText(shift))})
	return true
}

// lightest are the round trips from these generators, in seconds, under a load
// that is light beside the one failed: from each those of the window in which
// their median was smallest. No names: of all, where nobody knows whose they
// are.
func (r *replay) lightest(failed float64, names []model.NodeID) (out []float64) {
	calm := r.calm(failed)
	if len(names) == 0 {
		return shortestTrips(calm, nil)
	}
	for _, n := range names {
		out = append(out, shortestTrips(calm, []model.NodeID{n})...)
	}
	return out
}

// calm are the windows that may show the path without the load: those that were
// passed since it last changed for good; all, where none was passed. It counts
// as changed only where a load showed it of half the one failed or less: one
// beside that may have filled the path, too.
func (r *replay) calm(failed float64) (out []Judged) {
	since := 0
	for _, i := range r.settled {
		if 2*r.judged[i].Load <= failed {
			since = i
		}
	}
	for _, j := range r.judged[since:] {
		if j.Verdict == Passed {
			out = append(out, j)
		}
	}
	if len(out) == 0 {
		return r.judged
	}
	return out
}

// shortestTrips are the round trips from some generators in the window in which
// their median was smallest.
func shortestTrips(windows []Judged, names []model.NodeID) (best []float64) {
	for _, w := range windows {
		trips := w.roundTripsFrom(names)
		if len(trips) >= fewestRTT && (best == nil || median(trips) < median(best)) {
			best = trips
		}
	}
	return best
}
