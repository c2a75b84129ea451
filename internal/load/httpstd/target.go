package httpstd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// Target is the load.Target for servers that speak HTTP.
type Target struct {
	config    Config
	transport *http.Transport
	requests  []prepared
	origins   []origin

	mu     sync.Mutex
	shared map[int]*shared // by group of clients
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
	c.Streams = cmp.Or(c.Streams, 1)
	c.MaxHeader, c.MaxBody = cmp.Or(c.MaxHeader, DefaultMaxHeader), cmp.Or(c.MaxBody, DefaultMaxBody)
	if err := c.check(); err != nil {
		return nil, err
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	t := &Target{config: c, transport: transport, shared: map[int]*shared{}}
	for _, r := range c.Requests {
		if err := t.prepare(r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// Mix names the requests, with their weights.
func (t *Target) Mix() []load.Weight { return load.MixOf(t.config.Requests) }

// Open connects client i to every origin; those that share connections join
// them. Errors are of the kind load.ErrConnect.
func (t *Target) Open(ctx context.Context, i int) (load.Client, error) {
	var l *link
	var err error
	if t.config.Streams == 1 {
		l, err = t.dial(ctx)
	} else {
		l, err = t.join(ctx, i/t.config.Streams)
	}
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return &client{target: t, link: l}, nil
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
			continue // no answer is no redirect
		}
		_ = answer.Body.Close() // it is not read
		to := answer.Header.Get("Location")
		if answer.StatusCode/100 == 3 && to != "" && !p.expect.Match(answer.StatusCode) {
			return &Redirect{From: p.template.URL.String(), Status: answer.StatusCode, To: to}
		}
	}
	return nil
}
