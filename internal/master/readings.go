package master

import (
	"context"
	"maps"
	"slices"
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
	here := slices.DeleteFunc(slices.Clone(nodes), func(id model.NodeID) bool { return !m.NodeAlive(id) })
	out, ask := m.readings.want(here, after, time.Now())
	if len(ask) > 0 {
		m.order(ctx, wire.Order{Kind: wire.OrderRecord}, ask, "asking nodes for readings; asking again")
	}
	return out, nil
}

// want notes that somebody wants the readings of these nodes. It returns what came of
// them after an earlier answer, and which are to be asked now.
func (r *readings) want(nodes []model.NodeID, after uint64, now time.Time) (out control.Readings, ask []model.NodeID) {
	r.Lock()
	defer r.Unlock()
	out.Last = r.last
	if after > r.last {
		after = 0 // it was the answer of a server before this one
	}
	maps.DeleteFunc(r.nodes, func(_ model.NodeID, n *nodeReadings) bool { return now.Sub(n.wanted) > wire.RecordFor })
	if r.nodes == nil {
		r.nodes = make(map[model.NodeID]*nodeReadings)
	}
	for _, id := range nodes {
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
	return out, ask
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
