package capacity

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Part is what one generator has done in a window.
type Part struct {
	Node model.NodeID
	// After is how long after the first generator of the window it began.
	After time.Duration
	// Counts are of its operations; Answered is how many latencies its
	// histogram holds.
	Counts   load.Counts
	Answered int64
	// Replies are those of [Window], of this generator.
	Replies int64
	// Lag is how late 1 in 100 of its operations was sent.
	Lag time.Duration
	// Busy and Processor are those of [Window], of this generator.
	Busy, Processor float64
	// Handshakes are those in the scored seconds; At is from the start of the
	// window.
	Handshakes []load.Handshake
}

// newPart is one generator's part without its place among the others.
func newPart(node model.NodeID, s load.Summary, total load.Op, processor float64) Part {
	p := Part{Node: node, Counts: total.Counts, Replies: s.Replies, Busy: s.Usage.Busy, Processor: processor, Handshakes: s.RTT}
	if total.Latency != nil {
		p.Answered = total.Latency.TotalCount()
	}
	if s.Lag != nil && s.Lag.TotalCount() > 0 {
		p.Lag = time.Duration(s.Lag.ValueAtPercentile(99))
	}
	return p
}

// StartSkew is how long after the first generator the last one began.
func (w Window) StartSkew() time.Duration {
	var skew time.Duration
	for _, p := range w.Parts {
		skew = max(skew, p.After)
	}
	return skew
}

// those names the generators of which f holds.
func (w Window) those(f func(Part) bool) (names []model.NodeID) {
	for _, p := range w.Parts {
		if f(p) {
			names = append(names, p.Node)
		}
	}
	return names
}

// generators names some for the beginning of a sentence: where there is only
// one in the window, or the fault is nobody's alone, nobody is named.
func (w Window) generators(names []model.NodeID) string {
	switch {
	case len(w.Parts) == 1:
		return "the generator"
	case len(names) == len(w.Parts):
		return "the generators"
	}
	return whose(names)
}

// Names lists generators for people: the first few of many.
func Names(names []model.NodeID) string {
	const most = 5
	var s []string
	for _, n := range names[:min(most, len(names))] {
		s = append(s, string(n))
	}
	text := strings.Join(s, ", ")
	if more := len(names) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// nodes of the generators, in order.
func (w Window) nodes() []model.NodeID { return w.those(func(Part) bool { return true }) }

// share of the operations due that these generators had.
func (w Window) shareOf(names []model.NodeID) float64 {
	var n int64
	for _, p := range w.Parts {
		if slices.Contains(names, p.Node) {
			n += p.Counts.Due
		}
	}
	return w.share(n)
}
