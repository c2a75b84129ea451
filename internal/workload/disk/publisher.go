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
	alike  int           // documents since one told zero better
	known  bool          // a document told zero
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
	// zero is late if all documents were, so that the last point would lie ahead.
	if ahead := m.ahead(m.scored); ahead > 0 {
		if err := workload.Pause(ctx, min(ahead, maxDelay)); err != nil {
			return reading{}, err
		}
	}
	for _, r := range m.held {
		if m.ahead(r) <= 0 { // no task tells of what is to come
			m.point(r)
		}
	}
	m.held = nil
	return m.scored, nil
}

// settle is how many readings in a row must tell zero no better, by more than
// margin: some may be late, hardly all. On a busy machine the first ones are.
const settle = 3

// take is given a document and the time at which it came.
//
// A document's readings are of the moment zero + runtime: fio takes bytes and
// runtime together, but may print them later, when a thread did not answer for
// a while. So the document that took the shortest way tells zero best. Once
// points are published zero stays, so that their distance is what fio's clock
// says. If all documents before were late, zero is, too: then a reading may lie
// ahead of the clock, and is held until it does not. So is the last one, which
// finish may leave out.
func (m *publisher) take(d *document, now time.Time) {
	r := readingOf(d.job)
	if m.ramping(d.job) || r.runtime == 0 {
		return
	}
	m.place(max(0, m.printed(d, now)-r.runtime))
	if m.drained(r) {
		return
	}
	m.held, m.scored = append(m.held, r), r
	if m.alike < settle {
		return
	}
	m.begin()
	for len(m.held) > 1 && m.ahead(m.held[0]) <= 0 {
		m.point(m.held[0])
		m.held = m.held[1:]
	}
}

// ahead is how long it takes until a reading is of the past.
func (m *publisher) ahead(r reading) time.Duration { return m.zero + r.runtime - m.now().Sub(m.began) }

// place learns from a document when the measurement began at the latest.
func (m *publisher) place(zero time.Duration) {
	m.alike++
	if m.begun || m.known && zero >= m.zero {
		return
	}
	if !m.known || zero < m.zero-margin {
		m.alike = 1
	}
	m.known, m.zero = true, zero
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
