package capacity

import (
	"fmt"
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

// pathChange compares round-trip times of a window with those of the baseline:
// how much longer the median is, and whether that is a change.
func pathChange(baseline, now []float64) (shift time.Duration, changed bool) {
	return pathChangeAt(pathP, baseline, now)
}

func pathChangeAt(p float64, baseline, now []float64) (shift time.Duration, changed bool) {
	if len(baseline) < fewestRTT || len(now) < fewestRTT {
		return 0, false
	}
	was, is := median(baseline), median(now)
	shift = seconds(is - was)
	test, err := stats.MannWhitney(baseline, now)
	return shift, err == nil && test.P < p && math.Abs(is-was) > max(pathShift*was, pathLeast)
}

// median is NaN for no values.
func median(xs []float64) float64 { return quantile(xs, .5) }

// quantile is NaN for no values.
func quantile(xs []float64, q float64) float64 {
	v, err := stats.Quantile(xs, q)
	if err != nil {
		return math.NaN()
	}
	return v
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// pathText says how the path to the target differs from the baseline.
func pathText(shift time.Duration) string {
	if shift < 0 {
		return fmt.Sprintf("the path to the target became %v shorter", short(-shift))
	}
	return fmt.Sprintf("the path to the target became %v longer", short(shift))
}

// tolerated is how much longer something beside the target may take for that
// not to matter to the SLA.
func (s SLA) tolerated() time.Duration {
	return max(time.Duration(lagShare*float64(s.Tightest())), lagAlways)
}

// lost is the share of the handshakes of which something was lost.
func (w Window) lost() float64 {
	if w.Lost == 0 {
		return 0
	}
	return float64(w.Lost) / float64(w.Lost+len(w.RTT))
}

// roundTripsFrom are the round-trip times of these generators, in seconds;
// those of all where nobody knows whose they are.
func (w Window) roundTripsFrom(names []model.NodeID) []float64 {
	if len(w.Parts) == 0 {
		return w.RTT
	}
	var out []float64
	for _, p := range w.Parts {
		if slices.Contains(names, p.Node) {
			out = append(out, roundTrips(p.Handshakes)...)
		}
	}
	return out
}

// roundTrips are the times of the handshakes that are round trips, in seconds.
func roundTrips(hs []load.Handshake) (out []float64) {
	for _, h := range hs {
		if !h.Lost {
			out = append(out, h.Took.Seconds())
		}
	}
	return out
}

// pathOf compares the path in a window with that in the baseline: how much
// longer round trips took, and in what the two differ; "" if in nothing. What
// was lost says most, and a second that differs by what matters to the SLA says
// more than the whole.
func (s SLA) pathOf(base, w Window) (shift time.Duration, difference string) {
	was := base.roundTripsFrom(w.nodes())
	shift, changed := pathChange(was, w.RTT)
	if w.Lost >= fewestLost && w.lost() > base.lost()+lostShare {
		return shift, fmt.Sprintf("%d of %d TCP handshakes with the target were not answered in time", w.Lost, w.Lost+len(w.RTT))
	}
	if changed && shift.Abs() >= s.tolerated() {
		return shift, pathText(shift)
	}
	if second, longer := s.worstSecond(was, w); longer != 0 {
		return longer, fmt.Sprintf("in second %d of the window %s", second, pathText(longer))
	}
	if changed {
		return shift, pathText(shift)
	}
	return shift, ""
}

// worstSecond is the second of a window, from 1, in which round trips differ
// most from what they were, and by how much; 0 where that is chance, or of no
// matter to the SLA.
func (s SLA) worstSecond(was []float64, w Window) (second int, shift time.Duration) {
	all := bySecond(w)
	for i, now := range all {
		longer, changed := pathChangeAt(pathP/float64(len(all)), was, now)
		if changed && longer.Abs() >= s.tolerated() && longer.Abs() > shift.Abs() {
			second, shift = i+1, longer
		}
	}
	return second, shift
}

// bySecond are the round-trip times of all generators by scored second.
func bySecond(w Window) [][]float64 {
	first, n := time.Duration(math.MaxInt64), int(w.Scored/time.Second)
	for _, p := range w.Parts {
		for _, h := range p.Handshakes {
			first = min(first, h.At.Truncate(time.Second))
		}
	}
	out := make([][]float64, n)
	for _, p := range w.Parts {
		for _, h := range p.Handshakes {
			if i := int((h.At - first) / time.Second); i < n && !h.Lost {
				out[i] = append(out[i], h.Took.Seconds())
			}
		}
	}
	return out
}
