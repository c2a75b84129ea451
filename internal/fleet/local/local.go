// Package local is the fleet of agent processes on this machine: nodes
// local-1 to local-n. Package agentproc keeps them running, and from outliving
// their server.
package local

import (
	"context"
	"fmt"
	"time"

	"github.com/scalebench/scalebench/internal/fleet/agentproc"
	"github.com/scalebench/scalebench/internal/model"
)

// Fleet is a set of agent processes.
type Fleet struct {
	*agentproc.Set
	nodes int
}

// New describes a fleet of so many nodes; nothing is started yet.
func New(nodes int, cfg agentproc.Config) *Fleet {
	return &Fleet{nodes: nodes, Set: agentproc.New(cfg)}
}

// Nodes returns the fleet's nodes: ids and labels.
func (f *Fleet) Nodes() []model.Node { return Nodes(f.nodes) }

// Nodes returns the nodes that a fleet of so many has: ids and labels.
func Nodes(n int) []model.Node {
	out := make([]model.Node, n)
	for i := range out {
		out[i] = model.Node{
			ID:     model.NodeID(fmt.Sprintf("local-%d", i+1)),
			Labels: map[string]string{model.LabelFleet: model.FleetLocal},
		}
	}
	return out
}

// Services returns nil: a local fleet has none.
func (f *Fleet) Services() map[string]string { return nil }

// Beside returns 0: Up starts agents only.
func (f *Fleet) Beside() time.Duration { return 0 }

// Up starts the agents. ended is called whenever one has ended by itself; it
// is started again, unless it ends over and over.
func (f *Fleet) Up(ctx context.Context, ended agentproc.Ended) error {
	agents := make([]agentproc.Agent, 0, f.nodes)
	for _, n := range f.Nodes() {
		agents = append(agents, agentproc.Agent{Node: n})
	}
	return f.Set.Up(ctx, agents, ended)
}
