package capacity

import (
	"math"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/search"
)

// Window is what happened while one load was offered, over all generators. It
// covers the seconds that are scored; those of warming up are cut.
type Window struct {
	// Load is what was asked for, in operations per second.
	Load  float64
	Phase search.Phase
	Start time.Time
	// Scored is the length of what is scored.
	Scored time.Duration
	// Counts are of all kinds of operations together.
	Counts load.Counts
	// Replies is how many operations ended well in the time scored, whenever
	// they were due.
	Replies int64
	// Latencies are of the operations that ended well, from when they were
	// due; Services from when they were sent; Lags are the generators' own
	// delays. In ns; nil where there is none.
	Latencies, Services, Lags *hdr.Histogram
	// Seconds are the scored seconds, for the paper's algorithm and figures.
	Seconds []Second
	// RTT are round-trip times of TCP handshakes made meanwhile, in seconds;
	// Lost is how many more there were of which something was lost.
	RTT  []float64
	Lost int
	// Segments are TCP segments that arrived at the generators. Where several
	// share a machine, each has counted those of all; none where nobody knows.
	Segments load.Segments
	// Sent and Received are bytes of requests and answers; 0 where the driver
	// does not know.
	Sent, Received int64
	// Processor is the largest share, among generators, of the processors that
	// one may use, or of all those of its machine, that were in use; 0 where
	// nobody knows.
	Processor float64
	// Busy is the largest share of time in which a generator's loop was not
	// idle.
	Busy float64
	// Parts are what the generators did each, in the order of their names.
	Parts []Part
}

// Second is one second of a window.
type Second struct {
	At      time.Duration // from the start of the window
	Due, OK int64
	// Replies came in this second, to what was due in it or before.
	Replies int64
	// Median and P90 are the latencies, in seconds, within which these shares
	// of what was due in this second were answered; NaN where fewer were.
	Median, P90 float64
}

// share of the operations due.
func (w Window) share(n int64) float64 {
	if w.Counts.Due == 0 {
		return math.NaN()
	}
	return float64(n) / float64(w.Counts.Due)
}

// Achieved is the rate at which operations were answered well while the load
// was offered, in operations per second. It is less than the load where a server
// falls behind, also if it answers everything in the end.
func (w Window) Achieved() float64 {
	if w.Scored <= 0 {
		return 0
	}
	return float64(w.Replies) / w.Scored.Seconds()
}

// Latency returns the latency within which a share q of all operations due was
// answered. known is false if fewer than that ended well: the others count as
// slower than anything.
func (w Window) Latency(q float64) (d time.Duration, known bool) {
	return quantileOfDue(w.Latencies, w.Counts.Due, q)
}

// exceeds reports whether the latency within which a share q was answered is
// longer than d; by less than histograms tell apart is not.
func (w Window) exceeds(q float64, d time.Duration) bool {
	got, known := w.Latency(q)
	return !known || got > d && !w.Latencies.ValuesAreEquivalent(int64(got), int64(d))
}

// quantileOfDue finds the smallest value that at least a share q of due
// operations do not exceed, where h has only those that ended well.
func quantileOfDue(h *hdr.Histogram, due int64, q float64) (d time.Duration, known bool) {
	rank := int64(math.Ceil(q * float64(due)))
	if h == nil || rank > h.TotalCount() || rank < 1 {
		return 0, false
	}
	// The library rounds a percentile to the nearest rank.
	return time.Duration(h.ValueAtPercentile(100 * (float64(rank) - .25) / float64(h.TotalCount()))), true
}
