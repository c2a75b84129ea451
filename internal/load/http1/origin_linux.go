package http1

import (
	"net"
	"net/netip"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// origin is a site as one loop sees it: with the connections that the loop has
// to it.
type origin struct {
	name      string
	endpoints []endpoint
	turn      int // counts what pick has returned

	limit int // how many connections may be open
	open  int
	idle  list // the one used last is last, and is used first
	// outstanding are connections with an operation, in the order in which
	// they were sent; which is also the order in which they were due.
	outstanding list
	waiting     queue
	// freeSince is since when there has been a connection for whoever came, or
	// one could have been opened.
	freeSince time.Duration
}

// endpoint is an address of an origin.
type endpoint struct {
	address netip.AddrPort
	family  int
	socket  unix.Sockaddr
	worked  bool // a connection was made
	bad     bool // the last attempt failed; others are preferred
}

func newOrigin(s site, limit, waiting int) *origin {
	o := &origin{name: s.name, limit: limit, waiting: queue{room: make([]operation, waiting)}}
	for _, a := range s.addresses {
		o.endpoints = append(o.endpoints, newEndpoint(a))
	}
	return o
}

func newEndpoint(a netip.AddrPort) endpoint {
	e := endpoint{address: a}
	if a.Addr().Is4() {
		e.family, e.socket = unix.AF_INET, &unix.SockaddrInet4{Port: int(a.Port()), Addr: a.Addr().As4()}
		return e
	}
	e.family = unix.AF_INET6
	e.socket = &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16(), ZoneId: zone(a.Addr().Zone())}
	return e
}

// zone is the index of the interface that a link-local address belongs to; 0
// where it has none, or there is none of that name: then connecting fails.
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

// pick returns the addresses in turn, without those that failed, unless all
// did.
func (o *origin) pick() *endpoint {
	for range o.endpoints {
		if e := o.next(); !e.bad {
			return e
		}
	}
	o.forgive()
	return o.next()
}

func (o *origin) next() *endpoint {
	e := &o.endpoints[o.turn%len(o.endpoints)]
	o.turn++
	return e
}

// forgive lets all addresses be tried again.
func (o *origin) forgive() {
	for i := range o.endpoints {
		o.endpoints[i].bad = false
	}
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
