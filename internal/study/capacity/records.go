package capacity

import (
	"fmt"
	"strings"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// maxLosses is in how many windows the target may lose records before the search
// ends. They are loaded again, and the window is repeated.
const maxLosses = 1

// goneShare is the least share of the operations that failed for the loss of records
// to be why: reads of a replica that lags behind find some missing, too.
const goneShare = .1

// recordsLost says that a window was missed because records were gone that had been
// loaded; nil: it was not. Such a window says nothing about the load.
func recordsLost(w load.Window, misses []reason) *reason {
	gone := w.Counts.Errors[load.ErrMissing]
	if gone == 0 || float64(gone) < goneShare*float64(w.Counts.Failed()) {
		return nil
	}
	byErrors := w.Share(w.Counts.OK) < load.AchievedAtLeast
	for _, m := range misses {
		byErrors = byErrors || m.errors
	}
	if !byErrors {
		return nil
	}
	return because("the target has lost records: %s of the operations found no such record; look for a restart without persistence, an eviction or a flush",
		share(w.Share(gone)))
}

// recordDoubts tell of records that were lost while a search lasted; ended says that
// this ended it.
func recordDoubts(windows []Assessment, ended bool, d *model.Doubts) {
	lost, worst, between, reloaded := 0, 0., 0, int64(0)
	for i, w := range windows {
		if w.RecordsLost != nil {
			lost, worst = lost+1, max(worst, w.Share(w.Counts.Errors[load.ErrMissing]))
		}
		if i > 0 && w.RecordsLoaded > 0 {
			reloaded += w.RecordsLoaded
			if windows[i-1].RecordsLost == nil {
				between++
			}
		}
	}
	var parts []string
	if lost > 0 {
		parts = append(parts, fmt.Sprintf("the target lost records in %d of %s: up to %s of the operations found no such "+
			"record, and these windows do not count", lost, num.Count(len(windows), "window"), num.Share(worst)))
	}
	if between > 0 {
		parts = append(parts, fmt.Sprintf("before %s records were gone, although operations had hardly missed them",
			num.Count(between, "window")))
	}
	if len(parts) == 0 {
		return
	}
	if reloaded > 0 {
		parts = append(parts, num.Grouped(reloaded)+" records were loaded again")
	}
	warn := d.Warn
	if ended {
		warn = d.Problem
		parts = append(parts, "after the second loss the search ended")
	}
	warn("records_lost", "%s; look for a restart without persistence, an eviction, an expiry or a flush, and search "+
		"again when the target keeps what it is given", strings.Join(parts, "; "))
}
