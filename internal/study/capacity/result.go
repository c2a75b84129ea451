package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

func (r *replay) result() Answer {
	found := r.algorithm.Result()
	r.markReserve(found.Passed)
	out := Answer{
		Passed: num.IfFinite(found.Passed), Failed: r.missedLoad(found.Failed), Confirmed: found.Confirmed,
		Windows: r.judged, Counted: r.long.counted + len(found.Trials), Doubts: slices.Clone(r.doubted),
	}
	out.Limit = r.limitOf(found, &out)
	for _, w := range found.Warnings {
		if text := r.words(w, out.Limit); text != "" {
			out.Doubts.Warn("search", "%s", text)
		}
	}
	if out.Limit == LimitDrift {
		out.Drift = &Drift{Then: r.back.load, Now: r.takesNow(out.Passed)}
		out.Passed, out.Failed = nil, nil
	}
	r.sustains(found, &out)
	if out.Limit == LimitTarget {
		found = r.withoutUnusable(found, out.Failed)
		out.Confirmed = found.Confirmed
		out.Estimate = num.IfFinite(found.Estimate)
		if lo, hi := num.IfFinite(found.Low), num.IfFinite(found.High); lo != nil && hi != nil {
			out.CI = &[2]float64{*lo / (1 + r.cfg.unnoticed()), *hi}
			if rate, _ := sustained(r.exhausted(found.Passed)...); !r.long.held && rate > 0 {
				out.CI[0] = min(out.CI[0], rate)
			}
		} else if out.Estimate != nil && r.cfg.Algorithm != search.Paper {
			out.Estimate = nil
			out.Doubts.Warn("unbounded", "the windows that say something of the target do not say how much it takes at most, so no capacity is estimated; allow more windows, or search again when nothing else runs")
		}
	}
	if out.open = r.openAt(out); out.open != nil {
		// A number that cannot be vouched for is none.
		out.Estimate, out.CI = nil, nil
	}
	out.Confirmed = out.Confirmed && out.Estimate != nil && out.HeldFor == 0
	if out.Confirmed && out.Passed != nil {
		u, _ := r.shortOfConnections(*out.Passed)
		out.Confirmed = !u.short()
	}
	r.doubt(&out)
	return out
}

// sustains says what is known of whether the target sustains the load passed.
func (r *replay) sustains(found search.Result, out *Answer) {
	if !r.over || out.Passed == nil {
		return
	}
	if r.long.refuted {
		out.Reserve = r.reserve(found)
	}
	if out.Reserve == nil && r.unproven(found) && (out.Limit != LimitTarget || r.long.scored > 0) {
		out.HeldFor = r.heldFor(found.Passed)
	}
}

// words are those of the algorithm's warning. What to do about the boundary it
// says without knowing what was at its limit: empty where that was not the target,
// for longer windows or smaller loads would not help.
func (r *replay) words(w search.Warning, limit Limit) string {
	switch {
	case len(r.judged) == 0: // the caller knows why
		return ""
	case w.About != search.AboutWindows && limits[limit].long != "":
		return ""
	case w.About == search.AboutFloor && r.onlyUnusable(r.cfg.Min):
		return ""
	case w.About == search.AboutBoundary && r.options.Max < r.cfg.Max && r.algorithm.Result().Capped:
		return "" // it is not the largest load that was allowed
	case w.About == search.AboutFloor && len(w.Loads) > 0:
		if text := r.floorWords(w.Loads[0]); text != "" {
			return text
		}
	}
	return w.Text(rate)
}

// alone is how many operations may be under way on average where each has the
// target to itself.
const alone = .25

// floorWords say why the smallest load allowed was missed where a smaller one
// would be, too: operations fail, or take too long although hardly any other is
// under way (as many as the load times how long one takes, by Little's law).
func (r *replay) floorWords(floor float64) string {
	var failed, above load.Counts
	var took time.Duration
	for _, j := range r.judged {
		switch d := load.AtPercentile(j.Services, 50); {
		case j.Load > floor:
			above.Add(j.Counts)
		case j.Load != floor || j.Verdict != Missed:
		case slices.ContainsFunc(j.Misses, func(m reason) bool { return m.errors }):
			failed.Add(j.Counts)
		case d > 0 && (took == 0 || d < took):
			took = d
		}
	}
	// Operations fail whatever the load is if nothing is answered well, and not for want of
	// time, or no larger share of them failed at larger loads.
	share := func(c load.Counts) float64 { return float64(c.Failed()) / float64(c.Due) }
	always := failed.OK == 0 && failed.Failed() == failed.Due && failed.Errors[load.ErrTimeout] == 0
	switch {
	case failed.Due > 0 && (always || above.Due > 0 && share(above) <= offered*share(failed)):
		return fmt.Sprintf("operations fail even at %s, the smallest load allowed (%s): look at what fails; a smaller load would hardly help", rate(floor), failed.Failures())
	case took > 0 && floor*took.Seconds() <= alone:
		return fmt.Sprintf("an operation takes %v (median) even at %s, the smallest load allowed, where hardly any other is under way: a smaller load would hardly help; allow longer latencies, or look at what the target does", num.Brief(took), rate(floor))
	}
	return ""
}

// missedLoad is the load that the algorithm holds for failed, or the next one up
// that missed the SLA: that the search goes on below a load at which all windows
// were unusable does not mean that the target has failed there.
func (r *replay) missedLoad(failed float64) *float64 {
	if math.IsNaN(failed) || !r.onlyUnusable(failed) {
		return num.IfFinite(failed)
	}
	next := math.Inf(1)
	for _, j := range r.judged {
		if j.Load > failed && r.windowsMissed(j.Load) > 0 {
			next = min(next, j.Load)
		}
	}
	return num.IfFinite(next)
}

// onlyUnusable reports whether no window at a load says anything of the target.
func (r *replay) onlyUnusable(at float64) bool {
	return len(r.windowsAt(at, Unusable)) > 0 && len(r.windowsAt(at, Passed))+len(r.windowsAt(at, Missed)) == 0
}

// windowsMissed is by how many windows a load was rather missed than passed.
func (r *replay) windowsMissed(at float64) int {
	passed := only(r.windowsAt(at, Passed), func(j Assessment) bool { return !j.OnReserve })
	return len(r.windowsAt(at, Missed)) - len(passed)
}

// limitOf says what was at its limit, and tells in an answer which generators or what
// of the path.
func (r *replay) limitOf(found search.Result, out *Answer) (limit Limit) {
	switch {
	case !r.over:
		return LimitNone
	case r.losses > maxLosses:
		return LimitRecords
	case r.drifted():
		return LimitDrift
	}
	if out.Generators, limit = r.generatorsLimit(found); limit != "" {
		return limit
	}
	if found.Capped && r.options.Max == r.cfg.Max {
		return LimitCap
	}
	if out.Path = r.pathLimits(found); out.Path != nil {
		return LimitPath
	}
	if found.Floored {
		return LimitFloor
	}
	return LimitTarget
}

// offered is up to how many times the load passed a window that missed the SLA
// for the target's sake says where that has its limit.
const offered = 2

// generatorsLimit says whether the load failed was failed for the sake of the
// generators, or of their machines, in most of its windows; and for whose, where
// it was not that of all. Empty if not. Where a larger load was missed for the
// target's sake, generators could offer it, or the target refused it: the boundary
// is below, whatever generators did in between, and the interval says how far.
// Beyond twice the load passed it would say next to nothing.
func (r *replay) generatorsLimit(found search.Result) (names []model.NodeID, limit Limit) {
	if slices.ContainsFunc(r.judged, func(j Assessment) bool {
		return j.Load > found.Passed && j.Load < offered*found.Passed && r.windowsMissed(j.Load) > 0
	}) {
		return nil, ""
	}
	late, full, missed, all := 0, 0, 0, 0
	for _, j := range only(r.judged, func(j Assessment) bool { return j.Load == found.Failed }) {
		if j.Verdict == Missed && len(j.Problems) == 0 {
			missed++
		}
		if len(j.Problems) > 0 {
			late, all = late+1, len(j.Generators)
		}
		for _, p := range j.Problems {
			names = append(names, p.nodes...)
			if p.machine {
				full++
			}
		}
	}
	if late <= missed {
		return nil, ""
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == all {
		names = nil
	}
	if 2*full >= late {
		return names, LimitMachine
	}
	return names, LimitGenerator
}
