package network

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// session is the measuring part of a task: all streams to all peers.
type session struct {
	set    settings
	node   string // this one
	report workload.Reporter
	object *object // what is sent; nil when nothing is
	head   []byte  // of what is received

	counts  []*count
	streams []*stream // of all counts
	echoes  []*echo
	phase   atomic.Int32

	missing   atomic.Int32  // flows that have not been connected yet
	connected chan struct{} // closed when there are none
	load      chan struct{} // closed when transfers may begin

	begun       time.Time // of the scored part
	retransmits int64     // before it
}

// newSession resolves where the peers are.
func newSession(set settings, env *workload.Env, o *object) (*session, error) {
	s := &session{
		set: set, node: string(env.Node), report: env.Report, object: o, head: pattern(headSize),
		connected: make(chan struct{}), load: make(chan struct{}),
	}
	if set.idle == 0 {
		s.phase.Store(phaseWarmUp) // the others transfer from the start
	}
	if set.receive {
		s.counts = append(s.counts,
			bytesAndPackets(set, metricReceive, metricReceivePackets, model.ResourceNetworkReceive)...)
	}
	if set.send {
		s.counts = append(s.counts,
			bytesAndPackets(set, metricSend, metricSendPackets, model.ResourceNetworkSend)...)
	}
	for _, peer := range env.Peers {
		addr, err := address(peer, set.port)
		if err != nil {
			return nil, err
		}
		s.echoes = append(s.echoes, newEcho(peer, addr, s.node, set.stall, &s.phase))
		var st *stream
		for _, c := range s.counts {
			if c.unit == "byte" {
				st = &stream{peer: peer, addr: addr, send: c.resource == model.ResourceNetworkSend}
				st.tickets.Store(math.MaxInt64)
				s.streams = append(s.streams, st)
			}
			c.streams = append(c.streams, st) // packets are those of the bytes before
		}
	}
	return s, nil
}

// run measures, and says goodbye to all peers on success. After a failure it
// says nothing: peers must not take its end for a success.
func (s *session) run(ctx context.Context, measure func(context.Context, time.Time) error) error {
	start := time.Now()
	if err := s.accompanied(ctx, start, measure); err != nil {
		return err
	}
	s.reportRTT()
	for _, e := range s.echoes {
		if err := goodbye(ctx, e.peer, e.addr, s.node, s.set.stall); err != nil {
			return err
		}
	}
	return nil
}

// accompanied measures while echoes are sent.
func (s *session) accompanied(ctx context.Context, start time.Time, measure func(context.Context, time.Time) error) error {
	ctx, stop := context.WithCancel(ctx)
	var echoes sync.WaitGroup
	for _, e := range s.echoes {
		e.origin = start
		echoes.Go(func() { e.run(ctx) })
	}
	// The others transfer from then on, even if this node is late.
	idle := time.AfterFunc(s.set.idle, func() { s.phase.CompareAndSwap(phaseIdle, phaseWarmUp) })
	err := measure(ctx, start)
	idle.Stop()
	stop()
	echoes.Wait()
	return err
}

// builtin transfers with the built-in tool.
func (s *session) builtin(ctx context.Context, start time.Time) error {
	ctx, stop := context.WithCancel(ctx)
	done := s.launch(ctx)
	err := s.measure(ctx, start, done)
	stop()
	for ended := range done { // until no flow is left
		if err == nil {
			err = ended
		}
	}
	return err
}

// launch starts all flows. The channel takes how they ended: the first error,
// which ends the others, or nil when all tickets are used up. Then it is
// closed.
func (s *session) launch(ctx context.Context) <-chan error {
	var flows []*flow
	for _, st := range s.streams {
		for range s.set.connections {
			flows = append(flows, s.newFlow(st))
		}
	}
	s.missing.Store(int32(len(flows)))
	group, ctx := errgroup.WithContext(ctx)
	for _, f := range flows {
		group.Go(func() error { return f.run(ctx) })
	}
	done := make(chan error, 1)
	go func() {
		done <- group.Wait()
		close(done)
	}()
	return done
}

func (s *session) newFlow(st *stream) *flow {
	f := &flow{stream: st, client: s, took: func(n int64) { st.received.Add(n) }}
	if st.send {
		f.ledger = &ledger{}
		f.took = f.ledger.wrote
		st.ledgers = append(st.ledgers, f.ledger)
	}
	if s.set.packet > 0 {
		f.packets = &packetCount{send: st.send}
		st.counted = append(st.counted, f.packets)
	}
	st.active.Add(1)
	st.missing.Add(1)
	return f
}

// measure goes through the phases. done is how the flows ended, if they do so
// before they are told to.
func (s *session) measure(ctx context.Context, start time.Time, done <-chan error) error {
	if err := s.awaitConnections(ctx, done); err != nil {
		return err
	}
	if err := tick(ctx, start.Add(s.set.idle), done, nil); err != nil {
		return err
	}
	if len(s.set.messages) > 0 {
		s.sendMessages(ctx, start.Add(s.set.idle))
		if err := tick(ctx, start.Add(s.set.idle+s.set.sweep()), done, nil); err != nil {
			return err
		}
	}
	for _, st := range s.streams {
		st.moved = time.Now()
	}
	transfers := s.set.warmUp > s.set.sweep() // before what is scored
	if !transfers {
		s.begin() // before the first byte
	}
	close(s.load)
	if transfers {
		if err := tick(ctx, start.Add(s.set.warmUp), done, s.watch); err != nil {
			return err
		}
		s.begin()
	}
	var end time.Time // none: the flows end when their tickets are used up
	if s.set.downloads == 0 {
		end = s.begun.Add(s.set.duration)
	}
	if err := tick(ctx, end, done, s.publish); err != nil {
		return err
	}
	return s.finish()
}

// awaitConnections returns when every flow has been connected once.
func (s *session) awaitConnections(ctx context.Context, done <-chan error) error {
	timer := time.NewTimer(s.set.stall)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-done:
		return cmp.Or(err, ctx.Err())
	case <-s.connected:
		return nil
	case <-timer.C:
	}
	for _, st := range s.streams {
		if st.missing.Load() > 0 {
			return st.silent(s.set.stall)
		}
	}
	return nil // the last one came just now
}

// tick calls each at every pace until end (zero: none), until the flows have
// ended, or until there is an error. Flows also end because ctx has: that is
// not work done.
func tick(ctx context.Context, end time.Time, done <-chan error, each func() error) error {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	var over <-chan time.Time
	if !end.IsZero() {
		timer := time.NewTimer(time.Until(end))
		defer timer.Stop()
		over = timer.C
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-done:
			return cmp.Or(err, ctx.Err())
		case <-over:
			return nil
		case <-ticker.C:
			if each == nil {
				continue
			}
			if err := each(); err != nil {
				return err
			}
		}
	}
}

// reportRTT reports round-trip times: they describe the trial, and are no
// capacity. Where no echo returned, there is nothing to report.
func (s *session) reportRTT() {
	if idle := merge(s.echoes, phaseIdle); idle.TotalCount() > 0 {
		s.info("rtt_idle_p50", "us", float64(idle.ValueAtQuantile(50)))
	}
	scored := merge(s.echoes, phaseScored)
	if scored.TotalCount() == 0 {
		return
	}
	s.info("rtt_p50", "us", float64(scored.ValueAtQuantile(50)))
	s.info("rtt_p99", "us", float64(scored.ValueAtQuantile(99)))
	s.report.Histogram(model.Histogram{Metric: "network_rtt", Unit: "us", Encoded: histogram.Encode(scored)})
}

// info reports what describes the trial.
func (s *session) info(metric, unit string, value float64) {
	s.report.Sample(workload.Info(metric, unit, value))
}

// The metrics.
const (
	metricReceive        = "network_receive_throughput"
	metricSend           = "network_send_throughput"
	metricReceivePackets = "network_receive_packets"
	metricSendPackets    = "network_send_packets"
	metricErrors         = "network_errors"
	metricRetransmits    = "network_retransmits"
)

// count is the work in one direction, to and from all peers.
type count struct {
	metric, unit, resource string
	of                     func(*stream) int64
	streams                []*stream
	base                   int64 // before the scored part
}

// bytesAndPackets are the counts of a direction: packets where they are asked for.
func bytesAndPackets(set settings, bytes, packets, resource string) []*count {
	out := []*count{{metric: bytes, unit: "byte", resource: resource, of: (*stream).bytes}}
	if set.packet > 0 {
		out = append(out, &count{metric: packets, unit: "packet", resource: resource, of: (*stream).packets})
	}
	return out
}

func (c *count) total() int64 {
	n := -c.base
	for _, st := range c.streams {
		n += c.of(st)
	}
	return n
}

// begin begins the scored part.
func (s *session) begin() {
	s.retransmits = s.resent()
	if n := s.set.downloads; n > 0 {
		for _, st := range s.streams {
			st.tickets.Store(n)
		}
	}
	s.phase.Store(phaseScored)
	s.begun = time.Now()
	for _, c := range s.counts {
		c.base += c.total()
		s.report.Progress(c.metric, c.unit, 0)
	}
}

// publish reports the work done so far.
func (s *session) publish() error {
	for _, c := range s.counts {
		s.report.Progress(c.metric, c.unit, float64(c.total()))
	}
	return s.watch()
}

// watch returns an error when a peer has stopped: its connections are open or
// being tried again, and no byte moves.
func (s *session) watch() error {
	now := time.Now()
	for _, st := range s.streams {
		if b := st.bytes(); b != st.seen || st.active.Load() == 0 {
			st.seen, st.moved = b, now
		}
		if now.Sub(st.moved) > s.set.stall {
			return st.silent(s.set.stall)
		}
	}
	return nil
}

// finish takes the last reading, from which the samples are computed.
func (s *session) finish() error {
	s.phase.Store(phaseWarmUp) // echoes of the end are not scored
	for _, c := range s.counts {
		total, took := c.total(), time.Since(s.begun)
		s.report.Progress(c.metric, c.unit, float64(total))
		if total <= 0 {
			return fmt.Errorf("nothing was measured: no %s was transferred in %v", c.unit, took)
		}
		s.report.Sample(workload.Capacity(c.metric, c.unit+"/s", float64(total)/took.Seconds(), c.resource))
	}
	if s.set.send {
		s.info(metricRetransmits, "segment", float64(s.resent()-s.retransmits))
	}
	s.info(metricErrors, "1", float64(s.failures()))
	return nil
}

// resent is how many segments this node's TCP has sent again.
func (s *session) resent() int64 {
	var n int64
	for _, st := range s.streams {
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
