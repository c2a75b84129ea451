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
	switch {
	case a.Reserve != nil:
		return &open{"reserve", fmt.Sprintf("the target took %s: when it had used up what it has in "+
			"reserve (some %.0f operations), it answered %s", a.tookOnly(), a.Reserve.Operations, rate(a.Reserve.Sustained)),
			"leave out --window (duration in a file), or use windows in which the reserve makes little difference"}
	case slices.Contains([]Limit{LimitNone, LimitDrift, LimitGenerator, LimitMachine, LimitPath, LimitRecords}, a.Limit):
		return nil
	case r.useless():
		return &open{"useless", fmt.Sprintf("%d of %d windows said nothing about the target, and the search ended there", r.unusable(), len(r.judged)), "search again when nothing else runs, from a machine of its own"}
	case a.Limit == LimitFloor && r.onlyUnusable(r.cfg.Min):
		return &open{"backlog", fmt.Sprintf("the target may still have been working off larger loads when %s, the "+
			"smallest load allowed, began", rate(r.cfg.Min)),
			"search again with a smaller load to begin with (--start), when the target is idle"}
	case a.Limit == LimitTarget && a.Passed != nil && r.refusedConnections(*a.Passed) != "":
		return &open{"connections_refused", r.refusedConnections(*a.Passed) + ", so that operations failed for want of one", "let the server allow more connections, close those of others, or ask for fewer (--connections)"}
	case r.back != nil && (r.back.unusable || r.back.gone()):
		return &open{"not_returned", fmt.Sprintf("the target took %s early in the search, and what was measured at its end does not tell whether it still does", rate(r.back.load)), "search again when nothing else runs"}
	case a.Limit == LimitTarget && a.Passed != nil && r.lucky(*a.Passed):
		return &open{"luck", fmt.Sprintf("the windows that passed at %s have, together, fewer than the %d operations that tell %v from luck", rate(*a.Passed), r.cfg.SLA.Enough(), r.cfg.SLA), "use longer windows"}
	case a.Limit == LimitTarget && a.Passed == nil:
		return &open{"nothing_passed", "no load passed in more windows than missed it", "use longer windows, or allow more of them"}
	case a.Limit == LimitTarget && r.cfg.Algorithm != search.Paper && !r.loadMatters(*a.Passed):
		return &open{"any_load", fmt.Sprintf("operations miss %v above %s no more often than below: a window passes or not by luck, whatever the load", r.cfg.SLA, rate(*a.Passed)), a.lookAt()}
	}
	return nil
}

// lookAt says what to look at where the load is not what is wrong.
func (a Answer) lookAt() string {
	if _, c := a.failed(); c.Due > 0 {
		return "look at what fails (" + c.Failures() + "), or allow more of it"
	}
	return "look at what makes some operations slow, or allow more of it"
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
	var up, above []load.Window
	for _, j := range r.judged {
		switch {
		case j.Verdict == Unusable:
		case j.Load <= passed:
			up = append(up, j.Window)
		case j.Load <= offered*passed:
			above = append(above, j.Window)
		}
	}
	return moreMissed(r.cfg.SLA, up, above)
}

// moreMissed reports whether the second windows missed some term of the SLA that
// one of them broke with more of their operations than the first, beyond chance;
// or fell behind.
func moreMissed(sla load.SLA, first, second []load.Window) bool {
	misses := []func(load.Window) int64{answeredAfter}
	for _, t := range sla.Terms {
		if slices.ContainsFunc(second, func(w load.Window) bool { return t.Miss(w) != "" }) {
			misses = append(misses, t.Missed)
		}
	}
	for _, missed := range misses {
		few, of := missedOf(first, missed)
		many, ofMany := missedOf(second, missed)
		if stats.ProportionsZ(many, ofMany, few, of) > byChance {
			return true
		}
	}
	return false
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
func missedOf(windows []load.Window, missed func(load.Window) int64) (of, due float64) {
	for _, w := range windows {
		of, due = of+float64(missed(w)), due+float64(w.Counts.Due)
	}
	return of, due
}

// lucky reports whether the windows in which a load passed have, together, too
// few operations for the SLA to be told from luck.
func (r *replay) lucky(passed float64) bool {
	var due int64
	for _, j := range r.judged {
		if j.Verdict == Passed && j.Load == passed {
			due += j.Counts.Due
		}
	}
	return due < r.cfg.SLA.Enough()
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
