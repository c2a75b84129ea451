package disk

import (
	"context"
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// publisher turns fio's documents into progress counters of bytes and operations.
type publisher struct {
	plan   settings
	report workload.Reporter
	began  time.Time // Run's call
	now    func() time.Time

	// zero is when the measurement began (the end of the ramp), since Run's
	// call, as well as is known.
	zero   time.Duration
	seen   int           // documents of the measurement
	begun  bool          // zero is settled, and points are published
	held   []reading     // not published yet
	at     time.Duration // of the last point, since Run's call
	last   [2]int64      // read and written bytes of it
	scored reading       // the last that counts
}

// reading is what fio says of one moment.
type reading struct {
	bytes   [2]int64      // read and written since the measurement began
	runtime time.Duration // since then
}

func readingOf(j job) reading {
	return reading{[2]int64{j.Read.Bytes, j.Write.Bytes}, time.Duration(j.runtime()) * time.Millisecond}
}

// margin is how long before its planned end a thread of fio may stop.
const margin = 10 * time.Millisecond

// drained says that a reading is of a time at which operations were still
// completed, but none begun: with several in flight, fio waits for the last
// ones at its end and counts them, in a time that it does not always count
// (seen in 3.33: eight operations in flight at 240 op/s for 5 s gave 241.7).
func (m *publisher) drained(r reading) bool {
	return m.plan.duration > 0 && m.plan.depth > 1 && r.runtime > m.plan.duration-margin
}

// finish publishes the rest, and returns the reading that tells the rate of
// the whole task: the last one before the end, or fio's final one where that
// is not wrong, or where fio was silent for so long before the end that to
// leave out the silence would be worse.
func (m *publisher) finish(ctx context.Context, final job) (reading, error) {
	end := readingOf(final)
	silent := m.plan.duration - m.scored.runtime
	if !m.drained(end) || silent > max(m.plan.duration/20, 2*statusInterval) {
		m.held, m.scored = append(m.held, end), end
	}
	m.begin()
	// zero is late by a few milliseconds if all documents were, so that the
	// last point would lie ahead.
	if ahead := m.zero + m.scored.runtime - m.now().Sub(m.began); ahead > 0 {
		if err := workload.Pause(ctx, min(ahead, maxDelay)); err != nil {
			return reading{}, err
		}
	}
	for _, r := range m.held {
		m.point(r)
	}
	m.held = nil
	return m.scored, nil
}

// settle is how many readings it takes to know zero: some may be late, hardly
// all.
const settle = 3

// take is given a document and the time at which it came.
//
// A document's readings are of the moment zero + runtime: fio takes bytes and
// runtime together, but may print them later, when a thread did not answer for
// a while. So the document that took the shortest way tells zero best. Once
// points are published zero stays, so that their distance is what fio's clock
// says; each is published when the next one is known, and thus in the past.
func (m *publisher) take(d *document, now time.Time) {
	r := readingOf(d.job)
	if m.ramping(d.job) || r.runtime == 0 {
		return
	}
	if zero := max(0, m.printed(d, now)-r.runtime); !m.begun && (m.seen == 0 || zero < m.zero) {
		m.zero = zero
	}
	m.seen++
	if m.drained(r) {
		return
	}
	m.held, m.scored = append(m.held, r), r
	if m.seen < settle {
		return
	}
	m.begin()
	for _, r := range m.held[:len(m.held)-1] {
		m.point(r)
	}
	m.held = append(m.held[:0], r)
}

// begin publishes where the counters start.
func (m *publisher) begin() {
	if !m.begun {
		m.begun, m.at = true, -1
		m.point(reading{})
	}
}

// maxDelay is how late a document may come through the pipe and still be
// placed by fio's clock. More means that one of the clocks was set.
const maxDelay = time.Second

// printed is when the document was printed, since Run's call: what fio says,
// to the millisecond, or if that cannot be, when it came.
func (m *publisher) printed(d *document, now time.Time) time.Duration {
	came := now.Sub(m.began)
	said := time.Duration(d.printed-m.began.UnixMilli()) * time.Millisecond
	if said > came || came-said > maxDelay {
		return came
	}
	return said
}

// ramping says that the figures are of the ramp, or of both: fio counts bytes
// and operations from its start and resets them, thread by thread, when the
// ramp is over; latencies it counts only then.
func (m *publisher) ramping(j job) bool {
	timed, all := j.Read.Latency.N+j.Write.Latency.N, j.Read.Total+j.Write.Total
	return m.plan.ramp > 0 && 10*timed < 9*all || timed == 0
}

// point publishes a reading. One that does not lie after the one before, in
// time and in every count, is left out.
func (m *publisher) point(r reading) {
	at := m.zero + r.runtime
	if at <= m.at || r.bytes[0] < m.last[0] || r.bytes[1] < m.last[1] {
		return
	}
	m.at, m.last = at, r.bytes
	for i, dir := range directions {
		if !dir.used(m.plan) {
			continue
		}
		m.report.ProgressAt(dir.throughput(), "byte", at, float64(r.bytes[i]))
		m.report.ProgressAt(dir.iops(), "op", at, float64(r.bytes[i])/float64(m.plan.block))
	}
}
