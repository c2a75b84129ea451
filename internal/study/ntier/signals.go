package ntier

import (
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/bottleneck"
	"github.com/scalebench/scalebench/internal/load/session"
	"github.com/scalebench/scalebench/internal/model"
)

// signalNames are the signals that the analysis reads.
var signalNames = []string{
	bottleneck.SignalCPU, bottleneck.SignalQuota, bottleneck.SignalPeriods, bottleneck.SignalHeld, bottleneck.SignalRunnable, bottleneck.SignalRunDelay,
	bottleneck.SignalSwitches, bottleneck.SignalPreempted, bottleneck.SignalSendQueue, bottleneck.SignalRetransmits, bottleneck.SignalRTT,
	bottleneck.SignalAcceptQueue, bottleneck.SignalOverflows, bottleneck.SignalDrops, bottleneck.SignalSent, bottleneck.SignalReceived,
	bottleneck.SignalLink, bottleneck.SignalLinkIn, bottleneck.SignalThreads, bottleneck.SignalThreadsMax, bottleneck.SignalThreadsQueue, bottleneck.SignalPool, bottleneck.SignalPoolMax,
	bottleneck.SignalPoolWaiting, bottleneck.SignalResponse, bottleneck.SignalRequests, bottleneck.SignalProbeFailed,
}

// fullSignals are the counters that tell what was full in a second, which a mean does not.
var fullSignals = []string{bottleneck.SignalCPU, bottleneck.SignalSent, bottleneck.SignalReceived}

// services are what a result recorded of the services of tiers, by second of the
// window. A task may have served several.
func (w window) services(x model.Result, tiers []string) []bottleneck.Service {
	return w.inSteps(x, tiers, time.Second, func(name string, _ model.HostSeries) bool { return slices.Contains(signalNames, name) })
}

// inSteps are what a result recorded of the services of tiers, by step of the window, of
// the signals that are taken.
func (w window) inSteps(x model.Result, tiers []string, step time.Duration, takes func(name string, h model.HostSeries) bool) []bottleneck.Service {
	var out []bottleneck.Service
	// Clocks that differ a little must not cost the last second.
	n := int((w.end.Sub(w.start) + time.Second/10) / step)
	for _, tier := range tiers {
		s := bottleneck.Service{Tier: tier, Node: x.Node, Signals: make(map[string][]float64)}
		for _, h := range x.Host {
			name, ok := strings.CutPrefix(h.Metric, tier+":")
			if ok && len(h.Offsets) == len(h.Values) && len(h.Offsets) > 0 && n > 0 && takes(name, h) {
				s.Signals[name] = bySteps(h, w.start.Sub(x.Started).Nanoseconds(), n, step)
			}
		}
		if len(s.Signals) > 0 {
			out = append(out, s)
		}
	}
	return out
}

// States that hold until the next, and what is looked at in parts of a second.
var (
	limitNames = []string{bottleneck.SignalQuota, bottleneck.SignalLink, bottleneck.SignalLinkIn, bottleneck.SignalThreadsMax, bottleneck.SignalPoolMax}
	fineNames  = []string{
		bottleneck.SignalCPU, bottleneck.SignalPeriods, bottleneck.SignalHeld, bottleneck.SignalSent, bottleneck.SignalReceived,
		bottleneck.SignalThreads, bottleneck.SignalThreadsQueue, bottleneck.SignalPool, bottleneck.SignalPoolWaiting,
	}
)

// longestStep between readings that tell of parts of a second.
const longestStep = 500 * time.Millisecond

// fine are the services of results by windows of a part of a second: as long as the
// readings are apart, and whole periods of a quota. 0: nothing was recorded so fast.
func (w window) fine(results []model.Result, tiers []string) (out []bottleneck.Service, width time.Duration) {
	for _, x := range results {
		for _, h := range x.Host {
			if tier, name, _ := strings.Cut(h.Metric, ":"); slices.Contains(tiers, tier) && name == bottleneck.SignalCPU && stepOf(h) <= longestStep {
				periods := math.Ceil(.9 * stepOf(h).Seconds() / bottleneck.Period) // some readings are late
				width = max(width, time.Duration(periods*bottleneck.Period*float64(time.Second)))
			}
		}
	}
	for _, x := range results {
		if width > 0 {
			out = append(out, w.inSteps(x, tiers, width, func(name string, h model.HostSeries) bool {
				return slices.Contains(limitNames, name) || slices.Contains(fineNames, name) && stepOf(h) <= width*10/9
			})...)
		}
	}
	return out, width
}

// stepOf is how far readings are apart, on average.
func stepOf(h model.HostSeries) time.Duration {
	if n := len(h.Offsets); n > 1 {
		return time.Duration(h.Offsets[n-1]-h.Offsets[0]) / time.Duration(n-1)
	}
	return math.MaxInt64
}

// responses are the mean response times of each second of the window, in seconds, of
// what all generators sent.
func (w window) responses(generators []model.Result) []float64 {
	var sum, rates []float64
	seconds := int((w.end.Sub(w.start) + time.Second/10) / time.Second)
	for _, x := range generators {
		response, rate := recorded(x, session.RecordingResponse), recorded(x, session.RecordingRate)
		if response == nil || rate == nil || seconds <= 0 {
			return nil
		}
		if sum == nil {
			sum, rates = make([]float64, seconds), make([]float64, seconds)
		}
		from := w.start.Sub(x.Started).Nanoseconds()
		r, n := bySteps(*response, from, seconds, time.Second), bySteps(*rate, from, seconds, time.Second)
		for i := range r {
			if n[i] > 0 && r[i] > 0 { // not where none was due
				sum[i], rates[i] = sum[i]+r[i]*n[i]*1e-3, rates[i]+n[i]
			}
		}
	}
	for i := range sum {
		sum[i] /= rates[i]
	}
	return sum
}

// recorded is what a generator recorded under a name; nil: nothing.
func recorded(x model.Result, name string) *model.HostSeries {
	i := slices.IndexFunc(x.Host, func(h model.HostSeries) bool { return h.Metric == name && len(h.Offsets) == len(h.Values) })
	if i < 0 {
		return nil
	}
	return &x.Host[i]
}

// longestGap is for how long a reading may be missing until what lies between is
// not known. The mean of a rate is, however far two readings within the run are apart.
const longestGap = int64(2500 * time.Millisecond)

// bySteps brings a series to steps from an offset on, seconds or parts of them: the rate
// of a counter, interpolated between its readings, or the mean of the states in a step,
// and where none was read in it the state before.
func bySteps(h model.HostSeries, from int64, n int, step time.Duration) []float64 {
	out := make([]float64, n)
	in := [2]int64{from, from + int64(n)*int64(step)}
	before := counterAt(h, from, in)
	for i := range out {
		at := from + int64(i+1)*int64(step)
		if !h.Counter {
			out[i] = stateIn(h, at-int64(step), at)
			continue
		}
		now := counterAt(h, at, in)
		out[i], before = (now-before)/step.Seconds(), now
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
