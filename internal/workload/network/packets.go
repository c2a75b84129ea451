package network

import (
	"net"
	"sync"
)

// packetCount counts the packets with data that a flow got or sent, over all of its
// connections, as the kernel's TCP counts them: what a device joins or divides makes no
// difference, and acknowledgements are none.
type packetCount struct {
	mu    sync.Mutex
	send  bool
	conn  *net.TCPConn // nil between connections
	last  uint32       // the kernel's reading, which may wrap
	total int64
}

// attach begins to count a connection that has not been used yet.
func (c *packetCount) attach(conn *net.TCPConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = conn
	c.last, _ = c.reading() // of none nothing is counted
}

// detach takes the last reading; the connection must still be open.
func (c *packetCount) detach() {
	c.read()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn = nil
}

// reading is the kernel's; c.mu is held. Of what was sent the packets count that have
// arrived.
func (c *packetCount) reading() (uint32, bool) {
	if c.conn == nil {
		return 0, false
	}
	s, ok := sentBy(c.conn)
	if c.send {
		return s.delivered, ok
	}
	return s.received, ok
}

// read returns the packets so far.
func (c *packetCount) read() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now, ok := c.reading(); ok {
		c.total += int64(now - c.last)
		c.last = now
	}
	return c.total
}
