package httpstd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
)

// connection is one to an origin.
type connection interface {
	// roundTrip sends a request, and reads the answer to its end. repeatable says
	// that the server has closed a connection that was in use before, and sent no
	// byte of an answer, so soon that it need not have had the request.
	roundTrip(ctx context.Context, p prepared) (status int, repeatable bool, err error)
	// alive reports whether another request can be sent.
	alive() bool
	close() error
}

// client is one of a load.Pool.
type client struct {
	target      *Target
	connections []connection // in the order of the origins
	repeated    bool         // the last operation was sent twice
}

// Alive reports whether another request can be sent.
func (c *client) Alive() bool {
	return !slices.ContainsFunc(c.connections, func(conn connection) bool { return !conn.alive() })
}

// Repeated implements load.Repeater.
func (c *client) Repeated() bool { return c.repeated }

// Close closes the connections.
func (c *client) Close() error {
	var errs []error
	for _, conn := range c.connections {
		errs = append(errs, conn.close())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("closing a connection: %w", err)
	}
	return nil
}

// Do sends a request and reads the answer.
func (c *client) Do(ctx context.Context, op int) error {
	p := c.target.requests[op]
	status, repeatable, err := c.connections[p.origin].roundTrip(ctx, p)
	if c.repeated = repeatable && p.idempotent; c.repeated {
		status, err = c.again(ctx, p)
	}
	if _, known := errors.AsType[*load.Error](err); known {
		return err
	}
	if err != nil {
		return load.Fault(ctx, err, func(err error) (load.Kind, bool) { return load.ErrClosed, closedBy(err) })
	}
	if !p.expect.Match(status) {
		return &load.Error{Kind: load.ErrStatus, Status: status,
			Err: fmt.Errorf("the server answered %d %s", status, http.StatusText(status))}
	}
	return nil
}

// again sends a request over a new connection (RFC 9112, section 9.3.1).
func (c *client) again(ctx context.Context, p prepared) (int, error) {
	conn, err := c.target.connect(ctx, c.target.origins[p.origin])
	if err != nil {
		return 0, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	_ = c.connections[p.origin].close() // the server has closed it
	c.connections[p.origin] = conn
	status, _, err := conn.roundTrip(ctx, p)
	return status, err
}

// stream is a connection in HTTP/2, one request at a time.
type stream struct {
	conn   *http.ClientConn
	config Config
	spent  bool // it is not used again
}

func (s *stream) alive() bool  { return !s.spent && s.conn.Err() == nil }
func (s *stream) close() error { return s.conn.Close() }

func (s *stream) roundTrip(ctx context.Context, p prepared) (int, bool, error) {
	answer, err := s.conn.RoundTrip(p.request(ctx))
	if err != nil {
		return 0, false, err
	}
	return answer.StatusCode, false, s.read(answer)
}

// read reads an answer to its end.
func (s *stream) read(answer *http.Response) error {
	if answer.Close {
		s.spent = true
	}
	limit := s.config.MaxBody
	n, err := io.Copy(io.Discard, io.LimitReader(answer.Body, limit+1))
	if n > limit {
		s.spent = true // the rest is still to come
		_ = answer.Body.Close()
		return &httpwire.LimitError{Part: httpwire.Body, Limit: limit}
	}
	if closing := answer.Body.Close(); err == nil {
		err = closing
	}
	return err
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
