package network

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// stream is everything in one direction between this node and one peer: as
// many flows as there are connections.
type stream struct {
	peer model.Host
	addr string // of the peer's server
	send bool

	received atomic.Int64 // bytes of bodies
	ledgers  []*ledger    // one for each flow that sends
	tickets  tickets
	active   atomic.Int32 // flows that still have something to do
	missing  atomic.Int32 // flows that have not been connected yet

	errors atomic.Int64
	mu     sync.Mutex
	last   error // the latest error, for the message when nothing moves any more
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

// trouble counts an error that is tried again.
func (s *stream) trouble(err error) {
	s.errors.Add(1)
	s.mu.Lock()
	s.last = err
	s.mu.Unlock()
}

// silent is the error for a peer that has stopped.
func (s *stream) silent(stall time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	verb := "received from"
	if s.send {
		verb = "accepted by"
	}
	return silence(verb, s.peer, s.addr, stall, s.last)
}

// silence says that a peer has stopped, and what to look at.
func silence(verb string, peer model.Host, addr string, stall time.Duration, last error) error {
	err := fmt.Errorf("nothing was %s %s at %s for %v: does its task still run, and does a firewall let this TCP port through?", verb, peer.Node, addr, stall)
	if last == nil {
		return err
	}
	return fmt.Errorf("%w The last error was: %w", err, last)
}

// tickets bound how many transfers are begun, once they are limited.
type tickets struct {
	limited atomic.Bool
	left    atomic.Int64
}

func (t *tickets) limit(n int64) {
	t.left.Store(n)
	t.limited.Store(true)
}

func (t *tickets) take() bool { return !t.limited.Load() || t.left.Add(-1) >= 0 }

// flow is one connection of a stream, made again after every error.
type flow struct {
	*stream
	client  *session
	ledger  *ledger // nil when receiving
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
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pace):
		}
	}
}

// use makes one connection and transfers over it.
func (f *flow) use(ctx context.Context) error {
	conn, err := dial(ctx, f.addr, f.client.set.stall)
	if err != nil {
		return err
	}
	defer reset(conn)
	// A deadline, not a close: the ledger is read while the connection is open.
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if f.ledger != nil {
		f.ledger.attach(conn)
		defer f.ledger.detach()
	}
	f.connect.Do(func() { f.client.isConnected(f) })
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.client.load:
	}
	return f.transfer(newLink(conn))
}

func (f *flow) transfer(l *link) error {
	one := f.download
	if f.send {
		one = f.upload
	}
	for f.tickets.take() {
		if err := one(l); err != nil {
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
		return fmt.Errorf("it sends %d bytes, want %d; the nodes must run the same task: %w", length, f.client.set.size, errFatal)
	}
	return l.body(length, f.client.head, f.took)
}

// upload sends one object, and waits until the peer has all of it.
func (f *flow) upload(l *link) error {
	o := f.client.object
	f.ledger.header(askSize("PUT", pathObject, f.addr, f.client.node, o.size))
	if err := l.ask("PUT", pathObject, f.addr, f.client.node, o.size); err != nil {
		return err
	}
	if err := sendFile(l.Conn, o.file, o.size, f.took); err != nil {
		return err
	}
	_, err := l.answer()
	return err
}
