package capacity

import (
	"fmt"
	"strings"
	"time"

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
	// PathShift is how much longer the median round trip took than in the
	// baseline; PathChanged that this is more than chance.
	PathShift   time.Duration
	PathChanged bool
}

// String says in a line what the window was worth.
func (j Judged) String() string {
	text := fmt.Sprintf("%s: %s", unit.Human(j.Load, "op/s"), j.Verdict)
	if d, ok := j.Latency(.9); ok {
		text += fmt.Sprintf(", p90 %v", d.Round(10*time.Microsecond))
	}
	if reasons := append(append([]string{}, j.Generators...), j.Misses...); len(reasons) > 0 {
		text += "; " + strings.Join(reasons, "; ")
	}
	return text
}

// Limit is what was at its limit where the search ended.
type Limit string

// What can be at its limit.
const (
	// LimitTarget: the server.
	LimitTarget Limit = "target"
	// LimitPath: the network on the way to it; what was found is the capacity
	// of both together.
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
)

// Result is what a search has found so far. Loads and rates are in operations
// per second; nil where there is none. Passed and Failed are loads that were
// offered.
type Result struct {
	// Passed is the largest load that kept the SLA, Failed the smallest above
	// it that did not.
	Passed, Failed *float64
	// Estimate is the load at the boundary, CI its 95 % interval.
	Estimate *float64
	CI       *[2]float64
	Limit    Limit
	// Confirmed: both sides of the boundary were tried again and agreed.
	Confirmed bool
	Windows   []Judged
	Warnings  []string
}

func (r *replay) result() Result {
	found := r.algorithm.Result()
	out := Result{
		Passed: known(found.Passed), Failed: known(found.Failed), Confirmed: found.Confirmed,
		Windows: r.judged, Warnings: append(append([]string{}, r.warnings...), found.Warnings...),
		Limit: r.limitOf(found),
	}
	if out.Limit == LimitTarget || out.Limit == LimitPath {
		out.Estimate = known(found.Estimate)
		if lo, hi := known(found.Low), known(found.High); lo != nil && hi != nil {
			out.CI = &[2]float64{*lo, *hi}
		}
	}
	out.Warnings = append(out.Warnings, r.doubts(out)...)
	return out
}

// limitOf says what was at its limit.
func (r *replay) limitOf(found search.Result) Limit {
	switch {
	case !r.over:
		return LimitNone
	case r.generatorsLimit(found):
		return LimitGenerator
	case found.Capped:
		return LimitCap
	case found.Floored:
		return LimitFloor
	case r.pathLimits(found):
		return LimitPath
	}
	return LimitTarget
}

// generatorsLimit reports whether the load failed was failed for the
// generators' sake, in most of its windows.
func (r *replay) generatorsLimit(found search.Result) bool {
	late, missed := 0, 0
	for _, j := range r.judged {
		switch {
		case j.Load != found.Failed:
		case len(j.Generators) > 0:
			late++
		case j.Verdict == Missed:
			missed++
		}
	}
	return late > missed
}

// pathLimits reports whether the path explains what was missed at the boundary:
// round trips that the target's kernel answers took longer there than at the
// load passed, by at least half of what the SLA was missed by.
func (r *replay) pathLimits(found search.Result) bool {
	passed, failed := r.roundTrips(found.Passed, Passed), r.roundTrips(found.Failed, Missed)
	shift, changed := pathChange(passed, failed)
	if !changed || shift <= 0 {
		return false
	}
	return 2*shift >= r.excess(found.Passed, found.Failed)
}

// roundTrips of the windows at a load with this verdict.
func (r *replay) roundTrips(load float64, v Verdict) []float64 {
	var out []float64
	for _, j := range r.judged {
		if j.Load == load && j.Verdict == v {
			out = append(out, j.RTT...)
		}
	}
	return out
}

// excess is how much longer the slowest term's percentile was at the load
// failed than at the one passed; the limit itself counts where it was not
// reached at all.
func (r *replay) excess(passed, failed float64) time.Duration {
	at := func(load float64, v Verdict) time.Duration {
		worst := time.Duration(0)
		for _, j := range r.judged {
			if j.Load != load || j.Verdict != v {
				continue
			}
			for _, t := range r.cfg.SLA.Terms {
				if t.OnErrors() {
					continue
				}
				d, known := j.Latency(t.Quantile)
				if !known {
					d = 2 * t.Latency
				}
				worst = max(worst, d)
			}
		}
		return worst
	}
	return at(failed, Missed) - at(passed, Passed)
}

// doubts are warnings about the result.
func (r *replay) doubts(out Result) []string {
	var w []string
	switch out.Limit {
	case LimitGenerator:
		w = append(w, "the generators could not offer more load in time: this is no capacity of the target, which takes at least the load passed; use more or larger generators")
	case LimitCap:
		w = append(w, fmt.Sprintf("the largest load allowed, %s/s, was passed: the capacity is at least that", trim(r.cfg.Max)))
	case LimitPath:
		w = append(w, "round trips to the target grew with the load by what the SLA was missed by: this is the capacity of the path to it")
	}
	if n := r.unusable(); n > 0 {
		w = append(w, fmt.Sprintf("%d of %d windows said nothing about the target and were repeated", n, len(r.judged)))
	}
	if r.over && !out.Confirmed && (out.Limit == LimitTarget || out.Limit == LimitPath) {
		w = append(w, "the boundary was not confirmed: repeated windows disagreed, or there were too few")
	}
	return w
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
