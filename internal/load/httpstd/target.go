// Package httpstd sends requests with the standard library's HTTP client: over
// TLS, in HTTP/1.1 and HTTP/2. Plain HTTP/1.1 is faster in package load/http1;
// where that does not run, this one does it, too.
//
// The way of a request:
//
//  1. New checks the requests and makes of each what is the same every time.
//  2. A load.Pool opens a client: a connection to each origin of the requests,
//     TLS and all, so that what is slow or wrong about connecting shows there.
//  3. The client sends a request over its own connection, and nowhere else:
//     there are no redirects, retries, cookies, caches or proxies, which would
//     make another load of the one that was asked for.
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
	"slices"

	"github.com/scalebench/scalebench/internal/load"
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
	// MaxHeader and MaxBody are limits of an answer, in bytes; 0: 64 KiB and
	// 64 MiB. A body is not kept, however long.
	MaxHeader, MaxBody int64
}

// transport makes connections as the configuration says.
func (c Config) transport() (*http.Transport, error) {
	roots, err := c.Trust.Roots()
	if err != nil {
		return nil, err
	}
	var protocols http.Protocols
	protocols.SetHTTP1(!c.HTTP2)
	protocols.SetHTTP2(true)
	protocols.SetUnencryptedHTTP2(c.HTTP2)
	return &http.Transport{
		Protocols:              &protocols,
		DisableCompression:     true, // what is not asked for is not sent, nor unpacked
		MaxResponseHeaderBytes: c.MaxHeader,
		TLSClientConfig: &tls.Config{
			RootCAs:            roots,
			InsecureSkipVerify: c.Insecure, //nolint:gosec // only if the user wants it
		},
	}, nil
}

// Target is the load.Target for servers that speak HTTP.
type Target struct {
	config    Config
	transport *http.Transport
	requests  []prepared
	origins   []origin
}

// origin is where a connection goes.
type origin struct{ scheme, address string }

// prepared is a request with all that is the same every time.
type prepared struct {
	template *http.Request
	body     []byte
	expect   load.Statuses
	origin   int // among the target's
}

// New makes a target; it connects to nothing yet. The error is model.ErrUsage.
func New(c Config) (*Target, error) {
	c.MaxHeader, c.MaxBody = cmp.Or(c.MaxHeader, 64<<10), cmp.Or(c.MaxBody, 64<<20)
	if err := load.CheckRequests(c.Requests); err != nil {
		return nil, err
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	t := &Target{config: c, transport: transport}
	for _, r := range c.Requests {
		if err := t.prepare(r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Mix names the requests, with their weights.
func (t *Target) Mix() []load.Weight { return load.MixOf(t.config.Requests) }

// Open connects a client to every origin. Errors are of the kind
// load.ErrConnect.
func (t *Target) Open(ctx context.Context, _ int) (load.Client, error) {
	c := &client{target: t}
	for _, o := range t.origins {
		conn, err := t.transport.NewClientConn(ctx, o.scheme, o.address)
		if err != nil {
			return nil, &load.Error{Kind: load.ErrConnect, Err: errors.Join(err, c.Close())}
		}
		c.connections = append(c.connections, conn)
	}
	return c, nil
}

// prepare makes the template of a request that passed its Check.
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
	o := origin{u.Scheme, net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), map[string]string{"https": "443"}[u.Scheme], "80"))}
	index := slices.Index(t.origins, o)
	if index < 0 {
		index, t.origins = len(t.origins), append(t.origins, o)
	}
	t.requests = append(t.requests, prepared{template: template, body: bytes.Clone(r.Body), expect: r.Expect, origin: index})
	return nil
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
		answer, err := t.transport.RoundTrip(p.request(ctx))
		if err != nil {
			continue // only an answer can redirect
		}
		_ = answer.Body.Close() // it is not read
		to := answer.Header.Get("Location")
		if answer.StatusCode/100 == 3 && to != "" && !p.expect.Match(answer.StatusCode) {
			return &Redirect{From: p.template.URL.String(), Status: answer.StatusCode, To: to}
		}
	}
	return nil
}
