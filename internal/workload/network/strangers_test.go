package network

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestFrom lists who may come from where.
func TestFrom(t *testing.T) {
	cs := newClients([]model.Host{
		{Node: "away", Address: "192.0.2.1"}, {Node: "six", Address: "2001:db8::1"},
		{Node: "slot0", Address: "127.0.0.1"}, {Node: "slot1", Address: "127.0.0.1", Slot: 1},
		{Node: "named", Address: "localhost"}, {Node: "alias", Address: "192.0.2.77"},
	})
	if err := cs.locate(t.Context()); err != nil {
		t.Fatal(err)
	}
	cs.here = map[netip.Addr]bool{netip.MustParseAddr("192.0.2.77"): true, netip.MustParseAddr("192.0.2.78"): true}
	tests := []struct {
		node, from string
		want       bool
	}{
		{"away", "192.0.2.1", true},
		{"away", "192.0.2.2", false},
		{"away", "127.0.0.1", false},
		{"away", "192.0.2.78", false}, // another address of the server's machine
		{"six", "2001:db8::1", true},
		{"six", "192.0.2.1", false},
		{"slot0", "127.0.0.1", true},
		{"slot1", "127.0.0.1", true},
		{"slot1", "127.0.0.9", true},
		{"slot1", "192.0.2.78", true}, // what the system took
		{"slot1", "192.0.2.1", false},
		{"named", "127.0.0.1", true},
		{"named", "192.0.2.1", false},
		{"alias", "192.0.2.77", true},
		{"alias", "127.0.0.1", true},
		{"alias", "192.0.2.1", false},
	}
	for _, tt := range tests {
		if got := cs.from(cs.byNode[tt.node], netip.MustParseAddr(tt.from)); got != tt.want {
			t.Errorf("from(%s, %s) = %v, want %v", tt.node, tt.from, got, tt.want)
		}
	}
	for _, none := range []string{"192.0.2.2", "2001:db8::2"} {
		if cs.known(netip.MustParseAddr(none)) {
			t.Errorf("known(%s) = true, want false", none)
		}
	}
	if cs.known(remote(&net.UnixConn{})) {
		t.Error("a connection without an address is known")
	}
	if got := plain(netip.MustParseAddr("::ffff:192.0.2.1")); got != cs.byNode["away"].addresses[0] {
		t.Errorf("IPv4 within IPv6 is %v", got)
	}
}

func TestLocateFails(t *testing.T) {
	if err := newClients([]model.Host{{Node: "b"}}).locate(t.Context()); err == nil || !strings.Contains(err.Error(), "--label address=") {
		t.Errorf("locate() without an address = %v, want what to do", err)
	}
}

// TestOtherAddress names a client from an address that is not the client's, as
// anybody on the network could: it is refused, without taking a client's
// place, and people are told once.
func TestOtherAddress(t *testing.T) {
	self, client := hosts("a")[0], model.Host{Node: "b", Address: "192.0.2.1"}
	n := newNode(t, self, model.RoleServe, nil, []model.Host{client}, nil)
	if err := n.params.Prepare(t.Context(), n.env); err != nil {
		t.Fatal(err)
	}
	web := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for range 3 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.7.1:7420/object", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set(headerNode, "b")
		resp, err := web.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close() // all was read
		if resp.StatusCode != http.StatusForbidden || got > 100 || err != nil {
			t.Errorf("status %d with %d bytes, %v; want 403", resp.StatusCode, got, err)
		}
	}
	_, err := request(t.Context(), "POST", pathGoodbye, "127.0.7.1:7420", "b", n.params.settings().stall)
	if !errors.Is(err, errFatal) || !strings.Contains(err.Error(), "--label address=") {
		t.Errorf("a client that is refused says %v, want what to do", err)
	}
	if taken := len(n.params.state.server.slots); taken > 0 {
		t.Errorf("strangers take %d places of clients", taken)
	}
	if err := n.params.Cleanup(t.Context(), n.env); err != nil {
		t.Fatal(err)
	}
	if said := n.env.Stderr.(*bytes.Buffer).String(); strings.Count(said, "refused") != 1 || !strings.Contains(said, "b (192.0.2.1)") || !strings.Contains(said, "127.0.0.1") {
		t.Errorf("standard error says %q, want one refusal", said)
	}
}

// TestHostName has a label that names a host rather than an address.
func TestHostName(t *testing.T) {
	h := []model.Host{{Node: "a", Address: "127.0.7.1"}, {Node: "b", Address: "localhost"}}
	mustRun(t,
		newNode(t, h[0], "", h[1:], h[1:], nil),
		newNode(t, h[1], "", h[:1], h[:1], nil))
}
