package load

import (
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
)

// LateAfter is how long after it was due an operation may be sent and still
// count as sent in time.
const LateAfter = time.Millisecond

// Longest is the longest latency that histograms tell apart.
const Longest = 10 * time.Minute

// finest is the width, in ns, up to which histograms need not tell values
// apart, which makes them smaller: a thousandth of the fastest answers there
// are.
const finest = 64

func newHistogram() *hdr.Histogram { return hdr.New(finest, int64(Longest), histogram.Digits) }

// Shard counts what one loop does, and histograms it. All times are from the
// start of the run; calls come with times that do not go back by more than the
// longest operation. It is used by one goroutine at a time.
//
// Every operation is announced with Due, then maybe Sent, and ends with one of
// OK, Fail, Drop and Unfinish.
type Shard struct {
	collector *Collector
	index     int
	// open are the seconds that are not over: from first on, in order.
	first int
	open  []*Second
}

// second finds, or begins, the record of the second in which t lies. A second
// that was handed over stays so: what comes later is counted in the first one
// that is open.
func (s *Shard) second(t time.Duration) *Second {
	i := max(int(t/time.Second)-s.first, 0)
	for i >= len(s.open) {
		s.open = append(s.open, s.collector.take(s.first+len(s.open)))
	}
	return s.open[i]
}

// Due announces an operation of kind op.
func (s *Shard) Due(op int, due time.Duration) { s.second(due).Ops[op].Due++ }

// Sent records that an operation was sent, after waiting for a connection
// until free if that is later than when it was due.
func (s *Shard) Sent(op int, due, free, sent time.Duration) {
	x := s.second(due)
	begin := due
	if free > due {
		begin = free
		x.Ops[op].Waited++
	}
	lag := max(sent-begin, 0)
	if lag > LateAfter {
		x.Ops[op].Late++
	}
	histogram.Record(x.Lag, int64(lag))
}

// OK ends an operation: its answer was whole at done.
func (s *Shard) OK(op int, due, sent, done time.Duration) {
	x := s.second(due)
	o := &x.Ops[op]
	o.OK++
	histogram.Record(o.Latency, int64(done-due))
	histogram.Record(o.Service, int64(done-sent))
	s.second(done).Replies++
}

// Fail ends an operation that failed.
func (s *Shard) Fail(op int, due time.Duration, kind Kind) { s.second(due).Ops[op].Errors[kind]++ }

// Drop ends an operation that was never sent.
func (s *Shard) Drop(op int, due time.Duration) { s.second(due).Ops[op].Dropped++ }

// Unfinish ends an operation that was sent and for which nobody waits any more.
func (s *Shard) Unfinish(op int, due time.Duration) { s.second(due).Ops[op].Unfinished++ }

// Bytes counts what went over the wire in the second of now.
func (s *Shard) Bytes(now time.Duration, sent, received int) {
	x := s.second(now)
	x.Sent += int64(sent)
	x.Received += int64(received)
}

// Flush hands over the seconds that are over: those before oldest, when the
// oldest operation was due that has not ended (or now, if there is none). One
// that was due, and not announced because a loop is late or has no free
// connection, has not ended. A loop calls it at least once a second, and with
// the plan's last nanosecond before it calls Close: then there is a record of
// each second, also where nothing was due.
func (s *Shard) Flush(oldest time.Duration) {
	s.second(oldest)
	if over := int(oldest/time.Second) - s.first; over > 0 {
		s.hand(over)
	}
}

// Close hands over the rest. All operations have ended.
func (s *Shard) Close() {
	s.hand(len(s.open))
	s.collector.receive(s.index, nil)
}

func (s *Shard) hand(n int) {
	s.collector.receive(s.index, s.open[:n]...)
	s.first += n
	s.open = append(s.open[:0], s.open[n:]...)
}
