package master

import (
	"context"
	"sync"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// readings are what nodes are reading while somebody watches them. Nodes send only
// when they are asked, and the latest of each is kept.
type readings struct {
	sync.Mutex
	nodes map[model.NodeID]*nodeReadings
}

type nodeReadings struct {
	wanted time.Time // when somebody asked last
	asked  time.Time // when the node was asked last
	latest wire.Readings
}

// askAgain is how often a node is asked to go on: often enough for two orders to be
// lost.
const askAgain = wire.RecordFor / 3

// Readings returns what the monitors of nodes have read in the last seconds, of those
// nodes that have sent something. At the first call the nodes begin to read; they end
// by themselves when nobody calls any more.
func (m *Master) Readings(ctx context.Context, nodes []model.NodeID) ([]wire.Readings, error) {
	now := time.Now()
	var ask []model.NodeID
	var out []wire.Readings
	r := &m.readings
	r.Lock()
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
		if n.latest.Node != "" {
			out = append(out, n.latest)
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
	m.readings.Lock()
	defer m.readings.Unlock()
	if n := m.readings.nodes[read.Node]; n != nil && read.Last().After(n.latest.Last()) {
		n.latest = read
	}
}
