package capacity

import (
	"fmt"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/unit"
)

// Path is what showed that the path to the target was at its limit.
type Path struct {
	// Load is the load that was failed, in operations per second.
	Load float64
	// Light and Full are the median round trips in the baseline and at that
	// load; Lost is the share of handshakes there of which something was lost.
	Light time.Duration
	Full  time.Duration
	Lost  float64
	// Received and Sent are the bytes per second of answers and requests at
	// that load; 0 where the driver does not know.
	Received float64
	Sent     float64
	// Nodes are the generators whose path it is; none: that of all.
	Nodes []model.NodeID
}

// String says what was seen, for a sentence to go on.
func (p Path) String() string {
	whose := ""
	if len(p.Nodes) > 0 {
		whose = " from " + Names(p.Nodes)
	}
	text := fmt.Sprintf("round trips to the target%s took %v under a light load and %v at %s", whose, short(p.Light), short(p.Full), rateText(p.Load))
	if p.Lost > 0 {
		text += fmt.Sprintf(", where %s of the TCP handshakes lost a packet", about(p.Lost))
	}
	switch {
	case p.Sent > p.Received:
		text += fmt.Sprintf("; %s of requests were sent meanwhile", bits(p.Sent))
	case p.Received > 0:
		text += fmt.Sprintf("; %s of answers came meanwhile", bits(p.Received))
	}
	return text
}

// bits is a rate of bytes as links are sold: payload, without the headers of
// packets.
func bits(bytesPerSecond float64) string { return unit.Human(8*bytesPerSecond, "bit/s") }

// pathLimits returns what shows that the path explains what was missed at the
// boundary; nil if nothing does. Round trips are those of TCP handshakes, which
// the target's kernel answers and not its application. Either of two shows it:
//
//   - They took longer at the load failed than at the one passed, by at least
//     half of what the SLA was missed by.
//   - There was a standing queue: even the quickest tenth took longer than
//     nine tenths of those under a light load, by so much that it matters. A
//     link that is not at its limit empties its queue again and again, however
//     bursty its load is; one that is at its limit does not (Nichols and
//     Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012). How long
//     answers then take says nothing: they wait in front of the queue, too.
func (r *replay) pathLimits(found search.Result) *Path {
	failed := r.windowsAt(found.Failed, Missed)
	if len(failed) == 0 {
		return nil
	}
	passedRTT, failedRTT := r.roundTrips(found.Passed, Passed), r.roundTrips(found.Failed, Missed)
	if shift, changed := pathChange(passedRTT, failedRTT); changed && shift > 0 && 2*shift >= r.excess(found.Passed, found.Failed) {
		return r.pathAt(found.Failed, failed, nil)
	}
	if nodes, standing := r.standing(failed); standing {
		return r.pathAt(found.Failed, failed, nodes)
	}
	return nil
}

// windowsAt are those at a load with this verdict.
func (r *replay) windowsAt(load float64, v Verdict) (out []Judged) {
	for _, j := range r.judged {
		if j.Load == load && j.Verdict == v {
			out = append(out, j)
		}
	}
	return out
}

// roundTrips of the windows at a load with this verdict.
func (r *replay) roundTrips(load float64, v Verdict) (out []float64) {
	for _, j := range r.windowsAt(load, v) {
		out = append(out, j.RTT...)
	}
	return out
}

// standing finds the generators whose path had a standing queue in these
// windows, and whether they offered enough of the load to be why the SLA was
// missed. No names: it is all of them.
func (r *replay) standing(windows []Judged) (names []model.NodeID, enough bool) {
	last := windows[len(windows)-1].Window
	if len(last.Parts) == 0 {
		return nil, r.queued(r.baseline.RTT, rttOf(windows, nil))
	}
	for _, node := range last.nodes() {
		one := []model.NodeID{node}
		if r.queued(r.baseline.roundTripsFrom(one), rttOf(windows, one)) {
			names = append(names, node)
		}
	}
	if len(names) == 0 || last.shareOf(names) <= 1-r.cfg.SLA.strictest() {
		return nil, false
	}
	if len(names) == len(last.Parts) {
		names = nil
	}
	return names, true
}

// rttOf are the round trips of some generators in several windows.
func rttOf(windows []Judged, names []model.NodeID) (out []float64) {
	for _, w := range windows {
		out = append(out, w.roundTripsFrom(names)...)
	}
	return out
}

// queued reports whether the quickest round trips took so much longer that a
// queue stood.
func (r *replay) queued(light, full []float64) bool {
	if len(light) < fewestRTT || len(full) < fewestRTT {
		return false
	}
	return seconds(quantile(full, .1)-quantile(light, .9)) >= r.cfg.SLA.tolerated()
}

// strictest is the largest quantile that a term bounds.
func (s SLA) strictest() float64 {
	q := 0.0
	for _, t := range s.Terms {
		q = max(q, t.Quantile)
	}
	return q
}

// pathAt is what was seen of the path at a load.
func (r *replay) pathAt(load float64, windows []Judged, names []model.NodeID) *Path {
	p := &Path{Load: load, Nodes: names}
	of := names
	if len(of) == 0 {
		of = windows[0].nodes()
	}
	p.Light, p.Full = seconds(median(r.baseline.roundTripsFrom(of))), seconds(median(rttOf(windows, of)))
	lost, all, scored := 0, 0, 0.0
	for _, w := range windows {
		lost, all = lost+w.Lost, all+w.Lost+len(w.RTT)
		scored += w.Scored.Seconds()
		p.Received += float64(w.Received)
		p.Sent += float64(w.Sent)
	}
	p.Lost = float64(lost) / float64(max(all, 1))
	p.Received, p.Sent = p.Received/max(scored, 1e-9), p.Sent/max(scored, 1e-9)
	return p
}

// knownPath reports whether the path is as bad in a window as it has been
// confirmed to be under load, or not as bad.
func (r *replay) knownPath(w Window) bool {
	if r.congested == nil {
		return false
	}
	shift, changed := pathChange(r.congested.roundTripsFrom(w.nodes()), w.RTT)
	return (!changed || shift <= 0) && w.lost() <= r.congested.lost()+2*lostShare
}

// settle looks at a window that was passed after the path had changed under
// load. If it is still as it was then, it has changed for good.
func (r *replay) settle(w Window) {
	if r.congested == nil {
		return
	}
	shift, changed := pathChange(r.baseline.roundTripsFrom(w.nodes()), w.RTT)
	_, moved := pathChange(r.congested.roundTripsFrom(w.nodes()), w.RTT)
	if !changed || moved {
		return
	}
	r.baseline, r.congested = w, nil
	r.warnings = slices.Concat(r.warnings, []string{fmt.Sprintf("at %s %s for good; round-trip times are compared with the new ones from then on", rateText(w.Load), pathText(shift))})
}
