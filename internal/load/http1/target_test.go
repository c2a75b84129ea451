package http1

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

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
