package capacity

import (
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/stats"
)

// Bounds beyond which the path to the target counts as changed.
const (
	pathP     = .01 // of the tests for chance
	pathShift = .20 // of the median
	// pathLeast is the least change of the median, in seconds: round trips
	// within a machine take 30 µs, and a fifth more or less of that is what
	// its processors do.
	pathLeast = 200e-6
	// fewestRTT are too few to test.
	fewestRTT = 8
	// lostShare is by how much the share of handshakes may grow of which
	// something was lost; fewer than fewestLost are chance.
	lostShare  = .05
	fewestLost = 2
)

// changeFrom compares the round-trip times of a window with those that its generators
// had in another: how much longer the median is, and whether that is a change.
func changeFrom(base, now load.Window) (shift time.Duration, changed bool) {
	return pathChange(pathP, roundTripsFrom(base, nodes(now)), now.RTT)
}

// pathChange compares round-trip times: how much longer the median is now, and whether
// that is a change.
func pathChange(p float64, was, now []float64) (shift time.Duration, changed bool) {
	if len(was) < fewestRTT || len(now) < fewestRTT {
		return 0, false
	}
	before, by := stats.Median(was), stats.Median(now)-stats.Median(was)
	test, err := stats.MannWhitney(was, now)
	return seconds(by), err == nil && test.P < p && math.Abs(by) > max(pathShift*before, pathLeast)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pathReason says how, and when, the path to the target differs from the
// baseline.
func pathReason(when string, shift time.Duration, at ...figure) *reason {
	how := "longer"
	if shift < 0 {
		how = "shorter"
	}
	return because(when+"the path to the target became %s "+how, append(at, took(shift.Abs()))...)
}

// tolerated is how much longer something beside the target may take for that
// not to matter to the SLA.
func (c Config) tolerated() time.Duration {
	return max(time.Duration(lagShare*float64(c.SLA.Tightest())), lagAlways)
}

// lost is the share of the handshakes of which something was lost.
func lost(w load.Window) float64 {
	if w.Lost == 0 {
		return 0
	}
	return float64(w.Lost) / float64(w.Lost+len(w.RTT))
}

// roundTripsFrom are the round-trip times of these generators, in seconds;
// those of all without names, or where nobody knows whose they are.
func roundTripsFrom(w load.Window, names []model.NodeID) []float64 {
	if len(names) == 0 || len(w.Generators) == 0 {
		return w.RTT
	}
	var out []float64
	for _, p := range w.Generators {
		if slices.Contains(names, p.Node) {
			out = append(out, load.RoundTrips(p.Handshakes)...)
		}
	}
	return out
}

// pathOf says in what the path in a window differs from that in the baseline;
// nil: in nothing. What was lost says most, and a second that differs by what
// matters to the SLA says more than the whole.
func (c Config) pathOf(base, w load.Window) *reason {
	if w.Lost >= fewestLost && lost(w) > lost(base)+lostShare {
		return because("%s of %s TCP handshakes with the target were not answered in time", count(w.Lost), count(w.Lost+len(w.RTT)))
	}
	shift, changed := changeFrom(base, w)
	if !changed || shift.Abs() < c.tolerated() {
		if second, longer := c.worstSecond(roundTripsFrom(base, nodes(w)), w); longer != 0 {
			return pathReason("in second %s of the window ", longer, count(second))
		}
	}
	if changed {
		return pathReason("", shift)
	}
	return nil
}

// worstSecond is the second of a window, from 1, in which round trips differ
// most from what they were, and by how much; 0 where that is chance, or of no
// matter to the SLA.
func (c Config) worstSecond(was []float64, w load.Window) (second int, shift time.Duration) {
	all := bySecond(w)
	for i, now := range all {
		longer, changed := pathChange(pathP/float64(len(all)), was, now)
		if changed && longer.Abs() >= c.tolerated() && longer.Abs() > shift.Abs() {
			second, shift = i+1, longer
		}
	}
	return second, shift
}

// bySecond are the round-trip times of all generators by scored second.
func bySecond(w load.Window) [][]float64 {
	first, n := time.Duration(math.MaxInt64), int(w.Scored/time.Second)
	for _, p := range w.Generators {
		for _, h := range p.Handshakes {
			first = min(first, h.At.Truncate(time.Second))
		}
	}
	out := make([][]float64, n)
	for _, p := range w.Generators {
		for _, h := range p.Handshakes {
			if i := int((h.At - first) / time.Second); i < n && !h.Lost {
				out[i] = append(out[i], h.Took.Seconds())
			}
		}
	}
	return out
}

// The path is compared with what it is without the load. That is best seen in
// the window, of those that were passed, in which round trips were shortest: one
// that was missed may have filled the path itself, and the first one, too.

// rebase takes the path into account as it was in a window that was passed.
func (r *replay) rebase(w load.Window) {
	switch {
	case len(w.RTT) < fewestRTT:
	case !r.rebased:
		r.baseline, r.rebased = w, true
	case r.settle(w):
	case r.lighter(w):
		r.baseline = w
	}
}

// lighter reports whether round trips from a window's generators took less than
// in the baseline, or are not known there.
func (r *replay) lighter(w load.Window) bool {
	was := roundTripsFrom(r.baseline, nodes(w))
	return len(w.RTT) >= fewestRTT && (len(was) < fewestRTT || stats.Median(w.RTT) < stats.Median(was))
}

// knownPath reports whether the path is as bad in a window as it has been
// confirmed to be under load, or not as bad.
func (r *replay) knownPath(w load.Window) bool {
	if r.congested == nil {
		return false
	}
	shift, changed := changeFrom(*r.congested, w)
	return (!changed || shift <= 0) && lost(w) <= lost(*r.congested)+2*lostShare
}

// settle looks at a window that was passed after the path had changed under
// load. If it is still as it was then, it has changed for good.
func (r *replay) settle(w load.Window) bool {
	if r.congested == nil {
		return false
	}
	shift, changed := changeFrom(r.baseline, w)
	if _, moved := changeFrom(*r.congested, w); !changed || moved {
		return false
	}
	r.settled = append(r.settled, len(r.judged))
	r.baseline, r.congested = w, nil
	r.doubted = slices.Clip(r.doubted) // copies of the replay share it
	r.doubted.Warn("path_changed", "at %s %s for good; round-trip times are compared with the new ones from then on", rate(w.Load), pathReason("", shift))
	return true
}

// lightest are the round trips from these generators, in seconds, under a load
// that is light beside the one failed: from each those of the window in which
// their median was smallest. No names: of all, where nobody knows whose they
// are.
func (r *replay) lightest(failed float64, names []model.NodeID) (out []float64) {
	calm := r.calm(failed)
	if len(names) == 0 {
		return shortestTrips(calm, nil)
	}
	for _, n := range names {
		out = append(out, shortestTrips(calm, []model.NodeID{n})...)
	}
	return out
}

// calm are the windows that may show the path without the load: those that were
// passed since it last changed for good; all, where none was passed. It counts
// as changed only where a load showed it of half the one failed or less: one
// beside that may have filled the path, too.
func (r *replay) calm(failed float64) []Assessment {
	since := 0
	for _, i := range r.settled {
		if 2*r.judged[i].Load <= failed {
			since = i
		}
	}
	passed := only(r.judged[since:], func(j Assessment) bool { return j.Verdict == Passed })
	if len(passed) == 0 {
		return r.judged
	}
	return passed
}

// shortestTrips are the round trips from some generators in the window in which
// their median was smallest.
func shortestTrips(windows []Assessment, names []model.NodeID) (best []float64) {
	for _, w := range windows {
		trips := roundTripsFrom(w.Window, names)
		if len(trips) >= fewestRTT && (best == nil || stats.Median(trips) < stats.Median(best)) {
			best = trips
		}
	}
	return best
}
