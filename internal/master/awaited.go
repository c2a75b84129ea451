package master

import (
	"context"
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/model"
)

// A run that its command leaves to the server may be stored before its agents
// have joined: without nodes, and so without steps. Its execution begins by
// waiting for them. When they are known they are stored, and then the steps: a
// server that is killed in between finds nodes without steps, and lays out the
// same ones.

// chooseAgents waits, at most timeouts.node, for the agents of a run that has no
// nodes yet, makes them its nodes, and puts it in line for them.
func (x *execution) chooseAgents(ctx context.Context) error {
	if x.exp == nil || x.exp.Fleet.Agents == nil || len(x.claim.nodes) > 0 {
		return nil
	}
	nodes, err := x.awaitAgents(ctx)
	if err != nil {
		return err
	}
	err = x.persist(ctx, "storing the nodes", func() error {
		return x.store.PutRunNodes(ctx, x.run.ID, nodes)
	})
	if err != nil {
		return err
	}
	x.leases.release(x.run.ID)
	x.claim = x.claim.again()
	x.claim.nodes = model.NodeIDs(nodes)
	x.leases.request(x.claim)
	return nil
}

func (x *execution) awaitAgents(ctx context.Context) ([]model.Node, error) {
	timeout := time.After(x.timeouts.node)
	for said := ""; ; {
		_, changed := x.reg.missing(nil)
		nodes, err := x.selectNodes(x.run.ID, x.exp)
		if !errors.Is(err, ErrFewAgents) {
			return nodes, err
		}
		if waits := "waiting: " + model.Plain(err); waits != said {
			x.sayWaiting(ctx, model.RunPending, waits)
			said = waits
		}
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-timeout:
			return nil, err
		case <-changed:
		}
	}
}
