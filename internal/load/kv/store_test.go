package kv_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/kv"
	"github.com/scalebench/scalebench/internal/model"
)

func TestAddress(t *testing.T) {
	for name, test := range map[string]struct{ raw, want, password string }{
		"all":       {"x://me:pw@host:1/db", "x://me@host:1/db", "pw"},
		"no user":   {"x://host", "x://host", ""},
		"escaped":   {"x://me:p%2Fw@host", "x://me@host", "p/w"},
		"socket":    {"x://me@/db?socket=/run/s&password=pw", "x://me@/db?socket=%2Frun%2Fs", ""},
		"user only": {"x://me@host", "x://me@host", ""},
	} {
		a, err := kv.ParseAddress(test.raw, "x://host", "x")
		if err != nil || a.String() != test.want || a.Password() != test.password {
			t.Errorf("%s: %s with %q, %v, want %s with %q", name, a, a.Password(), err, test.want, test.password)
		}
	}
	for name, raw := range map[string]string{
		"scheme":  "y://me:pw1234@host",
		"port":    "x://me:pw1234@host:port",
		"opaque":  "x:me:pw1234@host",
		"nothing": "",
	} {
		_, err := kv.ParseAddress(raw, "x://host", "x")
		if !errors.Is(err, model.ErrUsage) || strings.Contains(err.Error(), "pw1234") {
			t.Errorf("%s: %v, want ErrUsage without the password", name, err)
		}
	}
}

// TestHide: in whatever form a library shows the password, it is not shown.
func TestHide(t *testing.T) {
	a, err := kv.ParseAddress("x://me:p%40ss%2Fw+rd@host?sslpassword=p%40ss", "x://host", "x")
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("cause")
	for _, text := range []string{"p@ss/w+rd", "p%40ss%2Fw%2Brd", "p@ss", "p%40ss"} {
		hidden := a.Hide(fmt.Errorf("%w: no entry for %s", cause, text))
		if strings.Contains(hidden.Error(), "ss") || !errors.Is(hidden, cause) {
			t.Errorf("Hide(%s) = %v", text, hidden)
		}
	}
	if a.Hide(nil) != nil || a.Hide(cause) != cause { //nolint:errorlint // the very same
		t.Error("Hide changes what holds no secret")
	}
}

// FuzzParseAddress: no URL makes it fail in an unknown way, or show a password.
func FuzzParseAddress(f *testing.F) {
	f.Add("x://me:secret@host:1/db?a=b")
	f.Add("x://me:se%63ret@[::1]/")
	f.Add("x:%zz")
	f.Fuzz(func(t *testing.T, raw string) {
		a, err := kv.ParseAddress(raw, "x://host", "x")
		if err != nil {
			if !errors.Is(err, model.ErrUsage) {
				t.Error(err)
			}
			return
		}
		u, err := url.Parse(a.String())
		if err != nil {
			t.Fatalf("the name of %q is not a URL: %v", raw, err)
		}
		if _, ok := u.User.Password(); ok {
			t.Errorf("the name of %q has a password: %s", raw, a)
		}
	})
}

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
		err := load.Fault(test.ctx, test.err, func(err error) (load.Kind, bool) {
			return load.ErrStatus, errors.Is(err, own)
		})
		if got := load.KindOf(err); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %v of kind %v, want %v", name, err, got, test.want)
		}
	}
}
