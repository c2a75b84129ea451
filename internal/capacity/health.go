package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// Bounds of what a generator may do to a window.
const (
	// lagShare is the largest part of the tightest latency allowed that the
	// generators' own delay may make up, in 99 of 100 operations.
	lagShare = .05
	// lagAlways is allowed anyway.
	lagAlways = time.Millisecond
	// lagWeight is how much longer answers may take for each unit by which
	// requests are late: they are late themselves, and what was held back
	// comes to the target at once and waits there for as long.
	lagWeight = 2
	// waitedShare is the largest share of operations that may have waited for
	// one of the generators' connections.
	waitedShare = .01
	// unloadedTimes is how many times as long as under a light load answers
	// may take, from when requests were sent, for a server to count as not
	// loaded.
	unloadedTimes = 2
	// processorLimit is the share of the generator's processors from which on
	// it may be kept waiting for one.
	processorLimit = .85
	// busyLimit is the share of its time from which on a loop that sends late
	// has no time left: it reads answers late, too, and what waits in it grows
	// as a queue does. That is far more than what it sends late.
	busyLimit = .85
)

// Health says what the generators did wrong in a window that was missed, if
// that can be why: then it says nothing about the target. A window that kept
// its SLA is never refused, for latencies count from when operations were due:
// what the generators do wrong can only make them longer.
//
// light is how long the median answer took from when it was sent, in a window
// that was passed; 0 if there is none. Where all connections are busy and
// answers take no longer than that, it is the connections that there are too
// few of. Where they take longer the server is at work on what it has, and more
// connections would only let it have more.
//
// The generators that did it are named, where it was not all of them.
func (s SLA) Health(w Window, drain, light time.Duration) (problems []Problem) {
	full := s.overloaded(w)
	if len(full) > 0 {
		problems = append(problems, Problem{full, fmt.Sprintf("%s had no time left: busy for %s of it, and 1 in 100 operations was sent late by %v or more, where %v can be tolerated",
			w.generators(full), about(w.busiest(full)), short(w.lagOf(full)), s.tolerated())})
	} else if lag, allowed := w.lag(), s.tolerated(); lag > allowed && s.keptWithout(w, lagWeight*lag, drain) {
		late := w.those(func(p Part) bool { return p.Lag > allowed })
		problems = append(problems, Problem{late, fmt.Sprintf("%s sent late: 1 in 100 of all operations by %v or more, where %v can be tolerated; busy for %s of the time",
			w.generators(late), short(lag), allowed, about(w.busiest(late)))})
	}
	if share := w.share(w.Counts.Waited + w.Counts.Dropped); share > waitedShare && w.unloaded(light) && len(full) == 0 {
		few := w.those(func(p Part) bool {
			return float64(p.Counts.Waited+p.Counts.Dropped) > waitedShare*float64(p.Counts.Due)
		})
		problems = append(problems, Problem{few, fmt.Sprintf("%s of the operations waited for a connection of %s, while answers took no longer than under a light load; allow more connections",
			about(share), w.generators(few))})
	}
	if w.Processor > processorLimit {
		full = w.those(func(p Part) bool { return p.Processor > processorLimit })
		problems = append(problems, Problem{full, fmt.Sprintf("the processors that %s can use were in use for %s; what is measured may be the wait for one: use more or larger generators, and another machine than the server's",
			w.generators(full), about(min(w.Processor, 1)))})
	}
	return problems
}

// overloaded names the generators that had no time left, if they offered enough
// of the load to be why the SLA was missed. A target that is slow makes no
// generator late.
func (s SLA) overloaded(w Window) []model.NodeID {
	names := w.those(func(p Part) bool { return p.Lag > s.tolerated() && p.Busy > busyLimit })
	if w.shareOf(names) <= 1-s.strictest() {
		return nil
	}
	return names
}

// lagOf is how late 1 in 100 operations was sent by the worst of these.
func (w Window) lagOf(names []model.NodeID) time.Duration {
	var lag time.Duration
	for _, p := range w.Parts {
		if slices.Contains(names, p.Node) {
			lag = max(lag, p.Lag)
		}
	}
	return lag
}

// Problem is what generators did wrong in a window, for people, and which of
// them; nobody, where nobody knows.
type Problem struct {
	Nodes []model.NodeID
	Text  string
}

// busiest is the largest share of time in which one of these generators was
// not idle; of all, where none is named.
func (w Window) busiest(names []model.NodeID) float64 {
	if len(names) == 0 {
		return w.Busy
	}
	busy := 0.0
	for _, p := range w.Parts {
		if slices.Contains(names, p.Node) {
			busy = max(busy, p.Busy)
		}
	}
	return busy
}

// lag is how late 1 in 100 operations was sent.
func (w Window) lag() time.Duration {
	if w.Lags == nil || w.Lags.TotalCount() == 0 {
		return 0
	}
	return time.Duration(w.Lags.ValueAtPercentile(99))
}

// keptWithout reports whether the latency terms might have been kept if answers
// had come so much earlier. What was not answered at all took at least drain.
func (s SLA) keptWithout(w Window, less, drain time.Duration) bool {
	for t := range s.Latencies() {
		got, known := w.Latency(t.Quantile)
		if !known {
			got = drain
		}
		if got-less > t.Latency {
			return false
		}
	}
	return true
}

// unloaded reports whether answers came about as fast as under a light load.
func (w Window) unloaded(light time.Duration) bool {
	return light > 0 && w.service() > 0 && w.service() <= unloadedTimes*light
}

// service is how long the median answer took from when it was sent; 0 if there
// is none.
func (w Window) service() time.Duration {
	if w.Services == nil || w.Services.TotalCount() == 0 {
		return 0
	}
	return time.Duration(w.Services.ValueAtPercentile(50))
}
