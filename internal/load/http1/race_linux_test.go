package http1

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/test/oddanswers"
)

// closing serves on 127.0.0.1 and closes, announced, after each answer.
func closing(t *testing.T) (port string) {
	s := serve(t, once("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"))
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// silentAt swallows what comes to a port of an address.
func silentAt(t *testing.T, address, port string) {
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	oddanswers.Silent(t, netip.AddrPortFrom(netip.MustParseAddr(address), uint16(n)))
}

// TestSilentAddress: a silent address among several costs no operation, and only
// those due in the first moments wait; in the next window none does. It is told.
func TestSilentAddress(t *testing.T) {
	for name, c := range map[string]struct {
		hosts  addresses
		silent []string
	}{
		"one of two": {addresses{"127.0.0.9", "127.0.0.1"}, []string{"127.0.0.9"}},
		"two of three": {addresses{"127.0.0.9", "127.0.0.10", "127.0.0.1"},
			[]string{"127.0.0.9", "127.0.0.10"}},
		"beside one that refuses": {addresses{"127.0.0.8", "127.0.0.9", "127.0.0.1"}, []string{"127.0.0.9"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			port := closing(t)
			for _, a := range c.silent {
				silentAt(t, a, port)
			}
			d := open(t, Config{Requests: get("http://service.test:" + port), Loops: 1, Resolver: c.hosts})
			for window := range 2 {
				got := run(t.Context(), t, d, load.Run{Plan: hold(20, 500*time.Millisecond), Drain: time.Minute})
				if got.OK != 10 || got.usage.Opened != 10 {
					t.Errorf("window %d: %d connections: %+v, for example %v", window, got.usage.Opened, got.Counts,
						got.usage.Examples)
				}
				if p50 := time.Duration(got.latency.ValueAtPercentile(50)); window > 0 && p50 >= load.HeadStart {
					t.Errorf("in the second window half of the operations take %v", p50)
				}
				var dead []string
				for _, u := range got.usage.Addresses {
					if u.State == load.AddressUnanswered {
						dead = append(dead, strings.TrimSuffix(u.Address, ":"+port))
					}
				}
				if len(dead) != len(c.silent) {
					t.Errorf("window %d: told as silent are %v, want %v: %+v", window, dead, c.silent,
						got.usage.Addresses)
				}
			}
		})
	}
}

// TestSilentAddressIsJudged: what is told of a silent address is what an attempt
// has shown that goes on for longer than the load would wait.
func TestSilentAddressIsJudged(t *testing.T) {
	t.Parallel()
	port := closing(t)
	silentAt(t, "127.0.0.9", port)
	d := open(t, Config{Requests: get("http://service.test:" + port), Loops: 1,
		Resolver: addresses{"127.0.0.9", "127.0.0.1"}})
	run(t.Context(), t, d, load.Run{Plan: hold(20, 500*time.Millisecond), Drain: time.Minute})
	l := d.(*driver).loops[0]
	a := l.origins[0].addresses
	if uses := a.Uses(); uses[0].State != load.AddressUnanswered {
		t.Fatalf("%+v", uses)
	}
	got := run(t.Context(), t, d, load.Run{Plan: hold(20, load.JudgeAfter+time.Second), Drain: time.Minute})
	if got.OK != got.Due || l.race.running != 0 {
		t.Errorf("%d attempts are under way: %+v", l.race.running, got.Counts)
	}
	if cause := fmt.Sprint(got.usage.Addresses); !strings.Contains(cause, "no answer to the TCP handshake within 3") {
		t.Errorf("the cause is %s", cause)
	}
}

// TestAllAddressesDead: the error says of each why.
func TestAllAddressesDead(t *testing.T) {
	t.Parallel()
	silent := oddanswers.Silent(t, netip.MustParseAddrPort("127.0.0.9:0"))
	port := strconv.Itoa(int(silent.Port()))
	d := open(t, Config{Requests: get("http://service.test:" + port), Loops: 1, Timeout: 700 * time.Millisecond,
		Resolver: addresses{"127.0.0.9", "127.0.0.8"}})
	got := run(t.Context(), t, d, load.Run{Plan: hold(20, 200*time.Millisecond), Drain: time.Minute})
	said := fmt.Sprint(got.usage.Examples[load.ErrConnect])
	if got.Errors[load.ErrConnect] != got.Due ||
		!strings.Contains(said, "127.0.0.9:"+port+": no answer to the TCP handshake within ") ||
		!strings.Contains(said, "127.0.0.8:"+port+": connection refused") {
		t.Errorf("%+v, for example %s", got.Counts, said)
	}
}

// TestRepeat: a server that closes a connection while a request is on its way
// costs none that may be sent again; what it had and did not answer is an error.
func TestRepeat(t *testing.T) {
	t.Parallel()
	const always, never = time.Hour, -time.Hour
	for _, c := range []struct {
		name, method     string
		crossing         time.Duration
		closed, repeated int64
	}{
		{"crossed", http.MethodGet, always, 0, 9},
		{"crossed, to delete", http.MethodDelete, always, 0, 9},
		{"crossed, with a second effect", http.MethodPost, always, 5, 0},
		{"not answered", http.MethodGet, never, 5, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			// The second request over a connection finds it closed: nothing is said.
			s := serve(t, func(s *server, c *net.TCPConn) {
				asked := false
				answer(func(*server, *net.TCPConn, *http.Request) bool {
					first := !asked
					asked = true
					return first && say(c, okAnswer)
				})(s, c)
			})
			requests := get(s.url)
			requests[0].Method = c.method
			d := open(t, Config{Requests: requests, Loops: 1, Connections: 1})
			d.(*driver).loops[0].crossing = c.crossing
			got := run(t.Context(), t, d, load.Run{Plan: hold(50, 200*time.Millisecond), Drain: time.Minute})
			if got.OK != 10-c.closed || got.Errors[load.ErrClosed] != c.closed || got.Repeated != c.repeated {
				t.Errorf("%+v, for example %v", got.Counts, got.usage.Examples)
			}
		})
	}
}
