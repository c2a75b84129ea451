package httpstd

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/scalebench/scalebench/internal/load"
)

// failure gives an error of a request its kind.
func failure(ctx context.Context, err error) error {
	return &load.Error{Kind: kindOf(ctx, err), Err: err}
}

func kindOf(ctx context.Context, err error) load.Kind {
	var timeout net.Error
	switch {
	case ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return load.ErrTimeout
	case closedBy(err):
		return load.ErrClosed
	}
	return load.ErrProtocol
}

// ends are what reading from, and writing to, a connection that ended comes
// to.
var ends = []error{
	io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed,
	syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE,
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
	for _, end := range ends {
		if errors.Is(err, end) {
			return true
		}
	}
	var reset streamReset
	if errors.As(err, &reset) {
		return reset.fromPeer()
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		for _, beginning := range closings {
			if strings.HasPrefix(e.Error(), beginning) {
				return true
			}
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

// fromPeer reports whether the other side reset the stream, and not this one
// for what it had received.
func (r streamReset) fromPeer() bool {
	return r.Cause != nil && r.Cause.Error() == "received from peer"
}
