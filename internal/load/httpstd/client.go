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

	"github.com/scalebench/scalebench/internal/load"
)

// client is one of a load.Pool.
type client struct {
	target      *Target
	connections []*http.ClientConn // in the order of the origins
	spent       bool               // the server closes a connection after the last answer
}

// Alive reports whether another request can be sent.
func (c *client) Alive() bool {
	return !c.spent && !slices.ContainsFunc(c.connections, func(conn *http.ClientConn) bool { return conn.Err() != nil })
}

// Close closes the connections.
func (c *client) Close() error {
	var errs []error
	for _, conn := range c.connections {
		errs = append(errs, conn.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing a connection: %w", err)
	}
	return nil
}

// Do sends a request and reads the answer.
func (c *client) Do(ctx context.Context, op int) error {
	p := c.target.requests[op]
	answer, err := c.connections[p.origin].RoundTrip(p.request(ctx))
	if err != nil {
		return failure(ctx, err)
	}
	if err := c.read(ctx, answer); err != nil {
		return err
	}
	if !p.expect.Match(answer.StatusCode) {
		return &load.Error{Kind: load.ErrStatus, Status: answer.StatusCode, Err: fmt.Errorf("the server answered %q", answer.Status)}
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
	if c.target.config.HTTP2 && answer.ProtoMajor != 2 {
		return &load.Error{Kind: load.ErrProtocol, Err: fmt.Errorf("the server answered in %s instead of HTTP/2", answer.Proto)}
	}
	return nil
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

// closings are prefixes of errors that net/http has no names for: a connection
// that ended between two requests, one that an HTTP/2 GOAWAY ended, and one
// that was lost in the middle.
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
	if reset, ok := errors.AsType[streamReset](err); ok { // by the other side, and not by this one for what it had received
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
