package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Link is an agent's connection to its server. It reconnects until
// it is closed or the server no longer admits its key. All methods are safe
// for concurrent use. Requests make one try: an error that is
// model.ErrUnavailable means that a later one may succeed.
type Link struct {
	*session
	node   model.NodeID
	tasks  chan received
	orders chan wire.Order
	offset atomic.Int64 // server minus node, ns, as last measured

	next  sync.Mutex      // one reader of tasks at a time
	timed context.Context // the connection that setClock was for; guarded by next

	shown throttle // progress
	live  throttle // how things are now
}

// Delivery is one task handed to the agent.
type Delivery struct {
	Assignment wire.Assignment
	// Refused says why the assignment must not run. Assignment is unverified
	// then, or zero, and serves to report the refusal only.
	Refused error
}

// Reasons to refuse an assignment.
var (
	ErrForged   = errors.New("not signed by the server that admitted this node")
	ErrNotMine  = errors.New("made for another node or another key")
	ErrExpired  = errors.New("expired")
	ErrUnusable = errors.New("cannot be understood")
)

// received is a task as it came, and when, by the node's clock.
type received struct {
	data []byte
	at   time.Time
}

const (
	// tasksAhead is how many tasks wait for the agent to take them. A node has
	// one at a time; more are repetitions, and what is dropped comes again.
	tasksAhead = 64
	// ordersAhead is the same for orders.
	ordersAhead = 64
)

// DialAgent connects; it tries until ctx ends, or until the server refuses the
// key (model.ErrDenied). When it returns, the node receives tasks and orders.
func DialAgent(ctx context.Context, info ServerInfo, key *identity.Key, node model.NodeID, opt DialOptions) (*Link, error) {
	if err := node.Validate(); err != nil {
		return nil, model.Usagef("%w", err)
	}
	s := newSession(key, info.ServerKey, opt)
	s.from, s.subject = fromAgent, func(kind string) string { return s.names.agent(node, kind) }
	if err := s.dial(ctx, info, "scalebench agent "+string(node)); err != nil {
		return nil, err
	}
	l := &Link{session: s, node: node, tasks: make(chan received, tasksAhead), orders: make(chan wire.Order, ordersAhead)}
	_, err := l.nc.Subscribe(l.names.task(node), l.onTask)
	if err == nil {
		_, err = l.nc.Subscribe(l.names.order(node), l.onOrder)
	}
	if err == nil {
		err = flush(ctx, l.nc)
	}
	if err != nil {
		_ = l.Close() // the first error matters
		return nil, fmt.Errorf("connecting to %v: %w", info, err)
	}
	return l, nil
}

func (l *Link) onTask(m *nats.Msg) {
	select {
	case l.tasks <- received{m.Data, l.opt.Now()}:
	default:
		l.opt.Log.Warn("task dropped: too many at a time; the server sends it again")
	}
}

// Next blocks until there is a task for this node, and verifies it. It
// survives the loss of the connection; whether a task had expired when it came
// is judged by the server's clock, which is read first. The same task may come
// more than once. Its errors are ctx's own, or why the link is closed.
func (l *Link) Next(ctx context.Context) (Delivery, error) {
	l.next.Lock()
	defer l.next.Unlock()
	for {
		live, err := l.connection(ctx)
		if err != nil {
			return Delivery{}, err
		}
		if err := l.setClock(ctx, live); err != nil {
			l.opt.Log.Debug("waiting for a task", "error", err)
			if err := pause(ctx, backoff(1)); err != nil {
				return Delivery{}, err
			}
			continue
		}
		select {
		case <-ctx.Done():
			return Delivery{}, ctx.Err()
		case <-live.Done():
		case r := <-l.tasks:
			if ctx.Err() != nil {
				return Delivery{}, ctx.Err()
			}
			var d Delivery
			d.Assignment, d.Refused = openTask(l.key, l.server, l.node, r.data, r.at.Add(time.Duration(l.offset.Load())))
			return d, nil
		}
	}
}

// openTask verifies everything that must be true of a task before it may run.
// The assignment is returned as far as it can be read, verified or not.
func openTask(k *identity.Key, server string, node model.NodeID, data []byte, now time.Time) (wire.Assignment, error) {
	body, err := openFrom(k, server, purposeTask, data)
	if err != nil {
		return wire.Assignment{}, fmt.Errorf("task refused: %w: %w", ErrForged, err)
	}
	a, err := wire.Decode[wire.Assignment](body)
	switch {
	case err != nil:
		// What can be read of it helps to report it.
		_ = json.Unmarshal(body, &a)
		return a, fmt.Errorf("task refused: %w: %w", ErrUnusable, err)
	case a.Node != node || a.NodeKey != k.Public():
		return a, fmt.Errorf("task %s refused: %w (node %s, key %.12s…)", a.Task, ErrNotMine, a.Node, a.NodeKey)
	case !a.Expires.IsZero() && !now.Before(a.Expires):
		return a, fmt.Errorf("task %s refused: %w at %s, it is %s", a.Task, ErrExpired, a.Expires.UTC().Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return a, nil
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

func openOrder(data []byte, server string) (o wire.Order, err error) {
	body, err := verify(server, purposeOrder, data)
	if err == nil {
		o, err = wire.Decode[wire.Order](body)
	}
	return o, err
}

// Orders delivers verified orders. The channel is never closed.
func (l *Link) Orders() <-chan wire.Order { return l.orders }

// Hello registers the node. Say it at the start and after every Reconnected.
func (l *Link) Hello(ctx context.Context, h wire.Hello) (wire.HelloReply, error) {
	return ask[wire.HelloReply](ctx, l, kindHello, h)
}

// Ready says that a task is prepared.
func (l *Link) Ready(ctx context.Context, r wire.Ready) (wire.ReadyReply, error) {
	return ask[wire.ReadyReply](ctx, l, kindReady, r)
}

// Result delivers a result. Of one that is too large, what the monitor saw of the
// host becomes coarser until it fits. One that cannot travel all the same, or
// that holds values that are no numbers, arrives as a failed one that says so.
func (l *Link) Result(ctx context.Context, r model.Result) (wire.ResultReply, error) {
	r = wire.FittedResult(r)
	body, err := []byte(nil), wire.Check(wire.Result{Result: r})
	if err == nil {
		body, err = travels(r)
	}
	for (errors.Is(err, errTooLarge) || errors.Is(err, wire.ErrForm)) && coarsen(&r) {
		l.opt.Log.Warn("the result is too large; every other reading of the host is left out", "task", r.Task, "bytes", len(body))
		body, err = travels(r)
	}
	if err != nil {
		if body, err = encode(unusable(r, err)); err != nil {
			return wire.ResultReply{}, err
		}
	}
	reply, err := l.call(ctx, kindResult, body)
	if err != nil {
		return wire.ResultReply{}, err
	}
	return wire.Decode[wire.ResultReply](reply)
}

// coarsen leaves out every other reading of the host and of its services; false if
// there is nothing to leave out. What the workload itself has measured stays as it is.
func coarsen(r *model.Result) (less bool) {
	r.Host = slices.Clone(r.Host)
	for i, s := range r.Host {
		n := (len(s.Offsets) + 1) / 2
		if n < 2 || n == len(s.Offsets) || !s.OfHost() && !strings.Contains(s.Metric, ":") {
			continue
		}
		less = true
		r.Host[i].Offsets, r.Host[i].Values = make([]int64, 0, n), make([]float64, 0, n)
		for k := 0; k < len(s.Offsets); k += 2 {
			r.Host[i].Offsets = append(r.Host[i].Offsets, s.Offsets[k])
			r.Host[i].Values = append(r.Host[i].Values, s.Values[k])
		}
	}
	return less
}

// travels encodes a result; the error is why it cannot travel: the server would
// refuse it.
func travels(r model.Result) ([]byte, error) {
	body, err := json.Marshal(r)
	if _, total := limits(kindResult); err == nil && len(body) > total {
		err = fmt.Errorf("it has %d bytes, and may have %d: %w", len(body), total, errTooLarge)
	}
	if err == nil {
		err = wire.Bounded(body)
	}
	return body, err
}

// unusable takes the place of a result that cannot be used.
func unusable(r model.Result, why error) wire.Result {
	return wire.Result{Result: wire.FittedResult(wire.Failed(r, fmt.Sprintf("its result cannot be used: %v", why)))}
}

// Goodbye says that the agent leaves, and returns when the server knows.
func (l *Link) Goodbye(ctx context.Context, g wire.Goodbye) error {
	_, err := l.send(ctx, kindGoodbye, g)
	return err
}

// Chunk delivers a part of an artifact and returns when it is stored.
func (l *Link) Chunk(ctx context.Context, c wire.Chunk) error {
	body, err := wire.EncodeChunk(c)
	if err != nil {
		return err
	}
	_, err = l.call(ctx, kindChunk, body)
	return err
}

// Heartbeat reports that the agent is alive. It is not confirmed; an error
// means that the connection is down, or a programming error.
func (l *Link) Heartbeat(h wire.Heartbeat) error { return l.tell(kindHeartbeat, h) }

// Progress shows a running task. It is not confirmed. It is for people who
// watch, so that of the points of one attempt one a second is sent, beginning
// with the first, and the rest is dropped: no error says so. All points travel
// in the result. Stages are all sent; the agent puts several into one message.
// How things are now is sent apart from them.
func (l *Link) Progress(p wire.Progress) error {
	now := l.opt.Now()
	switch {
	case len(p.Stages) > 0:
	case len(p.Live) > 0 && !l.live.due(p.Attempt, now, liveEvery),
		len(p.Live) == 0 && !l.shown.due(p.Attempt, now, showEvery):
		return nil
	}
	return l.tell(kindProgress, p)
}

// Report tells something that a person may want to know. It is not confirmed.
func (l *Link) Report(r wire.Report) error { return l.tell(kindReport, r.Fitted()) }

// Missing answers an order to look. It is not confirmed: without an answer the
// order comes again.
func (l *Link) Missing(m wire.Missing) error { return l.tell(kindMissing, m) }

// Readings shows what the node's monitor read last to who watches. They are not
// confirmed: a second later there are others.
func (l *Link) Readings(r wire.Readings) error { return l.tell(kindReadings, r) }

// tell sends a message that has no reply and may be lost.
func (l *Link) tell(kind string, m wire.Message) error {
	body, err := encode(m)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	if !l.nc.IsConnected() {
		return model.Unavailablef("sending %s: the queue is not connected", kind)
	}
	data, err := sealFor(l.key, l.server, l.from+kind, bodyFrame(body), l.stamp.next())
	if err != nil {
		return err
	}
	if err := l.nc.Publish(l.subject(kind), data); err != nil {
		return model.Unavailablef("sending %s: %w", kind, err)
	}
	return nil
}

// encode encodes a message that the server will not refuse for what it holds.
func encode(m wire.Message) ([]byte, error) {
	if err := wire.Check(m); err != nil {
		return nil, model.Usagef("%w", err)
	}
	return json.Marshal(m)
}

// send sends a message and returns the reply.
func (l *Link) send(ctx context.Context, kind string, m wire.Message) ([]byte, error) {
	body, err := encode(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", kind, err)
	}
	return l.call(ctx, kind, body)
}

// ask is send with a reply to decode.
func ask[R wire.Message](ctx context.Context, l *Link, kind string, m wire.Message) (R, error) {
	reply, err := l.send(ctx, kind, m)
	if err != nil {
		var none R
		return none, err
	}
	return wire.Decode[R](reply)
}

// showEvery is how often a person is shown how far a task is. A workload
// reports ten times as often; a thousand agents that signed and sent every
// point would load the server while it measures.
const showEvery = time.Second

// liveEvery is the same for how things are now, which is told each second: one
// that comes a little early must not be dropped.
const liveEvery = 800 * time.Millisecond

// throttle lets one message of an attempt pass in a time; a node is at one
// attempt at a time. The zero value is ready.
type throttle struct {
	sync.Mutex
	attempt wire.Attempt // of the last one that passed
	at      time.Time
}

// due reports whether a message may pass now, and notes that it does. A clock
// that was set back lets it pass.
func (t *throttle) due(a wire.Attempt, now time.Time, every time.Duration) bool {
	t.Lock()
	defer t.Unlock()
	if d := now.Sub(t.at); a == t.attempt && 0 <= d && d < every {
		return false
	}
	t.attempt, t.at = a, now
	return true
}
