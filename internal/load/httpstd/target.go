package httpstd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
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
	groups map[int]*group // of clients that share connections
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
	c = c.withDefaults()
	if err := c.check(); err != nil {
		return nil, err
	}
	transport, err := c.transport()
	if err != nil {
		return nil, err
	}
	t := &Target{config: c, transport: transport, groups: make(map[int]*group)}
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
	l, err := t.link(ctx, i)
	if err != nil {
		return nil, &load.Error{Kind: load.ErrConnect, Err: err}
	}
	return &client{target: t, link: l}, nil
}

func (t *Target) link(ctx context.Context, i int) (*link, error) {
	if t.config.Streams == 1 {
		return t.dial(ctx)
	}
	return t.group(i/t.config.Streams).join(ctx, t.dial)
}

func (t *Target) group(i int) *group {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.groups[i] == nil {
		t.groups[i] = newGroup()
	}
	return t.groups[i]
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
	t.requests = append(t.requests, prepared{
		template: template, body: bytes.Clone(r.Body), expect: r.Expect, origin: t.originOf(template.URL),
	})
	return nil
}

// originOf returns the number of a URL's origin, which may be new.
func (t *Target) originOf(u *url.URL) int {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	o := origin{u.Scheme, net.JoinHostPort(u.Hostname(), port)}
	if i := slices.Index(t.origins, o); i >= 0 {
		return i
	}
	t.origins = append(t.origins, o)
	return len(t.origins) - 1
}

// request is the prepared one to be sent now.
func (p prepared) request(ctx context.Context) *http.Request {
	r := p.template.WithContext(ctx) // shares the header, which is not changed
	if len(p.body) > 0 {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(p.body)), int64(len(p.body))
	}
	return r
}
