package queue

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Link is an agent's connection to its server. It reconnects for ever, until
// it is closed or the server no longer admits its key. All methods are safe
// for concurrent use. Requests make one try: an error that is
// model.ErrUnavailable means that a later one may succeed.
type Link struct {
	caller
	node   model.NodeID
	js     jetstream.JetStream
	orders chan wire.Order
	offset atomic.Int64 // server minus node, ns, as last measured

	next     sync.Mutex         // one fetch at a time
	consumer jetstream.Consumer // nil until found; guarded by next
	timed    context.Context    // the connection that setClock was for; guarded by next

	shown throttle // progress
}

// ordersAhead is how many orders wait for the agent to read them. A node has
// one task; more than a few are repetitions.
const ordersAhead = 64

// DialAgent connects; it tries until ctx ends, or until the server refuses the
// key (model.ErrDenied).
func DialAgent(ctx context.Context, info ServerInfo, key *identity.Key, node model.NodeID, opt DialOptions) (*Link, error) {
	if err := node.Validate(); err != nil {
		return nil, fmt.Errorf("%w: %w", model.ErrUsage, err)
	}
	s := newSession(key, info.ServerKey, opt)
	if err := s.dial(ctx, info, "scalebench agent "+string(node)); err != nil {
		return nil, err
	}
	l := &Link{node: node, orders: make(chan wire.Order, ordersAhead)}
	l.caller = caller{s, fromAgent, func(kind string) string { return s.names.agent(node, kind) }}
	if err := l.listen(ctx); err != nil {
		_ = l.Close() // the first error matters
		return nil, fmt.Errorf("connecting to %v: %w", info, err)
	}
	return l, nil
}

// listen returns when the server knows of the subscription: no order that is
// given after that is missed.
func (l *Link) listen(ctx context.Context) (err error) {
	if l.js, err = jetstream.New(l.nc); err != nil {
		return err
	}
	if _, err = l.nc.Subscribe(l.names.order(l.node), l.onOrder); err != nil {
		return err
	}
	if err := l.nc.FlushWithContext(flushContext(ctx)); err != nil {
		return explain(ctx, err, publishWait)
	}
	return nil
}

// onOrder verifies an order and hands it on. Nothing waits here: an agent that
// does not read its orders has the newest in the reply to its next Ready.
func (l *Link) onOrder(m *nats.Msg) {
	o, err := openOrder(m.Data, l.server)
	if err != nil {
		l.opt.Log.Warn("order refused", "error", err)
		return
	}
	select {
	case l.orders <- o:
	default:
		l.opt.Log.Warn("order dropped: too many at a time", "kind", o.Kind, "step", o.Step)
	}
}

func openOrder(data []byte, server string) (wire.Order, error) {
	body, signer, _, err := identity.Open(data, purposeOrder)
	if err == nil && signer != server {
		err = fmt.Errorf("%w: not signed by the server", identity.ErrSignature)
	}
	if err != nil {
		return wire.Order{}, err
	}
	return wire.Decode[wire.Order](body)
}

// Orders delivers verified orders. The channel is never closed.
func (l *Link) Orders() <-chan wire.Order { return l.orders }

// Hello registers the node. Say it at the start and after every Reconnected.
func (l *Link) Hello(ctx context.Context, h wire.Hello) (wire.HelloReply, error) {
	return exchange[wire.HelloReply](ctx, l, kindHello, h)
}

// Ready says that a task is prepared.
func (l *Link) Ready(ctx context.Context, r wire.Ready) (wire.ReadyReply, error) {
	return exchange[wire.ReadyReply](ctx, l, kindReady, r)
}

// Result delivers a result of any size. One that cannot travel, because it
// holds values that are no numbers, arrives as a failed one that says so: an
// attempt that ended must not look as if it went on.
func (l *Link) Result(ctx context.Context, r model.Result) (wire.ResultReply, error) {
	m := wire.Result{Result: r}
	if _, err := json.Marshal(m); err != nil {
		m = unusable(r, err)
	}
	return exchange[wire.ResultReply](ctx, l, kindResult, m)
}

// unusable takes the place of a result that cannot be used.
func unusable(r model.Result, why error) wire.Result {
	return wire.Result{Result: model.Result{
		Run: r.Run, Step: r.Step, Task: r.Task, Attempt: r.Attempt, Node: r.Node,
		Outcome: model.OutcomeFailed, Error: fmt.Sprintf("its result cannot be used: %v", why),
		Started: r.Started, Ended: r.Ended, ClockOffset: r.ClockOffset, ClockError: r.ClockError,
	}}
}

// Goodbye says that the agent leaves, and returns when the server knows.
func (l *Link) Goodbye(ctx context.Context, g wire.Goodbye) error {
	body, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = l.call(ctx, kindGoodbye, body, l.opt.RequestTimeout)
	return err
}

// Chunk delivers a part of an artifact and returns when it is stored.
func (l *Link) Chunk(ctx context.Context, c wire.Chunk) error {
	body, err := wire.EncodeChunk(c)
	if err != nil {
		return err
	}
	_, err = l.call(ctx, kindChunk, body, l.opt.RequestTimeout)
	return err
}

// Heartbeat says that the agent lives. It is not confirmed; an error means
// that there is no connection, or a programming error.
func (l *Link) Heartbeat(h wire.Heartbeat) error { return l.tell(kindHeartbeat, h) }

// Progress shows a running task. It is not confirmed. It is for people who
// watch, so that of the points of one attempt one a second is sent, beginning
// with the first, and the rest is dropped: no error says so. All points travel
// in the result.
func (l *Link) Progress(p wire.Progress) error {
	if !l.shown.due(p.Attempt, l.opt.Now()) {
		return nil
	}
	return l.tell(kindProgress, p)
}

// Report tells something that a person may want to know. It is not confirmed.
func (l *Link) Report(r wire.Report) error { return l.tell(kindReport, r) }

func (l *Link) tell(kind string, m wire.Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return l.notify(kind, body)
}

// exchange sends a message and decodes the reply.
func exchange[R wire.Message](ctx context.Context, l *Link, kind string, m wire.Message) (R, error) {
	var none R
	body, err := json.Marshal(m)
	if err != nil {
		return none, fmt.Errorf("%s: %w", kind, err)
	}
	reply, err := l.call(ctx, kind, body, l.opt.RequestTimeout)
	if err != nil {
		return none, err
	}
	return wire.Decode[R](reply)
}

// serverNow is the server's time by the last measurement.
func (l *Link) serverNow() time.Time {
	return l.opt.Now().Add(time.Duration(l.offset.Load()))
}
