package kv

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/scalebench/scalebench/internal/load"
)

// Fault gives the error of a session's operation its kind, for packages that
// implement [Session]. ErrTimeout if ctx is done, whatever the library makes of
// it; otherwise what own says, which knows the product's errors and returns
// false for others; otherwise what is known of connections; otherwise
// ErrProtocol, for the library did not understand what it was told.
func Fault(ctx context.Context, err error, own func(error) (load.Kind, bool)) error {
	return &load.Error{Kind: faultKind(ctx, err, own), Err: err}
}

func faultKind(ctx context.Context, err error, own func(error) (load.Kind, bool)) load.Kind {
	if ctx.Err() != nil {
		return load.ErrTimeout
	}
	if kind, ok := own(err); ok {
		return kind
	}
	if kind, ok := connectionKind(err); ok {
		return kind
	}
	return load.ErrProtocol
}

// connectionKind tells what happened to a connection.
func connectionKind(err error) (load.Kind, bool) {
	var netErr net.Error
	switch {
	case isAny(err, context.DeadlineExceeded, context.Canceled, os.ErrDeadlineExceeded):
		return load.ErrTimeout, true
	case errors.As(err, &netErr) && netErr.Timeout():
		return load.ErrTimeout, true
	case isAny(err, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED):
		return load.ErrClosed, true
	case isAny(err, syscall.ECONNREFUSED, syscall.EHOSTUNREACH, syscall.ENETUNREACH):
		return load.ErrConnect, true
	}
	return 0, false
}

func isAny(err error, targets ...error) bool {
	for _, target := range targets {
		if errors.Is(err, target) {
			return true
		}
	}
	return false
}
