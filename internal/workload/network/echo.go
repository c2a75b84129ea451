package network

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/scalebench/scalebench/internal/histogram"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// The phases of a measurement, as an echo sees them.
const (
	phaseIdle   = iota // nothing is transferred yet
	phaseWarmUp        // transfers, not scored
	phaseScored
	phases
)

// Echoes are sent every 100 ms under load; five times as often while the
// network is idle, because that time is short. An echo is 67 bytes on the
// wire in each direction.
const (
	echoEvery     = 100 * time.Millisecond
	idleEchoEvery = 20 * time.Millisecond
	// maxPending bounds the echoes that are on their way: 100 s of them.
	maxPending = 1000
	// The histogram counts from 1 us to 10 min with three digits.
	maxRTT = 600_000_000
)

// echo measures the round-trip time to one peer on a connection of its own:
// one byte there and back. Echoes are sent on time whether or not those before
// have returned, so that a wait is not measured once where it hits ten.
type echo struct {
	peer  model.Host
	addr  string
	node  string
	stall time.Duration
	phase *atomic.Int32

	troubles
	origin time.Time
	heard  atomic.Int64 // when the peer was last heard, since origin

	times [phases]*hdrhistogram.Histogram // in us; mu is held
}

func newEcho(peer model.Host, addr, node string, stall time.Duration, phase *atomic.Int32) *echo {
	e := &echo{peer: peer, addr: addr, node: node, stall: stall, phase: phase, origin: time.Now()}
	for i := range e.times {
		e.times[i] = histogram.New(maxRTT)
	}
	return e
}

// sending is when an echo was sent, and in which phase.
type sending struct {
	at    time.Time
	phase int32
}

// run sends echoes until ctx ends. Its errors are counted, and a connection
// that is lost is made again.
func (e *echo) run(ctx context.Context) {
	for ctx.Err() == nil {
		err := e.use(ctx)
		if ctx.Err() != nil {
			return
		}
		e.trouble(err)
		_ = workload.Pause(ctx, pace) // the loop looks at ctx
	}
}

// use sends echoes over one connection.
func (e *echo) use(ctx context.Context) error {
	conn, err := dial(ctx, e.addr, e.stall, 0)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // a lost echo is counted, not a bad close
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer interrupt(ctx, conn)()
	l := newLink(conn)
	if err := l.ask("GET", pathEcho, e.addr, e.node, 0); err != nil {
		return err
	}
	if _, err := l.answer(); err != nil {
		return err
	}
	pending := make(chan sending, maxPending)
	var reader sync.WaitGroup
	reader.Go(func() { cancel(e.receive(l, pending)) })
	err = e.send(ctx, l, pending)
	cancel(err)
	reader.Wait()
	// Echoes that have not returned have the age that they have: at least so
	// long would they have taken.
	for now := time.Now(); len(pending) > 0; {
		e.record(<-pending, now)
	}
	return context.Cause(ctx)
}

// send sends echoes until ctx ends.
func (e *echo) send(ctx context.Context, l *link, pending chan<- sending) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
		}
		phase := e.phase.Load()
		select {
		case pending <- sending{time.Now(), phase}:
		default:
			return fmt.Errorf("%d echoes are on their way", maxPending)
		}
		if _, err := l.Write([]byte{'.'}); err != nil {
			return err
		}
		if phase == phaseIdle {
			timer.Reset(idleEchoEvery)
		} else {
			timer.Reset(echoEvery)
		}
	}
}

// receive takes echoes, which return in the order in which they were sent.
func (e *echo) receive(l *link, pending <-chan sending) error {
	for {
		l.allow()
		if _, err := l.r.ReadByte(); err != nil {
			return err
		}
		now := time.Now()
		e.heard.Store(int64(now.Sub(e.origin)))
		select {
		case s := <-pending:
			e.record(s, now)
		default:
			return errors.New("more echoes returned than were sent")
		}
	}
}

func (e *echo) record(s sending, now time.Time) {
	us := min(max(now.Sub(s.at).Microseconds(), 1), maxRTT)
	e.mu.Lock()
	defer e.mu.Unlock()
	_ = e.times[s.phase].RecordValue(us) // us is within its bounds
}

// check returns an error when the peer was silent for too long. Only for
// tools that do not tell what they transfer while they do.
func (e *echo) check() error {
	if time.Since(e.origin)-time.Duration(e.heard.Load()) < e.stall {
		return nil
	}
	return silence("heard from", e.peer, e.addr, e.stall, e.latest())
}

// merge adds up one phase of several echoes.
func merge(echoes []*echo, phase int) *hdrhistogram.Histogram {
	all := histogram.New(maxRTT)
	for _, e := range echoes {
		e.mu.Lock()
		all.Merge(e.times[phase])
		e.mu.Unlock()
	}
	return all
}
