package report

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/histogram"
)

// triedLoad is what all windows at one load say together.
type triedLoad struct {
	load                     float64 // operations per second
	passed, missed, unusable int
	// sum has the operations and latencies of the windows that passed or
	// missed, added up count by count: percentiles of windows are not averaged.
	// An unusable window says nothing about the target and is no part of it.
	sum capacity.Window
	// broken windows could not be added.
	broken int
}

// loadsTried adds up the windows of a search by load, ascending.
func loadsTried(windows []capacity.Judged) []triedLoad {
	var out []triedLoad
	for _, w := range windows {
		k, found := slices.BinarySearchFunc(out, w.Load, func(t triedLoad, load float64) int { return compareLoads(t.load, load) })
		if !found {
			out = slices.Insert(out, k, triedLoad{load: w.Load, sum: capacity.Window{Load: w.Load}})
		}
		out[k].take(w)
	}
	return out
}

// compareLoads is an order even where a load is no number.
func compareLoads(a, b float64) int {
	switch {
	case a < b || math.IsNaN(a) && !math.IsNaN(b):
		return -1
	case a > b || math.IsNaN(b) && !math.IsNaN(a):
		return 1
	}
	return 0
}

func (t *triedLoad) take(w capacity.Judged) {
	switch w.Verdict {
	case capacity.Passed:
		t.passed++
	case capacity.Missed:
		t.missed++
	default:
		t.unusable++
		return
	}
	if err := t.add(w.Window); err != nil {
		t.broken++
	}
}

// add leaves w as it is: merging changes the first of two histograms.
func (t *triedLoad) add(w capacity.Window) error {
	if t.sum.Latencies == nil && w.Latencies != nil {
		t.sum.Latencies = w.Latencies.Clone()
	} else {
		sum, err := histogram.Merge(t.sum.Latencies, w.Latencies)
		if err != nil {
			return err
		}
		t.sum.Latencies = sum
	}
	t.sum.Counts.Add(w.Counts)
	t.sum.Scored += w.Scored
	return nil
}

// counted is how many windows are in the sum.
func (t triedLoad) counted() int { return t.passed + t.missed - t.broken }

// latency is in seconds, and +Inf where fewer operations than that ended well.
// ok is false where nothing is known of this load.
func (t triedLoad) latency(q float64) (seconds float64, ok bool) {
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
func telling(loads []triedLoad) []triedLoad {
	var out []triedLoad
	for _, t := range loads {
		if t.counted() > 0 && t.sum.Counts.Due > 0 && t.load > 0 && num.Finite(t.load) {
			out = append(out, t)
		}
	}
	return out
}

// nearest returns at most so many loads, ascending: those nearest to the
// boundary by their ratio to it.
func nearest(loads []triedLoad, r capacity.Result, most int) []triedLoad {
	if len(loads) <= most {
		return loads
	}
	center := boundaryLoad(loads, r)
	out := slices.Clone(loads)
	away := func(t triedLoad) float64 {
		if d := math.Abs(math.Log(t.load / center)); num.Finite(d) {
			return d
		}
		return math.Inf(1) // no load at all
	}
	slices.SortStableFunc(out, func(a, b triedLoad) int { return compareLoads(away(a), away(b)) })
	out = out[:most]
	slices.SortFunc(out, func(a, b triedLoad) int { return compareLoads(a.load, b.load) })
	return out
}

// boundaryLoad is where a search was looking in the end.
func boundaryLoad(loads []triedLoad, r capacity.Result) float64 {
	for _, v := range []*float64{r.Estimate, r.Passed, r.Failed} {
		if v != nil && *v > 0 {
			return *v
		}
	}
	return loads[len(loads)-1].load
}

// bindingTerm is the term on latencies that the load failed exceeds most, in
// proportion to its limit: of several the one that the boundary is due to. ok
// is false for an SLA without such a term.
func bindingTerm(x capacity.Found, loads []triedLoad) (term capacity.Term, ok bool) {
	worst := math.Inf(-1)
	for t := range x.Config.SLA.Latencies() {
		if share := exceeded(x.Result, loads, t); !ok || share > worst {
			term, worst, ok = t, share, true
		}
	}
	return term, ok
}

// exceeded is the latency at the load failed, or else at the largest one, as a
// share of the limit; 0 where nothing is known.
func exceeded(r capacity.Result, loads []triedLoad, t capacity.Term) float64 {
	for i := len(loads) - 1; i >= 0; i-- {
		if r.Failed != nil && loads[i].load != *r.Failed {
			continue
		}
		if seconds, ok := loads[i].latency(t.Quantile); ok {
			return seconds / t.Latency.Seconds()
		}
	}
	return 0
}
