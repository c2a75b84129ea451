package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/scalebench/scalebench/internal/identity"
	"github.com/scalebench/scalebench/internal/model"
)

// Client is a person's or program's connection to the master. All methods are
// safe for concurrent use.
type Client struct {
	*session
}

// DialClient connects; it tries until ctx ends, or until the server refuses
// the key (model.ErrDenied).
func DialClient(ctx context.Context, info ServerInfo, key *identity.Key, opt DialOptions) (*Client, error) {
	s := newSession(key, info.ServerKey, opt)
	s.from, s.subject = fromClient, func(kind string) string { return s.names.client(key.Public(), kind) }
	if err := s.dial(ctx, info, "scalebench client"); err != nil {
		return nil, err
	}
	return &Client{s}, nil
}

// Call calls a verb of the master's API; request and reply may have any size.
// Errors of the master keep their model.Err… kind. Without a deadline in ctx
// it waits for ten seconds.
func (c *Client) Call(ctx context.Context, verb string, req []byte) ([]byte, error) {
	body, err := encodeCall(verb, req)
	if err != nil {
		return nil, err
	}
	out, err := c.call(ctx, kindCall, body)
	var remote remoteError
	if errors.As(err, &remote) {
		return nil, remote // the server's own words are what a person needs
	}
	if err != nil {
		return nil, fmt.Errorf("calling %s: %w", verb, err)
	}
	return out, nil
}

// eventsAhead is how many events wait for a slow reader before the connection
// itself holds them.
const eventsAhead = 256

// Events delivers the events of a run, or of everything for "", from now until
// ctx ends or the connection is closed; then the channel is closed. Events
// while the connection is away are missed: see Reconnected.
func (c *Client) Events(ctx context.Context, run model.RunID) (<-chan model.Event, error) {
	w := &watcher{client: c, out: make(chan model.Event, eventsAhead), in: make(chan *nats.Msg, eventsAhead)}
	subject := c.names.anyEvent()
	if run != "" {
		subject = c.names.event(run)
	}
	sub, err := c.nc.ChanSubscribe(subject, w.in)
	if err == nil {
		// The server must know of the subscription before this returns, or the
		// caller would miss the events of what it does next.
		err = flush(ctx, c.nc)
	}
	if err != nil {
		return nil, fmt.Errorf("watching events: %w", err)
	}
	if err := w.renew(ctx); err != nil {
		_ = sub.Unsubscribe() // the first error matters
		return nil, fmt.Errorf("watching events: %w", err)
	}
	go w.run(ctx, sub)
	return w.out, nil
}

// watcher decrypts events for one reader.
type watcher struct {
	client *Client
	in     chan *nats.Msg
	out    chan model.Event
	key    [eventKeySize]byte
}

func (w *watcher) run(ctx context.Context, sub *nats.Subscription) {
	defer close(w.out)
	defer func() { _ = sub.Unsubscribe() }() // fails only when the connection is closed
	renew := time.NewTicker(watchRenew)
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.client.done:
			return
		case <-renew.C:
			w.tryRenew(ctx)
		case m := <-w.in:
			e, ok := w.open(ctx, m.Data)
			if !ok {
				continue
			}
			select {
			case w.out <- e:
			case <-ctx.Done():
				return
			case <-w.client.done:
				return
			}
		}
	}
}

// open verifies and decrypts an event. A key that does not fit is an old one:
// the master was restarted or has revoked a key.
func (w *watcher) open(ctx context.Context, data []byte) (model.Event, bool) {
	secret, err := verify(w.client.server, purposeEvent, data)
	if err != nil {
		w.client.opt.Log.Warn("event refused: not signed by the server")
		return model.Event{}, false
	}
	if e, ok := openEvent(secret, &w.key); ok {
		return e, true
	}
	w.tryRenew(ctx)
	return openEvent(secret, &w.key)
}

func (w *watcher) tryRenew(ctx context.Context) {
	if err := w.renew(ctx); err != nil && ctx.Err() == nil {
		w.client.opt.Log.Debug("watching events", "error", err)
	}
}

func (w *watcher) renew(ctx context.Context) error {
	key, err := w.client.call(ctx, kindWatch, nil)
	if err != nil {
		return err
	}
	if len(key) != eventKeySize {
		return errFrame
	}
	w.key = [eventKeySize]byte(key)
	return nil
}
