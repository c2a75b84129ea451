package http1

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

func TestWire(t *testing.T) {
	for name, c := range map[string]struct {
		request load.Request
		want    string
	}{
		"the least": {load.Request{URL: "http://a.test"},
			"GET / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\n\r\n"},
		"path, query and port": {load.Request{URL: "http://A.test:8080/b%2Fc%20d?e=f g#h"},
			"GET /b%2Fc%20d?e=f%20g HTTP/1.1\r\nHost: A.test:8080\r\nUser-Agent: scalebench\r\n\r\n"},
		"headers": {load.Request{URL: "http://a.test:/", Header: http.Header{"X": {"1", "2"}, "Accept": {"*/*"}}},
			"GET / HTTP/1.1\r\nHost: a.test\r\nAccept: */*\r\nUser-Agent: scalebench\r\nX: 1\r\nX: 2\r\n\r\n"},
		"other defaults": {load.Request{URL: "http://a.test/", Header: http.Header{"host": {"b.test"}, "User-agent": {"me"}}},
			"GET / HTTP/1.1\r\nhost: b.test\r\nUser-agent: me\r\n\r\n"},
		"a body": {load.Request{Method: "POST", URL: "http://a.test/", Body: []byte("text")},
			"POST / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\nContent-Length: 4\r\n\r\ntext"},
		"no body where one is expected": {load.Request{Method: "PUT", URL: "http://a.test/"},
			"PUT / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\nContent-Length: 0\r\n\r\n"},
		"a body where none is expected": {load.Request{Method: "DELETE", URL: "http://a.test/", Body: []byte("x")},
			"DELETE / HTTP/1.1\r\nHost: a.test\r\nUser-Agent: scalebench\r\nContent-Length: 1\r\n\r\nx"},
		"IPv6 with a zone": {load.Request{URL: "http://[fe80::1%25eth0]:81/"},
			"GET / HTTP/1.1\r\nHost: [fe80::1]:81\r\nUser-Agent: scalebench\r\n\r\n"},
	} {
		u, err := url.Parse(c.request.URL)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(wire(c.request, u)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// names is a resolver.
type names map[string][]netip.Addr

func (n names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == "broken.test" {
		return nil, &net.DNSError{Err: "server misbehaving", Name: host, IsTemporary: true}
	}
	return n[host], nil
}

// TestPrepare: requests to the same host and port have one site, however it is
// written.
func TestPrepare(t *testing.T) {
	known := names{"a.test": {netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("::ffff:192.0.2.2"), netip.MustParseAddr("2001:db8::1")}}
	targets, sites, err := prepare(t.Context(), []load.Request{
		{URL: "http://a.test/"}, {URL: "http://A.test:80/x", Method: "HEAD"}, {URL: "http://a.test:81/"}, {URL: "http://[2001:db8::2]/"},
	}, known)
	if err != nil {
		t.Fatal(err)
	}
	var of []int
	for _, x := range targets {
		of = append(of, x.site)
	}
	if want := []int{0, 0, 1, 2}; !cmp.Equal(of, want) || targets[0].head || !targets[1].head {
		t.Errorf("the sites of the targets are %v, want %v", of, want)
	}
	var got []string
	for _, s := range sites {
		got = append(got, s.name)
		for _, a := range s.addresses {
			got = append(got, a.String())
		}
	}
	want := []string{"a.test:80", "192.0.2.1:80", "192.0.2.2:80", "[2001:db8::1]:80",
		"a.test:81", "192.0.2.1:81", "192.0.2.2:81", "[2001:db8::1]:81", "[2001:db8::2]:80", "[2001:db8::2]:80"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for host, kind := range map[string]error{"broken.test": model.ErrUnavailable, "empty.test": model.ErrUsage} {
		if _, _, err := prepare(t.Context(), []load.Request{{URL: "http://" + host}}, known); !errors.Is(err, kind) {
			t.Errorf("with the host %s: %v, want %v", host, err, kind)
		}
	}
}
