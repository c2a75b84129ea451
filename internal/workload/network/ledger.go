package network

import (
	"net"
	"sync"
)

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
