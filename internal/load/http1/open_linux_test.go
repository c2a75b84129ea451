package http1

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// addresses is a resolver that knows one answer.
type addresses []string

func (a addresses) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if len(a) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	var all []netip.Addr
	for _, s := range a {
		all = append(all, netip.MustParseAddr(s))
	}
	return all, nil
}

// TestAddresses: all addresses of a name are used, and those that refuse cost no
// operation.
func TestAddresses(t *testing.T) {
	t.Parallel()
	one := serve(t, after(time.Millisecond))
	_, port, err := net.SplitHostPort(one.listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	r := load.Run{Plan: hold(2000, 200*time.Millisecond), Drain: time.Second}
	c := Config{Requests: get("http://service.test:" + port), Loops: 1, Resolver: addresses{"127.0.0.2", "::ffff:127.0.0.1"}}
	if got := run(t.Context(), t, open(t, c), r); got.OK != 400 {
		t.Errorf("with an address that refuses: %+v", got.Counts)
	}
	two := serveAt(t, net.JoinHostPort("127.0.0.2", port), after(time.Millisecond))
	before := one.accepted.Load()
	got := run(t.Context(), t, open(t, c), r)
	if a, b := one.accepted.Load()-before, two.accepted.Load(); got.OK != 400 || a == 0 || a-b > 1 || b-a > 1 {
		t.Errorf("two addresses have %d and %d connections: %+v", a, b, got.Counts)
	}
	c.Resolver = addresses{"127.0.0.3", "127.0.0.4"}
	if got := run(t.Context(), t, open(t, c), r); got.Errors[load.ErrConnect] != 400 {
		t.Errorf("with no address that works: %+v", got.Counts)
	}
}

func TestIPv6(t *testing.T) {
	l, err := net.Listen("tcp", "[::1]:0")
	if err != nil && os.Getenv("CI") == "" {
		t.Skip("this machine has no IPv6:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := serveAt(t, "[::1]:0", always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	if got := run(t.Context(), t, d, load.Run{Plan: hold(100, 100*time.Millisecond), Drain: time.Second}); got.OK != 10 {
		t.Errorf("%+v", got.Counts)
	}
}

// TestCoarse: without epoll_pwait2 it works the same.
func TestCoarse(t *testing.T) {
	s := serve(t, always(okAnswer))
	d := open(t, Config{Requests: get(s.url), Loops: 1})
	d.(*driver).loops[0].poller.coarse = true
	got := run(t.Context(), t, d, load.Run{Plan: hold(1000, 200*time.Millisecond), Drain: time.Second})
	if got.OK != 200 || got.lag.ValueAtPercentile(50) > int64(20*time.Millisecond) {
		t.Errorf("p50 of the lag is %v: %+v", time.Duration(got.lag.ValueAtPercentile(50)), got.Counts)
	}
}

func TestNewRefuses(t *testing.T) {
	ok := get("http://127.0.0.1:1")
	for name, c := range map[string]struct {
		config Config
		want   error
	}{
		"nothing to send":      {Config{}, model.ErrUsage},
		"https":                {Config{Requests: get("https://127.0.0.1:1")}, model.ErrUsage},
		"too many connections": {Config{Requests: ok, Connections: 1 << 40, Chosen: true}, model.ErrUnavailable},
		"an unknown host":      {Config{Requests: get("http://unknown.test"), Resolver: addresses(nil)}, model.ErrUsage},
	} {
		if d, err := New(t.Context(), c.config); !errors.Is(err, c.want) || d != nil {
			t.Errorf("New with %s = %v, want %v", name, err, c.want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	d := open(t, Config{Requests: []load.Request{{Name: "never", URL: "http://127.0.0.1:1", Weight: 0}}})
	for name, r := range map[string]load.Run{
		"no stage":    {Share: load.All},
		"no share":    {Plan: hold(1, time.Second)},
		"wrong share": {Plan: hold(1, time.Second), Share: load.Share{Index: 2, Of: 2}},
		"no weight":   {Plan: hold(1, time.Second), Share: load.All},
	} {
		r.Each = func(load.Second) {}
		if _, err := d.Run(t.Context(), r); !errors.Is(err, model.ErrUsage) {
			t.Errorf("Run with %s = %v, want %v", name, err, model.ErrUsage)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(t.Context(), load.Run{Plan: hold(1, time.Second), Share: load.All, Each: func(load.Second) {}}); !errors.Is(err, model.ErrUsage) {
		t.Errorf("Run after Close = %v, want %v", err, model.ErrUsage)
	}
}
