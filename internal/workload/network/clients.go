package network

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// client is a node whose task connects to this one.
type client struct {
	host  model.Host
	heard atomic.Int64 // when it last did anything, as since() of its clients
	gone  atomic.Bool  // it has said goodbye
	port  int          // of its own iperf3 server; 0 without one
}

// clients are all that a server serves, by node.
type clients struct {
	origin time.Time // of all times in it: atomic integers, on the monotonic clock
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
		waiting, silent := cs.missing(stall)
		switch {
		case len(waiting) == 0:
			return nil
		case len(silent) > 0:
			return fmt.Errorf("nothing was heard from %s for %v; it should have measured against this node: does its task still run, and do the networks between connect them?", strings.Join(silent, ", "), stall)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-cs.left:
		case <-tick.C:
		}
	}
}

// missing names the clients that have not said goodbye, and those of them that
// are silent.
func (cs *clients) missing(stall time.Duration) (waiting, silent []string) {
	now := time.Since(cs.origin)
	for _, c := range cs.order {
		if c.gone.Load() {
			continue
		}
		name := name(c.host)
		waiting = append(waiting, name)
		if now-time.Duration(c.heard.Load()) > stall {
			silent = append(silent, name)
		}
	}
	return waiting, silent
}

// name is how a host is called in messages.
func name(h model.Host) string { return fmt.Sprintf("%s (%s)", h.Node, h.Address) }
