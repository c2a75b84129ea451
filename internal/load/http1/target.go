package http1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// target is a request, ready to be sent.
type target struct {
	wire   []byte // all of it, as it goes over the connection
	head   bool   // it is a HEAD: answers have no body
	expect load.Statuses
	site   int // index of the site that it goes to
}

// site is an origin: what connections go to.
type site struct {
	name      string // host:port, as it is shown
	addresses []netip.AddrPort
}

// prepare makes targets of requests that passed load.CheckRequests, in their
// order, and lists the sites that they go to.
func prepare(ctx context.Context, requests []load.Request, r Resolver) ([]target, []site, error) {
	var (
		targets []target
		sites   []site
	)
	index := make(map[string]int) // of sites, by name
	for _, q := range requests {
		u, err := parseURL(q)
		if err != nil {
			return nil, nil, err
		}
		name := originOf(u)
		if _, known := index[name]; !known {
			s, err := newSite(ctx, name, r)
			if err != nil {
				return nil, nil, err
			}
			index[name] = len(sites)
			sites = append(sites, s)
		}
		targets = append(targets, target{
			wire: wire(q, u), head: q.Method == http.MethodHead, expect: q.Expect, site: index[name],
		})
	}
	return targets, sites, nil
}

func parseURL(q load.Request) (*url.URL, error) {
	u, err := url.Parse(q.URL)
	if err != nil { // it passed its check
		return nil, fmt.Errorf("%w: request %q: its URL cannot be read", model.ErrUsage, q.Name)
	}
	if u.Scheme != "http" {
		return nil, fmt.Errorf("%w: request %q: the fast path speaks plain HTTP/1.1 only, not %s; use the standard client for it",
			model.ErrUsage, q.Name, u.Scheme)
	}
	return u, nil
}

// originOf names the host and port of a URL.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// newSite looks up the host of an origin.
func newSite(ctx context.Context, name string, r Resolver) (site, error) {
	host, service, err := net.SplitHostPort(name)
	if err != nil {
		return site{}, fmt.Errorf("%w: %q is no host and port: %w", model.ErrUsage, name, err)
	}
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return site{}, fmt.Errorf("%w: port %q of %s: %w", model.ErrUsage, service, name, err)
	}
	addresses, err := lookUp(ctx, r, host)
	if err != nil {
		return site{}, err
	}
	s := site{name: name}
	for _, a := range addresses {
		s.addresses = append(s.addresses, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return s, nil
}

func lookUp(ctx context.Context, r Resolver, host string) ([]netip.Addr, error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, nil
	}
	addresses, err := r.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return nil, fmt.Errorf("%w: there is no host %q; check the URL", model.ErrUsage, host)
	case err != nil:
		return nil, fmt.Errorf("%w: looking up the host %q: %w", model.ErrUnavailable, host, err)
	case len(addresses) == 0:
		return nil, fmt.Errorf("%w: the host %q has no address; check the URL", model.ErrUsage, host)
	}
	return addresses, nil
}

// agent is what requests say that they come from, unless they say it
// themselves.
const agent = "scalebench"

// wire writes a request as RFC 9112 has it.
func wire(q load.Request, u *url.URL) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method(q), strings.ReplaceAll(u.RequestURI(), " ", "%20"))
	header := withDefaults(q.Header, u)
	for _, name := range order(header) {
		for _, value := range header[name] {
			fmt.Fprintf(&b, "%s: %s\r\n", name, value)
		}
	}
	if len(q.Body) > 0 || expectsBody(method(q)) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.Body))
	}
	b.WriteString("\r\n")
	b.Write(q.Body)
	return b.Bytes()
}

func method(q load.Request) string {
	if q.Method == "" {
		return http.MethodGet
	}
	return q.Method
}

// expectsBody reports whether servers may ask for the length of a body that is
// empty (RFC 9110, section 8.6).
func expectsBody(method string) bool {
	return method == http.MethodPost || method == http.MethodPut || method == http.MethodPatch
}

// withDefaults adds what every request has.
func withDefaults(h http.Header, u *url.URL) http.Header {
	all := http.Header{"Host": {hostField(u)}, "User-Agent": {agent}}
	for name := range h {
		if c := http.CanonicalHeaderKey(name); c == "Host" || c == "User-Agent" {
			delete(all, c)
		}
	}
	maps.Copy(all, h)
	return all
}

// order puts Host first, as RFC 9110, section 7.2, asks for, and the others by
// name.
func order(h http.Header) []string {
	names := slices.Sorted(maps.Keys(h))
	slices.SortStableFunc(names, func(a, b string) int { return rank(a) - rank(b) })
	return names
}

func rank(name string) int {
	if http.CanonicalHeaderKey(name) == "Host" {
		return 0
	}
	return 1
}

// hostField is the host of a URL without what means something on this machine
// only, the zone of an IPv6 address.
func hostField(u *url.URL) string {
	host := strings.TrimSuffix(u.Host, ":")
	if before, after, ok := strings.Cut(host, "%"); ok && strings.HasPrefix(host, "[") {
		_, port, _ := strings.Cut(after, "]")
		return before + "]" + port
	}
	return host
}
