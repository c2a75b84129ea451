// Package httpstd sends requests over TLS: in HTTP/1.1 over a connection of its
// own, read by package httpwire, and in HTTP/2 with the standard library's client.
// Plain HTTP/1.1 is faster in package load/http1; where that does not run, this
// one does it, too.
//
// The way of a request:
//
//  1. New checks the requests and makes of each what is the same every time.
//  2. A load.Pool opens a client: a connection to each origin of the requests,
//     TLS and all, so that what is slow or wrong about connecting shows there.
//  3. The client sends a request over its own connection, and nowhere else:
//     there are no redirects, cookies, caches or proxies, which would make another
//     load of the one that was asked for. A request without a second effect is
//     sent again, once, where the server has closed the connection meanwhile.
//  4. The answer is read to its end and thrown away; what is wrong with it
//     becomes one of the kinds of package load.
package httpstd

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
	"github.com/scalebench/scalebench/internal/model"
)

// Config is what New needs.
type Config struct {
	// Requests are the kinds of operations.
	Requests []load.Request
	// HTTP2 demands HTTP/2: over TLS, or, in plain, with prior knowledge (RFC
	// 9113, section 3.3). Otherwise it is what the server prefers, over TLS, and
	// HTTP/1.1 without.
	HTTP2 bool
	Trust load.Trust
	// Insecure accepts any certificate.
	Insecure bool
	// MaxBody is how long the body of an answer may be, in bytes; 0: as package
	// httpwire has it. It is not kept, however long.
	MaxBody int64
	// Resolver looks up names of hosts, once; nil: as the machine does it.
	Resolver load.Resolver
}

// ErrNotHTTP2 is that a server does not speak the HTTP/2 that is demanded.
var ErrNotHTTP2 = errors.New("the server does not speak HTTP/2")

// Target is the load.Target for servers that speak HTTP.
type Target struct {
	config    Config
	dialer    load.Dialer
	transport *http.Transport
	requests  []prepared
	origins   []origin
}

// origin is where a connection goes.
type origin struct {
	scheme, address string
	tls             *tls.Config // nil: plain
}

// prepared is a request with all that is the same every time.
type prepared struct {
	template   *http.Request
	body       []byte
	wire       []byte // as HTTP/1.1 has it
	idempotent bool
	expect     load.Statuses
	origin     int // among the target's
}

// New makes a target; it connects to nothing yet. The error is model.ErrUsage.
func New(c Config) (*Target, error) {
	c.MaxBody = cmp.Or(c.MaxBody, httpwire.DefaultMaxBody)
	if err := load.CheckRequests(c.Requests); err != nil {
		return nil, err
	}
	t := &Target{config: c, dialer: load.Dialer{Resolver: c.Resolver}}
	t.transport = t.newTransport()
	for _, r := range c.Requests {
		if err := t.prepare(r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// newTransport makes HTTP/2 of connections that are there already: they come with
// the context.
func (t *Target) newTransport() *http.Transport {
	var protocols http.Protocols
	protocols.SetHTTP1(!t.config.HTTP2)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(t.config.HTTP2)
	given := func(ctx context.Context, _, _ string) (net.Conn, error) {
		conn, ok := ctx.Value(givenConn{}).(net.Conn)
		if !ok {
			return nil, errors.New("no connection is given")
		}
		return conn, nil
	}
	return &http.Transport{
		Protocols:              &protocols,
		DisableCompression:     true, // what is not asked for is not sent, nor unpacked
		MaxResponseHeaderBytes: httpwire.DefaultMaxHeader,
		DialContext:            given,
		DialTLSContext:         given,
	}
}

// givenConn is the key of a connection in a context.
type givenConn struct{}

// Mix names the requests, with their weights.
func (t *Target) Mix() []load.Weight { return load.MixOf(t.config.Requests) }

// Files is how many connections a client has.
func (t *Target) Files() int { return len(t.origins) }

// Uses implements load.Located.
func (t *Target) Uses() []load.AddressUse { return t.dialer.Uses() }

// Close ends what is under way for no client.
func (t *Target) Close() error { return t.dialer.Close() }

// Open connects a client to every origin. Errors are of the kind
// load.ErrConnect.
func (t *Target) Open(ctx context.Context, _ int) (load.Client, error) {
	c := &client{target: t}
	for _, o := range t.origins {
		conn, err := t.connect(ctx, o)
		if err != nil {
			kind := load.ErrConnect
			if errors.Is(err, ErrNotHTTP2) {
				kind = load.ErrProtocol
			}
			return nil, &load.Error{Kind: kind, Err: errors.Join(err, c.Close())}
		}
		c.connections = append(c.connections, conn)
	}
	return c, nil
}

// connect opens a connection to an origin, which speaks one protocol or the other.
func (t *Target) connect(ctx context.Context, o origin) (connection, error) {
	conn, err := t.raw(ctx, o)
	if err != nil {
		return nil, err
	}
	two := t.config.HTTP2
	if secure, ok := conn.(*tls.Conn); ok {
		two = secure.ConnectionState().NegotiatedProtocol == "h2"
	}
	if t.config.HTTP2 && !two {
		return nil, errors.Join(ErrNotHTTP2, conn.Close())
	}
	if !two {
		return newExchange(conn, httpwire.Reply{MaxHeader: httpwire.DefaultMaxHeader, MaxBody: t.config.MaxBody}), nil
	}
	c, err := t.transport.NewClientConn(context.WithValue(ctx, givenConn{}, conn), o.scheme, o.address)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return &stream{conn: c, config: t.config}, nil
}

// prepare makes what is the same every time of a request that passed its Check.
func (t *Target) prepare(r load.Request) error {
	template, err := http.NewRequestWithContext(context.Background(), r.Method, r.URL, nil)
	if err != nil {
		return fmt.Errorf("%w: request %q cannot be sent", model.ErrUsage, r.Name) // the error may show secrets
	}
	for name, values := range r.Header {
		template.Header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
	}
	if host := template.Header.Get("Host"); host != "" {
		template.Host = host // net/http takes it from here only
		template.Header.Del("Host")
	}
	if _, ok := template.Header["User-Agent"]; !ok {
		template.Header.Set("User-Agent", "scalebench")
	}
	u := template.URL
	o := origin{scheme: u.Scheme, address: net.JoinHostPort(u.Hostname(),
		cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))}
	if o.scheme == "https" {
		if o.tls, err = t.security(u.Hostname(), template.Host); err != nil {
			return err
		}
	}
	index := slices.IndexFunc(t.origins, func(other origin) bool {
		return other.scheme == o.scheme && other.address == o.address &&
			(o.tls == nil || other.tls.ServerName == o.tls.ServerName)
	})
	if index < 0 {
		index, t.origins = len(t.origins), append(t.origins, o)
	}
	wire := httpwire.Request(r, u)
	t.requests = append(t.requests, prepared{template: template, body: bytes.Clone(r.Body), wire: wire,
		idempotent: httpwire.Idempotent(wire), expect: r.Expect, origin: index})
	return nil
}

// security is how TLS is spoken with a host. The name that the server is asked for
// is that of the URL. An address is none: then it is the header Host, and a
// certificate for either will do.
func (t *Target) security(host, header string) (*tls.Config, error) {
	roots, err := t.config.Trust.Roots()
	if err != nil {
		return nil, err
	}
	c := &tls.Config{
		RootCAs: roots, ServerName: host, NextProtos: []string{"h2", "http/1.1"},
		InsecureSkipVerify: t.config.Insecure, //nolint:gosec // only if the user wants it
	}
	if t.config.HTTP2 {
		c.NextProtos = c.NextProtos[:1]
	}
	name := header
	if h, _, err := net.SplitHostPort(header); err == nil {
		name = h
	}
	isAddress := func(text string) bool {
		_, err := netip.ParseAddr(text)
		return err == nil
	}
	if name == "" || isAddress(name) || !isAddress(host) {
		return c, nil
	}
	c.ServerName = name
	if !t.config.Insecure {
		c.InsecureSkipVerify = true //nolint:gosec // VerifyConnection checks it
		c.VerifyConnection = func(s tls.ConnectionState) error { return load.VerifyCertificate(s, roots, name, host) }
	}
	return c, nil
}

// request is the prepared one to be sent now.
func (p prepared) request(ctx context.Context) *http.Request {
	r := p.template.WithContext(ctx) // shares the header, which is not changed
	if len(p.body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(p.body)), int64(len(p.body))
	}
	return r
}

// Redirect is an answer that sends the client elsewhere.
type Redirect struct {
	From   string // the URL that was asked
	Status int
	To     string // as the server said it
}

// Redirect sends each request once and follows nothing. It returns the first
// answer that redirects although that status is not expected; nil if there is
// none.
func (t *Target) Redirect(ctx context.Context) *Redirect {
	defer t.transport.CloseIdleConnections()
	for _, p := range t.requests {
		conn, err := t.raw(ctx, t.origins[p.origin])
		if err != nil {
			continue // only an answer can redirect
		}
		answer, err := t.transport.RoundTrip(p.request(context.WithValue(ctx, givenConn{}, conn)))
		if err != nil {
			_ = conn.Close() // only an answer can redirect
			continue
		}
		_ = answer.Body.Close() // it is not read
		to := answer.Header.Get("Location")
		if answer.StatusCode/100 == 3 && to != "" && !p.expect.Match(answer.StatusCode) {
			return &Redirect{From: p.template.URL.String(), Status: answer.StatusCode, To: to}
		}
	}
	return nil
}

// raw is a connection to an origin, over which nothing was sent but the handshake of TLS.
func (t *Target) raw(ctx context.Context, o origin) (net.Conn, error) {
	conn, err := t.dialer.Dial(ctx, o.address)
	if err != nil || o.tls == nil {
		return conn, err
	}
	began := time.Now()
	secure := tls.Client(conn, o.tls)
	if err = secure.HandshakeContext(ctx); err == nil {
		return secure, nil
	}
	_ = conn.Close() // err says more
	if ctx.Err() != nil {
		return nil, &load.UnansweredError{Address: conn.RemoteAddr().String(), For: load.AwaitTLS,
			Waited: time.Since(began)}
	}
	return nil, fmt.Errorf("TLS with %s: %w", conn.RemoteAddr(), err)
}
