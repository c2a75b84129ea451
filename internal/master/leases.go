package master

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/scalebench/scalebench/internal/model"
)

// Nodes are leased, and so are the hosts that they are on: two runs that
// measure on one host would measure each other. A run that needs what another
// has waits, and holds nothing meanwhile.

// host is a machine on which nodes are.
type host struct {
	// id is that of its kernel, or else the name: two containers on a machine
	// have two names, and two copies of an image one. Hosts that tell neither
	// are taken for one.
	id   string
	name string
}

func hostOf(f model.Facts) host { return host{cmp.Or(f.BootID, f.Hostname), f.Hostname} }

// claim is what a run holds, or waits for.
type claim struct {
	run   model.RunID
	name  string
	nodes []model.NodeID
	hosts []host // those of the nodes
	// own: the server brings the nodes up on its own host.
	own bool
	// shared: the hosts, but not the nodes, may be another run's as well, if
	// that says so, too.
	shared bool

	granted chan struct{} // closed when the claim is held
	waits   chan string   // what it waits for, whenever that has changed
	waited  string        // what it waited for at last
}

// again is the same claim, which is to be made once more.
func (c *claim) again() *claim {
	return &claim{
		run: c.run, name: c.name, nodes: c.nodes, own: c.own, shared: c.shared,
		granted: make(chan struct{}), waits: make(chan string, 1),
	}
}

// schedule says what each waiting claim, in the order of arrival, waits for; ""
// is nothing: it can be held at once, beside those that are held and all others
// that wait for nothing. A claim overtakes an earlier one only if it needs
// nothing that the earlier one needs, so that none waits for ever.
func schedule(held, waiting []*claim) []string {
	before := earlier{nodes: make(map[model.NodeID]*claim), hosts: make(map[string]*claim), unshared: make(map[string]*claim)}
	for _, c := range held {
		before.add(c)
	}
	out := make([]string, len(waiting))
	for i, c := range waiting {
		out[i] = before.keep(c)
		before.add(c)
	}
	return out
}

// earlier is who needed each thing last, of the claims before another one:
// after that claim it is the other one's turn.
type earlier struct {
	nodes    map[model.NodeID]*claim
	hosts    map[string]*claim // by id
	unshared map[string]*claim // likewise, of claims to whole hosts
}

func (e earlier) add(c *claim) {
	for _, n := range c.nodes {
		e.nodes[n] = c
	}
	for _, h := range c.hosts {
		e.hosts[h.id] = c
		if !c.shared {
			e.unshared[h.id] = c
		}
	}
}

// keep says what of a claim the earlier ones keep from it, "" for nothing. A
// host is not named beside its node.
func (e earlier) keep(c *claim) string {
	var order []*claim
	nodes, hosts := make(map[*claim][]model.NodeID), make(map[*claim][]string)
	note := func(b *claim) bool {
		if b != nil && !slices.Contains(order, b) {
			order = append(order, b)
		}
		return b != nil
	}
	for _, n := range c.nodes {
		if b := e.nodes[n]; note(b) {
			nodes[b] = append(nodes[b], n)
		}
	}
	last := e.hosts
	if c.shared {
		last = e.unshared
	}
	for _, h := range c.hosts {
		if b := last[h.id]; note(b) {
			hosts[b] = append(hosts[b], "host "+cmp.Or(h.name, "of an unknown name"))
		}
	}
	var out []string
	for _, b := range order {
		what := some(hosts[b], ", ")
		if len(nodes[b]) > 0 {
			what = nodeList(nodes[b])
		}
		out = append(out, fmt.Sprintf("run %s (%s) to release %s", b.run, b.name, what))
	}
	if len(out) == 0 {
		return ""
	}
	return "waiting for " + some(out, "; ")
}

// leases are who holds what, and who waits for it.
type leases struct {
	here   host // the server's own
	hostOf func(model.NodeID) host

	sync.Mutex
	held, waiting []*claim // waiting: in the order of arrival
}

func newLeases(here host, hostOf func(model.NodeID) host) *leases {
	return &leases{here: here, hostOf: hostOf}
}

// request puts a claim in line.
func (l *leases) request(c *claim) {
	l.Lock()
	defer l.Unlock()
	l.waiting = append(l.waiting, c)
	l.settle()
}

// release takes back what a run holds, or waits for.
func (l *leases) release(run model.RunID) {
	l.Lock()
	defer l.Unlock()
	of := func(c *claim) bool { return c.run == run }
	l.held, l.waiting = slices.DeleteFunc(l.held, of), slices.DeleteFunc(l.waiting, of)
	l.settle()
}

// settle grants what can be granted, and tells the others what they wait for.
// l.mu is held.
func (l *leases) settle() {
	for _, c := range l.waiting {
		c.hosts = l.hostsOf(c) // an agent may have come back on another host
	}
	waits := schedule(l.held, l.waiting)
	var still []*claim
	for i, c := range l.waiting {
		if waits[i] != "" {
			still = append(still, c)
			c.tell(waits[i])
			continue
		}
		l.held = append(l.held, c)
		close(c.granted)
	}
	l.waiting = still
}

// tell publishes what the claim waits for; it replaces older text.
func (c *claim) tell(waits string) {
	if waits == c.waited {
		return
	}
	c.waited = waits
	select {
	case <-c.waits:
	default:
	}
	c.waits <- waits
}

func (l *leases) hostsOf(c *claim) []host {
	if c.own {
		return []host{l.here}
	}
	var out []host
	for _, n := range c.nodes {
		out = append(out, l.hostOf(n))
	}
	slices.SortFunc(out, func(a, b host) int { return cmp.Or(strings.Compare(a.name, b.name), strings.Compare(a.id, b.id)) })
	return slices.CompactFunc(out, func(a, b host) bool { return a.id == b.id })
}

// holder returns the run that has leased a node, "" when none has.
func (l *leases) holder(node model.NodeID) model.RunID {
	l.Lock()
	defer l.Unlock()
	for _, c := range l.held {
		if slices.Contains(c.nodes, node) {
			return c.run
		}
	}
	return ""
}

// holding returns the runs that hold leases.
func (l *leases) holding() (out []model.RunID) {
	l.Lock()
	defer l.Unlock()
	for _, c := range l.held {
		out = append(out, c.run)
	}
	return out
}

// free reports whether a run could lease this node now.
func (l *leases) free(node model.NodeID, shared bool) bool {
	l.Lock()
	defer l.Unlock()
	c := &claim{nodes: []model.NodeID{node}, shared: shared}
	c.hosts = l.hostsOf(c)
	return schedule(slices.Concat(l.held, l.waiting), []*claim{c})[0] == ""
}

// disturbs reports whether work on a node that c knows nothing of disturbs c:
// the node is its own, or stands on one of its hosts and is not leased.
func (l *leases) disturbs(c *claim, node model.NodeID) bool {
	if holder := l.holder(node); holder != "" {
		return holder == c.run
	}
	id := l.hostOf(node).id
	return slices.ContainsFunc(c.hosts, func(h host) bool { return h.id == id })
}

// beside reports whether a node is on a host on which the claim has another
// node.
func (l *leases) beside(c *claim, node model.NodeID) bool {
	id := l.hostOf(node).id
	if c.own {
		return id == l.here.id
	}
	return slices.ContainsFunc(c.nodes, func(n model.NodeID) bool { return n != node && l.hostOf(n).id == id })
}

// acquire waits until the run's claim is held, and says what it waits for.
func (x *execution) acquire(ctx context.Context, state model.RunState) error {
	for {
		select {
		case <-x.claim.granted:
			return context.Cause(ctx) // others give back what they hold when the server stops
		default:
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-x.claim.granted:
		case waits := <-x.claim.waits:
			x.sayWaiting(ctx, state, waits)
		}
	}
}

// sayWaiting stores and tells what the run waits for. It is stored first: who
// begins to watch the run and then reads it misses nothing.
func (x *execution) sayWaiting(ctx context.Context, state model.RunState, waits string) {
	x.storeRunState(ctx, x.run.ID, state, waits)
	x.ev.emit(model.Event{Run: x.run.ID, Kind: model.EventWaiting, Text: waits})
}
