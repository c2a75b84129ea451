package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

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
	if err := strictly(b, &full); err != nil {
		return err
	}
	*o = Objects(full)
	return nil
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
		PathStyle: objectstore.StyleAuto, CAFile: p.CA, InsecureTLS: p.Insecure,
		Operation: o.Operation, GetShare: o.GetShare, Size: o.Size.Bytes(), Objects: o.Count, Keys: o.Keys, Prefix: o.Prefix, Verify: true, Insistent: true,
		Clients: p.connections(), Timeout: p.Timeout.Std(), Lease: objectstore.DefaultLease,
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
		c.Timeout += recoverWithin // of what is put before; the pool bounds what is measured
	}
	c.Environ, c.Stdout, c.Stderr = env.Environ, env.Stdout, env.Stderr
	if p.bucket, err = objectstore.New(c); err != nil {
		return nil, err
	}
	if err := p.bucket.Prepare(ctx); err != nil {
		return nil, fmt.Errorf("%w: target %s: %w", model.ErrUnavailable, p.Target, err)
	}
	return engine.NewPool(p.bucket, engine.PoolConfig{Clients: p.connections(), Timeout: p.Timeout.Std()})
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
