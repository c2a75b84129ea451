package network

import (
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// The metrics.
const (
	metricReceive     = "network_receive_throughput"
	metricSend        = "network_send_throughput"
	metricErrors      = "network_errors"
	metricRetransmits = "network_retransmits"
)

// publisher turns the streams' counters into progress and samples.
type publisher struct {
	s      *session
	counts []*count

	begun       time.Time // of the scored part
	retransmits int64     // before it
}

// count is the work in one direction, to and from all peers.
type count struct {
	metric, resource string
	streams          []*stream
	base             int64 // before the scored part
}

func newPublisher(s *session) *publisher {
	m := &publisher{s: s}
	receive := &count{metric: metricReceive, resource: model.ResourceNetworkReceive}
	send := &count{metric: metricSend, resource: model.ResourceNetworkSend}
	for _, st := range s.streams {
		c := receive
		if st.send {
			c = send
		}
		c.streams = append(c.streams, st)
		st.moved = time.Now()
	}
	for _, c := range []*count{receive, send} {
		if len(c.streams) > 0 {
			m.counts = append(m.counts, c)
		}
	}
	return m
}

func (c *count) total() int64 {
	n := -c.base
	for _, st := range c.streams {
		n += st.bytes()
	}
	return n
}

// begin begins the scored part.
func (m *publisher) begin() {
	m.retransmits = m.resent()
	if n := m.s.set.downloads; n > 0 {
		for _, st := range m.s.streams {
			st.tickets.limit(n)
		}
	}
	m.s.phase.Store(phaseScored)
	m.begun = time.Now()
	for _, c := range m.counts {
		c.base += c.total()
		m.s.report.Progress(c.metric, "byte", 0)
	}
}

// publish reports the work done so far.
func (m *publisher) publish() error {
	for _, c := range m.counts {
		m.s.report.Progress(c.metric, "byte", float64(c.total()))
	}
	return m.watch()
}

// watch returns an error when a peer has stopped: its connections are open or
// being tried again, and no byte moves.
func (m *publisher) watch() error {
	now := time.Now()
	for _, st := range m.s.streams {
		if b := st.bytes(); b != st.seen || st.active.Load() == 0 {
			st.seen, st.moved = b, now
		}
		if now.Sub(st.moved) > m.s.set.stall {
			return st.silent(m.s.set.stall)
		}
	}
	return nil
}

// finish takes the last reading, from which the samples are computed.
func (m *publisher) finish() error {
	m.s.phase.Store(phaseWarmUp) // echoes of the end are not scored
	for _, c := range m.counts {
		bytes, took := c.total(), time.Since(m.begun)
		m.s.report.Progress(c.metric, "byte", float64(bytes))
		if bytes <= 0 {
			return fmt.Errorf("no byte was transferred in %v: nothing was measured", took)
		}
		m.s.report.Sample(model.Sample{
			Metric: c.metric, Unit: "byte/s", Value: float64(bytes) / took.Seconds(),
			Better: model.Higher, Resource: c.resource,
		})
	}
	if m.s.set.send {
		m.s.info(metricRetransmits, "segment", float64(m.resent()-m.retransmits))
	}
	m.s.info(metricErrors, "1", float64(m.s.failures()))
	return nil
}

// resent is how many segments this node's TCP has sent again.
func (m *publisher) resent() int64 {
	var n int64
	for _, st := range m.s.streams {
		for _, l := range st.ledgers {
			_, again := l.totals()
			n += again
		}
	}
	return n
}

// failures is how many connections and transfers failed and were tried again,
// of the whole task.
func (s *session) failures() int64 {
	var n int64
	for _, st := range s.streams {
		n += st.errors.Load()
	}
	for _, e := range s.echoes {
		n += e.errors.Load()
	}
	return n
}
