package master

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// nodeState is what the master knows of one node.
type nodeState struct {
	node    model.Node
	status  model.NodeStatus
	session string
	heard   time.Time
	running *wire.Attempt
	// joined is when this agent process registered first.
	joined time.Time
	// held is when it last said that something keeps it from going on, told when
	// that or its end was last reported by heartbeat, and stuck which of the two.
	held, told time.Time
	stuck      bool
}

// registry watches the nodes. Its methods return what changed; acting on it
// is the master's business.
type registry struct {
	lease     time.Duration
	slowAfter time.Duration

	sync.Mutex
	nodes   map[model.NodeID]*nodeState
	changed chan struct{} // closed and replaced whenever a status changes
}

func newRegistry(lease time.Duration) *registry {
	return &registry{
		lease:     lease,
		slowAfter: min(3*heartbeat, lease/2),
		nodes:     make(map[model.NodeID]*nodeState),
		changed:   make(chan struct{}),
	}
}

// change is a node that went from one status to another.
type change struct {
	node     model.NodeID
	from, to model.NodeStatus
	// replaced: another agent process took the node's place, so that whatever
	// the old one was doing has ended.
	replaced bool
	// rekeyed: it came with another identity, so that tasks signed for the old
	// one will never run.
	rekeyed bool
	hello   bool // it registered, rather than being heard
	// tell: something keeps it from going on, or no longer does, and people may
	// have to know.
	tell bool
}

// tellEvery bounds how often people are told what one node says of itself.
const tellEvery = 10 * time.Second

// know adds a node from the store that has not been heard yet.
func (r *registry) know(n model.Node) {
	r.Lock()
	defer r.Unlock()
	if _, ok := r.nodes[n.ID]; !ok {
		r.nodes[n.ID] = &nodeState{node: n, status: n.Absent()}
	}
}

// hello registers an agent.
func (r *registry) hello(h wire.Hello, now time.Time) change {
	r.Lock()
	defer r.Unlock()
	old, ok := r.nodes[h.Node.ID]
	if !ok {
		old = &nodeState{status: model.NodeLost}
	}
	c := change{
		node: h.Node.ID, from: old.status, to: model.NodeAlive, hello: true,
		replaced: old.session != "" && old.session != h.Session,
		rekeyed:  old.node.PublicKey != "" && old.node.PublicKey != h.Node.PublicKey,
	}
	n := &nodeState{node: h.Node, status: model.NodeAlive, session: h.Session, heard: now, joined: now}
	if old.session == h.Session {
		n.joined = old.joined
	}
	if len(h.Holding) > 0 {
		n.running = &h.Holding[0]
	}
	r.nodes[h.Node.ID] = n
	r.notify()
	return c
}

// heartbeat notes that a node was heard. A heartbeat of a former agent process
// is ignored, and so is that of a node that never said hello.
func (r *registry) heartbeat(h wire.Heartbeat, now time.Time) (change, bool) {
	r.Lock()
	defer r.Unlock()
	n, ok := r.nodes[h.Node]
	if !ok || (n.session != "" && n.session != h.Session) {
		return change{}, false
	}
	n.session, n.heard, n.running = h.Session, now, h.Running
	stuck := h.Trouble != ""
	if stuck {
		n.held = now
	}
	c, moved := r.move(h.Node, n, model.NodeAlive)
	if (stuck || n.stuck) && now.Sub(n.told) > tellEvery {
		n.stuck, n.told, c.tell = stuck, now, true
	}
	return c, moved || c.tell
}

// heldUp is when one of these nodes last said that something keeps it from going
// on; zero if none did.
func (r *registry) heldUp(ids []model.NodeID) (last time.Time) {
	r.Lock()
	defer r.Unlock()
	for _, id := range ids {
		if n, ok := r.nodes[id]; ok && n.held.After(last) {
			last = n.held
		}
	}
	return last
}

// gone notes that a node's agent has ended, by its own word or by that of the
// fleet that started it.
func (r *registry) gone(id model.NodeID, to model.NodeStatus) (change, bool) {
	r.Lock()
	defer r.Unlock()
	n, ok := r.nodes[id]
	if !ok {
		return change{}, false
	}
	return r.move(id, n, to)
}

// expire looks for nodes that were not heard for too long.
func (r *registry) expire(now time.Time) []change {
	r.Lock()
	defer r.Unlock()
	var out []change
	for id, n := range r.nodes {
		if !n.status.Up() {
			continue
		}
		to := model.NodeAlive
		switch silent := now.Sub(n.heard); {
		case silent > r.lease:
			to = model.NodeLost
		case silent > r.slowAfter:
			to = model.NodeSlow
		}
		if c, ok := r.move(id, n, to); ok {
			out = append(out, c)
		}
	}
	return out
}

// pardon counts all nodes as heard now. The master uses it after a time in
// which it could not listen itself: that silence was its own.
func (r *registry) pardon(now time.Time) {
	r.Lock()
	defer r.Unlock()
	for _, n := range r.nodes {
		if n.status.Up() {
			n.heard = now
		}
	}
}

func (r *registry) move(id model.NodeID, n *nodeState, to model.NodeStatus) (change, bool) {
	if n.status == to {
		return change{}, false
	}
	c := change{node: id, from: n.status, to: to}
	n.status = to
	r.notify()
	return c, true
}

// notify wakes everybody who waits for a change. r.mu is held.
func (r *registry) notify() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// wake lets everybody who waits for a change look again.
func (r *registry) wake() {
	r.Lock()
	defer r.Unlock()
	r.notify()
}

// list returns all nodes by id.
func (r *registry) list() []model.NodeInfo {
	r.Lock()
	defer r.Unlock()
	out := make([]model.NodeInfo, 0, len(r.nodes))
	for _, n := range r.nodes {
		i := model.NodeInfo{Node: n.node, Status: n.status, Heard: n.heard}
		if n.running != nil {
			i.Task = n.running.Task
		}
		out = append(out, i)
	}
	slices.SortFunc(out, func(a, b model.NodeInfo) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// get returns one node.
func (r *registry) get(id model.NodeID) (nodeState, bool) {
	r.Lock()
	defer r.Unlock()
	n, ok := r.nodes[id]
	if !ok {
		return nodeState{}, false
	}
	return *n, true
}

// missing returns which of these nodes are not up, and a channel that is
// closed at the next change.
func (r *registry) missing(ids []model.NodeID) ([]model.NodeID, <-chan struct{}) {
	r.Lock()
	defer r.Unlock()
	var out []model.NodeID
	for _, id := range ids {
		if n, ok := r.nodes[id]; !ok || !n.status.Up() {
			out = append(out, id)
		}
	}
	return out, r.changed
}

// atWork returns what nodes said last that they are executing, as far as that
// has not ended: the nodes that are up, and those that were lost at it.
func (r *registry) atWork(ended func(wire.Attempt) bool) (up, lost map[model.NodeID]wire.Attempt) {
	r.Lock()
	defer r.Unlock()
	up, lost = make(map[model.NodeID]wire.Attempt), make(map[model.NodeID]wire.Attempt)
	for id, n := range r.nodes {
		switch {
		case n.running == nil || ended(*n.running):
		case n.status.Up():
			up[id] = *n.running
		case n.status == model.NodeLost:
			lost[id] = *n.running
		}
	}
	return up, lost
}

// forget removes a node.
func (r *registry) forget(id model.NodeID) {
	r.Lock()
	defer r.Unlock()
	delete(r.nodes, id)
	r.notify()
}
