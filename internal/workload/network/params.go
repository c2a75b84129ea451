package network

import (
	"context"
	"errors"
	"time"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The tools.
const (
	Builtin = "builtin"
	Iperf3  = "iperf3"
)

// The directions, as the client of a connection sees them.
const (
	Both    = "both"
	Receive = "receive"
	Send    = "send"
)

// Paper is the preset of the paper's network benchmark (section 3.3 of
// the ScaleBench paper).
const Paper = "paper"

// Params are the parameters of the workload. What is zero has a default that
// depends on the others: see settings.
type Params struct {
	Tool        string         `json:"tool,omitempty" jsonschema:"enum=builtin,enum=iperf3" jsonschema_description:"What transfers: builtin needs nothing, iperf3 must be installed on every node."`
	Shape       string         `json:"pairing,omitempty" jsonschema:"enum=pairs,enum=ring,enum=all_to_one,enum=across_groups" jsonschema_description:"Who connects to whom. pairs: neighbours, two and two. ring: each node to the next. all_to_one: all to one node. across_groups: pairs of nodes of two groups."`
	Sink        string         `json:"sink,omitempty" jsonschema_description:"all_to_one: the node that all connect to, or a group of one node. Default: the first node."`
	Direction   string         `json:"direction,omitempty" jsonschema:"enum=both,enum=receive,enum=send" jsonschema_description:"What the client of a connection does. both: in a pair, each end receives from the other; in a ring or with all_to_one, the client sends and receives. Default: both for pairs, receive for a ring, send for all_to_one."`
	Connections int            `json:"connections,omitempty" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"TCP connections in each direction. Default: 4; with the preset paper, one for each processor of the node."`
	Size        unit.Size      `json:"size,omitempty" jsonschema_description:"Size of the object that is transferred again and again. It is kept in memory. Default: 100MB."`
	Duration    unit.Duration  `json:"duration,omitempty" jsonschema_description:"How long to measure, after the warm-up. Default: 10s. Give either this or downloads."`
	Downloads   int64          `json:"downloads,omitempty" jsonschema:"minimum=1" jsonschema_description:"End after so many transfers of the object in each direction, over all connections together, instead of after a time."`
	WarmUp      *unit.Duration `json:"warm_up,omitempty" jsonschema_description:"Time at the start that is not scored. In its first half, at most 1s, nothing is transferred and the round-trip time of the idle network is measured. Default: 2s; with downloads, none."`
	Port        int            `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535" jsonschema_description:"TCP port to listen on; nodes that share an address count up from it. iperf3 listens on the port plus 100 for the first client, plus 200 for the second, and so on."`
	Stall       unit.Duration  `json:"stall,omitempty" jsonschema_description:"A peer from which nothing is heard for so long fails the task."`
	Preset      string         `json:"preset,omitempty" jsonschema:"enum=paper" jsonschema_description:"paper: 3200 downloads of 100MB, one connection for each processor. Keys beside it take precedence."`

	state *state // between Prepare and the end of Run
}

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "network",
		Summary: "Throughput and round-trip time between nodes, built in or by iperf3.",
		New: func() workload.Workload {
			return &Params{Tool: Builtin, Shape: string(workload.Pairs), Port: 7420, Stall: unit.Duration(5 * time.Second)}
		},
	}
}

// Estimate implements workload.Workload: unknown where a count ends the test.
func (p *Params) Estimate() time.Duration {
	s := p.settings()
	if s.downloads > 0 {
		return 0
	}
	return s.warmUp + s.duration
}

// Pairing implements workload.Paired.
func (p *Params) Pairing() workload.Pairing {
	return workload.Pairing{Kind: workload.PairingKind(p.Shape), Both: p.settings().mutual, Sink: p.Sink}
}

// Prepare makes the object and begins to serve.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	st, err := prepare(ctx, p.settings(), env)
	p.state = st
	return err
}

// Run measures and serves, each until it is over. When one of them fails, the
// other ends.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	if p.state == nil {
		return errors.New("network: Run without Prepare")
	}
	return p.state.run(ctx, env)
}

// Cleanup stops serving, where Run has not.
func (p *Params) Cleanup(context.Context, *workload.Env) error {
	if p.state == nil {
		return nil
	}
	return p.state.close()
}
