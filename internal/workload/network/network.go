// Package network measures the throughput between nodes, and the round-trip
// time beside it (section 3.3 of the ScaleBench paper: pairs of nodes
// download a file of 100 MB from each other over several connections at once).
//
// The plan (workload.Paired) decides which nodes connect: a task with
// Env.Peers is a client and measures; a task with Env.Clients serves; it may
// be both. What happens, in order:
//
//  1. Prepare puts the object into memory and begins to serve it, before any
//     node may start, so that no port is closed;
//  2. Run connects. During the first half of the warm-up, at most a second,
//     nothing is transferred: the round-trip time of the idle network, and then, where
//     asked for, that of messages of several sizes;
//  3. all connections transfer: HTTP/1.1 GET to receive, PUT to send. The
//     kernel copies: sendfile from memory on one side, receive and discard
//     (MSG_TRUNC) on the other, so that the network and not a copy loop is
//     what ends growth;
//  4. when the warm-up is over, bytes are counted: those that arrived here,
//     and of those sent only what the peer's TCP has acknowledged;
//  5. the client says goodbye; the server goes on until every client has, or
//     one has been silent for too long.
//
// With iperf3 as the tool, step 3 and 4 are left to it; the rest is the same.
package network

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
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
	Tool        string         `json:"tool,omitempty" jsonschema:"enum=builtin,enum=iperf3" jsonschema_description:"Tool that transfers: builtin needs nothing, iperf3 must be installed on every node."`
	Shape       string         `json:"pairing,omitempty" jsonschema:"enum=pairs,enum=ring,enum=all_to_one,enum=across_groups,enum=within_groups" jsonschema_description:"Who connects to whom. pairs: neighbours. ring: each node to the next. all_to_one: all to one node. across_groups: pairs of nodes of two groups. within_groups: pairs of nodes of one group."`
	Sink        string         `json:"sink,omitempty" jsonschema_description:"all_to_one: the node that all connect to, or a group of one node. Default: the first node."`
	Direction   string         `json:"direction,omitempty" jsonschema:"enum=both,enum=receive,enum=send" jsonschema_description:"What the client of a connection does. both: in a pair, each end receives from the other; in a ring or with all_to_one, the client sends and receives. Default: both for pairs, receive for a ring, send for all_to_one."`
	Connections int            `json:"connections,omitempty" jsonschema:"minimum=1,maximum=1024" jsonschema_description:"TCP connections in each direction. Default: 4; with the preset paper, one for each processor of the node."`
	Size        unit.Size      `json:"size,omitempty" jsonschema_description:"Size of the object that is transferred again and again. It is kept in memory. Default: 100MB."`
	Packet      unit.Size      `json:"packet,omitempty" jsonschema_description:"Largest TCP segment, 88B to 9kB, of which 12B are usually TCP's own; small ones measure how many packets a second there are. Builtin, on Linux. Default: what the network takes."`
	Messages    []unit.Size    `json:"messages,omitempty" jsonschema:"maxItems=32,uniqueItems=true" jsonschema_description:"Sizes of messages, 1B to 1MiB, whose round trips are measured while nothing is transferred, each for a second. Builtin."`
	Duration    unit.Duration  `json:"duration,omitempty" jsonschema_description:"How long to measure, after the warm-up. Default: 10s. Give either this or downloads."`
	Downloads   int64          `json:"downloads,omitempty" jsonschema:"minimum=1,maximum=1000000000" jsonschema_description:"End after this many transfers of the object in each direction, over all connections together, instead of after a time."`
	WarmUp      *unit.Duration `json:"warm_up,omitempty" jsonschema_description:"Time at the start that is not scored. In its first half, at most 1s, nothing is transferred and the round-trip time of the idle network is measured. Default: 2s; with downloads, none."`
	Port        int            `json:"port,omitempty" jsonschema:"minimum=1,maximum=65535" jsonschema_description:"TCP port to listen on; nodes that share an address count up from it. iperf3 listens on the port plus 100 for the first client, plus 200 for the second, and so on."`
	Stall       unit.Duration  `json:"stall,omitempty" jsonschema_description:"The task fails if a peer is silent for this long."`
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

// Tools implements workload.ToolUser: both ends of a connection need the tool.
func (p *Params) Tools() []workload.Tool {
	if p.Tool == Builtin {
		return nil
	}
	return []workload.Tool{{Name: p.Tool}}
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

// Prepare makes the object and begins to serve. After an error nothing is left.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) error {
	if env.Role != model.RoleServe && len(env.Peers) == 0 {
		return errors.New("network measures between nodes: use a fleet of at least 2 nodes")
	}
	st := &state{set: p.settings()}
	if err := st.build(ctx, env); err != nil {
		return errors.Join(err, st.close())
	}
	p.state = st
	return nil
}

// Run measures and serves, each until it is over. When one of them fails, the
// other ends.
func (p *Params) Run(ctx context.Context, env *workload.Env) error {
	if p.state == nil {
		return errors.New("network: Run was called before Prepare")
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

// settings are parameters with every default resolved.
type settings struct {
	tool string
	// receive and send: what a measuring task does. mutual: both ends of a
	// pair measure.
	receive, send, mutual bool
	connections           int   // for each direction and peer
	size                  int64 // of the object, bytes
	packet                int   // largest segment, bytes; 0: that of the network
	messages              []unit.Size
	duration              time.Duration
	downloads             int64 // transfers for each direction and peer; 0: duration counts
	// warmUp is the time from the start to the scored part; for its first
	// part, idle, nothing is transferred, nor while messages go back and forth.
	warmUp, idle time.Duration
	port         int
	stall        time.Duration
}

const (
	defaultConnections = 4
	defaultSize        = 100_000_000 // the paper's test file: 100 MB
	defaultDuration    = 10 * time.Second
	defaultWarmUp      = 2 * time.Second
	paperDownloads     = 3200
	maxIdle            = time.Second
)

func (p *Params) settings() settings {
	s := settings{
		tool: p.Tool, connections: p.Connections, size: int64(p.Size), duration: p.Duration.Std(),
		packet: int(p.Packet), messages: p.Messages, downloads: p.Downloads, port: p.Port, stall: p.Stall.Std(),
	}
	direction := p.Direction
	if direction == "" {
		direction = map[string]string{string(workload.Ring): Receive, string(workload.AllToOne): Send}[p.Shape]
	}
	// The two ends of a pair receive from each other, as in the paper: what one
	// receives the other sends, and none is counted twice.
	pair := p.Shape != string(workload.Ring) && p.Shape != string(workload.AllToOne)
	s.mutual = pair && (direction == Both || direction == "")
	s.receive, s.send = direction != Send, direction != Receive && !s.mutual
	if p.Preset == Paper {
		// "All threads of the machine" are those that this process may run on.
		s.connections = cmp.Or(s.connections, runtime.NumCPU())
		if s.downloads == 0 && s.duration == 0 {
			s.downloads = paperDownloads
		}
	}
	s.connections = cmp.Or(s.connections, defaultConnections)
	s.size = cmp.Or(s.size, defaultSize)
	s.duration = cmp.Or(s.duration, defaultDuration)
	switch {
	case p.WarmUp != nil:
		s.warmUp = p.WarmUp.Std()
	case s.downloads == 0: // the paper counts from the first byte
		s.warmUp = defaultWarmUp
	}
	if s.tool != Iperf3 || s.warmUp >= 2*time.Second { // iperf3 needs whole seconds for its own warm-up
		s.idle = min(maxIdle, s.warmUp/2)
	}
	s.warmUp += s.sweep()
	return s
}

const (
	minSize     = unit.Size(1000)
	maxSize     = unit.Size(16_000_000_000)
	minDuration = 500 * time.Millisecond
	minStall    = 500 * time.Millisecond
	minPacket   = unit.Size(88) // of the kernel's, TCP_MIN_MSS
	maxPacket   = unit.Size(9000)
)

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	return errors.Join(
		workload.Refuse(p.Sink != "" && p.Shape != string(workload.AllToOne), "sink", "sink only with pairing: all_to_one",
			"the pairing %s has no sink", p.Shape),
		cmp.Or(
			workload.Refuse(p.Size != 0 && (p.Size < minSize || p.Size > maxSize), "size", "1kB to 16GB", "an object of %s is not useful in memory", p.Size),
			workload.Refuse(p.Downloads > 0 && p.Duration > 0, "downloads", "downloads or duration", "downloads and duration exclude each other"),
		),
		cmp.Or(
			workload.Refuse(p.Duration != 0 && p.Duration.Std() < minDuration, "duration", "500ms or more", "%s is too short to measure", p.Duration),
			workload.Refuse(p.WarmUp != nil && (p.WarmUp.Std() < 0 || p.WarmUp.Std() > time.Hour), "warm_up", "0s to 1h", "%s is not a useful time to warm up", p.WarmUp),
			workload.Refuse(p.Stall.Std() < minStall, "stall", "500ms or more", "%s is too short to tell a dead peer from a slow one", p.Stall),
		),
		workload.Refuse(p.Packet != 0 && (p.Packet < minPacket || p.Packet > maxPacket), "packet", "88B to 9kB",
			"packets of %s are impossible", p.Packet),
		p.validateMessages(),
		p.validateIperf3())
}

func (p *Params) validateMessages() error {
	if p.Shape == string(workload.Ring) || p.Shape == string(workload.AllToOne) {
		// Links that carry messages of others as well are not idle.
		return workload.Refuse(len(p.Messages) > 0, "messages", "a pairing of two nodes",
			"with %s, links carry others' messages", p.Shape)
	}
	for i, size := range p.Messages {
		if size < 1 || size > maxMessage {
			return workload.Refuse(true, fmt.Sprintf("messages[%d]", i), "1B to 1MiB", "messages of %s are impossible", size)
		}
	}
	return nil
}

// validateIperf3 refuses what iperf3 cannot do as the built-in tool does it.
func (p *Params) validateIperf3() error {
	if p.Tool != Iperf3 {
		return nil
	}
	s := p.settings()
	return cmp.Or(
		workload.Refuse(s.downloads > 0, "downloads", "a duration with tool: iperf3, or tool: builtin", "iperf3 transfers no objects"),
		workload.Refuse(p.Size != 0, "size", "tool: builtin, or leave size out", "iperf3 transfers no objects"),
		workload.Refuse(p.Packet != 0, "packet", "tool: builtin, or leave packet out", "iperf3 sets no segment here"),
		workload.Refuse(len(p.Messages) > 0, "messages", "tool: builtin, or leave messages out", "iperf3 sends none"),
		workload.Refuse(s.connections > 128, "connections", "1 to 128 with tool: iperf3", "iperf3 cannot make %d connections", s.connections),
		workload.Refuse(s.duration%time.Second != 0, "duration", "whole seconds with tool: iperf3", "iperf3 cannot run for %v", s.duration),
		workload.Refuse(s.warmUp%time.Second != 0 || s.warmUp > time.Minute, "warm_up", "whole seconds, at most 1m, with tool: iperf3", "iperf3 cannot warm up for %v", s.warmUp),
	)
}

// state is what Prepare leaves for Run.
type state struct {
	set     settings
	object  *object  // nil where nothing is sent from this node
	server  *server  // nil without clients
	session *session // nil where there is nothing to measure
	iperf3  *iperf3  // nil with the built-in tool
}

// build makes what is needed for the task's part.
func (st *state) build(ctx context.Context, env *workload.Env) (err error) {
	measures := env.Role != model.RoleServe
	if st.set.tool == Iperf3 {
		if st.iperf3, err = newIperf3(env); err != nil {
			return err
		}
	} else if st.set.receive && len(env.Clients) > 0 || st.set.send && measures {
		if st.object, err = newObject(ctx, env.Dir, st.set.size); err != nil {
			return err
		}
	}
	if len(env.Clients) > 0 {
		if st.server, err = listen(ctx, env, st.set, st.object); err != nil {
			return err
		}
	}
	if st.iperf3 != nil && st.server != nil {
		if err = st.iperf3.serve(ctx, env, st.server, st.set.port); err != nil {
			return err
		}
	}
	if measures {
		st.session, err = newSession(st.set, env, st.object)
	}
	return err
}

// run measures and serves at the same time, and returns when both are over.
func (st *state) run(ctx context.Context, env *workload.Env) error {
	both, ctx := errgroup.WithContext(ctx)
	if st.session != nil {
		measure := st.session.builtin
		if st.iperf3 != nil {
			measure = st.iperf3.measure(st.session, env)
		}
		both.Go(func() error { return st.session.run(ctx, measure) })
	}
	if st.server != nil {
		both.Go(func() error { return st.server.clients.wait(ctx, st.set.stall) })
	}
	return errors.Join(both.Wait(), st.close())
}

// close stops serving and frees the object. It may be called again.
func (st *state) close() error {
	var errs []error
	if st.server != nil {
		errs = append(errs, st.server.close())
	}
	if st.iperf3 != nil {
		st.iperf3.stop()
	}
	if st.object != nil {
		errs = append(errs, st.object.close())
	}
	st.server, st.iperf3, st.object = nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("ending the network workload: %w", err)
	}
	return nil
}
