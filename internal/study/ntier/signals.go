package ntier

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/model"
)

// signalNames are the signals that the analysis reads.
var signalNames = []string{
	bottleneck.SignalCPU, bottleneck.SignalQuota, bottleneck.SignalPeriods, bottleneck.SignalHeld, bottleneck.SignalRunnable, bottleneck.SignalRunDelay,
	bottleneck.SignalSwitches, bottleneck.SignalPreempted, bottleneck.SignalSendQueue, bottleneck.SignalRetransmits, bottleneck.SignalRTT,
	bottleneck.SignalAcceptQueue, bottleneck.SignalOverflows, bottleneck.SignalDrops, bottleneck.SignalSent, bottleneck.SignalReceived,
	bottleneck.SignalLink, bottleneck.SignalThreads, bottleneck.SignalThreadsMax, bottleneck.SignalThreadsQueue, bottleneck.SignalPool, bottleneck.SignalPoolMax,
	bottleneck.SignalPoolWaiting, bottleneck.SignalResponse, bottleneck.SignalRequests, bottleneck.SignalProbeFailed,
}

// fullSignals are the counters that tell what was full in a second, which a mean does not.
var fullSignals = []string{bottleneck.SignalCPU, bottleneck.SignalSent, bottleneck.SignalReceived}

// services are what a result recorded of the services of tiers, by second of the
// window. A task may have served several.
func (w window) services(x model.Result, tiers []string) []bottleneck.Service {
	var out []bottleneck.Service
	// Clocks that differ a little must not cost the last second.
	seconds := int((w.end.Sub(w.start) + time.Second/10) / time.Second)
	for _, tier := range tiers {
		s := bottleneck.Service{Tier: tier, Node: x.Node, Signals: make(map[string][]float64)}
		for _, h := range x.Host {
			name, ok := strings.CutPrefix(h.Metric, tier+":")
			if ok && slices.Contains(signalNames, name) && len(h.Offsets) == len(h.Values) && len(h.Offsets) > 0 && seconds > 0 {
				s.Signals[name] = bySecond(h, w.start.Sub(x.Started).Nanoseconds(), seconds)
			}
		}
		if len(s.Signals) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// longestGap is for how long a reading may be missing until what lies between is
// not known. The mean of a rate is, however far two readings within the run are apart.
const longestGap = int64(2500 * time.Millisecond)

// bySecond brings a series to the seconds from an offset on: the rate of a counter,
// interpolated between its readings, or the mean of the states in a second, and
// where none was read in it the state before.
func bySecond(h model.HostSeries, from int64, seconds int) []float64 {
	out := make([]float64, seconds)
	in := [2]int64{from, from + int64(seconds)*int64(time.Second)}
	for i := range out {
		begin, end := from+int64(i)*int64(time.Second), from+int64(i+1)*int64(time.Second)
		if h.Counter {
			out[i] = counterAt(h, end, in) - counterAt(h, begin, in)
			continue
		}
		out[i] = stateIn(h, begin, end)
	}
	return out
}

// counterAt interpolates in a run; NaN: outside of the readings, or in a gap of theirs.
func counterAt(h model.HostSeries, at int64, run [2]int64) float64 {
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
