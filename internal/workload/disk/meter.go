package disk

import (
	"time"

	"github.com/scalebench/scalebench/internal/workload"
)

// meter turns fio's documents into progress counters of bytes and operations.
type meter struct {
	plan   settings
	report workload.Reporter
	began  time.Time // Run's call

	// zero is when the measurement began (the end of the ramp), since Run's
	// call, as well as is known; started that there was a reading.
	zero    time.Duration
	started bool
	at      time.Duration // of the last point, since Run's call
	last    [2]int64      // read and written bytes of it
	scored  reading       // the last that counts
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
func (m *meter) drained(r reading) bool {
	return m.plan.duration > 0 && m.plan.depth > 1 && r.runtime > m.plan.duration-margin
}

// finish returns the reading that tells the rate of the whole task: the last
// one before the end, or fio's final one where that is not wrong, or where
// fio was silent for so long before the end that to leave out the silence
// would be worse.
func (m *meter) finish(final job) reading {
	end := readingOf(final)
	silent := m.plan.duration - m.scored.runtime
	if !m.drained(end) || silent > max(m.plan.duration/20, 4*statusInterval) {
		m.point(m.zero+end.runtime, end.bytes)
		return end
	}
	return m.scored
}

// take is given a document and the time at which it came.
//
// A document's readings are of the moment zero + runtime: fio takes bytes and
// runtime together, but may print them later, when a thread did not answer for
// a while. So the document that took the shortest way tells zero best.
func (m *meter) take(d *document, now time.Time) {
	r := readingOf(d.job)
	if m.ramping(d.job) || r.runtime == 0 {
		return
	}
	zero := max(0, m.printed(d, now)-r.runtime)
	if !m.started {
		m.started, m.zero, m.at = true, zero, -1
		m.point(zero, [2]int64{})
	}
	m.zero = min(m.zero, zero)
	if !m.drained(r) {
		m.point(m.zero+r.runtime, r.bytes)
		m.scored = r
	}
}

// maxDelay is how late a document may come through the pipe and still be
// placed by fio's clock. More means that one of the clocks was set.
const maxDelay = time.Second

// printed is when the document was printed, since Run's call: what fio says,
// to the millisecond, or if that cannot be, when it came.
func (m *meter) printed(d *document, now time.Time) time.Duration {
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
func (m *meter) ramping(j job) bool {
	timed, all := j.Read.Latency.N+j.Write.Latency.N, j.Read.Total+j.Write.Total
	return m.plan.ramp > 0 && 10*timed < 9*all || timed == 0
}

// point publishes a reading. One that does not lie after the one before, in
// time and in every count, is left out.
func (m *meter) point(at time.Duration, bytes [2]int64) {
	if at <= m.at || bytes[0] < m.last[0] || bytes[1] < m.last[1] {
		return
	}
	m.at, m.last = at, bytes
	for i, dir := range directions {
		if !dir.used(m.plan) {
			continue
		}
		m.report.ProgressAt(dir.throughput(), "byte", at, float64(bytes[i]))
		m.report.ProgressAt(dir.iops(), "op", at, float64(bytes[i])/float64(m.plan.block))
	}
}
