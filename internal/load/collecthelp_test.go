package load_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/load"
)

// summary is a second in a form that can be kept and compared.
type summary struct {
	Index                   int
	Counts                  []load.Counts
	Lag, ReceiveLag         buckets
	Latency, Service        []buckets
	Replies, Sent, Received int64
}

// buckets are the counts of a histogram that are not 0.
type buckets map[int]int64

func bucketsOf(h *hdr.Histogram) buckets {
	b := buckets{}
	for i, n := range h.Export().Counts {
		if n != 0 {
			b[i] = n
		}
	}
	return b
}

func (b buckets) total() (n int64) {
	for _, c := range b {
		n += c
	}
	return n
}

func summarize(s load.Second) summary {
	m := summary{Index: s.Index, Lag: bucketsOf(s.Lag), ReceiveLag: bucketsOf(s.ReceiveLag), Replies: s.Replies, Sent: s.Sent, Received: s.Received}
	for _, o := range s.Ops {
		m.Counts = append(m.Counts, o.Counts)
		m.Latency = append(m.Latency, bucketsOf(o.Latency))
		m.Service = append(m.Service, bucketsOf(o.Service))
	}
	return m
}

// collected is what a collector hands on.
type collected struct{ seconds []summary }

func (c *collected) each(s load.Second) { c.seconds = append(c.seconds, summarize(s)) }

// record is one operation, as a loop would see it.
type record struct {
	op              int
	due, free, sent time.Duration
	done            time.Duration
	end             int // 0 OK, 1 fail, 2 drop, 3 unfinished
	kind            load.Kind
}

// randomRecords are operations of some seconds, with a pause in the middle.
func randomRecords(rng *rand.Rand, n int) []record {
	records := make([]record, n)
	for i := range records {
		r := record{op: rng.IntN(3), due: time.Duration(rng.Int64N(int64(10 * time.Second)))}
		if r.due > 4*time.Second && r.due < 7*time.Second {
			r.due -= 4 * time.Second
		}
		r.free = r.due + time.Duration(rng.Int64N(int64(5*time.Millisecond))) - 3*time.Millisecond
		r.sent = max(r.due, r.free) + time.Duration(rng.ExpFloat64()*float64(500*time.Microsecond))
		r.done = r.sent + time.Duration(rng.ExpFloat64()*float64(300*time.Millisecond))
		r.end, r.kind = rng.IntN(4), load.Kind(rng.IntN(load.Kinds))
		records[i] = r
	}
	return records
}

// event is a call that a loop makes.
type event struct {
	at  time.Duration
	end bool // or else it is due
	*record
}

// play makes the calls of one loop for its records, in the order of time.
func play(s *load.Shard, records []record, until time.Duration) {
	var events []event
	open := map[*record]bool{}
	for i := range records {
		events = append(events, event{records[i].due, false, &records[i]}, event{records[i].done, true, &records[i]})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		if !e.end {
			open[e.record] = true
			s.Due(e.op, e.due)
			continue
		}
		delete(open, e.record)
		s.Bytes(e.due, 10, 1000)
		finish(s, e.record)
		oldest := e.at
		for r := range open {
			oldest = min(oldest, r.due)
		}
		s.Flush(oldest)
	}
	s.Flush(until - 1)
	s.Close()
}

func finish(s *load.Shard, r *record) {
	if r.end != 2 {
		s.Sent(r.op, r.due, r.free, r.sent)
	}
	switch r.end {
	case 0:
		s.OK(r.op, r.due, r.sent, r.done)
		s.Read(r.due, r.sent-r.due)
	case 1:
		s.Fail(r.op, r.due, r.kind)
	case 2:
		s.Drop(r.op, r.due)
	case 3:
		s.Unfinish(r.op, r.due)
	}
}

// collect plays records over so many loops at the same time.
func collect(records []record, shards int, until time.Duration) []summary {
	var got collected
	c := load.NewCollector(shards, 3, got.each)
	parts := make([][]record, shards)
	for i, r := range records {
		parts[i%shards] = append(parts[i%shards], r)
	}
	var loops sync.WaitGroup
	for i, part := range parts {
		loops.Go(func() { play(c.Shard(i), part, until) })
	}
	loops.Wait()
	c.Wait()
	return got.seconds
}
