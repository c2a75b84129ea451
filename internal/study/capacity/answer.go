package capacity

import (
	"fmt"

	"github.com/scalebench/scalebench/internal/model"
)

// Answer is what a search has found so far. Loads and rates are in operations
// per second; nil where there is none. Passed and Failed are loads that were
// offered. Its keys are those of a [Record].
type Answer struct {
	// Passed is the largest load that kept the SLA, Failed the smallest above
	// it that did not. A load at which all windows were unusable is neither.
	Passed *float64 `json:"passed"`
	Failed *float64 `json:"failed"`
	// Estimate is the load at the boundary, CI its 95 % interval, which reaches
	// down by the overload that windows of this length fail to notice.
	Estimate *float64    `json:"estimate"`
	CI       *[2]float64 `json:"ci"`
	Limit    Limit       `json:"limit"`
	// Confirmed: both sides of the boundary were tried again and agreed.
	Confirmed bool `json:"confirmed"`
	// Generators names those that were at their limit, where that ended the
	// search and it was not all of them.
	Generators []model.NodeID `json:"generators,omitempty"`
	// Reserve is what the target had beyond what it sustains, where that decided;
	// nil where it did not.
	Reserve *Reserve `json:"reserve,omitempty"`
	// HeldFor is for how long at a time the load passed was offered, in seconds, where no
	// window shows that the target sustains it; 0: one does, or the windows above do.
	HeldFor float64 `json:"held_s,omitempty"`
	// Drift says what the target took then and takes now, where it changed.
	Drift *Drift `json:"drift,omitempty"`
	// Path is what showed that the path was at its limit; nil if it was not.
	Path    *Path        `json:"path,omitempty"`
	Windows []Assessment `json:"-"`
	// Counted is how many windows count, of at most Config.MaxWindows: each of
	// the others was or will be repeated.
	Counted int `json:"-"`
	// Doubts are what speaks against it.
	Doubts model.Doubts `json:"-"`
	// Failure is why there is no window at all, where the first one could not
	// be measured.
	Failure string `json:"-"`
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
		text += fmt.Sprintf("; the limit is between %s and %s", rate(*r.Passed), rate(*r.Failed))
	}
	return text
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
