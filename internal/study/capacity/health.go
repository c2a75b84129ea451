package capacity

import (
	"slices"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
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
	// busyLimit is the share of its time from which on a loop that sends or
	// reads late has no time left: what waits in it grows as a queue does. That
	// is far more than what it sends late.
	busyLimit = .85
)

// health says what the generators did wrong in a window that was missed, if
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
func (c Config) health(w load.Window, drain, light time.Duration) (problems []reason) {
	if c.refused(w) {
		return nil
	}
	full := c.overloaded(w)
	if len(full) > 0 {
		problems = append(problems, c.noTime(w, full))
	} else if lag, allowed := lag(w), c.tolerated(); lag > allowed && c.keptWithout(w, lagWeight*lag, drain) {
		late := those(w, func(p load.Generator) bool { return p.Lag > allowed })
		problems = append(problems, blame(w, late, "%s sent late: 1 in 100 operations by %s or more, where at most %s is tolerated; busy for %s of the time",
			took(lag), exactly(allowed), share(busiest(w, late))))
	}
	answer := service(w)
	unloaded := light > 0 && answer > 0 && answer <= unloadedTimes*light // answers came about as fast as under a light load
	if waited := w.Share(w.Counts.Waited + w.Counts.Dropped); waited > waitedShare && unloaded && len(full) == 0 {
		few := those(w, func(p load.Generator) bool {
			return float64(p.Counts.Waited+p.Counts.Dropped) > waitedShare*float64(p.Counts.Due)
		})
		problems = append(problems, blame(w, few, "%[2]s of the operations waited for a connection of %[1]s, while answers took no longer than under a light load; allow more connections",
			share(waited)))
	}
	if w.Processor > processorLimit {
		full = those(w, func(p load.Generator) bool { return p.Processor > processorLimit })
		problems = append(problems, blame(w, full, "the processors of %s were busy for %s of the time, so latencies may include waiting for a processor: use more or larger generators, and not the server's machine",
			share(w.Processor)))
	}
	return problems
}

// refused reports whether the target's own answers broke the SLA: more errors
// than it allows, without as many as were sent late. What a generator has held
// back comes to the target at once, and one that bounds its rate or its queue
// refuses what it cannot take of that: no more than came late.
func (c Config) refused(w load.Window) bool {
	e := w.Counts.Errors
	own := w.Share(e[load.ErrStatus] + e[load.ErrProtocol] + e[load.ErrWrong] + e[load.ErrClosed] - w.Counts.Late)
	return slices.ContainsFunc(c.SLA.Terms, func(t load.Term) bool { return t.OnErrors() && own > t.Errors })
}

// overloaded names the generators that had no time left, if they offered enough
// of the load to be why the SLA was missed. A target that is slow makes no
// generator late. Who reads late is told by that alone: latencies that end with
// the kernel's stamp do not show it, but the answers stay in the kernel's
// buffers, which hold up what is still to come.
func (c Config) overloaded(w load.Window) []model.NodeID {
	names := those(w, func(p load.Generator) bool { return max(p.Lag, p.ReceiveLag) > c.tolerated() && p.Busy > busyLimit })
	if shareOf(w, names) <= 1-c.strictest() {
		return nil
	}
	return names
}

// noTime says that these generators had no time left: by what they sent late or,
// if that is within what is tolerated, by what they read late.
func (c Config) noTime(w load.Window, names []model.NodeID) reason {
	words, late := "operations was sent", lagOf(w, names, func(p load.Generator) time.Duration { return p.Lag })
	if late <= c.tolerated() {
		words, late = "answers was read", lagOf(w, names, func(p load.Generator) time.Duration { return p.ReceiveLag })
	}
	return blame(w, names, "%s had no time left: busy for %s of it, and 1 in 100 "+words+" late by %s or more, where at most %s is tolerated",
		share(busiest(w, names)), took(late), exactly(c.tolerated()))
}

// lagOf is that of the worst of these generators.
func lagOf(w load.Window, names []model.NodeID, of func(load.Generator) time.Duration) time.Duration {
	var lag time.Duration
	for _, p := range w.Generators {
		if slices.Contains(names, p.Node) {
			lag = max(lag, of(p))
		}
	}
	return lag
}

// blame is what generators did wrong in a window.
func blame(w load.Window, names []model.NodeID, words string, figures ...figure) reason {
	return reason{words: words, who: generators(w, names), nodes: names, figures: figures}
}

// lag is how late 1 in 100 operations was sent, service how long the median
// answer took from when it was sent; 0 if there is none.
func lag(w load.Window) time.Duration     { return percentile(w.Lags, 99) }
func service(w load.Window) time.Duration { return percentile(w.Services, 50) }

func percentile(h *hdr.Histogram, p float64) time.Duration {
	if h == nil || h.TotalCount() == 0 {
		return 0
	}
	return time.Duration(h.ValueAtPercentile(p))
}

// busiest is the largest share of time in which one of these generators was
// not idle; of all, where none is named.
func busiest(w load.Window, names []model.NodeID) float64 {
	if len(names) == 0 {
		return w.Busy
	}
	busy := 0.0
	for _, p := range w.Generators {
		if slices.Contains(names, p.Node) {
			busy = max(busy, p.Busy)
		}
	}
	return busy
}

// keptWithout reports whether the latency terms might have been kept if answers
// had come so much earlier. What was not answered at all took at least drain.
func (c Config) keptWithout(w load.Window, less, drain time.Duration) bool {
	for t := range c.SLA.Latencies() {
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

// those names the generators of a window that have a property.
func those(w load.Window, has func(load.Generator) bool) (names []model.NodeID) {
	for _, g := range w.Generators {
		if has(g) {
			names = append(names, g.Node)
		}
	}
	return names
}

// nodes are all generators of a window, in order.
func nodes(w load.Window) []model.NodeID {
	return those(w, func(load.Generator) bool { return true })
}

// generators names some for the beginning of a sentence; none is named where
// there is only one in the window, or the fault is that of all.
func generators(w load.Window, names []model.NodeID) string {
	switch {
	case len(w.Generators) == 1:
		return "the generator"
	case len(names) == len(w.Generators):
		return "the generators"
	}
	return named(names)
}

// named lists generators for the beginning of a sentence; "the generators"
// without any.
func named(names []model.NodeID) string {
	switch len(names) {
	case 0:
		return "the generators"
	case 1:
		return "generator " + string(names[0])
	}
	return "generators " + num.List(names)
}

// shareOf is the share of the operations due that these generators had.
func shareOf(w load.Window, names []model.NodeID) float64 {
	var n int64
	for _, g := range w.Generators {
		if slices.Contains(names, g.Node) {
			n += g.Counts.Due
		}
	}
	return w.Share(n)
}
