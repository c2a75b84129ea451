package queue

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/time/rate"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/wire"
)

// Conn is where a hub connects to: a [*Server] or an [*External].
type Conn interface {
	// Info is what agents and clients need to connect.
	Info() ServerInfo
	connect(ctx context.Context, key *identity.Key, opts []nats.Option) (*nats.Conn, error)
	replicas() int // of the stream; 0: as many as the cluster allows, at most 3
}

// HubOptions tunes a hub; the zero value is good.
type HubOptions struct {
	Log *slog.Logger
	Now func() time.Time
	// NodeAlive says whether the agent that holds a node id is there: a live
	// node's id cannot be taken over by another key. Nil: an agent is there if
	// it was heard in the last AliveFor, and everybody is while the hub itself
	// is younger than that.
	NodeAlive func(model.NodeID) bool
	// AckWait is the silence after which an undone task is delivered again;
	// 30 s if zero. Delivery.InProgress starts it anew.
	AckWait time.Duration
}

// AliveFor is how long an agent counts as there after it was last heard,
// unless HubOptions.NodeAlive says better.
const AliveFor = 30 * time.Second

// Caller is an authenticated client.
type Caller struct {
	Key  string
	Role identity.Role
	Name string // that it chose when it joined
}

// Handlers are what the master does with messages. They are called from
// several goroutines. Messages of one node come in order within three lanes
// that do not wait for each other, so that a store that is slow does not make
// a node look dead: Result and Chunk; Hello and Goodbye; all else. A Heartbeat
// that was sent after a Hello can so be handled before it; an agent says
// nothing of a new session before its Hello is answered. The sender is
// verified, and its node is the message's. A handler that is nil answers
// model.ErrUnavailable. Every context ends with the hub.
type Handlers struct {
	Hello     func(context.Context, wire.Hello) (wire.HelloReply, error)
	Heartbeat func(wire.Heartbeat)
	Ready     func(context.Context, wire.Ready) (wire.ReadyReply, error)
	Result    func(context.Context, model.Result) wire.ResultReply
	Chunk     func(context.Context, wire.Chunk) error
	Progress  func(wire.Progress)
	Report    func(wire.Report)
	Goodbye   func(wire.Goodbye)
	// API answers a client's call. Request and reply may have any size. Calls
	// run at the same time, also those of one client.
	API func(ctx context.Context, caller Caller, verb string, body []byte) ([]byte, error)
}

// Hub is the master's side of the queue.
type Hub struct {
	nc *nats.Conn
	js jetstream.JetStream
	// stream of the tasks
	stream jetstream.Stream
	key    *identity.Key
	auth   *identity.Authority
	info   ServerInfo
	names  names
	opt    HubOptions
	stamp  issuer

	ctx     context.Context // ends when the hub closes
	cancel  context.CancelFunc
	lanes   *lanes
	sorting sync.WaitGroup // of messages into lanes
	calls   chan struct{}  // a slot for every API call
	fresh   freshness
	heard   hearing
	events  eventKey
	parts   *transfers // uploads under way
	replies *transfers // large replies that wait to be fetched
	started time.Time
	warn    rate.Sometimes // refused messages are logged, but not a flood of them

	mu   sync.Mutex
	subs []*nats.Subscription
}

// maxCalls is how many API calls run at the same time.
const maxCalls = 128

// NewHub connects to the queue and makes the stream of tasks if there is none.
func NewHub(ctx context.Context, conn Conn, key *identity.Key, auth *identity.Authority, opt HubOptions) (*Hub, error) {
	h := newHub(conn.Info(), key, auth, opt)
	opts := append(commonOptions(h.names.inbox(key.Public()), "scalebench master"), h.connectionLog()...)
	nc, err := conn.connect(ctx, key, opts)
	if err != nil {
		return nil, fmt.Errorf("connecting the master to its queue: %w", err)
	}
	h.nc = nc
	if h.js, err = jetstream.New(nc, jetstream.WithPublishAsyncMaxPending(maxPublishing)); err == nil {
		err = h.ensureStream(ctx, conn.replicas())
	}
	if err != nil {
		nc.Close()
		return nil, fmt.Errorf("preparing the queue: %w", err)
	}
	// A revoked client must not read on: events get a new key.
	auth.OnRevoke(func(string) { h.events.renew() })
	return h, nil
}

func newHub(info ServerInfo, key *identity.Key, auth *identity.Authority, opt HubOptions) *Hub {
	if opt.Log == nil {
		opt.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.AckWait <= 0 {
		opt.AckWait = 30 * time.Second
	}
	h := &Hub{
		key: key, auth: auth, info: info, names: namesOf(key.Public()), opt: opt,
		stamp: issuer{now: opt.Now},
		lanes: newLanes(), calls: make(chan struct{}, maxCalls),
		parts: newTransfers(opt.Now), replies: newTransfers(opt.Now),
		started: opt.Now(), warn: rate.Sometimes{First: 10, Interval: 10 * time.Second},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	return h
}

func (h *Hub) connectionLog() []nats.Option {
	return []nats.Option{
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if h.ctx.Err() == nil {
				h.opt.Log.Warn("the master lost its queue; trying again", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { h.opt.Log.Info("the master has its queue again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			h.opt.Log.Warn("queue connection", "error", err)
		}),
	}
}

// NewToken makes a join token that leads to this hub.
func (h *Hub) NewToken(spec identity.TokenSpec) (identity.Token, error) {
	return h.auth.NewToken(spec, h.info.Endpoint())
}

// Close stops receiving, waits for running handlers and disconnects.
func (h *Hub) Close() error {
	h.cancel()
	h.mu.Lock()
	subs := h.subs
	h.subs = nil
	h.mu.Unlock()
	var errs []error
	for _, s := range subs {
		if err := s.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
			errs = append(errs, err)
		}
	}
	h.sorting.Wait()
	h.lanes.close()
	h.nc.Close()
	return errors.Join(errs...)
}

// freshness remembers the latest issue time of every sender's messages about
// being alive. Anything not newer is a replay: on a queue that others can
// write to, somebody could otherwise make a dead node look alive, or a live
// one gone. Results, chunks and reports need no such guard, because storing
// them twice changes nothing.
type freshness struct {
	mu   sync.Mutex
	last map[string]time.Time // by key
}

// accept reports whether a message is new; floor is the latest time seen.
func (f *freshness) accept(key string, issued time.Time) (floor time.Time, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.last == nil {
		f.last = make(map[string]time.Time)
	}
	if last := f.last[key]; !issued.After(last) {
		return last, false
	}
	f.last[key] = issued
	return issued, true
}

// hearing remembers when each agent was last heard.
type hearing struct {
	mu   sync.Mutex
	last map[model.NodeID]time.Time
}

func (l *hearing) note(g identity.Grant, at time.Time) {
	if g.Role != identity.RoleAgent {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last == nil {
		l.last = make(map[model.NodeID]time.Time)
	}
	l.last[g.Node] = at
}

func (l *hearing) at(node model.NodeID) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last[node]
}

// alive answers for HubOptions.NodeAlive where nobody knows better.
func (h *Hub) alive(node model.NodeID) bool {
	if h.opt.NodeAlive != nil {
		return h.opt.NodeAlive(node)
	}
	now := h.opt.Now()
	return now.Sub(h.started) < AliveFor || now.Sub(h.heard.at(node)) < AliveFor
}

// newID returns a random name for a body in parts.
func newID() (transferID, error) {
	var id transferID
	_, err := rand.Read(id[:])
	return id, err
}
