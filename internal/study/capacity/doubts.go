package capacity

import (
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
)

// doubt adds what speaks against the result.
func (r *replay) doubt(out *Answer) {
	d := &out.Doubts
	if words := limits[out.Limit].doubt; words != "" {
		d.Problem(string(out.Limit), "%s", out.fill(words))
	}
	if out.Limit == LimitPath {
		what := "the path was at its limit, not the target, which takes at least the load that passed"
		instead := "ask for smaller answers"
		switch {
		case out.Path.Breaks != nil:
			what = "no target can keep that over this path, so the target's capacity is unknown"
			instead = "allow longer latencies"
		case out.Passed == nil:
			what = "the path was at its limit, so the target's capacity is unknown"
		}
		d.Problem("path", "%v: %s; measure from a closer machine or over a faster link, or %s", out.Path, what, instead)
	}
	r.doubtUnusable(out.Counted, d)
	connectionDoubts(r.judged, d)
	recordDoubts(r.judged, out.Limit == LimitRecords, d)
	if r.cfg.Algorithm != search.Paper {
		out.contradictions()
	}
	if r.long.from > 0 && out.Passed != nil && *out.Passed <= (1-r.cfg.Resolution)*r.long.passed {
		d.Warn("reserve", "the target takes more for a while, from a reserve: the result is from windows of %v, in which "+
			"loads did not pass that had passed in short ones", r.long.scored)
	}
	if out.HeldFor > 0 {
		d.Warn("sustained_unknown", "no window shows whether the target sustains %s: it took that for %s at a time, and "+
			"may have given it from a reserve; leave out --window (duration in a file), or search again when nothing else runs",
			rate(*out.Passed), num.Seconds(out.HeldFor))
	}
	if out.open != nil {
		d.Problem(out.open.code, "%s, so no capacity is estimated; %s", out.open.why, out.open.advice)
	}
	if out.Passed != nil {
		r.cfg.tooShort(d)
		r.cfg.tooFew(r.judged, d)
	}
	if r.over && !out.Confirmed && out.Limit == LimitTarget {
		why := "repeated windows disagreed, or there were too few"
		if out.HeldFor > 0 {
			why = "no window shows whether the target sustains it"
		} else if out.Passed != nil {
			if u, _ := r.shortOfConnections(*out.Passed); u.short() {
				why = "above it operations waited for connections that the server does not allow"
			}
		}
		d.Warn("unconfirmed", "the boundary was not confirmed: %s", why)
	}
}

// doubtUnusable tells how many windows said nothing about the target. One more
// window than those that count was measured for each that was repeated.
func (r *replay) doubtUnusable(counted int, d *model.Doubts) {
	n := r.unusable()
	if n == 0 {
		return
	}
	text := fmt.Sprintf("%d of %s said nothing about the target; such a window is repeated once, but not after several "+
		"repetitions in vain", n, num.Count(len(r.judged), "window"))
	if vain := n - (len(r.judged) - counted); vain > 0 {
		text += fmt.Sprintf("; where that did not help (%s) the search treats the load as too large", num.Count(vain, "time"))
	}
	d.Warn("unusable_windows", "%s", text)
}

// contradictions counts the windows that say something else than the result.
func (a *Answer) contradictions() {
	below, above, stalls, longest := 0, 0, 0, time.Duration(0)
	for _, j := range a.Windows {
		switch {
		// A stall is not the load's doing if as much or more passed, or nothing was queued
		// when it began.
		case j.Verdict == Missed && j.Stall > 0 && (a.Passed != nil && j.Load <= *a.Passed ||
			(a.Failed == nil || j.Load <= *a.Failed) && j.StalledIdle()):
			stalls, longest = stalls+1, max(longest, j.Stall)
		case a.Passed != nil && j.Verdict == Missed && j.Load <= *a.Passed && a.Reserve == nil:
			below++
		}
		if a.Failed != nil && j.Verdict == Passed && j.Load >= *a.Failed && !j.OnReserve {
			above++
		}
	}
	all := num.Count(len(a.Windows), "window")
	if stalls > 0 {
		a.Doubts.Warn("stall", "the target stood still in %d of %s, for up to %v without any answer, and not because the load was too large; these windows count as missed: look for a lock, a restart or a pause of the target", stalls, all, longest)
	}
	if below > 0 {
		a.Doubts.Warn("windows_disagree", "%d of %s missed the SLA at loads up to %s, which is reported as passed: something else disturbed them; if that is common, use longer windows or a quieter machine", below, all, loadText(a.Passed))
	}
	if above > 0 {
		a.Doubts.Warn("windows_disagree", "%d of %s kept the SLA at loads from %s up, which is reported as failed", above, all, loadText(a.Failed))
	}
}

// unfinished says that a search is not over: under way, or stopped.
func (a Answer) unfinished(underWay bool) string {
	n := len(a.Windows)
	switch count := num.Count(n, "window"); {
	case underWay && n == 0:
		return "the search is under way: no window is complete so far"
	case underWay:
		return "the search is under way: " + count + " so far"
	case n == 0:
		return "the search was stopped before its first window was complete: resume it"
	default:
		return "the search was stopped after " + count + ", before it was complete: resume it"
	}
}
