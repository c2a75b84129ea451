package capacity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/unit"
)

// Verdict is what a window is worth to the search.
type Verdict string

// The verdicts of a window.
const (
	Passed Verdict = "passed" // it kept the SLA
	Missed Verdict = "missed" // it did not, for the target's sake
	// Unusable windows missed it for another reason, and are repeated.
	Unusable Verdict = "unusable"
)

// Judged is a window with its verdict.
type Judged struct {
	Window
	Verdict Verdict
	// Misses says what of the SLA was not kept; Generators what the
	// generators did wrong.
	Misses, Generators []string
	// AtFault names the generators that did, where it was not all of them.
	AtFault []model.NodeID
	// PathShift is how much longer the median round trip took than in the
	// baseline, in the window or in the second of it that differs most;
	// PathChanged that this, or what was lost on the way, is more than chance;
	// PathChange says what it was.
	PathShift   time.Duration
	PathChanged bool
	PathChange  string
	// Nearest is the term on latencies that the window came nearest to
	// breaking, or broke by most; zero for an SLA without one.
	Nearest Term
}

// String says in a line what the window was worth, for people who watch the
// search. Only the first reason is named, and what to do about it is left to
// the end.
func (j Judged) String() string {
	text := fmt.Sprintf("%s: %s", unit.Human(j.Load, "op/s"), j.Verdict)
	switch {
	case j.Verdict == Passed:
		if d, known := j.Latency(j.Nearest.Quantile); known {
			text += fmt.Sprintf(", %s %v", percentileName(j.Nearest.Quantile), short(d))
		}
	case len(j.Generators) > 0:
		reason, _, _ := strings.Cut(j.Generators[0], ";")
		text += "; " + reason
	case j.Verdict == Unusable:
		text += "; " + j.PathChange
	case len(j.Misses) > 0:
		text += "; " + j.worstMiss()
	}
	return text
}

// worstMiss is the first of the misses, or, where too few operations ended well
// for the percentile to be known, the errors.
func (j Judged) worstMiss() string {
	_, known := j.Latency(j.Nearest.Quantile)
	i := slices.IndexFunc(j.Misses, func(m string) bool { return strings.HasPrefix(m, "errors ") })
	if known || i < 0 {
		return j.Misses[0]
	}
	return j.Misses[i]
}

// Limit is what was at its limit where the search ended.
type Limit string

// What can be at its limit.
const (
	// LimitTarget: the server.
	LimitTarget Limit = "target"
	// LimitPath: the network on the way to it. The target takes at least the
	// load passed, if any was; how much more is not known.
	LimitPath Limit = "path"
	// LimitGenerator: the machines that offer the load. The target takes at
	// least the load passed; how much more is not known.
	LimitGenerator Limit = "generator"
	// LimitCap: the largest load allowed was passed. The capacity is at least
	// that.
	LimitCap Limit = "cap"
	// LimitFloor: the smallest load allowed was missed.
	LimitFloor Limit = "floor"
	// LimitNone: the search is not over.
	LimitNone Limit = "none"
	// LimitUnknown: another version of scalebench has searched, in another way,
	// so that nothing can be concluded from the windows.
	LimitUnknown Limit = "unknown"
)

// Result is what a search has found so far. Loads and rates are in operations
// per second; nil where there is none. Passed and Failed are loads that were
// offered.
type Result struct {
	// Passed is the largest load that kept the SLA, Failed the smallest above
	// it that did not.
	Passed, Failed *float64
	// Estimate is the load at the boundary, CI its 95 % interval, which reaches
	// down by the overload that windows of this length fail to notice.
	Estimate *float64
	CI       *[2]float64
	Limit    Limit
	// Confirmed: both sides of the boundary were tried again and agreed.
	Confirmed bool
	// Generators names those that were at their limit, where that ended the
	// search and it was not all of them.
	Generators []model.NodeID
	// Path is what showed that the path was at its limit; nil if it was not.
	Path    *Path
	Windows []Judged
	// Counted is how many windows count, of at most Config.MaxWindows: others
	// were repeated.
	Counted  int
	Warnings []string
	// Failure is why there is no window at all, where the first one could not
	// be measured.
	Failure string
}

// Latest says in a line what the latest window was worth, and where that leaves
// the search; empty before the first.
func (r Result) Latest() string {
	if len(r.Windows) == 0 {
		return ""
	}
	text := r.Windows[len(r.Windows)-1].String()
	if r.Passed != nil && r.Failed != nil {
		text += fmt.Sprintf("; the limit is between %s and %s", unit.Human(*r.Passed, "op/s"), unit.Human(*r.Failed, "op/s"))
	}
	return text
}

func (r *replay) result() Result {
	found := r.algorithm.Result()
	out := Result{
		Passed: known(found.Passed), Failed: known(found.Failed), Confirmed: found.Confirmed,
		Windows: r.judged, Counted: len(found.Trials), Warnings: append(append([]string{}, r.warnings...), found.Warnings...),
	}
	out.Limit, out.Generators, out.Path = r.limitOf(found)
	if out.Limit == LimitTarget {
		out.Estimate = known(found.Estimate)
		if lo, hi := known(found.Low), known(found.High); lo != nil && hi != nil {
			out.CI = &[2]float64{*lo / (1 + r.cfg.unnoticed()), *hi}
		}
	}
	out.Warnings = append(out.Warnings, r.doubts(out)...)
	return out
}

// limitOf says what was at its limit, and which generators or what of the path.
func (r *replay) limitOf(found search.Result) (Limit, []model.NodeID, *Path) {
	if !r.over {
		return LimitNone, nil, nil
	}
	if names, limit := r.generatorsLimit(found); limit {
		return LimitGenerator, names, nil
	}
	if found.Capped {
		return LimitCap, nil, nil
	}
	if path := r.pathLimits(found); path != nil {
		return LimitPath, nil, path
	}
	if found.Floored {
		return LimitFloor, nil, nil
	}
	return LimitTarget, nil, nil
}

// generatorsLimit reports whether the load failed was failed for the
// generators' sake, in most of its windows; and for whose, where it was not
// that of all.
func (r *replay) generatorsLimit(found search.Result) (names []model.NodeID, limit bool) {
	late, missed, all := 0, 0, 0
	for _, j := range r.judged {
		switch {
		case j.Load != found.Failed:
		case len(j.Generators) > 0:
			late++
			names, all = append(names, j.AtFault...), len(j.Parts)
		case j.Verdict == Missed:
			missed++
		}
	}
	slices.Sort(names)
	if names = slices.Compact(names); len(names) == all {
		names = nil
	}
	return names, late > missed
}

// slowest is the longest that the percentile of a term took in these windows;
// twice the limit counts where it was not reached at all.
func (s SLA) slowest(windows []Judged) (worst time.Duration) {
	for _, j := range windows {
		for t := range s.Latencies() {
			d, known := j.Latency(t.Quantile)
			if !known {
				d = 2 * t.Latency
			}
			worst = max(worst, d)
		}
	}
	return worst
}

// doubts are warnings about the result.
func (r *replay) doubts(out Result) []string {
	var w []string
	switch out.Limit {
	case LimitGenerator:
		w = append(w, fmt.Sprintf("%s could not offer more load in time: this is no capacity of the target, which takes at least the load passed; use more or larger generators", whose(out.Generators)))
	case LimitPath:
		w = append(w, out.pathDoubt())
	}
	if n := r.unusable(); n > 0 {
		w = append(w, fmt.Sprintf("%d of %d windows said nothing about the target and were repeated", n, len(r.judged)))
	}
	if out.Passed != nil {
		w = append(w, r.cfg.tooShort()...)
	}
	if r.over && !out.Confirmed && out.Limit == LimitTarget {
		w = append(w, "the boundary was not confirmed: repeated windows disagreed, or there were too few")
	}
	return w
}

// pathDoubt says what the path's limit means for the result.
func (r Result) pathDoubt() string {
	switch {
	case r.Path.Breaks != nil:
		return fmt.Sprintf("%v: no target keeps that over this path, and nothing is known of this one; measure from nearer by or over a faster link, or allow longer latencies", r.Path)
	case r.Passed == nil:
		return fmt.Sprintf("%v: the path was at its limit, and nothing is known of the target; measure from nearer by or over a faster link, or ask for smaller answers", r.Path)
	}
	return fmt.Sprintf("%v: the path was at its limit, and this is no capacity of the target, which takes at least the load passed; measure from nearer by or over a faster link, or ask for smaller answers", r.Path)
}

// GeneratorsWords say which generators were at their limit; none are named
// where it was all of them.
func (r Result) GeneratorsWords() string {
	if len(r.Generators) == 1 {
		return whose(r.Generators) + " was at its limit"
	}
	return whose(r.Generators) + " were at their limit"
}

// whose names generators for the beginning of a sentence; all, where none are
// named.
func whose(names []model.NodeID) string {
	switch len(names) {
	case 0:
		return "the generators"
	case 1:
		return "generator " + string(names[0])
	}
	return "generators " + Names(names)
}

func (r *replay) unusable() int {
	n := 0
	for _, j := range r.judged {
		if j.Verdict == Unusable {
			n++
		}
	}
	return n
}
