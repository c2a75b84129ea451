package capacity

import (
	"fmt"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/stats"
)

// open is why nothing can be said of a target's capacity, and what to do.
type open struct{ code, why, advice string }

// openAt finds what leaves a result open: its windows may have passed by luck, or
// have been missed whatever the load was, or the target may have changed.
func (r *replay) openAt(a Answer) *open {
	target := a.Limit == LimitTarget
	switch {
	case a.Reserve != nil:
		return &open{"reserve", fmt.Sprintf("the target took %s: when it had used up what it has in "+
			"reserve (some %.0f operations), it answered %s", a.tookOnly(), a.Reserve.Operations, rate(a.Reserve.Sustained)),
			"leave out --window (duration in a file), or use windows in which the reserve makes little difference"}
	case a.Limit == LimitNone || limits[a.Limit].long != "":
		return nil
	case r.useless():
		return &open{"useless", fmt.Sprintf("%d of %d windows said nothing about the target, and the search ended there", r.unusable(), len(r.judged)), "search again when nothing else runs, from a machine of its own"}
	case a.Limit == LimitFloor && r.onlyUnusable(r.cfg.Min):
		return &open{"backlog", fmt.Sprintf("the target may still have been working off larger loads when %s, the "+
			"smallest load allowed, began", rate(r.cfg.Min)),
			"search again with a smaller load to begin with (--start), when the target is idle"}
	case target && a.Passed != nil && r.refusedConnections(*a.Passed) != "":
		return &open{"connections_refused", r.refusedConnections(*a.Passed) + ", so that operations failed for want of one", "let the server allow more connections, close those of others, or ask for fewer (--connections)"}
	case r.back != nil && (r.back.unusable || r.back.gone()):
		return &open{"not_returned", fmt.Sprintf("the target took %s early in the search, and what was measured at its end does not tell whether it still does", rate(r.back.load)), "search again when nothing else runs"}
	case target && a.Passed == nil:
		return &open{"nothing_passed", "no load passed in more windows than missed it", "use longer windows, or allow more of them"}
	case target && total(r.windowsAt(*a.Passed, Passed)).Counts.Due < r.cfg.SLA.Enough():
		return &open{"luck", fmt.Sprintf("the windows that passed at %s have, together, fewer than the %d operations that tell %v from luck", rate(*a.Passed), r.cfg.SLA.Enough(), r.cfg.SLA), "use longer windows"}
	case target && r.cfg.Algorithm != search.Paper && !r.loadMatters(*a.Passed):
		lookAt := "look at what makes some operations slow"
		if _, c := a.failed(); c.Due > 0 {
			lookAt = "look at what fails (" + c.Failures() + ")"
		}
		return &open{"any_load", fmt.Sprintf("operations miss %v above %s no more often than below: a window passes or not "+
			"by luck, whatever the load", r.cfg.SLA, rate(*a.Passed)), lookAt + ", or allow more of it"}
	}
	return nil
}

// byChance is how many standard deviations two shares may differ by chance. It is
// far more than one comparison needs: the search has chosen the windows by what
// they showed, and of few operations the test is rough.
const byChance = 5

// loadMatters reports whether more operations miss the SLA at loads above the one
// passed than up to it. A server at its limit fails, or delays, many at once. What
// a much larger load does, at which it may have another limit, says nothing of
// this one.
func (r *replay) loadMatters(passed float64) bool {
	within := func(low, high float64) []Assessment {
		return only(r.judged, func(j Assessment) bool { return j.Verdict != Unusable && low < j.Load && j.Load <= high })
	}
	return moreMissed(r.cfg.SLA, within(0, passed), within(passed, offered*passed))
}

// moreMissed reports whether the second windows missed some term of the SLA that
// one of them broke with more of their operations than the first, beyond chance;
// or fell behind.
func moreMissed(sla load.SLA, first, second []Assessment) bool {
	misses := []func(load.Window) int64{answeredAfter}
	for _, t := range sla.Terms {
		if slices.ContainsFunc(second, func(j Assessment) bool { return t.Miss(j.Window) != "" }) {
			misses = append(misses, t.Missed)
		}
	}
	return slices.ContainsFunc(misses, func(missed func(load.Window) int64) bool {
		few, of := missedOf(first, missed)
		many, ofMany := missedOf(second, missed)
		return stats.ProportionsZ(many, ofMany, few, of) > byChance
	})
}

// answeredAfter is how many operations were answered only after a window in which
// the server fell behind.
func answeredAfter(w load.Window) int64 {
	if w.Behind() == "" {
		return 0
	}
	return w.Counts.OK - w.Replies
}

// missedOf adds up what was missed, and what was due.
func missedOf(windows []Assessment, missed func(load.Window) int64) (of, due float64) {
	for _, j := range windows {
		of, due = of+float64(missed(j.Window)), due+float64(j.Counts.Due)
	}
	return of, due
}

// withoutUnusable estimates the boundary from windows that say something of the
// target alone: the algorithm was told of others to keep its loads below them.
// There is no estimate where these windows do not put it below a load that missed
// the SLA; and the boundary is confirmed only if such windows missed it there
// again.
func (r *replay) withoutUnusable(found search.Result, missed *float64) search.Result {
	if r.cfg.Algorithm == search.Paper || len(r.valid) == len(found.Trials) {
		return found
	}
	estimate, low, high, err := search.Fit(r.options, r.valid)
	if err != nil || missed == nil || estimate > *missed || estimate < found.Passed {
		estimate, low, high = math.NaN(), math.NaN(), math.NaN()
	}
	found.Estimate, found.Low, found.High = estimate, low, high
	found.Confirmed = found.Confirmed && missed != nil && len(r.windowsAt(*missed, Missed)) >= surely
	return found
}
