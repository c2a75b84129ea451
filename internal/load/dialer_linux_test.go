package load_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/oddanswers"
)

// host is a resolver that knows one answer.
type host []netip.Addr

func (h host) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) { return h, nil }

func hostOf(addresses ...string) (h host) {
	for _, a := range addresses {
		h = append(h, netip.MustParseAddr(a))
	}
	return h
}

// listen takes connections at an address.
func listen(t *testing.T, address string) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	_, port, _ = net.SplitHostPort(l.Addr().String())
	return port
}

// TestDialer: of several addresses those that answer are used, whatever the others
// do; one that is silent costs its head start once.
func TestDialer(t *testing.T) {
	port := listen(t, "127.0.0.1:0")
	number := netip.MustParseAddrPort("127.0.0.1:" + port).Port()
	oddanswers.Silent(t, netip.AddrPortFrom(netip.MustParseAddr("127.0.0.9"), number))
	for name, c := range map[string]struct {
		host  host
		state load.AddressState // of the other
		slow  int               // how many connections wait for a head start
	}{
		"a silent one":                 {hostOf("127.0.0.9", "127.0.0.1"), load.AddressUnanswered, 1},
		"a silent one, second":         {hostOf("127.0.0.1", "127.0.0.9"), load.AddressUnanswered, 1},
		"one that refuses":             {hostOf("127.0.0.8", "127.0.0.1"), load.AddressRefused, 0},
		"IPv6 without a listener":      {hostOf("::1", "127.0.0.1"), load.AddressRefused, 0},
		"silent, refuses, and answers": {hostOf("127.0.0.9", "127.0.0.8", "127.0.0.1"), load.AddressUnanswered, 1},
	} {
		t.Run(name, func(t *testing.T) {
			d := &load.Dialer{Resolver: c.host}
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			defer cancel()
			slow := 0
			for range 6 {
				begin := time.Now()
				conn, err := d.Dial(ctx, "service.test:"+port)
				if err != nil {
					t.Fatal(err)
				}
				if to := conn.RemoteAddr().String(); to != "127.0.0.1:"+port {
					t.Errorf("connected to %s", to)
				}
				if time.Since(begin) >= load.HeadStart {
					slow++
				}
				_ = conn.Close()
			}
			uses := d.Uses()
			if err := d.Close(); err != nil {
				t.Error(err)
			}
			if slow > c.slow+1 { // a busy machine is slow, too
				t.Errorf("%d connections took %v or more, want %d", slow, load.HeadStart, c.slow)
			}
			for _, u := range uses {
				good := strings.HasPrefix(u.Address, "127.0.0.1:")
				if good && (u.State != load.AddressUsed || u.Opened != 6) ||
					!good && (u.State == load.AddressUsed || u.Opened != 0) {
					t.Errorf("%+v", u)
				}
				if strings.HasPrefix(u.Address, c.host[0].String()) && c.host[0].Is4() && !good && u.State != c.state {
					t.Errorf("%+v, want it %s", u, c.state)
				}
			}
		})
	}
}

// TestDialerFails: where no address takes a connection the error says of each why.
func TestDialerFails(t *testing.T) {
	silent := oddanswers.Silent(t, netip.MustParseAddrPort("127.0.0.9:0"))
	_, port, _ := net.SplitHostPort(silent.String())
	for name, c := range map[string]struct {
		host host
		want []string
	}{
		"one that is silent": {hostOf("127.0.0.9"),
			[]string{"127.0.0.9:" + port + ": no answer to the TCP handshake within "}},
		"all": {hostOf("127.0.0.9", "127.0.0.8", "::1"),
			[]string{"127.0.0.9:" + port + ": no answer to the TCP handshake within ",
				"127.0.0.8:" + port + ": connect: connection refused", "[::1]:" + port + ": connect: c"}},
	} {
		d := &load.Dialer{Resolver: c.host}
		ctx, cancel := context.WithTimeout(t.Context(), 400*time.Millisecond)
		_, err := d.Dial(ctx, "service.test:"+port)
		cancel()
		for _, want := range c.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", name, err, want)
			}
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}
