package master

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Before a step begins no node of the run, and no other one on its hosts, may
// still be at work on something else: what goes on beside a measurement is
// measured with it. Left-over work comes from a former life of the server, from
// a run that is over, or from a task that was called off and did not end at
// once. What another run has leased is at its work.

// quietPoll is how often the nodes' own word is looked at; heartbeats bring it.
const quietPoll = 100 * time.Millisecond

// quiet ends left-over work and waits until every such node that is up says that
// it has none. If that takes longer than timeouts.node the run cannot go on now;
// it can be resumed.
func (x *execution) quiet(ctx context.Context) error {
	deadline := x.m.cfg.Now().Add(x.timeouts.node)
	told := make(map[wire.Attempt]bool)
	for {
		busy := x.m.reg.busy(x.m.hasEnded)
		maps.DeleteFunc(busy, func(node model.NodeID, _ wire.Attempt) bool { return !x.m.leases.disturbs(x.claim, node) })
		if len(busy) == 0 {
			return nil
		}
		for node, at := range busy {
			if !told[at] {
				told[at] = true
				x.endLeftover(ctx, node, at)
			}
		}
		if x.m.cfg.Now().After(deadline) {
			return fmt.Errorf("%w: %s", model.ErrUnavailable, describeBusy(busy))
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(quietPoll):
		}
	}
}

// endLeftover orders a node to end work that nobody waits for.
func (x *execution) endLeftover(ctx context.Context, node model.NodeID, at wire.Attempt) {
	step := string(at.Task)
	if i := strings.LastIndexByte(step, '/'); i > 0 {
		step = step[:i] // a task's id is its step's, and its position
	}
	o := wire.Order{Kind: wire.OrderCancel, Run: x.run.ID, Step: model.StepID(step), Attempt: at.Attempt,
		Reason: "its result is no longer needed"}
	if err := x.m.cfg.Queue.Order(ctx, o, []model.NodeID{node}); err != nil {
		x.m.log.Warn("ending left-over work", "node", node, "attempt", at, "err", err)
	}
	x.m.log.Info("a node is still working on another task; it was told to stop", "node", node, "attempt", at)
}

func describeBusy(busy map[model.NodeID]wire.Attempt) string {
	var out []string
	for node, at := range busy {
		out = append(out, fmt.Sprintf("node %s is still working on %s", node, at))
	}
	return strings.Join(out, "; ")
}

// endedMemory bounds how many ended attempts are remembered. Only a node's
// last one can matter, for at most a heartbeat.
const endedMemory = 10000

// noteEnded remembers that a node has delivered an attempt: its next heartbeats
// may still name it.
func (m *Master) noteEnded(r model.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.ended) >= endedMemory {
		clear(m.ended)
	}
	m.ended[wire.Attempt{Task: r.Task, Attempt: r.Attempt}] = true
}

func (m *Master) hasEnded(at wire.Attempt) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ended[at]
}
