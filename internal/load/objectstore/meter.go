package objectstore

import (
	"fmt"
	"maps"
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
)

// Counter is something that a meter follows over time: the bytes of a kind of
// operations, the operations of a kind where there are two, or all operations
// ("").
type Counter struct {
	Kind  string
	Bytes bool
}

// Parts is what one operation counts as, so that one under way can be counted
// in part.
const Parts = 1 << 20

// Meter counts what a target does, while it does it. It is safe for concurrent
// use.
type Meter struct {
	Counters []Counter
	start    time.Time
	ledgers  map[Counter]*ledger

	mu      sync.Mutex
	counts  Counts
	tallies map[string]*Tally
}

// Counts is what became of operations.
type Counts struct {
	Completed, Failed int64 // operations; those that failed were given up
	// Errors are the attempts that failed; each gave an operation up, or was
	// followed by another attempt, which is one of Retries.
	Errors    map[Failure]int64
	Retries   int64
	firstText map[Failure]string
}

// Tally is what is known of the operations of a kind that succeeded; how long a
// failure took is no service time.
type Tally struct {
	// Latency is from the beginning of the first attempt to the end of the one
	// that succeeded, FirstByte to the first byte of its answer; in µs.
	Latency, FirstByte *hdr.Histogram
}

// longest is the longest latency that histograms tell apart, in µs.
const longest = int64(time.Hour / time.Microsecond)

// NewMeter is for the kinds of an operation, from start on. publish is told
// readings that are final, in order for each counter, in bytes or [Parts]; nil
// where none are taken.
func NewMeter(operation string, start time.Time, publish func(c Counter, after time.Duration, n int64)) *Meter {
	m := &Meter{
		start: start, ledgers: map[Counter]*ledger{}, tallies: map[string]*Tally{},
		counts: Counts{Errors: map[Failure]int64{}, firstText: map[Failure]string{}},
	}
	follow := func(c Counter) {
		m.Counters = append(m.Counters, c)
		m.ledgers[c] = newLedger(func(after time.Duration, n int64) { publish(c, after, n) })
	}
	kinds := Kinds(operation)
	for _, kind := range kinds {
		m.tallies[kind] = &Tally{Latency: histogram.New(longest), FirstByte: histogram.New(longest)}
		if kind != Delete {
			follow(Counter{Kind: kind, Bytes: true})
		}
		if len(kinds) > 1 {
			follow(Counter{Kind: kind})
		}
	}
	follow(Counter{})
	return m
}

// Read takes a reading of everything, so long after the start.
func (m *Meter) Read(after time.Duration) {
	for _, c := range m.Counters {
		m.ledgers[c].read(after)
	}
}

// begin enters an attempt; all but deletes move an object of this size.
func (m *Meter) begin(kind string, size int64) *transfer {
	tr := newTransfer(size)
	tr.ledger = m.ledgers[Counter{Kind: kind, Bytes: true}]
	if tr.ledger != nil {
		tr.ledger.begin(tr)
	}
	return tr
}

func (m *Meter) end(tr *transfer, succeeded bool) {
	if tr.ledger != nil {
		tr.ledger.end(tr, succeeded)
	}
}

// operation enters an operation, and returns what is to be called at its end,
// with its last attempt.
func (m *Meter) operation(kind string) (end func(last *transfer, succeeded bool)) {
	begun, entries := time.Since(m.start), map[*ledger]*transfer{}
	for _, c := range []Counter{{}, {Kind: kind}} {
		if l := m.ledgers[c]; l != nil {
			entries[l] = newTransfer(Parts)
			l.begin(entries[l])
		}
	}
	return func(last *transfer, succeeded bool) {
		ended := time.Since(m.start)
		for l, entry := range entries {
			l.endEvenly(entry, begun, ended, succeeded)
		}
		if !succeeded {
			return
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.counts.Completed++
		t := m.tallies[kind]
		histogram.Record(t.Latency, max((ended-begun).Microseconds(), 1))
		histogram.Record(t.FirstByte, max((last.firstByte().Sub(m.start)-begun).Microseconds(), 1))
	}
}

// attemptFailed counts an attempt; again says that another follows.
func (m *Meter) attemptFailed(kind Failure, text string, again bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.Errors[kind]++
	if m.counts.firstText[kind] == "" {
		m.counts.firstText[kind] = text
	}
	if again {
		m.counts.Retries++
	} else {
		m.counts.Failed++
	}
}

// Counts is what has become of operations so far.
func (m *Meter) Counts() Counts {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counts
	c.Errors, c.firstText = maps.Clone(c.Errors), maps.Clone(c.firstText)
	return c
}

// Tally is that of a kind, once no operation is under way.
func (m *Meter) Tally(kind string) *Tally { return m.tallies[kind] }

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
