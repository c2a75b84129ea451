package queue

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sync/semaphore"
	"golang.org/x/time/rate"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Conn is where a hub connects to: a [*Server] or an [*External].
type Conn interface {
	// Info is what agents and clients need to connect.
	Info() ServerInfo
	connect(ctx context.Context, key *identity.Key, opts []nats.Option) (*nats.Conn, error)
	// owned: the queue server lets each sender publish on its own subjects
	// only, so that a subject says who sent a message, signed or not.
	owned() bool
	// disconnect ends the connections of a key, and unread is how many bytes
	// wait for them; on a cluster of the user's both are its own business.
	disconnect(key string)
	unread(key string) int
}

// HubOptions tunes a hub; the zero value is good.
type HubOptions struct {
	Log *slog.Logger
	Now func() time.Time
	// NodeAlive says whether the agent that holds a node id is there: a live
	// node's id cannot be taken over by another key. Nil: none ever is.
	NodeAlive func(model.NodeID) bool
	// Dir is where bodies in parts are kept while they travel; "" for the
	// system's directory for temporary files.
	Dir string
	// Spare is how many bytes may still be written there; nil: as many as fit.
	Spare func() int64

	// patient: senders are neither cut nor paced. For tests of what is behind.
	patient bool
}

// Hub is the master's side of the queue. It keeps nothing that must outlive
// it: what is sent and not received is sent again by the master.
type Hub struct {
	nc    *nats.Conn
	conn  Conn
	key   *identity.Key
	auth  *identity.Authority
	info  ServerInfo
	names names
	opt   HubOptions
	stamp issuer

	ctx     context.Context // ends when the hub closes
	cancel  context.CancelFunc
	queues  *serialQueues
	running sync.WaitGroup // readers of subscriptions, and calls of clients
	calls   chan struct{}  // a slot for every call
	guard   *guard
	work    *semaphore.Weighted // bytes of messages that are unpacked
	cut     func(identity.Grant, string)
	fresh   freshness
	events  eventKey
	parts   *transfers     // uploads under way
	replies *transfers     // large replies that wait to be fetched
	warn    rate.Sometimes // refused messages are logged, but not a flood of them

	mu   sync.Mutex
	subs []*nats.Subscription
}

// maxCalls is how many messages of all clients are handled at the same time,
// maxCallsOne how many of one client are handled or wait.
const (
	maxCalls    = 128
	maxCallsOne = 32
)

// NewHub connects to the queue.
func NewHub(ctx context.Context, conn Conn, key *identity.Key, auth *identity.Authority, opt HubOptions) (*Hub, error) {
	opt.Log = cmp.Or(opt.Log, slog.New(slog.DiscardHandler))
	if opt.Now == nil {
		opt.Now = time.Now
	}
	h := &Hub{
		conn: conn, key: key, auth: auth, info: conn.Info(), names: namesOf(key.Public()), opt: opt,
		stamp:  issuer{now: opt.Now},
		fresh:  freshness{last: make(map[string]time.Time)},
		queues: newSerialQueues(), calls: make(chan struct{}, maxCalls),
		guard: newGuard(opt.Now), work: semaphore.NewWeighted(maxWork),
		parts: newTransfers(opt), replies: newTransfers(opt),
		warn: rate.Sometimes{First: 10, Interval: 10 * time.Second},
	}
	h.ctx, h.cancel = context.WithCancel(context.Background())
	var err error
	h.nc, err = conn.connect(ctx, key, append(commonOptions(h.names.inbox(key.Public()), "scalebench master"),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if h.ctx.Err() == nil {
				h.opt.Log.Warn("the master lost its connection to the queue; retrying", "error", err)
			}
		}),
		nats.ReconnectHandler(func(*nats.Conn) { h.opt.Log.Info("the master is connected to the queue again") }),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			h.opt.Log.Warn("queue connection", "error", err)
		}),
	))
	if err != nil {
		h.cancel()
		return nil, fmt.Errorf("connecting the master to its queue: %w", err)
	}
	// A revoked client must not read on: events get a new key.
	auth.OnRevoke(func(string) { h.events.renew() })
	return h, nil
}

// NewToken makes a join token that leads to this hub.
func (h *Hub) NewToken(spec identity.TokenSpec) (identity.Token, error) {
	return h.auth.NewToken(spec, h.info.Endpoint)
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
	h.queues.close()
	h.running.Wait()
	h.nc.Close()
	h.parts.close()
	h.replies.close()
	return errors.Join(errs...)
}

// freshness remembers the latest issue time of every sender's messages about
// being alive. Anything not newer is a replay: on a queue that others can
// write to, a dead node could otherwise be made to look alive, or a live one
// gone. Results, chunks and reports need no such guard, because storing them
// twice changes nothing.
type freshness struct {
	sync.Mutex
	last map[string]time.Time // by key
}

// accept reports whether a message is new; floor is the latest time seen.
func (f *freshness) accept(key string, issued time.Time) (floor time.Time, ok bool) {
	f.Lock()
	defer f.Unlock()
	if last := f.last[key]; !issued.After(last) {
		return last, false
	}
	f.last[key] = issued
	return issued, true
}

// serialQueues run functions one after another for equal keys, and at the same
// time for different ones. A key costs a goroutine only while it has work.
type serialQueues struct {
	sync.Mutex
	waiting map[string][]func()
	closed  bool
	running sync.WaitGroup
}

func newSerialQueues() *serialQueues { return &serialQueues{waiting: make(map[string][]func())} }

// add queues f; it reports false, and does nothing, if limit functions wait
// under the key already or all queues are closed.
func (q *serialQueues) add(key string, limit int, f func()) bool {
	q.Lock()
	defer q.Unlock()
	queue, busy := q.waiting[key]
	if q.closed || len(queue) >= limit {
		return false
	}
	q.waiting[key] = append(queue, f)
	if !busy {
		q.running.Go(func() {
			for f := q.take(key); f != nil; f = q.take(key) {
				f()
			}
		})
	}
	return true
}

// take removes the first function of a queue; nil ends it.
func (q *serialQueues) take(key string) func() {
	q.Lock()
	defer q.Unlock()
	queue := q.waiting[key]
	if len(queue) == 0 || q.closed {
		delete(q.waiting, key)
		return nil
	}
	q.waiting[key] = queue[1:]
	return queue[0]
}

// close drops what waits and returns when nothing runs any more.
func (q *serialQueues) close() {
	q.Lock()
	q.closed = true
	q.Unlock()
	q.running.Wait()
}
