package network

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
)

// stream is everything in one direction between this node and one peer: as
// many flows as there are connections.
type stream struct {
	peer model.Host
	addr string // of the peer's server
	send bool

	received atomic.Int64   // bytes of bodies
	ledgers  []*ledger      // one for each flow that sends
	counted  []*packetCount // one for each flow, where packets are asked for
	tickets  atomic.Int64   // transfers that may still be begun
	active   atomic.Int32   // flows that still have something to do
	missing  atomic.Int32   // flows that have not been connected yet

	seen  int64     // bytes when it last moved, for the watch
	moved time.Time // and when that was

	troubles
}

// troubles are errors that are tried again.
type troubles struct {
	errors atomic.Int64
	mu     sync.Mutex
	last   error // the latest one, for the message when nothing moves any more
}

func (t *troubles) trouble(err error) {
	t.errors.Add(1)
	t.mu.Lock()
	t.last = err
	t.mu.Unlock()
}

func (t *troubles) latest() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// bytes is the work done since the beginning.
func (s *stream) bytes() int64 {
	n := s.received.Load()
	for _, l := range s.ledgers {
		b, _ := l.totals()
		n += b
	}
	return n
}

// packets are those with data until now.
func (s *stream) packets() int64 {
	var n int64
	for _, c := range s.counted {
		n += c.read()
	}
	return n
}

// silent is the error for a peer that has stopped.
func (s *stream) silent(stall time.Duration) error {
	verb := "received from"
	if s.send {
		verb = "accepted by"
	}
	return silence(verb, s.peer, s.addr, stall, s.latest())
}

// silence says that a peer has stopped, and what to look at.
func silence(verb string, peer model.Host, addr string, stall time.Duration, last error) error {
	err := fmt.Errorf("nothing was %s %s at %s for %v; check that its task still runs and that no firewall blocks this TCP port", verb, peer.Node, addr, stall)
	if last == nil {
		return err
	}
	return fmt.Errorf("%w; the last error was: %w", err, last)
}

// flow is one connection of a stream, made again after every error.
type flow struct {
	*stream
	client  *session
	ledger  *ledger      // nil when receiving
	packets *packetCount // nil where they are not asked for
	connect sync.Once
	took    func(int64) // counts a piece that was moved
}

// run transfers until the tickets are used up or ctx ends. An error is one
// that another try would not mend.
func (f *flow) run(ctx context.Context) error {
	defer f.active.Add(-1)
	for {
		err := f.use(ctx)
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case errors.Is(err, errFatal):
			return fmt.Errorf("transfer with %s at %s: %w", f.peer.Node, f.addr, err)
		}
		f.trouble(err)
		_ = workload.Pause(ctx, pace) // when ctx has ended, use fails at once
	}
}

// use makes one connection and transfers over it.
func (f *flow) use(ctx context.Context) error {
	conn, err := dial(ctx, f.addr, f.client.set.stall, f.client.set.packet)
	if err != nil {
		return err
	}
	defer reset(conn)
	defer interrupt(ctx, conn)() // not closed: the ledger is read while the connection is open
	if f.ledger != nil {
		f.ledger.attach(conn)
		defer f.ledger.detach()
	}
	if f.packets != nil {
		f.packets.attach(conn)
		defer f.packets.detach()
	}
	f.connect.Do(func() {
		f.missing.Add(-1)
		if f.client.missing.Add(-1) == 0 {
			close(f.client.connected)
		}
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.client.load:
	}
	one := f.download
	if f.send {
		one = f.upload
	}
	for link := newLink(conn); f.tickets.Add(-1) >= 0; {
		if err := one(link); err != nil {
			return err
		}
	}
	return nil
}

// download receives one object.
func (f *flow) download(l *link) error {
	if err := l.ask("GET", pathObject, f.addr, f.client.node, 0); err != nil {
		return err
	}
	length, err := l.answer()
	if err != nil {
		return err
	}
	if length != f.client.set.size {
		return fmt.Errorf("it sends %d bytes instead of %d; the nodes must run the same task: %w", length, f.client.set.size, errFatal)
	}
	return l.body(length, f.client.head, f.took)
}

// upload sends one object, and waits until the peer has all of it.
func (f *flow) upload(l *link) error {
	o := f.client.object
	f.ledger.header(int64(len(askText("PUT", pathObject, f.addr, f.client.node, o.size))))
	if err := l.ask("PUT", pathObject, f.addr, f.client.node, o.size); err != nil {
		return err
	}
	if err := sendFile(l.Conn, o.file, o.size, f.took); err != nil {
		return err
	}
	_, err := l.answer()
	return err
}

// ledger counts what a flow has sent, over all of its connections: only what
// the peer's TCP has acknowledged, and without the headers.
type ledger struct {
	mu          sync.Mutex
	done        int64 // of connections that are over
	retransmits int64
	last        int64 // the highest reading: what was acknowledged stays so

	conn    *net.TCPConn // nil between connections
	base    int64        // acknowledged before the first request
	headers int64        // bytes of headers on this connection
	written int64        // of the body; the count where the kernel tells nothing
}

// attach begins to count a connection that has not been used yet.
func (l *ledger) attach(conn *net.TCPConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	base, _ := sentBy(conn) // nothing is known: 0, as later
	l.conn, l.base, l.headers, l.written = conn, base.acked, 0, 0
}

// detach takes the last reading; the connection must still be open.
func (l *ledger) detach() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil {
		return
	}
	acked, retransmits := l.now()
	l.done += acked
	l.retransmits += retransmits
	l.conn = nil
}

// header notes that so many bytes that are about to be written are no work.
func (l *ledger) header(n int64) {
	l.mu.Lock()
	l.headers += n
	l.mu.Unlock()
}

// wrote notes that bytes of the body have been written.
func (l *ledger) wrote(n int64) {
	l.mu.Lock()
	l.written += n
	l.mu.Unlock()
}

// now reads the current connection; l.mu is held. A header that is written
// but not acknowledged yet would make the count too small for a moment, never
// too large.
func (l *ledger) now() (acked, retransmits int64) {
	if l.conn == nil {
		return 0, 0
	}
	s, ok := sentBy(l.conn)
	if !ok {
		return l.written, 0
	}
	return min(max(s.acked-l.base-l.headers, 0), l.written), s.retransmits
}

// totals returns the bytes sent so far, and the segments sent again.
func (l *ledger) totals() (bytes, retransmits int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	acked, again := l.now()
	l.last = max(l.last, l.done+acked)
	return l.last, l.retransmits + again
}
