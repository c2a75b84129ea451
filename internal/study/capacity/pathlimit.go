package capacity

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/doc/num"
	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/stats"
)

// Path is what showed that the path to the target was at its limit.
type Path struct {
	// Load is the load that was failed, in operations per second.
	Load float64 `json:"load"`
	// Light and Full are the median round trips under a light load and at that
	// load, in milliseconds; Lost is the share of handshakes there of which something
	// was lost.
	Light float64 `json:"rtt_light_ms"`
	Full  float64 `json:"rtt_ms"`
	Lost  float64 `json:"lost"`
	// OutOfOrderLight and OutOfOrder are the shares of TCP segments that came while one
	// sent earlier was missing, under a light load and at that load; nil where nobody
	// knows. Lossy: what was lost of them is what showed it.
	OutOfOrderLight *float64 `json:"out_of_order_light"`
	OutOfOrder      *float64 `json:"out_of_order"`
	Lossy           bool     `json:"-"`
	// Received and Sent are the bytes per second of answers and requests at
	// that load, payload; 0 where the driver does not know.
	Received float64 `json:"received_bytes_per_second"`
	Sent     float64 `json:"sent_bytes_per_second"`
	// Nodes are the generators whose path it is; none: that of all.
	Nodes []model.NodeID `json:"generators,omitempty"`
	// Breaks is the term of the SLA that round trips broke by themselves, of
	// which that percentile took Alone; nil if they broke none.
	Breaks *load.Term    `json:"-"`
	Alone  time.Duration `json:"-"`
}

// String says what was seen, for a sentence to go on.
func (p Path) String() string {
	if p.Breaks != nil {
		return fmt.Sprintf("round trips to the target alone take %v (%s) at %s, where the SLA is %v", num.Brief(p.Alone), load.Percentile(p.Breaks.Quantile), rate(p.Load), p.Breaks)
	}
	from := ""
	if len(p.Nodes) > 0 {
		from = " from " + num.List(p.Nodes)
	}
	text := fmt.Sprintf("round trips to the target%s took %v under a light load and %v at %s",
		from, num.Brief(seconds(p.Light/1000)), num.Brief(seconds(p.Full/1000)), rate(p.Load))
	joint := ", where "
	if p.Lost > 0 {
		text += joint + num.Share(p.Lost) + " of the TCP handshakes lost a packet"
		joint = " and "
	}
	if p.Lossy {
		text += fmt.Sprintf("%s%s of the TCP segments came out of order (%s under a light load), as they do when "+
			"others are lost", joint, num.Share(*p.OutOfOrder), num.Share(*p.OutOfOrderLight))
	}
	// As links are sold: payload, without the headers of packets.
	switch bits := num.Human(8*max(p.Sent, p.Received), "bit/s"); {
	case p.Sent > p.Received:
		text += "; " + bits + " of requests were sent meanwhile"
	case p.Received > 0:
		text += "; " + bits + " of answers came meanwhile"
	}
	return text
}

// pathLimits returns what shows that the path explains what was missed at the
// boundary; nil if nothing does. Round trips are those of TCP handshakes, which
// the target's kernel answers and not its application. Where only errors were
// too many, nothing does. Else any of three shows it:
//
//   - They took longer at the load failed than at the one passed, by at least
//     half of what the SLA was missed by.
//   - There was a standing queue: even the quickest tenth took longer than
//     under a light load, by so much that it matters (see queued). A
//     link that is not at its limit empties its queue again and again, however
//     bursty its load is; one that is at its limit does not (Nichols and
//     Jacobson, Controlling Queue Delay, ACM Queue 10(5), 2012). How long
//     answers then take says nothing: they wait in front of the queue, too.
//   - Segments of answers were lost, as where a path drops what exceeds its rate
//     and has no queue to speak of (see lossy).
//
// At the smallest load allowed no load was passed that the first can compare
// with; there it is round trips that break the SLA by themselves.
func (r *replay) pathLimits(found search.Result) *Path {
	failed := r.windowsAt(found.Failed, Missed)
	slow := r.slow(failed)
	if len(slow) == 0 || 2*len(slow) < len(failed) {
		return nil
	}
	passed := r.windowsAt(found.Passed, Passed)
	if r.longer(passed, slow) {
		return r.pathAt(slow, nil)
	}
	if path := r.pathAlone(slow); found.Floored && path != nil {
		return path
	}
	if nodes, standing := r.standing(slow); standing {
		return r.pathAt(slow, nodes)
	}
	if !r.lossy(passed, slow) {
		return nil
	}
	path := r.pathAt(slow, nil)
	path.Lossy = true
	return path
}

// longer reports whether round trips took longer in the windows failed than in
// those passed, by at least half of what answers did.
func (r *replay) longer(passed, failed []Assessment) bool {
	shift, changed := pathChange(pathP, total(passed).RTT, total(failed).RTT)
	excess := r.cfg.slowest(failed) - r.cfg.slowest(passed)
	return changed && shift > 0 && excess > 0 && 2*shift >= excess
}

// slow are the windows in which answers came too late. The path cannot be why
// one was missed in which there were only too many errors.
func (r *replay) slow(windows []Assessment) []Assessment {
	return only(windows, func(j Assessment) bool {
		nearRTT := r.cfg.Algorithm == search.Paper && j.Phase == search.Ramp // went by latencies alone
		return nearRTT || j.Behind() != "" || len(r.cfg.tooLate(j.Window)) > 0
	})
}

// tooLate are the terms on latencies that a window broke, but for those that it
// would have kept if the answers that were errors had been none.
func (c Config) tooLate(w load.Window) (out []load.Term) {
	e := w.Counts.Errors
	ended := w.Counts.OK + e[load.ErrStatus] + e[load.ErrWrong] + e[load.ErrMissing] + e[load.ErrProtocol]
	for t := range c.SLA.Latencies() {
		_, known := w.Latency(t.Quantile)
		if t.Miss(w) != "" && (known || float64(ended) < t.Quantile*float64(w.Counts.Due)) {
			out = append(out, t)
		}
	}
	return out
}

// pathAlone returns what shows that round trips take longer than a term of the
// SLA allows for whole operations, in most of these windows.
func (r *replay) pathAlone(failed []Assessment) *Path {
	for t := range r.cfg.SLA.Latencies() {
		broken := only(failed, func(j Assessment) bool {
			return len(j.RTT) >= fewestRTT && slices.Contains(r.cfg.tooLate(j.Window), t) &&
				seconds(quantile(j.RTT, t.Quantile)) > t.Latency
		})
		if len(broken) > 0 && 2*len(broken) >= len(failed) {
			path := r.pathAt(failed, nil)
			path.Breaks, path.Alone = &t, seconds(quantile(total(failed).RTT, t.Quantile))
			return path
		}
	}
	return nil
}

// windowsAt are those at a load with this verdict.
func (r *replay) windowsAt(load float64, v Verdict) []Assessment {
	return only(r.judged, func(j Assessment) bool { return j.Load == load && j.Verdict == v })
}

// standing finds the generators whose path had a standing queue in these
// windows, and whether they offered enough of the load to be why the SLA was
// missed. No names: it is all of them.
func (r *replay) standing(windows []Assessment) (names []model.NodeID, enough bool) {
	last := windows[len(windows)-1].Window
	if len(last.Generators) == 0 {
		return nil, r.queued(r.lightest(last.Load, nil), rttOf(windows, nil))
	}
	for _, node := range nodes(last) {
		one := []model.NodeID{node}
		if r.queued(r.lightest(last.Load, one), rttOf(windows, one)) {
			names = append(names, node)
		}
	}
	if len(names) == 0 || shareOf(last, names) <= 1-r.cfg.strictest() {
		return nil, false
	}
	if len(names) == len(last.Generators) {
		names = nil
	}
	return names, true
}

// rttOf are the round trips of some generators in several windows; without names
// of all.
func rttOf(windows []Assessment, names []model.NodeID) (out []float64) {
	for _, w := range windows {
		out = append(out, roundTripsFrom(w.Window, names)...)
	}
	return out
}

// queued reports whether the quickest tenth of round trips took so much longer
// that a queue stood: than nine tenths of those under a light load, or, as large
// answers fill a queue for a while under any load, than the quickest tenth then
// and twice as long.
func (r *replay) queued(light, full []float64) bool {
	if len(light) < fewestRTT || len(full) < fewestRTT {
		return false
	}
	least, was, matters := quantile(full, .1), quantile(light, .1), r.cfg.tolerated()
	return seconds(least-quantile(light, .9)) >= matters || least >= 2*was && seconds(least-was) >= matters
}

// strictest is the largest quantile that a term bounds.
func (c Config) strictest() float64 {
	q := 0.0
	for t := range c.SLA.Latencies() {
		q = max(q, t.Quantile)
	}
	return q
}

// pathAt is what was seen of the path in windows of one load.
func (r *replay) pathAt(windows []Assessment, names []model.NodeID) *Path {
	of := names
	if len(of) == 0 {
		of = nodes(windows[0].Window)
	}
	all, failed := total(windows), windows[0].Load
	length := max(all.Scored.Seconds(), 1e-9)
	return &Path{
		Load: failed, Nodes: names, Lost: lost(all),
		Light:           *milliseconds(seconds(stats.Median(r.lightest(failed, of)))),
		Full:            *milliseconds(seconds(stats.Median(rttOf(windows, of)))),
		OutOfOrderLight: outOfOrder(total(r.lightly(failed)).Segments), OutOfOrder: outOfOrder(all.Segments),
		Received: float64(all.Received) / length, Sent: float64(all.Sent) / length,
	}
}

// Bounds from which on segments out of order are why an SLA was missed.
const (
	// leastOutOfOrder is a growth of their share, and fewestOutOfOrder a number
	// of them, below which nothing can be told.
	leastOutOfOrder  = .001
	fewestOutOfOrder = 100
	// lossGrowth is how many times as many there must be as at the load passed,
	// which kept the SLA with those.
	lossGrowth = 1.25
	// outOfOrderBurst is how many come together: those behind one that was lost.
	outOfOrderBurst = 8
)

// lossy reports whether what was lost on the way can be why answers came too
// late at the load failed. A segment that is lost leaves those behind it out of
// order, so their share must be larger than under a light load, by half of the
// share of answers that may be late, and not by chance; and larger than at the
// load passed. The last segment of an answer is never seen to be lost, as nothing
// is behind it until it was sent again: of answers in one segment, none is.
func (r *replay) lossy(passed, failed []Assessment) bool {
	excused, late := r.cfg.excused(failed)
	light, full := total(r.lightly(failed[0].Load)).Segments, total(failed).Segments
	was, known := light.Share()
	is, knownToo := full.Share()
	if !late || !known || !knownToo || full.OutOfOrder < fewestOutOfOrder {
		return false
	}
	if before, ok := total(passed).Segments.Share(); ok && is < lossGrowth*before {
		return false
	}
	return is-was >= max(excused/2, leastOutOfOrder) && moreOften(light, full)
}

// moreOften reports whether segments come out of order more often than they did,
// by the test of two proportions, with a variance for as many at a time as one
// that was lost has behind it.
func moreOften(light, full load.Segments) bool {
	was, _ := light.Share()
	is, _ := full.Share()
	both := light
	both.Add(full)
	pooled, _ := both.Share()
	deviation := math.Sqrt(outOfOrderBurst * pooled * (1/float64(light.In) + 1/float64(full.In)))
	return 1-stats.NormalCDF((is-was)/deviation) < pathP
}

// lightly are the windows passed at half of the load failed or less; where there
// is none, all that were passed. Windows before the path has changed for good do
// not count.
func (r *replay) lightly(failed float64) []Assessment {
	passed := only(r.calm(failed), func(j Assessment) bool { return j.Verdict == Passed })
	light := only(passed, func(j Assessment) bool { return 2*j.Load <= failed })
	if len(light) == 0 {
		return passed
	}
	return light
}

// excused is the share of answers that may be late by the terms that these
// windows broke: by the one that allows the most, for what explains them all
// explains that. late is false where none came too late.
func (c Config) excused(windows []Assessment) (share float64, late bool) {
	for _, w := range windows {
		for _, t := range c.tooLate(w.Window) {
			share, late = max(share, 1-t.Quantile), true
		}
		if w.Behind() != "" {
			share, late = max(share, 1-load.AchievedAtLeast), true
		}
	}
	return share, late
}

// slowest is the longest that the percentile of a term took in these windows;
// twice the limit counts where it was not reached at all.
func (c Config) slowest(windows []Assessment) (worst time.Duration) {
	for _, j := range windows {
		for t := range c.SLA.Latencies() {
			d, known := j.Latency(t.Quantile)
			if !known {
				d = 2 * t.Latency
			}
			worst = max(worst, d)
		}
	}
	return worst
}
