package http1

import (
	"bytes"
	"cmp"
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
func prepare(ctx context.Context, requests []load.Request, r Resolver) (targets []target, sites []site, err error) {
	for _, q := range requests {
		u, err := url.Parse(q.URL)
		if err != nil || u.Scheme != "http" {
			return nil, nil, fmt.Errorf("%w: request %q: the fast path speaks plain HTTP/1.1 only; its URL must begin with http://, or use the standard client",
				model.ErrUsage, q.Name)
		}
		host, port := strings.ToLower(u.Hostname()), cmp.Or(u.Port(), "80")
		name := net.JoinHostPort(host, port)
		index := slices.IndexFunc(sites, func(s site) bool { return s.name == name })
		if index < 0 {
			s, err := newSite(ctx, name, host, port, r)
			if err != nil {
				return nil, nil, err
			}
			index, sites = len(sites), append(sites, s)
		}
		targets = append(targets, target{wire: wire(q, u), head: q.Method == http.MethodHead, expect: q.Expect, site: index})
	}
	return targets, sites, nil
}

// newSite looks up the host of an origin.
func newSite(ctx context.Context, name, host, service string, r Resolver) (site, error) {
	port, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return site{}, fmt.Errorf("%w: port %q of %s: %w", model.ErrUsage, service, name, err)
	}
	s := site{name: name}
	if a, err := netip.ParseAddr(host); err == nil {
		s.addresses = []netip.AddrPort{netip.AddrPortFrom(a.Unmap(), uint16(port))}
		return s, nil
	}
	addresses, err := r.LookupNetIP(ctx, "ip", host)
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return s, fmt.Errorf("%w: unknown host %q; check the URL", model.ErrUsage, host)
	case err != nil:
		return s, fmt.Errorf("%w: looking up the host %q: %w", model.ErrUnavailable, host, err)
	case len(addresses) == 0:
		return s, fmt.Errorf("%w: the host %q has no address; check the URL", model.ErrUsage, host)
	}
	for _, a := range addresses {
		s.addresses = append(s.addresses, netip.AddrPortFrom(a.Unmap(), uint16(port)))
	}
	return s, nil
}

// wire writes a request as RFC 9112 has it: with Host first, as RFC 9110,
// section 7.2, asks for, and the other fields by name.
func wire(q load.Request, u *url.URL) []byte {
	// What every request has, unless it says it itself.
	header := http.Header{"Host": {hostField(u)}, "User-Agent": {"scalebench"}}
	for name := range q.Header {
		delete(header, http.CanonicalHeaderKey(name))
	}
	maps.Copy(header, q.Header)
	var b bytes.Buffer
	method := cmp.Or(q.Method, http.MethodGet)
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\n", method, strings.ReplaceAll(u.RequestURI(), " ", "%20"))
	for _, host := range []bool{true, false} {
		for _, name := range slices.Sorted(maps.Keys(header)) {
			for _, value := range header[name] {
				if (http.CanonicalHeaderKey(name) == "Host") == host {
					fmt.Fprintf(&b, "%s: %s\r\n", name, value)
				}
			}
		}
	}
	// Servers may ask for the length of a body that is empty (RFC 9110, section 8.6).
	if len(q.Body) > 0 || slices.Contains([]string{http.MethodPost, http.MethodPut, http.MethodPatch}, method) {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", len(q.Body))
	}
	b.WriteString("\r\n")
	b.Write(q.Body)
	return b.Bytes()
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
