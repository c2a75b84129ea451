package objectstore

import (
	"sync"
	"sync/atomic"
	"time"
)

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
// The price is that readings are told late, by the age of the oldest transfer
// under way; they carry the time at which they were taken.
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
	size   int64
	begun  time.Time
	moved  atomic.Int64                 // bytes of the object that went to or came from the connection
	queue  atomic.Pointer[func() int64] // bytes that the kernel has not delivered yet
	first  atomic.Int64                 // when the first byte of the answer came, in ns since begun; 0 until then
	ledger *ledger                      // that it is entered in; may be nil
	from   int                          // number of the first reading that sees it
	marks  []int64                      // what the readings since then saw
}

func newTransfer(size int64) *transfer { return &transfer{size: size, begun: time.Now()} }

func (t *transfer) firstByte() time.Time { return t.begun.Add(time.Duration(t.first.Load())) }

func newLedger(publish func(after time.Duration, bytes int64)) *ledger {
	return &ledger{active: map[*transfer]bool{}, publish: publish}
}

// begin enters a transfer.
func (l *ledger) begin(t *transfer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	t.from = l.first + len(l.waiting)
	l.active[t] = true
}

// end says how a transfer ended.
func (l *ledger) end(t *transfer, succeeded bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.settle(t, succeeded)
}

// endEvenly is end for something that cannot be seen moving: what succeeded is
// taken to have been done evenly over the time that it took, so that a reading
// has the share that lay before it.
func (l *ledger) endEvenly(t *transfer, begun, ended time.Duration, succeeded bool) {
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
	l.waiting, l.first = append(l.waiting[:0:0], l.waiting[n:]...), final
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
