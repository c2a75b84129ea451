package httpstd

import (
	"context"
	"fmt"
	"io"
	"net/http"

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

// Close leaves the connections, and closes them if nobody else uses them.
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
		return &load.Error{Kind: load.ErrProtocol, Err: fmt.Errorf("the server answered in %s, not in HTTP/2", answer.Proto)}
	}
	return nil
}
