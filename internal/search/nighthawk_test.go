package search_test

import (
	"math"
	"slices"

	"github.com/scalebench/scalebench/internal/search"
)

// nighthawk searches as Nighthawk's adaptive load controller does
// (source/adaptive_load/step_controller_impl.cc): the load doubles until a
// window fails, then is bisected, each load tried once, until it changes by
// less than a share, there 1 %, so that the range is less than 2 %. It reports
// the next middle; a last window tries that load, but its outcome changes
// nothing. If the first load fails it has no answer.
//
// It is here for the comparison only: it does nothing that the default
// algorithm does not do better.
type nighthawk struct {
	converged      float64
	load, previous float64
	bottom, top    float64
	bisecting      bool
	doomed, tested bool
	trials         []search.Trial
}

func newNighthawk(start, converged float64) *nighthawk {
	nan := math.NaN()
	return &nighthawk{converged: converged, load: start, previous: nan, bottom: nan, top: nan}
}

func (n *nighthawk) done() bool {
	return n.bisecting && math.Abs(n.load/n.previous-1) < n.converged
}

func (n *nighthawk) Next() (float64, search.Phase, bool) {
	switch {
	case n.doomed || n.tested:
		return 0, "", false
	case n.done():
		return n.load, search.Confirm, true
	case n.bisecting:
		return n.load, search.Refine, true
	}
	return n.load, search.Ramp, true
}

func (n *nighthawk) Observe(passed bool) {
	load, phase, ok := n.Next()
	if !ok {
		return
	}
	n.trials = append(n.trials, search.Trial{Load: load, Phase: phase, Passed: passed})
	switch {
	case phase == search.Confirm:
		n.tested = true
	case !n.bisecting && passed:
		n.previous = n.load
		n.load *= 2
	case !n.bisecting && math.IsNaN(n.previous):
		n.doomed = true
	case !n.bisecting:
		n.bisecting = true
		n.bottom, n.top = n.previous, n.load
		n.halve()
	default:
		if passed {
			n.bottom = n.load
		} else {
			n.top = n.load
		}
		n.halve()
	}
}

func (n *nighthawk) halve() {
	n.previous = n.load
	n.load = (n.bottom + n.top) / 2
}

func (n *nighthawk) Result() search.Result {
	nan := math.NaN()
	r := search.Result{Passed: n.bottom, Failed: n.top, Estimate: nan, Low: nan, High: nan, Trials: slices.Clone(n.trials)}
	if n.tested {
		r.Estimate = n.load
	}
	return r
}
