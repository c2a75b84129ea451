package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/search"
)

// Drift is a target that changed while it was measured.
type Drift struct {
	// Then is the load that it took early in the search, and took no more at the
	// end; Now the largest that it took then, nil if it took none.
	Then float64  `json:"then"`
	Now  *float64 `json:"now"`
}

// back is the return to a load that passed early in a search, where the search
// ended far below it.
type back struct {
	load     float64 // NaN: there is no reason to return
	passed   bool
	missed   int
	unusable bool // nothing tells
	from     int  // index of its first window
}

// takesNow is the load passed if it passed after the last window that passed at
// the load returned to, or above: what passed before says nothing of now.
func (r *replay) takesNow(passed *float64) *float64 {
	if passed == nil {
		return nil
	}
	changed := false
	for i := len(r.judged) - 1; i >= 0 && !changed; i-- {
		j := r.judged[i]
		if j.Verdict == Passed && j.Load == *passed {
			return passed
		}
		changed = j.Verdict == Passed && j.Load >= r.back.load
	}
	return nil
}

// returns is how many windows must miss for it to be told: one may be chance.
const returns = 2

// open reports whether another window is needed.
func (b *back) open() bool {
	return b != nil && !math.IsNaN(b.load) && !b.passed && !b.unusable && b.missed < returns
}

// drifted reports whether the load that passed early does not pass any more, and
// that is no chance: a target that fails now and then, whatever the load, lets a
// window pass and another one not. Then more operations missed the SLA when the search
// returned than in the windows that passed early.
func (r *replay) drifted() bool {
	if !r.back.gone() {
		return false
	}
	then := only(r.judged[:r.back.from], func(j Assessment) bool { return j.Verdict == Passed && j.Load >= r.back.load })
	now := only(r.judged[r.back.from:], func(j Assessment) bool { return j.Verdict == Missed })
	return moreMissed(r.cfg.SLA, then, now)
}

// gone reports whether the load that passed early was missed now.
func (b *back) gone() bool { return b != nil && b.missed >= returns }

func (b *back) take(v Verdict) {
	switch v {
	case Missed:
		b.missed++
	case Passed: // it is as it was
		b.passed = true
	default:
		b.unusable = true
	}
}

// A search returns to an earlier load if windows passed at loads so much above
// the one that it reports as failed: at least so many, or one with enough
// operations for its SLA. One with few, or one close by, passes by chance now and
// then.
const (
	fewPassed = 2
	farAbove  = 1.25
)

// earlier finds the load to return to: the smallest of those that passed far
// above the load failed. There is none where the path explains that, and none
// for the paper's algorithm, whose ramp passes loads by another rule.
func (r *replay) earlier() *back {
	out := &back{load: math.NaN(), from: len(r.judged)}
	found := r.algorithm.Result()
	failed := r.missedLoad(found.Failed)
	if failed == nil || r.cfg.Algorithm == search.Paper || r.pathLimits(found) != nil {
		return out
	}
	above := only(r.judged, func(j Assessment) bool { return j.Verdict == Passed && j.Load >= farAbove**failed })
	plain := func(j Assessment) bool { return j.Counts.Due >= r.cfg.SLA.Enough() }
	if len(above) >= fewPassed || slices.ContainsFunc(above, plain) {
		out.load = slices.MinFunc(above, func(a, b Assessment) int { return cmp.Compare(a.Load, b.Load) }).Load
	}
	return out
}
