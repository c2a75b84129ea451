package load

import (
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// requests are those of the parameters, whole.
func (p *Params) requests() ([]engine.Request, error) {
	base, err := url.Parse(p.Target)
	if err != nil || base.Scheme != "http" && base.Scheme != "https" || base.Host == "" {
		return nil, fmt.Errorf("%w: %q must be a URL such as http://host:port/path or https://host/path", model.ErrUsage, p.Target)
	}
	kinds := p.Requests
	if len(kinds) == 0 {
		kinds = []Request{{Name: "get"}}
	}
	out := make([]engine.Request, len(kinds))
	for i, k := range kinds {
		if out[i], err = p.request(base, k, i); err != nil {
			return nil, err
		}
	}
	return out, engine.CheckRequests(out)
}

func (p *Params) request(base *url.URL, k Request, i int) (engine.Request, error) {
	at, err := base.Parse(k.Path)
	if err != nil || at.Scheme != base.Scheme {
		return engine.Request{}, fmt.Errorf("%w: request %d: %q must be a path below %s", model.ErrUsage, i+1, k.Path, base)
	}
	r := engine.Request{Name: k.Name, Method: k.Method, URL: at.String(), Header: http.Header{}, Body: []byte(k.Body), Weight: 1}
	if r.Method == "" {
		r.Method = http.MethodGet
	}
	if r.Name == "" {
		r.Name = fmt.Sprintf("%s%d", strings.ToLower(r.Method), i+1)
	}
	if k.Weight != nil {
		r.Weight = *k.Weight
	}
	for _, headers := range []map[string]string{p.Headers, k.Headers} {
		for _, name := range slices.Sorted(maps.Keys(headers)) {
			r.Header.Set(name, headers[name])
		}
	}
	r.Expect, err = engine.ParseStatuses(k.Expect)
	return r, err
}

// address is the host and port of the target.
func (p *Params) address() string {
	u, err := url.Parse(p.Target)
	if err != nil {
		return ""
	}
	port := u.Port()
	if port == "" {
		port = defaultPort(u.Scheme)
	}
	host, _, _ := strings.Cut(u.Hostname(), ",") // the first of several
	return net.JoinHostPort(host, port)
}
