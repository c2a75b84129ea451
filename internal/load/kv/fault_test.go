package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
)

func TestFault(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	own := errors.New("the server's own")
	for name, test := range map[string]struct {
		ctx  context.Context
		err  error
		want load.Kind
	}{
		"end of time": {over, own, load.ErrTimeout},
		"own":         {t.Context(), own, load.ErrStatus},
		"deadline":    {t.Context(), &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, load.ErrTimeout},
		"end":         {t.Context(), fmt.Errorf("reading: %w", io.EOF), load.ErrClosed},
		"reset":       {t.Context(), os.NewSyscallError("read", syscall.ECONNRESET), load.ErrClosed},
		"refused":     {t.Context(), os.NewSyscallError("connect", syscall.ECONNREFUSED), load.ErrConnect},
		"unknown":     {t.Context(), errors.New("byte 3 makes no sense"), load.ErrProtocol},
	} {
		err := kv.Fault(test.ctx, test.err, func(err error) (load.Kind, bool) {
			return load.ErrStatus, errors.Is(err, own)
		})
		if got := load.KindOf(err); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %v of kind %v, want %v", name, err, got, test.want)
		}
	}
}
