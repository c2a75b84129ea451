package load

import (
	"slices"
	"sync"
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
// OK, Fail, Refuse, Drop and Unfinish.
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

// OK ends an operation: its answer was whole at done, in the kernel where that is
// known, or else when it was read.
func (s *Shard) OK(op int, due, sent, done time.Duration) {
	x := s.second(due)
	o := &x.Ops[op]
	o.OK++
	histogram.Record(o.Latency, int64(done-due))
	histogram.Record(o.Service, int64(done-sent))
	s.second(done).Replies++
}

// Read records by how much later than the kernel had all of it an answer was
// read.
func (s *Shard) Read(due, lag time.Duration) {
	histogram.Record(s.second(due).ReceiveLag, int64(lag))
}

// Fail ends an operation that failed.
func (s *Shard) Fail(op int, due time.Duration, kind Kind) { s.second(due).Ops[op].Errors[kind]++ }

// Refuse ends an operation that the server answered with a status that is not
// expected.
func (s *Shard) Refuse(op int, due time.Duration, status int) {
	c := &s.second(due).Ops[op].Counts
	c.Errors[ErrStatus]++
	c.Statuses.Add(status, 1)
}

// Repeat records that an operation is sent again.
func (s *Shard) Repeat(op int, due time.Duration) { s.second(due).Ops[op].Repeated++ }

// Drop ends an operation that was never sent.
func (s *Shard) Drop(op int, due time.Duration) { s.second(due).Ops[op].Dropped++ }

// Unfinish ends an operation that was sent and is not waited for any more.
func (s *Shard) Unfinish(op int, due time.Duration) { s.second(due).Ops[op].Unfinished++ }

// Bytes counts what went over the wire in the second of now.
func (s *Shard) Bytes(now time.Duration, sent, received int) {
	x := s.second(now)
	x.Sent += int64(sent)
	x.Received += int64(received)
}

// Flush hands over the seconds that are complete: those before oldest, the due
// time of the oldest operation that has not ended (or now, if all have ended).
// An operation that was due, but not announced because a loop is late or has no
// free connection, has not ended. A loop calls Flush at least once a second, and
// with the plan's last nanosecond before it calls Close: then each second has a
// record, also where nothing was due.
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

// Collector merges the seconds of several shards, and hands each on when all
// shards are past it, in order. It keeps only those that are not complete, so
// that its memory does not grow with the length of a run.
//
// Merging is done in a goroutine of its own: a loop that had to do it would
// send late once a second.
type Collector struct {
	ops  int
	sink func(Second)
	done chan struct{}

	mu      sync.Mutex
	arrived *sync.Cond
	inbox   []delivery
	free    []*Second
	shards  []*Shard
}

// delivery is a second of one shard; nil when the shard is closed.
type delivery struct {
	from   int
	second *Second
}

// NewCollector merges the seconds of so many shards, of so many kinds of
// operations. sink is called for one second at a time, and for all of them
// before Wait returns; the histograms are used again when it returns.
func NewCollector(shards, ops int, sink func(Second)) *Collector {
	c := &Collector{ops: ops, sink: sink, done: make(chan struct{})}
	c.arrived = sync.NewCond(&c.mu)
	for i := range shards {
		c.shards = append(c.shards, &Shard{collector: c, index: i})
	}
	for range 2*shards + 1 {
		s := newSecond(0, ops)
		s.reset() // touches the memory now: a loop would do it while it sends
		c.free = append(c.free, s)
	}
	go c.run()
	return c
}

// Shard returns shard i.
func (c *Collector) Shard(i int) *Shard { return c.shards[i] }

// Wait returns when all shards are closed and everything was handed on.
func (c *Collector) Wait() { <-c.done }

func (c *Collector) receive(from int, seconds ...*Second) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range seconds {
		c.inbox = append(c.inbox, delivery{from, s})
	}
	c.arrived.Signal()
}

// take returns an empty second.
func (c *Collector) take(index int) *Second {
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := len(c.free); n > 0 {
		s := c.free[n-1]
		c.free = c.free[:n-1]
		s.Index = index
		return s
	}
	return newSecond(index, c.ops)
}

func (c *Collector) recycle(s *Second) {
	s.reset()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.free = append(c.free, s)
}

// run merges until all shards are closed.
func (c *Collector) run() {
	defer close(c.done)
	m := merger{past: make([]int, len(c.shards)), closed: make([]bool, len(c.shards))}
	var batch []delivery
	for slices.Contains(m.closed, false) {
		c.mu.Lock()
		for len(c.inbox) == 0 {
			c.arrived.Wait()
		}
		batch, c.inbox = append(batch[:0], c.inbox...), c.inbox[:0]
		c.mu.Unlock()
		for _, d := range batch {
			if used := m.add(d); used != nil {
				c.recycle(used)
			}
		}
		for s := m.complete(); s != nil; s = m.complete() {
			c.sink(*s)
			c.recycle(s)
		}
	}
}

// merger holds the seconds that some shards are not past.
type merger struct {
	past    []int // by shard: how many seconds it has handed over
	closed  []bool
	first   int       // the first second that is not complete
	pending []*Second // from first on
}

// add takes what a shard handed over, and returns a second that is not needed
// any more. A shard hands over its seconds in order, without gaps.
func (m *merger) add(d delivery) (used *Second) {
	if d.second == nil {
		m.closed[d.from] = true
		return nil
	}
	m.past[d.from]++
	at := d.second.Index - m.first
	if at == len(m.pending) {
		m.pending = append(m.pending, d.second)
		return nil
	}
	m.pending[at].add(d.second)
	return d.second
}

// complete returns the next second that all shards are past.
func (m *merger) complete() *Second {
	if len(m.pending) == 0 {
		return nil
	}
	for i, n := range m.past {
		if n <= m.first && !m.closed[i] {
			return nil
		}
	}
	s := m.pending[0]
	m.pending = m.pending[1:]
	m.first++
	return s
}

func newSecond(index, ops int) *Second {
	s := &Second{Index: index, Lag: newHistogram(), ReceiveLag: newHistogram(), Ops: make([]Op, ops)}
	for i := range s.Ops {
		s.Ops[i].Latency, s.Ops[i].Service = newHistogram(), newHistogram()
	}
	return s
}

// add merges what another shard saw of the same second.
func (s *Second) add(o *Second) {
	s.Replies += o.Replies
	s.Sent += o.Sent
	s.Received += o.Received
	s.Lag.Merge(o.Lag)
	if o.ReceiveLag.TotalCount() > 0 {
		s.ReceiveLag.Merge(o.ReceiveLag)
	}
	for i := range s.Ops {
		s.Ops[i].Add(o.Ops[i].Counts)
		if o.Ops[i].OK > 0 {
			s.Ops[i].Latency.Merge(o.Ops[i].Latency)
			s.Ops[i].Service.Merge(o.Ops[i].Service)
		}
	}
}

func (s *Second) reset() {
	s.Replies, s.Sent, s.Received = 0, 0, 0
	s.Lag.Reset()
	s.ReceiveLag.Reset()
	for i := range s.Ops {
		o := &s.Ops[i]
		o.Counts = Counts{}
		o.Latency.Reset()
		o.Service.Reset()
	}
}
