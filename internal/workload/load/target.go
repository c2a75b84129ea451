package load

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/http1"
	"github.com/scalebench/scalebench/internal/load/httpstd"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// open makes the driver for the target: event loops for plain HTTP, clients of
// the standard library for TLS, those of
// the store for a data store, those of the bucket for an object store.
func (p *Params) open(ctx context.Context, env *workload.Env) (engine.Driver, error) {
	if IsBucket(p.Target) {
		return p.openBucket(ctx, env)
	}
	if !p.overHTTP() {
		return p.openStore(ctx, env)
	}
	requests, err := p.requests()
	if err != nil {
		return nil, err
	}
	if p.plain() {
		return http1.New(ctx, http1.Config{
			Requests: requests, Connections: p.ConnectionLimit(), Chosen: p.chosen(), Loops: p.Loops, Spin: p.Spin,
			Timeout: p.Timeout.Std(), MaxBody: p.MaxBody.Bytes(),
		})
	}
	target, err := p.standard(requests) //nolint:contextcheck // it connects to nothing yet
	if err != nil {
		return nil, err
	}
	return engine.NewPool(target, p.pool())
}

// pool is how clients are pooled.
func (p *Params) pool() engine.PoolConfig {
	return engine.PoolConfig{Clients: p.ConnectionLimit(), Chosen: p.chosen(), Timeout: p.Timeout.Std()}
}

// standard is the target as the standard library's client sees it.
func (p *Params) standard(requests []engine.Request) (*httpstd.Target, error) {
	target, err := httpstd.New(httpstd.Config{
		Requests: requests, HTTP2: p.HTTP2, Trust: p.trust(), Insecure: p.Insecure, MaxBody: p.MaxBody.Bytes(),
	})
	if err != nil {
		return nil, fmt.Errorf("target %s: %w", p.address(), err)
	}
	return target, nil
}

func (p *Params) trust() engine.Trust { return engine.Trust{File: p.CA, PEM: p.CAPEM} }

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
	method := cmp.Or(k.Method, http.MethodGet)
	body, err := k.body()
	if err != nil {
		return engine.Request{}, err
	}
	r := engine.Request{
		Name: cmp.Or(k.Name, fmt.Sprintf("%s%d", strings.ToLower(method), i+1)), Method: method,
		URL: at.String(), Header: http.Header{}, Body: body, Weight: 1,
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

// body is what a request sends.
func (k Request) body() ([]byte, error) {
	if k.BodyBase64 == "" {
		return []byte(k.Body), nil
	}
	b, err := base64.StdEncoding.DecodeString(k.BodyBase64)
	switch {
	case k.Body != "":
		err = bad("requests.body_base64", "a request has one body, and body is set as well", "leave one of them out")
	case err != nil:
		err = bad("requests.body_base64", "it is not base64: "+err.Error(), "use what `base64 -w0 FILE` prints")
	}
	return b, err
}

// address is the host and port of the target.
func (p *Params) address() string {
	u, err := url.Parse(p.Target)
	if err != nil {
		return ""
	}
	host, _, _ := strings.Cut(u.Hostname(), ",") // the first of several
	return net.JoinHostPort(host, cmp.Or(u.Port(), defaultPorts[u.Scheme]))
}

// CheckHost refuses, with model.ErrUsage, a target on a host that this machine,
// from which it is to be reached, does not know. What else may be wrong with it
// shows when it is asked.
func (*Params) CheckHost(ctx context.Context, target string) error {
	u, err := url.Parse(target)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	for host := range strings.SplitSeq(u.Hostname(), ",") {
		_, err := engine.Lookup(ctx, net.DefaultResolver, host, "0")
		if errors.Is(err, model.ErrUsage) {
			return err
		}
	}
	return nil
}

// defaultPorts of what can be a target, by scheme.
var defaultPorts = map[string]string{
	"http": "80", "https": "443", "redis": "6379", "rediss": "6379", "postgres": "5432", "postgresql": "5432",
	"mysql": "3306", "mariadb": "3306", "cassandra": "9042", "cassandras": "9042", "s3": "80", "s3s": "443",
}

// Objects is what an object store is asked for.
type Objects struct {
	Operation string    `json:"operation" jsonschema:"enum=put,enum=get,enum=put_delete,enum=mixed" jsonschema_description:"put: write new objects; get: read objects written beforehand; put_delete: write an object, then delete it; mixed: get or put at random."`
	GetShare  float64   `json:"get_share" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of gets in operation mixed."`
	Size      unit.Size `json:"size" jsonschema_description:"Size of every object."`
	Count     int       `json:"count" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"How many objects each node writes beforehand, to be read."`
	Keys      string    `json:"keys" jsonschema:"enum=uuid,enum=hot" jsonschema_description:"Names of the objects: uuid is random; hot gives all one prefix, to provoke a hot partition."`
	Prefix    string    `json:"prefix" jsonschema_description:"Prefix of the nodes' directories in the bucket."`
}

func defaultObjects() *Objects {
	return &Objects{Operation: objectstore.Mixed, GetShare: .5, Size: unit.MiB, Count: 64, Keys: objectstore.UUIDKeys, Prefix: objectstore.DefaultPrefix}
}

// UnmarshalJSON fills in defaults for what the file leaves out.
func (o *Objects) UnmarshalJSON(b []byte) error {
	type plain Objects
	full := plain(*defaultObjects())
	err := strictly(b, &full)
	*o = Objects(full)
	return err
}

// IsBucket reports whether a target is a bucket of an object store.
func IsBucket(target string) bool {
	return strings.HasPrefix(target, "s3://") || strings.HasPrefix(target, "s3s://")
}

// bucketConfig is what s3://host:port/bucket and the parameters say, but for the
// environment; s3s:// is over TLS. The error has keys of the file.
func (p *Params) bucketConfig() (objectstore.Config, error) {
	o := p.Objects
	if o == nil {
		o = defaultObjects()
	}
	c := objectstore.Config{
		PathStyle: objectstore.StyleAuto, Trust: p.trust(), InsecureTLS: p.Insecure,
		Operation: o.Operation, GetShare: o.GetShare, Size: o.Size.Bytes(), Objects: o.Count, Keys: o.Keys, Prefix: o.Prefix, Verify: true, Insistent: true,
		Clients: p.ConnectionLimit(), Timeout: p.Timeout.Std(), Lease: objectstore.DefaultLease,
	}
	u, err := url.Parse(p.Target)
	if err != nil || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return c, bad("target", "the URL of a bucket must look like s3://host:port/bucket (s3s:// for TLS)",
			"credentials belong in the agents' environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)")
	}
	c.Endpoint, c.Bucket = "http"+strings.TrimPrefix(u.Scheme, "s3")+"://"+u.Host, strings.Trim(u.Path, "/")
	if o.Count < 1 {
		return c, bad("objects.count", fmt.Sprintf("%d is impossible", o.Count), "use 1 and more")
	}
	var field *model.InputError
	switch err := c.Check(); {
	case !errors.As(err, &field):
		return c, err
	case field.Path == "bucket" || field.Path == "endpoint":
		return c, bad("target", "the URL of a bucket must look like s3://host:port/bucket", field.Error())
	case field.Path == "objects":
		return c, bad("objects.count", field.Problem, field.Allowed)
	default:
		return c, bad("objects."+field.Path, field.Problem, field.Allowed)
	}
}

// openBucket makes the driver of an object store. Each node has objects of its
// own, which Cleanup removes.
func (p *Params) openBucket(ctx context.Context, env *workload.Env) (engine.Driver, error) {
	c, err := p.bucketConfig()
	if err != nil {
		return nil, err
	}
	if p.Recover {
		c.Timeout += RecoverWithin // of what is put before; the pool bounds what is measured
	}
	c.Environ, c.Stdout, c.Stderr = env.Environ, env.Stdout, env.Stderr
	if p.bucket, err = objectstore.New(c); err != nil {
		return nil, err
	}
	if err := p.bucket.Prepare(ctx); err != nil {
		return nil, fmt.Errorf("%w: target %s: %w", model.ErrUnavailable, p.Target, err)
	}
	return engine.NewPool(p.bucket, p.pool())
}

// Cleanup implements workload.Cleaner.
func (p *Params) Cleanup(ctx context.Context, _ *workload.Env) (err error) {
	if p.driver != nil {
		err = p.driver.Close()
	}
	if p.bucket != nil {
		err = errors.Join(err, p.bucket.Remove(ctx))
	}
	return err
}
