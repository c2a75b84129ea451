package httpstd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/scalebench/scalebench/internal/load"
)

// client is one of a load.Pool: a stream, or a connection, of its own.
type client struct {
	target *Target
	link   *link
	spent  bool // the server closes a connection after the last answer
}

// Alive reports whether another request can be sent.
func (c *client) Alive() bool { return !c.spent && c.link.alive() }

// Close leaves the connections, and closes them if no other client uses them.
func (c *client) Close() error {
	if err := c.link.leave(); err != nil {
		return fmt.Errorf("closing a connection: %w", err)
	}
	return nil
}

// Do sends a request and reads the answer.
func (c *client) Do(ctx context.Context, op int) error {
	p := c.target.requests[op]
	answer, err := c.link.connections[p.origin].RoundTrip(p.request(ctx))
	if err != nil {
		return failure(ctx, err)
	}
	if err := c.read(ctx, answer); err != nil {
		return err
	}
	if !p.expect.Match(answer.StatusCode) {
		return &load.Error{Kind: load.ErrStatus, Err: fmt.Errorf("the server answered %q", answer.Status)}
	}
	return nil
}

// read reads an answer to its end.
func (c *client) read(ctx context.Context, answer *http.Response) error {
	if answer.Close {
		c.spent = true
	}
	limit := c.target.config.MaxBody
	n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, limit+1))
	if n > limit {
		c.spent = true // the rest is still to come
		_ = answer.Body.Close()
		return &load.Error{Kind: load.ErrProtocol, Err: fmt.Errorf("the body has more than the %d bytes allowed", limit)}
	}
	if closing := answer.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return failure(ctx, err)
	}
	if c.target.config.Protocol == HTTP2 && answer.ProtoMajor != 2 {
		return &load.Error{Kind: load.ErrProtocol, Err: fmt.Errorf("the server answered in %s instead of HTTP/2", answer.Proto)}
	}
	return nil
}

// link is a connection to each origin. The clients that use it are counted;
// the last one to leave closes it.
type link struct {
	connections []*http.ClientConn // in the order of the origins
	users       atomic.Int32
}

// dial connects to all origins, for one user.
func (t *Target) dial(ctx context.Context) (*link, error) {
	l := &link{}
	l.users.Store(1)
	for _, o := range t.origins {
		c, err := t.transport.NewClientConn(ctx, o.scheme, o.address)
		if err != nil {
			return nil, errors.Join(err, l.close())
		}
		l.connections = append(l.connections, c)
	}
	return l, nil
}

// alive reports whether all connections can be used.
func (l *link) alive() bool {
	return !slices.ContainsFunc(l.connections, func(c *http.ClientConn) bool { return c.Err() != nil })
}

// join adds a user, unless the last one has left.
func (l *link) join() bool {
	for n := l.users.Load(); n > 0; n = l.users.Load() {
		if l.users.CompareAndSwap(n, n+1) {
			return true
		}
	}
	return false
}

// leave takes a user away.
func (l *link) leave() error {
	if l.users.Add(-1) > 0 {
		return nil
	}
	return l.close()
}

func (l *link) close() error {
	var errs []error
	for _, c := range l.connections {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

// shared is the link of a group of clients.
type shared struct {
	turn chan struct{} // has room for one while nothing is dialled
	link *link         // of the client that has the turn; nil at first
}

// join returns the link of group i, or a new one if that is not alive.
func (t *Target) join(ctx context.Context, i int) (*link, error) {
	t.mu.Lock()
	g := t.shared[i]
	if g == nil {
		g = &shared{turn: make(chan struct{}, 1)}
		t.shared[i] = g
	}
	t.mu.Unlock()
	select {
	case g.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-g.turn }()
	if g.link != nil && g.link.alive() && g.link.join() {
		return g.link, nil
	}
	l, err := t.dial(ctx)
	if err == nil {
		g.link = l
	}
	return l, err
}

// failure gives an error of a request its kind.
func failure(ctx context.Context, err error) error {
	kind := load.ErrProtocol
	var timeout net.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		kind = load.ErrTimeout
	case closedBy(err):
		kind = load.ErrClosed
	}
	return &load.Error{Kind: kind, Err: err}
}

// closings are beginnings of errors that net/http has no names for: of a
// connection that ended between two requests, one whose end HTTP/2's GOAWAY
// announced, and one that was lost in the middle.
var closings = []string{
	"http: server closed idle connection",
	"http2: server sent GOAWAY",
	"http2: Transport received",
	"http2: client connection lost",
	"http2: client conn",
}

// closedBy reports whether an error means that the other side ended the
// connection, or in HTTP/2 the stream, before the answer was whole.
func closedBy(err error) bool {
	if load.Ended(err) || errors.Is(err, io.ErrClosedPipe) {
		return true
	}
	var reset streamReset
	if errors.As(err, &reset) { // by the other side, and not by this one for what it had received
		return reset.Cause != nil && reset.Cause.Error() == "received from peer"
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		if slices.ContainsFunc(closings, func(beginning string) bool { return strings.HasPrefix(e.Error(), beginning) }) {
			return true
		}
	}
	return false
}

// streamReset is HTTP/2's end of one stream. net/http has no name for it, and
// fills any struct with these fields.
type streamReset struct {
	StreamID uint32
	Code     uint32 // RFC 9113, section 7
	Cause    error
}

func (r streamReset) Error() string { return "the stream was reset" }
