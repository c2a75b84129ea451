package master

import (
	"context"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/control"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// readings are what nodes are reading while somebody watches them. Nodes send only
// when they are asked, and the latest of each is kept.
type readings struct {
	sync.Mutex
	nodes map[model.NodeID]*nodeReadings
	last  uint64 // how many have come
}

type nodeReadings struct {
	wanted time.Time // when somebody asked last
	asked  time.Time // when the node was asked last
	latest wire.Readings
	number uint64 // of the latest, in the order in which those of all nodes came
}

// askAgain is how often a node is asked to go on: often enough for two orders to be
// lost.
const askAgain = wire.RecordFor / 3

// Readings returns what the monitors of nodes have read in the last seconds, of those
// nodes that have sent something after an earlier answer. At the first call the nodes
// begin to read; they end by themselves when nobody calls any more.
func (m *Master) Readings(ctx context.Context, nodes []model.NodeID, after uint64) (control.Readings, error) {
	now := time.Now()
	var ask []model.NodeID
	r := &m.readings
	r.Lock()
	out := control.Readings{Last: r.last}
	if after > r.last {
		after = 0 // it was the answer of a server before this one
	}
	for id, n := range r.nodes {
		if now.Sub(n.wanted) > wire.RecordFor {
			delete(r.nodes, id)
		}
	}
	for _, id := range nodes {
		if !m.NodeAlive(id) {
			continue
		}
		if r.nodes == nil {
			r.nodes = make(map[model.NodeID]*nodeReadings)
		}
		if r.nodes[id] == nil {
			r.nodes[id] = &nodeReadings{}
		}
		n := r.nodes[id]
		if n.wanted = now; now.Sub(n.asked) >= askAgain {
			n.asked, ask = now, append(ask, id)
		}
		if n.number > after {
			out.Nodes = append(out.Nodes, n.latest)
		}
	}
	r.Unlock()
	if len(ask) > 0 {
		m.order(ctx, wire.Order{Kind: wire.OrderRecord}, ask, "asking nodes for readings; asking again")
	}
	return out, nil
}

// NodeReadings keeps what a node has read, if somebody wants it and it is new.
func (m *Master) NodeReadings(read wire.Readings) {
	r := &m.readings
	r.Lock()
	defer r.Unlock()
	if n := r.nodes[read.Node]; n != nil && read.Last().After(n.latest.Last()) {
		r.last++
		n.latest, n.number = read, r.last
	}
}
