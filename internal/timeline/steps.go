package timeline

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
)

// fullSignals are the counters that tell what was full in a second, which a mean does not.
var fullSignals = []string{bottleneck.SignalCPU, bottleneck.SignalSent, bottleneck.SignalReceived}

// Recorded is what a generator recorded under a name; nil: nothing.
func Recorded(x model.Result, name string) *model.HostSeries {
	i := slices.IndexFunc(x.Host, func(h model.HostSeries) bool { return h.Metric == name && len(h.Offsets) == len(h.Values) })
	if i < 0 {
		return nil
	}
	return &x.Host[i]
}

// longestGap is for how long a reading may be missing until what lies between is
// not known. The mean of a rate is, however far two readings within the run are apart.
const longestGap = int64(2500 * time.Millisecond)

// Steps brings a series to steps from an offset on, seconds or parts of them: the rate
// of a counter, interpolated between its readings, or the mean of the states in a step,
// and where none was read in it the state before.
func Steps(h model.HostSeries, from int64, n int, step time.Duration) []float64 {
	out := make([]float64, n)
	in := [2]int64{from, from + int64(n)*int64(step)}
	before := CounterAt(h, from, in)
	for i := range out {
		at := from + int64(i+1)*int64(step)
		if !h.Counter {
			out[i] = stateIn(h, at-int64(step), at)
			continue
		}
		now := CounterAt(h, at, in)
		out[i], before = (now-before)/step.Seconds(), now
	}
	return out
}

// CounterAt interpolates in a run; NaN: outside of the readings, or in a gap of theirs.
func CounterAt(h model.HostSeries, at int64, run [2]int64) float64 {
	_, signal, _ := strings.Cut(h.Metric, ":")
	n := len(h.Offsets)
	i := sort.Search(n, func(i int) bool { return h.Offsets[i] >= at })
	switch {
	case i < n && h.Offsets[i] == at:
		return h.Values[i]
	case signal == bottleneck.SignalProbeFailed: // read when it grows, and at no other time
		return h.Values[max(0, i-1)]
	case i == 0 || i == n:
		return math.NaN()
	case h.Offsets[i]-h.Offsets[i-1] > longestGap && (slices.Contains(fullSignals, signal) || h.Offsets[i-1] < run[0] || h.Offsets[i] > run[1]):
		return math.NaN()
	}
	share := float64(at-h.Offsets[i-1]) / float64(h.Offsets[i]-h.Offsets[i-1])
	return h.Values[i-1] + share*(h.Values[i]-h.Values[i-1])
}

// stateIn is the mean of the readings in [begin, end).
func stateIn(h model.HostSeries, begin, end int64) float64 {
	first := sort.Search(len(h.Offsets), func(i int) bool { return h.Offsets[i] >= begin })
	sum, n := 0.0, 0
	for i := first; i < len(h.Offsets) && h.Offsets[i] < end; i++ {
		if !math.IsNaN(h.Values[i]) {
			sum, n = sum+h.Values[i], n+1
		}
	}
	switch {
	case n > 0:
		return sum / float64(n)
	case first > 0 && begin-h.Offsets[first-1] <= longestGap:
		return h.Values[first-1]
	}
	return math.NaN()
}
