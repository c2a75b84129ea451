package capacity

import (
	"cmp"
	"math"
	"slices"
	"time"

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
	// noTimeWeight is lagWeight of a generator that has no time left: what waits
	// in it grows as a queue does, and its late sends and reads show a part only.
	noTimeWeight = 10
	// waitedShare is the largest share of operations that may have waited for
	// one of the generators' connections.
	waitedShare = .01
	// processorLimit is the share of its processors from which on a generator may
	// be kept waiting for one, busyLimit the share of its time from which on a
	// loop has none left.
	processorLimit = .85
	busyLimit      = .85
)

// health says what other than the target can be why a window was missed: then it
// says nothing about the target. A window that kept its SLA is never refused, for
// latencies count from when operations were due: what the generators do wrong can
// only make them longer. Nor is one that the target's own errors broke.
//
// light is how long an answer took on average, from when it was sent, in a window
// that was passed; 0 if there is none.
//
// The generators that did it are named, where it was not all of them.
func (c Config) health(w load.Window, light time.Duration) (problems []reason) {
	own := w.Share(ownErrors(w))
	if slices.ContainsFunc(c.SLA.Terms, func(t load.Term) bool { return t.OnErrors() && own > t.Errors }) {
		return nil
	}
	full := c.relevant(w, func(p load.Generator) bool { return p.Processor > processorLimit && p.Own <= processorLimit })
	starved := len(full) > 0 || len(w.Generators) == 0 && w.Processor > processorLimit
	if starved && w.Stall() <= noTimeWeight*lag(w) { // who else waits for a processor does not wait for longer
		r := blame(w, full, "the machine of %s was full, with its processors busy for %s of the time, so that this window does not tell who was at the limit: stop what else runs there, or use another machine than the server's",
			share(w.Processor))
		r.machine = true
		return []reason{r}
	}
	if late := c.lateness(w); late != nil {
		problems = append(problems, *late)
	}
	if few := c.connectionsNeeded(w, light); few > 0 {
		waited := w.Share(w.Counts.Waited + w.Counts.Dropped)
		problems = append(problems, blame(w, nil, "%[2]s of the operations waited for a connection of %[1]s: while answers take %[3]s, this load needs up to %[4]s at a time, and %[5]s are allowed; allow more connections",
			share(waited), took(light), count(few), count(c.connections(w))))
	}
	return problems
}

// lateness says which generators sent or read late, if that can be why the SLA was
// missed. A target that is slow makes no generator late. Who reads late is told
// by that alone: latencies that end with the kernel's stamp do not show it, but
// the answers stay in the kernel's buffers, which hold up what is still to come.
func (c Config) lateness(w load.Window) *reason {
	allowed := c.tolerated()
	either := func(p load.Generator) time.Duration { return max(p.Lag, p.ReceiveLag) }
	busy := c.relevant(w, func(p load.Generator) bool {
		return either(p) > allowed && (p.Busy > busyLimit || p.Own > processorLimit)
	})
	if len(busy) > 0 && c.keptWithout(w, noTimeWeight*worst(w, busy, either)) {
		words, late := "operations was sent", worst(w, busy, sendLag)
		if late <= allowed {
			words, late = "answers was read", worst(w, busy, func(p load.Generator) time.Duration { return p.ReceiveLag })
		}
		r := blame(w, busy, "%s had no time left: busy for %s of it, and 1 in 100 "+words+
			" late by %s or more, where at most %s is tolerated",
			share(busiest(w, busy)), took(late), exactly(allowed))
		return &r
	}
	if lag := lag(w); lag > allowed && c.keptWithout(w, lagWeight*lag) {
		late := those(w, func(p load.Generator) bool { return sendLag(p) > allowed })
		r := blame(w, late, "%s sent late: 1 in 100 operations by %s or more, where at most %s is tolerated; busy for %s of the time",
			took(lag), exactly(allowed), share(busiest(w, late)))
		return &r
	}
	return nil
}

// sendLag is how late 1 in 100 operations of a generator was sent.
func sendLag(p load.Generator) time.Duration { return p.Lag }

// connections are those that the generators of a window may have at a time; 0 if
// that is not known.
func (c Config) connections(w load.Window) int {
	if u := connectionUse(w); u.Allowed > 0 {
		return u.Allowed
	}
	return c.Connections * max(len(w.Generators), 1)
}

// connectionsNeeded is how many connections a load needs at a time, by Little's
// law, if operations had to wait because there are fewer; 0 if that is not why.
// Connections that carry the load while answers take as long as under a light load
// are enough: if they do not, answers take longer, and that is the target's. So
// are those that the target keeps busy for twice as long. Twice the root is what
// chance needs besides (Halfin and Whitt, "Heavy-traffic limits for queues with
// many exponential servers", Operations Research 29, 1981). If the server allows no
// more, that is its own limit.
func (c Config) connectionsNeeded(w load.Window, light time.Duration) int {
	waited := w.Share(w.Counts.Waited + w.Counts.Dropped)
	underWay, there := w.Load*light.Seconds(), float64(c.connections(w))
	needed := underWay + 2*math.Sqrt(underWay)
	if !(waited > waitedShare) || connectionUse(w).short() || needed <= there || 2*w.Achieved()*light.Seconds() < there ||
		slowed(w, light, there) {
		return 0
	}
	for t := range c.SLA.Latencies() {
		if load.AtPercentile(w.Services, 100*t.Quantile) > t.Latency { // whatever waited for them
			return 0
		}
	}
	return int(math.Ceil(needed))
}

// slowed reports whether the target stood still for longer than an answer takes, or
// answered, in some second, less than half of what was due and of what so many
// connections carry. What is due then waits for connections, too. Where answers take
// long, few end in a second, and by chance none.
func slowed(w load.Window, light time.Duration, connections float64) bool {
	if w.Stall() > light {
		return true
	}
	for i, n := range w.Seconds.Replies {
		if 2*light < time.Second && 2*float64(n) < min(float64(w.Seconds.Due[i]), connections/light.Seconds()) {
			return true
		}
	}
	return false
}

// ownErrors are the errors that the target answered with, without as many as came
// together. What a generator has held back comes to the target at once, and one that
// bounds its rate or its queue refuses what it cannot take of that: no more than was
// late by the time between two operations.
func ownErrors(w load.Window) int64 {
	e := w.Counts.Errors
	own := e[load.ErrStatus] + e[load.ErrProtocol] + e[load.ErrWrong] + e[load.ErrClosed] + e[load.ErrConnect]
	apart := max(seconds(float64(max(len(w.Generators), 1))/w.Load), load.LateAfter)
	if w.Lags != nil && w.Lags.Max() >= int64(apart) {
		for _, bar := range w.Lags.Distribution() {
			if bar.From >= int64(apart) {
				own -= bar.Count
			}
		}
	}
	return max(own, 0)
}

// relevant names the generators that have a property, if they offered enough of
// the load to be why the SLA was missed.
func (c Config) relevant(w load.Window, has func(load.Generator) bool) []model.NodeID {
	names := those(w, has)
	if shareOf(w, names) <= 1-c.strictest() {
		return nil
	}
	return names
}

// worst is the largest value among these generators.
func worst[T cmp.Ordered](w load.Window, names []model.NodeID, of func(load.Generator) T) (out T) {
	for _, p := range w.Generators {
		if slices.Contains(names, p.Node) {
			out = max(out, of(p))
		}
	}
	return out
}

// blame is what generators did wrong in a window. None is named where there is only
// one, or the fault is that of all.
func blame(w load.Window, names []model.NodeID, words string, figures ...figure) reason {
	who := named(names)
	switch {
	case len(w.Generators) == 1:
		who = "the generator"
	case len(names) == len(w.Generators):
		who = "the generators"
	}
	return reason{words: words, who: who, nodes: names, figures: figures}
}

// lag is how late 1 in 100 operations was sent; 0 if there is none.
func lag(w load.Window) time.Duration { return load.AtPercentile(w.Lags, 99) }

// unhurried is how long answers took on average, from when they were sent, in the
// quickest second: a window may be passed in which they took longer and longer. 0
// if there is none, or all connections were in use, as in an overload.
func unhurried(w load.Window) time.Duration {
	if w.Services == nil || w.Services.TotalCount() == 0 || w.Share(w.Counts.Waited) > waitedShare {
		return 0
	}
	whole := load.AtPercentile(w.Latencies, 50).Seconds()
	quickest := whole
	for _, p50 := range w.Seconds.P50 {
		if p50 < quickest {
			quickest = p50
		}
	}
	return time.Duration(w.Services.Mean() * quickest / whole)
}

// busiest is the largest share of time in which one of these generators was
// not idle; of all, where none is named.
func busiest(w load.Window, names []model.NodeID) float64 {
	if len(names) == 0 {
		return w.Busy
	}
	return worst(w, names, func(p load.Generator) float64 { return p.Busy })
}

// keptWithout reports whether the SLA might have been kept if answers had come so
// much earlier. What did not end counts with its age: if that is longer than any
// latency allowed even so, the target did not answer.
func (c Config) keptWithout(w load.Window, less time.Duration) bool {
	failed := ownErrors(w) + w.Counts.Errors[load.ErrTimeout] + w.Counts.Unfinished
	for _, t := range c.SLA.Terms {
		q, limit := t.Quantile, t.Latency
		if t.OnErrors() {
			allowed := min(t.Errors, 1-load.AchievedAtLeast)
			if w.Share(failed) <= allowed {
				continue
			}
			q, limit = 1-allowed, c.SLA.Slowest()
		}
		if w.AtLeast(q, c.SLA.Drain())-less > limit {
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
