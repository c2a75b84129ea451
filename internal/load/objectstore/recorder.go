package objectstore

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
)

// Counter is something that a recorder follows over time: the bytes of a kind
// of operations, the operations of a kind where there are two, or all
// operations ("").
type Counter struct {
	Kind  string
	Bytes bool
}

// Parts is what one operation counts as, so that one under way can be counted
// in part.
const Parts = 1 << 20

// Recorder counts what a target does, while it does it. It is safe for
// concurrent use.
type Recorder struct {
	Counters []Counter
	// Latencies are those of each kind, to be read once no operation is under
	// way.
	Latencies map[string]Latencies
	start     time.Time
	ledgers   map[Counter]*ledger

	mu     sync.Mutex
	counts Counts
}

// Counts are the outcomes of operations.
type Counts struct {
	Completed, Failed int64 // operations; those that failed were given up
	// Requests are the attempts that ended, by kind of operation.
	Requests map[string]int64
	// Errors are the attempts that failed; each gave an operation up, or was
	// followed by another attempt, which is one of Retries.
	Errors    map[Failure]int64
	Retries   int64
	firstText map[Failure]string
}

// Latencies are those of the operations that succeeded, in µs; the duration of
// a failure is not a service time.
type Latencies struct {
	Whole     *hdr.Histogram // from the beginning of the first attempt to the end of the one that succeeded
	FirstByte *hdr.Histogram // from there to the first byte of its answer
}

// longest is the longest latency that histograms tell apart, in µs.
const longest = int64(time.Hour / time.Microsecond)

// NewRecorder is for the kinds of an operation, from start on. publish gets the
// final readings, in order for each counter, in bytes or [Parts]; nil: no
// readings.
func NewRecorder(operation string, start time.Time, publish func(c Counter, after time.Duration, n int64)) *Recorder {
	r := &Recorder{
		Latencies: map[string]Latencies{}, start: start, ledgers: map[Counter]*ledger{},
		counts: Counts{Requests: map[string]int64{}, Errors: map[Failure]int64{}, firstText: map[Failure]string{}},
	}
	kinds := Kinds(operation)
	for _, kind := range kinds {
		r.Latencies[kind] = Latencies{Whole: histogram.New(longest), FirstByte: histogram.New(longest)}
		if kind != Delete {
			r.Counters = append(r.Counters, Counter{Kind: kind, Bytes: true})
		}
		if len(kinds) > 1 {
			r.Counters = append(r.Counters, Counter{Kind: kind})
		}
	}
	r.Counters = append(r.Counters, Counter{})
	for _, c := range r.Counters {
		r.ledgers[c] = newLedger(func(after time.Duration, n int64) { publish(c, after, n) })
	}
	return r
}

// Read takes a reading of everything, so long after the start.
func (r *Recorder) Read(after time.Duration) {
	for _, c := range r.Counters {
		r.ledgers[c].read(after)
	}
}

// begin enters an operation, and returns what is to be called at its end, with
// its last attempt.
func (r *Recorder) begin(kind string) (end func(last *transfer, succeeded bool)) {
	begun := time.Since(r.start)
	all, ofKind := r.ledgers[Counter{}], r.ledgers[Counter{Kind: kind}]
	one, oneOfKind := all.begin(Parts), ofKind.begin(Parts)
	return func(last *transfer, succeeded bool) {
		ended := time.Since(r.start)
		all.endEvenly(one, begun, ended, succeeded)
		ofKind.endEvenly(oneOfKind, begun, ended, succeeded)
		if !succeeded {
			return
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.counts.Completed++
		r.counts.Requests[kind]++
		firstByte := last.begun.Add(time.Duration(last.first.Load())).Sub(r.start)
		histogram.Record(r.Latencies[kind].Whole, max((ended-begun).Microseconds(), 1))
		histogram.Record(r.Latencies[kind].FirstByte, max((firstByte-begun).Microseconds(), 1))
	}
}

// attemptFailed counts an attempt at an operation; again says that another follows.
func (r *Recorder) attemptFailed(operation string, why Failure, text string, again bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Requests[operation]++
	r.counts.Errors[why]++
	if r.counts.firstText[why] == "" {
		r.counts.firstText[why] = text
	}
	if again {
		r.counts.Retries++
	} else {
		r.counts.Failed++
	}
}

// Counts is what has become of operations so far.
func (r *Recorder) Counts() Counts {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.counts
	c.Requests, c.Errors, c.firstText = maps.Clone(c.Requests), maps.Clone(c.Errors), maps.Clone(c.firstText)
	return c
}

// Describe lists the kinds of error with the first message of each.
func (c Counts) Describe() string {
	var text string
	for _, kind := range Failures {
		if n := c.Errors[kind]; n > 0 {
			text += fmt.Sprintf("; %s: %d, the first %q", kind, n, c.firstText[kind])
		}
	}
	return text
}

// ledger knows how many bytes had been moved when, and which of these transfers
// turned out to be of use.
//
// A large object on a slow link is under way for many readings, and whether its
// bytes are work done is known only at its end. So each reading notes what has
// been moved of every transfer under way, and waits until all of these have
// ended: those that succeeded are then added, those that failed are not. A
// published reading is therefore final, and
//
//   - never contains a byte of a failed transfer,
//   - never is less than the one before: a transfer's bytes only grow, until
//     they are its size,
//   - is the sum of the completed objects once nothing is under way.
//
// The price is that readings come late, by the age of the oldest transfer under
// way; they carry the time at which they were taken.
type ledger struct {
	mu        sync.Mutex
	waiting   []reading // not yet final, in order
	first     int       // number of waiting[0]
	active    map[*transfer]bool
	completed int64 // bytes of transfers that succeeded
	publish   func(after time.Duration, bytes int64)
}

// reading is the bytes of completed transfers at a time since the start.
type reading struct {
	after time.Duration
	bytes int64
}

// transfer is one attempt at an operation, which mostly moves an object.
type transfer struct {
	size  int64
	begun time.Time
	moved atomic.Int64                 // bytes of the object that went to or came from the connection
	queue atomic.Pointer[func() int64] // bytes that the kernel has not delivered yet
	first atomic.Int64                 // when the first byte of the answer came, in ns since begun; 0 until then
	from  int                          // number of the first reading that sees it
	marks []int64                      // what the readings since then saw
}

func newTransfer(size int64) *transfer { return &transfer{size: size, begun: time.Now()} }

func newLedger(publish func(after time.Duration, bytes int64)) *ledger {
	return &ledger{active: map[*transfer]bool{}, publish: publish}
}

// begin enters a new transfer. A nil ledger follows none.
func (l *ledger) begin(size int64) *transfer {
	t := newTransfer(size)
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		t.from = l.first + len(l.waiting)
		l.active[t] = true
	}
	return t
}

// end says how a transfer ended.
func (l *ledger) end(t *transfer, succeeded bool) {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.settle(t, succeeded)
	}
}

// endEvenly is end for something that cannot be seen moving: what succeeded is
// taken to have been done evenly over the time that it took, so that a reading
// has the share that lay before it.
func (l *ledger) endEvenly(t *transfer, begun, ended time.Duration, succeeded bool) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range t.marks {
		t.marks[i] = int64(shareBefore(l.waiting[t.from-l.first+i].after, begun, ended) * float64(t.size))
	}
	l.settle(t, succeeded)
}

// shareBefore returns which share of the time from begun to ended lies before
// a moment.
func shareBefore(moment, begun, ended time.Duration) float64 {
	switch {
	case ended <= moment:
		return 1
	case begun >= moment:
		return 0
	}
	return float64(moment-begun) / float64(ended-begun)
}

// settle adds what succeeded to all readings that saw it.
func (l *ledger) settle(t *transfer, succeeded bool) {
	delete(l.active, t)
	if !succeeded {
		return
	}
	l.completed += t.size
	for i, mark := range t.marks {
		l.waiting[t.from-l.first+i].bytes += mark
	}
}

// read takes a reading and publishes those that have become final.
func (l *ledger) read(after time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiting = append(l.waiting, reading{after: after, bytes: l.completed})
	final := l.first + len(l.waiting)
	for t := range l.active {
		t.marks = append(t.marks, t.delivered())
		final = min(final, t.from)
	}
	n := final - l.first
	for _, r := range l.waiting[:n] {
		l.publish(r.after, r.bytes)
	}
	l.waiting, l.first = slices.Clone(l.waiting[n:]), final
}

// delivered is how much of the object has reached the other side, as far as
// this side knows: what was handed to the connection and has not stayed in the
// kernel's queue. It is never less than before, and never more than the object.
func (t *transfer) delivered() int64 {
	n := t.moved.Load() // before the queue, so that nothing is counted too early
	if queue := t.queue.Load(); queue != nil {
		n -= (*queue)()
	}
	if len(t.marks) > 0 {
		n = max(n, t.marks[len(t.marks)-1])
	}
	return min(max(n, 0), t.size)
}
