package capacity

import (
	"math"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/stats"
)

// Bounds from which on segments out of order are why an SLA was missed.
const (
	// leastOutOfOrder is a growth of their share, and fewestOutOfOrder a number
	// of them, below which nothing can be told.
	leastOutOfOrder  = .001
	fewestOutOfOrder = 100
	// lossGrowth is how many times as many there must be as at the load passed,
	// which kept the SLA with those.
	lossGrowth = 1.25
	// outOfOrderBurst is how many come together: those behind one that was lost.
	outOfOrderBurst = 8
)

// lossy reports whether what was lost on the way can be why answers came too
// late at the load failed. A segment that is lost leaves those behind it out of
// order, so their share must be larger than under a light load, by half of the
// share of answers that may be late, and not by chance; and larger than at the
// load passed. The last segment of an answer is never seen to be lost, as nothing
// is behind it until it was sent again: of answers in one segment, none is.
func (r *replay) lossy(passed, failed []Judged) bool {
	excused, late := r.cfg.SLA.excused(failed)
	light, full := segmentsIn(r.lightly(failed[0].Load)), segmentsIn(failed)
	was, known := light.Share()
	is, knownToo := full.Share()
	if !late || !known || !knownToo || full.OutOfOrder < fewestOutOfOrder {
		return false
	}
	if before, ok := segmentsIn(passed).Share(); ok && is < lossGrowth*before {
		return false
	}
	return is-was >= max(excused/2, leastOutOfOrder) && moreOften(light, full)
}

// moreOften reports whether segments come out of order more often than they did,
// by the test of two proportions, with a variance for as many at a time as one
// that was lost has behind it.
func moreOften(light, full load.Segments) bool {
	was, _ := light.Share()
	is, _ := full.Share()
	both := light
	both.Add(full)
	pooled, _ := both.Share()
	deviation := math.Sqrt(outOfOrderBurst * pooled * (1/float64(light.In) + 1/float64(full.In)))
	return 1-stats.NormalCDF((is-was)/deviation) < pathP
}

// lightly are the windows passed at half of the load failed or less; where there
// is none, all that were passed. Windows before the path has changed for good do
// not count.
func (r *replay) lightly(failed float64) []Judged {
	var light, all []Judged
	for _, j := range r.calm(failed) {
		if j.Verdict != Passed {
			continue
		}
		all = append(all, j)
		if 2*j.Load <= failed {
			light = append(light, j)
		}
	}
	if len(light) == 0 {
		return all
	}
	return light
}

// segmentsIn adds up those of several windows.
func segmentsIn(windows []Judged) (all load.Segments) {
	for _, w := range windows {
		all.Add(w.Segments)
	}
	return all
}

// excused is the share of answers that may be late by the terms that these
// windows broke: by the one that allows the most, for what explains them all
// explains that. late is false where none came too late.
func (s SLA) excused(windows []Judged) (share float64, late bool) {
	for _, w := range windows {
		for _, t := range s.late(w.Window) {
			share, late = max(share, 1-t.Quantile), true
		}
		if w.behind() != "" {
			share, late = max(share, 1-achievedAtLeast), true
		}
	}
	return share, late
}
