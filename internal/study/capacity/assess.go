package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/stats"
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

// Assessment is a window with its verdict.
type Assessment struct {
	load.Window
	// Phase is what the search offered the load for.
	Phase   search.Phase
	Verdict Verdict
	// Misses says what of the SLA was not kept; Problems what the generators
	// did wrong.
	Misses, Problems []reason
	// PathChange says in what the path was not that of the baseline; nil: in
	// nothing that is more than chance.
	PathChange *reason
	// RecordsLost: it was missed because records were gone that had been loaded.
	RecordsLost *reason
	// Backlog: the target may still have been working off an earlier load.
	Backlog *reason
	// Stall is for how long nothing was answered in a window that was missed.
	Stall time.Duration
	// OnReserve: it passed at a load that a longer window missed, because the
	// target had something in reserve.
	OnReserve bool
	// Nearest is the term on latencies that the window came nearest to
	// breaking, or broke by most; zero for an SLA without one.
	Nearest load.Term
}

// String says in a line what the window was worth, for people who watch the
// search. Only the first reason is named, and what to do about it is left to
// the end.
func (j Assessment) String() string {
	text := fmt.Sprintf("%s: %s", rate(j.Load), j.Verdict)
	d, known := j.Latency(j.Nearest.Quantile)
	switch {
	case j.Verdict == Passed && known:
		text += fmt.Sprintf(", %s %v", load.Percentile(j.Nearest.Quantile), num.Brief(d))
	case j.Verdict == Passed:
	case len(j.Problems) > 0 || j.Verdict == Unusable:
		text += "; " + j.briefReason()
	case len(j.Misses) > 0:
		// Where too few operations ended well for the percentile to be known, the errors
		// say more.
		worst := slices.IndexFunc(j.Misses, func(m reason) bool { return m.errors })
		if known || worst < 0 {
			worst = 0
		}
		text += "; " + j.Misses[worst].String()
		if last := j.Misses[len(j.Misses)-1]; j.Stall > 0 {
			text += "; " + last.String()
		}
	}
	return text
}

// judge says what a window is worth, by the SLA or, in the ramp of the paper's
// algorithm, by nearness of the median to the round-trip time.
func (r *replay) judge(w load.Window) Assessment {
	j := Assessment{Window: w, Phase: r.next.Phase, Misses: missed(r.cfg.SLA, w), Nearest: r.cfg.SLA.Nearest(w)}
	if r.cfg.Algorithm == search.Paper && r.next.Phase == search.Ramp {
		j.Misses = r.cfg.nearRTT(w)
	}
	j.PathChange = r.cfg.pathOf(r.baseline, w)
	if len(j.Misses) == 0 {
		j.Verdict = Passed
		r.unhurried(w)
		return j
	}
	if j.RecordsLost = recordsLost(w, j.Misses); j.RecordsLost != nil {
		j.Verdict = Unusable
		return j
	}
	if j.Stall = w.Stall(); j.Stall > 0 {
		j.Misses = append(j.Misses, *because("no answer came for %s", exactly(j.Stall)))
	}
	j.Problems = r.cfg.health(w, r.light)
	j.Verdict = Missed
	if len(j.Problems) == 0 && r.backlog.in(w) {
		j.Backlog = because("the target may still have been working off an earlier load when this window began; " +
			"let it drop what clients have given up, or begin with a smaller load (--start)")
	}
	if len(j.Problems) > 0 || j.Backlog != nil || j.PathChange != nil && !r.knownPath(w) {
		j.Verdict = Unusable
	}
	return j
}

// unhurried takes how long answers took in a window that was passed, if that was the
// shortest so far. Windows that were missed before anything passed are judged anew:
// it was not known whether their connections were too few.
func (r *replay) unhurried(w load.Window) {
	d := unhurried(w)
	if d == 0 || r.light > 0 && d >= r.light {
		return
	}
	first := r.light == 0
	r.light = d
	for i := range r.judged {
		if j := &r.judged[i]; first && j.Verdict == Missed {
			if j.Problems = r.cfg.health(j.Window, d); len(j.Problems) > 0 {
				j.Verdict = Unusable
				r.valid = slices.DeleteFunc(r.valid, func(t search.Trial) bool { return t.Load == j.Load })
			}
		}
	}
}

// nearRTT accepts a window if in more than half of its seconds the median
// latency exceeds the round-trip time by no more than Fraction of it, and the
// load was achieved (black-box throughput paper, section II.B, which leaves
// Fraction open). A second without an answer fails.
func (c Config) nearRTT(w load.Window) []reason {
	if len(w.RTT) == 0 {
		return []reason{*because("no round-trip time is known, which the paper's ramp needs")}
	}
	rtt := stats.Median(w.RTT)
	near := 0
	for i, ok := range w.Seconds.OK {
		if ok > 0 && w.Seconds.P50[i]-rtt <= c.Fraction*rtt {
			near++
		}
	}
	var misses []reason
	if 2*near <= w.Seconds.Len() {
		misses = append(misses, *because("the median was near the round-trip time of %s in %s of %s seconds only",
			exactly(time.Duration(rtt*1e9).Round(time.Microsecond)), count(near), count(w.Seconds.Len())))
	}
	if answered := w.Share(w.Counts.OK); !(answered >= load.AchievedAtLeast) {
		misses = append(misses, *because("%s of the load was answered, not %s", share(answered), share(load.AchievedAtLeast)))
	}
	return misses
}
