package capacity

import (
	"cmp"
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/load"
)

// tried is what all windows at one load say together.
type tried struct {
	load                     float64 // operations per second
	passed, missed, unusable int
	// sum has the operations and latencies of the windows that passed or
	// missed, added up count by count: percentiles of windows are not averaged.
	// An unusable window says nothing about the target and is no part of it.
	sum load.Window
}

// loadsOf adds up the windows of a search by load, ascending.
func loadsOf(windows []Assessment) []tried {
	var out []tried
	for _, w := range windows {
		k, found := slices.BinarySearchFunc(out, w.Load, func(t tried, v float64) int { return cmp.Compare(t.load, v) })
		if !found {
			out = slices.Insert(out, k, tried{load: w.Load, sum: load.Window{Load: w.Load}})
		}
		out[k].take(w)
	}
	return out
}

func (t *tried) take(w Assessment) {
	latencies := w.Latencies
	if t.sum.Latencies == nil && latencies != nil {
		latencies = latencies.Clone() // merging changes the first of two
	}
	var err error
	if w.Verdict != Unusable {
		t.sum.Latencies, err = histogram.Merge(t.sum.Latencies, latencies) // fits: the sum covers both
	}
	switch {
	case w.Verdict == Unusable || err != nil:
		t.unusable++
		return
	case w.Verdict == Passed:
		t.passed++
	default:
		t.missed++
	}
	t.sum.Counts.Add(w.Counts)
	t.sum.Scored += w.Scored
}

// counted is how many windows are in the sum.
func (t tried) counted() int { return t.passed + t.missed }

// latency is in seconds, and +Inf where fewer operations than that ended well.
// ok is false where nothing is known of this load.
func (t tried) latency(q float64) (seconds float64, ok bool) {
	if t.counted() == 0 || t.sum.Counts.Due == 0 {
		return math.NaN(), false
	}
	d, known := t.sum.Latency(q)
	if !known {
		return math.Inf(1), true
	}
	return d.Seconds(), true
}

// telling are the loads at which something was seen of the target.
func telling(loads []tried) (out []tried) {
	for _, t := range loads {
		if t.counted() > 0 && t.sum.Counts.Due > 0 {
			out = append(out, t)
		}
	}
	return out
}

// nearest returns at most so many loads, ascending: those nearest to the
// boundary by their ratio to it.
func nearest(loads []tried, a Answer, most int) []tried {
	if len(loads) <= most {
		return loads
	}
	center := loads[len(loads)-1].load
	for _, v := range []*float64{a.Failed, a.Passed, a.Estimate} {
		if v != nil {
			center = *v
		}
	}
	away := func(t tried) float64 { return math.Abs(math.Log(t.load / center)) }
	out := slices.Clone(loads)
	slices.SortStableFunc(out, func(a, b tried) int { return cmp.Compare(away(a), away(b)) })
	out = out[:most]
	slices.SortFunc(out, func(a, b tried) int { return cmp.Compare(a.load, b.load) })
	return out
}

// bindingTerm is the term on latencies that the load failed exceeds most, in
// proportion to its limit: of several the one that the boundary is due to. ok
// is false for an SLA without such a term.
func (s Search) bindingTerm(loads []tried) (term load.Term, ok bool) {
	worst := math.Inf(-1)
	for t := range s.Config.SLA.Latencies() {
		if share := s.Answer.exceeded(loads, t); !ok || share > worst {
			term, worst, ok = t, share, true
		}
	}
	return term, ok
}

// exceeded is the latency at the load failed, or else at the largest one, as a
// share of the limit; 0 where nothing is known.
func (a Answer) exceeded(loads []tried, t load.Term) float64 {
	for i := len(loads) - 1; i >= 0; i-- {
		if a.Failed != nil && loads[i].load != *a.Failed {
			continue
		}
		if seconds, ok := loads[i].latency(t.Quantile); ok {
			return seconds / t.Latency.Seconds()
		}
	}
	return 0
}

// only are the windows with a property.
func only(windows []Assessment, has func(Assessment) bool) (out []Assessment) {
	for _, j := range windows {
		if has(j) {
			out = append(out, j)
		}
	}
	return out
}

// total adds up windows, but for their latencies.
func total(windows []Assessment) (sum load.Window) {
	for _, w := range windows {
		sum.Counts.Add(w.Counts)
		sum.Segments.Add(w.Segments)
		sum.RTT, sum.Lost = append(sum.RTT, w.RTT...), sum.Lost+w.Lost
		sum.Received, sum.Sent = sum.Received+w.Received, sum.Sent+w.Sent
		sum.Scored += w.Scored
	}
	return sum
}
