package http1

import (
	"net"
	"net/netip"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
)

// origin is a site as one loop sees it: with the connections that the loop has
// to it.
type origin struct {
	endpoints []endpoint
	addresses *load.Addresses // the same

	limit int // how many connections may be open
	open  int
	idle  list // the one used last is last, and is used first
	// outstanding are connections with an operation, in the order in which
	// they were sent; which is also the order in which they were due.
	outstanding list
	waiting     queue
	// freeSince is since when a connection has been free, or
	// one could have been opened.
	freeSince time.Duration
}

// endpoint is an address of an origin.
type endpoint struct {
	netip.AddrPort
	*load.Address

	family int
	socket unix.Sockaddr
}

// newOrigins are the sites as a loop sees them that may have so many connections
// to each.
func newOrigins(sites []site, limit int) []*origin {
	// With one origin no operation needs room to wait: a later one would not be
	// sent before it.
	room := 0
	if len(sites) > 1 {
		room = 1 << 14
	}
	origins := make([]*origin, len(sites))
	for i, s := range sites {
		o := &origin{limit: limit, addresses: load.NewAddresses(s.addresses),
			waiting: queue{room: make([]operation, room)}}
		for _, a := range s.addresses {
			e := endpoint{AddrPort: a, family: unix.AF_INET6,
				socket: &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone(a.Addr().Zone())}}
			if a.Addr().Is4() {
				e.family, e.socket = unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
			}
			o.endpoints = append(o.endpoints, e)
		}
		origins[i] = o
	}
	return origins
}

// zone is the index of the interface that a link-local address belongs to; 0
// if it has none, or no interface has that name: then connecting fails.
func zone(name string) uint32 {
	if i, err := net.InterfaceByName(name); err == nil {
		return uint32(i.Index)
	}
	n, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return 0
	}
	return uint32(n)
}

// full reports whether all connections allowed are in use.
func (o *origin) full() bool { return o.idle.first == nil && o.open >= o.limit }

// endpoint is what is needed to connect to one of the addresses.
func (o *origin) endpoint(a *load.Address) *endpoint {
	i := slices.IndexFunc(o.endpoints, func(e endpoint) bool { return e.AddrPort == a.AddrPort })
	o.endpoints[i].Address = a
	return &o.endpoints[i]
}

// oldest is when the operation was due that was due first among those without
// an end, if that is before t.
func (o *origin) oldest(t time.Duration) time.Duration {
	if o.outstanding.first != nil {
		t = min(t, o.outstanding.first.op.due)
	}
	if o.waiting.n > 0 {
		t = min(t, o.waiting.first().due)
	}
	return t
}

// expires is when the next of its operations will have taken too long, if that
// is before t.
func (o *origin) expires(t, timeout time.Duration) time.Duration {
	if o.outstanding.first != nil {
		t = min(t, o.outstanding.first.sent+timeout)
	}
	if o.waiting.n > 0 {
		t = min(t, o.waiting.first().due+timeout)
	}
	return t
}

// rests reports whether all its operations have ended.
func (o *origin) rests() bool { return o.outstanding.first == nil && o.waiting.n == 0 }

// operation is one that is due.
type operation struct {
	kind int // index of its target
	due  time.Duration
	wire []byte // the request
	user int    // of the sessions, if there are any
}

// state is what a connection is doing.
type state uint8

const (
	closed     state = iota
	connecting       // the handshake is under way, for an operation
	busy             // an operation has been sent, wholly or in part
	idle             // free
	parting          // the server will close it; nothing is sent any more
	racing           // the handshake is under way beside another, or for nobody
)

// conn is a connection, or the place of one: it is used again for another
// connection when this one is closed.
type conn struct {
	// slot and age identify the connection in epoll's events: one batch may
	// also close the connection, and a new one may take its slot before the
	// loop looks at the event.
	slot, age int32
	fd        int // -1: none
	state     state
	origin    *origin
	endpoint  *endpoint

	op     operation
	sent   time.Duration // when op was sent, or the connection began to part
	rest   []byte        // of the request, that is not written yet
	cut    bool          // nothing can be written any more
	reused bool          // another operation was before op

	// While the handshake is under way: when that began, the addresses that were
	// tried for op and what was wrong with them, and whether others are under way
	// beside it. lead is whose handshake this one is beside; nil: for nobody.
	began  time.Duration
	tried  []*load.Address
	causes []error
	raced  bool
	lead   *conn

	// outOfOrder is how many segments have come out of order, when that was
	// asked last.
	outOfOrder uint32
	reply      httpwire.Reply

	prev, next *conn // in the list that it is in, if any
}

// list is a list of connections. Each is in one list at most, so that adding
// and removing costs nothing but a few pointers.
type list struct{ first, last *conn }

// push adds c at the end.
func (l *list) push(c *conn) {
	c.prev, c.next = l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
}

// remove takes c out, wherever it is.
func (l *list) remove(c *conn) {
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
}

// queue holds operations that wait for a connection to their origin while what
// is for others goes on. Its room is fixed.
type queue struct {
	room []operation
	head int
	n    int
}

// push reports whether there was room.
func (q *queue) push(x operation) bool {
	if q.n == len(q.room) {
		return false
	}
	q.room[(q.head+q.n)%len(q.room)] = x
	q.n++
	return true
}

// first is the operation that has waited for longest; there is one.
func (q *queue) first() operation { return q.room[q.head] }

func (q *queue) pop() operation {
	x := q.room[q.head]
	q.head = (q.head + 1) % len(q.room)
	q.n--
	return x
}
