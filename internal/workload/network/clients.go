package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// client is a node with a task that connects to this one.
type client struct {
	host  model.Host
	heard atomic.Int64 // when it last did anything, as since() of its clients
	gone  atomic.Bool  // it has said goodbye
	port  int          // of its own iperf3 server; 0 without one
	// addresses are where its requests may come from.
	addresses []netip.Addr
}

// clients are all that a server serves, by node.
type clients struct {
	here   map[netip.Addr]bool // addresses of this machine
	origin time.Time           // of all times in it: atomic integers, on the monotonic clock
	byNode map[string]*client
	order  []*client
	left   chan struct{} // a value for each goodbye
}

func newClients(hosts []model.Host) *clients {
	cs := &clients{origin: time.Now(), byNode: make(map[string]*client), left: make(chan struct{}, len(hosts))}
	for _, h := range hosts {
		c := &client{host: h}
		cs.byNode[string(h.Node)] = c
		cs.order = append(cs.order, c)
	}
	return cs
}

// locate finds out where requests of these clients come from: their addresses,
// host names looked up once.
func (cs *clients) locate(ctx context.Context) error {
	here, err := net.InterfaceAddrs()
	if err != nil {
		return fmt.Errorf("looking up the addresses of this machine: %w", err)
	}
	cs.here = make(map[netip.Addr]bool)
	for _, a := range here {
		if p, err := netip.ParsePrefix(a.String()); err == nil {
			cs.here[plain(p.Addr())] = true
		}
	}
	for _, c := range cs.order {
		if c.host.Address == "" {
			return fmt.Errorf("the address from which %s connects is unknown; start its agent with --label %s=ADDRESS", c.host.Node, model.LabelAddress)
		}
		found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", c.host.Address)
		if err != nil {
			return fmt.Errorf("looking up the address %q of %s (its label `%s` may name an IP address instead): %w", c.host.Address, c.host.Node, model.LabelAddress, err)
		}
		for _, a := range found {
			c.addresses = append(c.addresses, plain(a))
		}
	}
	return nil
}

// plain makes addresses comparable: IPv4 is IPv4, and no interface is named.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// remote is where a connection comes from; the zero address if that is not an
// IP address.
func remote(conn net.Conn) netip.Addr {
	if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return plain(tcp.AddrPort().Addr())
	}
	return netip.Addr{}
}

// from says whether an address is the client's. Nodes of one machine connect
// to each other from whatever address of it the system takes.
func (cs *clients) from(c *client, a netip.Addr) bool {
	return slices.Contains(c.addresses, a) || cs.local(a) && slices.ContainsFunc(c.addresses, cs.local)
}

func (cs *clients) local(a netip.Addr) bool { return a.IsLoopback() || cs.here[a] }

// known says whether an address is that of any client.
func (cs *clients) known(a netip.Addr) bool {
	return slices.ContainsFunc(cs.order, func(c *client) bool { return cs.from(c, a) })
}

// heard notes a sign of life.
func (cs *clients) heard(c *client) { c.heard.Store(int64(time.Since(cs.origin))) }

// goodbye notes that a client is done.
func (cs *clients) goodbye(c *client) {
	cs.heard(c)
	if !c.gone.Swap(true) {
		cs.left <- struct{}{} // there is room for one from each
	}
}

// wait returns when all clients have said goodbye, or with an error that names
// those that were silent for as long as stall. Silence counts from the call.
func (cs *clients) wait(ctx context.Context, stall time.Duration) error {
	for _, c := range cs.order {
		cs.heard(c)
	}
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for {
		waiting, silent := 0, []string(nil)
		for _, c := range cs.order {
			if c.gone.Load() {
				continue
			}
			waiting++
			if time.Since(cs.origin)-time.Duration(c.heard.Load()) > stall {
				silent = append(silent, name(c.host))
			}
		}
		switch {
		case waiting == 0:
			return nil
		case len(silent) > 0:
			return fmt.Errorf("nothing was heard from %s for %v, although it should measure against this node; "+
				"check that its task still runs and that the network connects the two nodes", strings.Join(silent, ", "), stall)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-cs.left:
		case <-tick.C:
		}
	}
}

// name is how a host is called in messages.
func name(h model.Host) string { return fmt.Sprintf("%s (%s)", h.Node, h.Address) }
