package capacity

import (
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
)

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
	// LimitMachine: the machine that offers the load was full; whether the target
	// could not do more, or that machine, cannot be told.
	LimitMachine Limit = "machine"
	// LimitRecords: none; the target lost records that were loaded, again and again.
	LimitRecords Limit = "records"
	// LimitDrift: none that stays: the target took a load early in the search and
	// does not take it any more.
	LimitDrift Limit = "drift"
	// LimitCap: the largest load allowed was passed. The capacity is at least
	// that.
	LimitCap Limit = "cap"
	// LimitFloor: the smallest load allowed was missed.
	LimitFloor Limit = "floor"
	// LimitNone: the search is not over.
	LimitNone Limit = "none"
	// LimitUnknown: another version of scalebench made this search in another way,
	// so that nothing can be concluded from the windows.
	LimitUnknown Limit = "unknown"
)

// Answer is what a search has found so far. Loads and rates are in operations
// per second; nil where there is none. Passed and Failed are loads that were
// offered.
type Answer struct {
	// Passed is the largest load that kept the SLA, Failed the smallest above
	// it that did not. A load at which all windows were unusable is neither.
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
	Path *Path
	// Reserve is what the target had beyond what it sustains, where that decided;
	// nil where it did not.
	Reserve *Reserve
	// HeldFor is for how long at a time the load passed was offered, where no window
	// shows that the target sustains it; 0: one does, or the windows above do.
	HeldFor time.Duration
	// Drift says what the target took then and takes now, where it changed.
	Drift   *Drift
	Windows []Assessment
	// Counted is how many windows count, of at most Config.MaxWindows: each of
	// the others was or will be repeated.
	Counted int
	// Doubts are what speaks against it.
	Doubts model.Doubts
	// Failure is why there is no window at all, where the first one could not
	// be measured.
	Failure string
	// open is why nothing can be said of the capacity, although neither generators
	// nor path were at their limit; nil: nothing.
	open *open
}

// Latest says in a line what the latest window was worth, and where that leaves
// the search; empty before the first.
func (r Answer) Latest() string {
	if len(r.Windows) == 0 {
		return ""
	}
	text := r.Windows[len(r.Windows)-1].String()
	if u := connectionUse(r.Windows[0].Window); len(r.Windows) == 1 && u.short() {
		text += "; " + u.String()
	}
	if r.Passed != nil && r.Failed != nil {
		text += fmt.Sprintf("; the limit is between %s and %s", unit.Human(*r.Passed, "op/s"), unit.Human(*r.Failed, "op/s"))
	}
	return text
}

// pathDoubt says what the path's limit means for the result.
func (r Answer) pathDoubt() string {
	switch {
	case r.Path.Breaks != nil:
		return fmt.Sprintf("%v: no target can keep that over this path, so the target's capacity is unknown; measure from a closer machine or over a faster link, or allow longer latencies", r.Path)
	case r.Passed == nil:
		return fmt.Sprintf("%v: the path was at its limit, so the target's capacity is unknown; measure from a closer machine or over a faster link, or ask for smaller answers", r.Path)
	}
	return fmt.Sprintf("%v: the path was at its limit, not the target, which takes at least the load that passed; measure from a closer machine or over a faster link, or ask for smaller answers", r.Path)
}

// generatorsWords say which generators were at their limit; none are named
// where it was all of them.
func (r Answer) generatorsWords() string {
	if len(r.Generators) == 1 {
		return named(r.Generators) + " was at its limit"
	}
	return named(r.Generators) + " were at their limit"
}

// machine names the machines that were full.
func (r Answer) machine() string {
	if len(r.Generators) == 0 {
		return "the machine that offers the load"
	}
	return "the machine of " + named(r.Generators)
}

// Warnings are the texts of the doubts.
func (r Answer) Warnings() []string { return model.Texts(r.Doubts) }

// fail takes into account that the window after those that there are could not
// be measured, and why.
func (r *Answer) fail(why string) {
	if why == "" {
		why = "a generator failed, or none was left"
	}
	if len(r.Windows) > 0 {
		r.Doubts.Problem("broken_off", "window %d could not be measured, and the search ended there: %s", len(r.Windows)+1, why)
		return
	}
	// That nothing is known goes without saying, and only the reason matters.
	r.Failure, r.Doubts = why, nil
	r.Doubts.Problem("nothing_measured", "nothing was measured: %s", why)
}
