package load

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// Objects is what an object store is asked for.
type Objects struct {
	Operation string    `json:"operation" jsonschema:"enum=put,enum=get,enum=put_delete,enum=mixed" jsonschema_description:"put new objects; get those that are put before; put_delete: put an object, then delete it; mixed: get or put, by lot."`
	GetShare  float64   `json:"get_share" jsonschema:"minimum=0,maximum=1" jsonschema_description:"Share of gets in operation mixed."`
	Size      unit.Size `json:"size" jsonschema_description:"Size of every object."`
	Count     int       `json:"count" jsonschema:"minimum=1,maximum=1000000" jsonschema_description:"How many objects each node puts before, to be got."`
	Keys      string    `json:"keys" jsonschema:"enum=uuid,enum=hot" jsonschema_description:"Names of the objects: at random, or all beside each other to provoke a hot partition."`
	Prefix    string    `json:"prefix" jsonschema_description:"Where in the bucket the nodes' directories lie."`
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

func (o Objects) check() error {
	for _, x := range []struct {
		ok            bool
		what, allowed string
	}{
		{slices.Contains([]string{objectstore.Put, objectstore.Get, objectstore.PutDelete, objectstore.Mixed}, o.Operation), "operation " + o.Operation, "put, get, put_delete, mixed"},
		{o.GetShare >= 0 && o.GetShare <= 1, fmt.Sprintf("get_share %v", o.GetShare), "0 to 1"},
		{o.Size >= objectstore.MinSize && o.Size <= objectstore.MaxSize, "size " + o.Size.String(), fmt.Sprintf("%dB to %v", objectstore.MinSize, objectstore.MaxSize)},
		{o.Count >= 1 && o.Count <= objectstore.MaxObjects, fmt.Sprintf("count %d", o.Count), fmt.Sprintf("1 to %d", objectstore.MaxObjects)},
		{o.Keys == objectstore.UUIDKeys || o.Keys == objectstore.HotKeys, "keys " + o.Keys, "uuid, hot"},
		{objectstore.ValidPrefix(o.Prefix), "prefix " + o.Prefix, "words of letters, digits, and . _ -, with / between them"},
	} {
		if !x.ok {
			return fmt.Errorf("%w: %s is impossible; allowed is %s", model.ErrUsage, x.what, x.allowed)
		}
	}
	return nil
}

// IsBucket reports whether a target is a bucket of an object store.
func IsBucket(target string) bool {
	return strings.HasPrefix(target, "s3://") || strings.HasPrefix(target, "s3s://")
}

// bucketOf is what s3://host:port/bucket names; s3s:// is over TLS.
func (p *Params) bucketOf() (endpoint, bucket string, err error) {
	const example = "the URL of a bucket must look like s3://host:port/bucket (s3s:// for TLS)"
	u, err := url.Parse(p.Target)
	if err != nil || u.User != nil || u.RawQuery != "" {
		return "", "", fmt.Errorf("%w: %s; credentials belong in the agents' environment (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY)", model.ErrUsage, example)
	}
	endpoint, bucket = "http"+strings.TrimPrefix(u.Scheme, "s3")+"://"+u.Host, strings.Trim(u.Path, "/")
	if _, err := objectstore.ParseEndpoint(endpoint); err != nil || !objectstore.ValidBucket(bucket) {
		return "", "", fmt.Errorf("%w: %s; a bucket has 3 to 63 small letters, digits, dots and dashes", model.ErrUsage, example)
	}
	return endpoint, bucket, nil
}

// openBucket makes the driver of an object store. Each node has objects of its
// own, which Cleanup removes.
func (p *Params) openBucket(ctx context.Context, env *workload.Env) (engine.Driver, error) {
	endpoint, bucket, err := p.bucketOf()
	if err != nil {
		return nil, err
	}
	o, timeout := p.Objects, p.Timeout.Std()
	if o == nil {
		o = defaultObjects()
	}
	if p.Recover {
		timeout += recoverWithin // of what is put before; the pool bounds what is measured
	}
	p.bucket, err = objectstore.New(objectstore.Config{
		Endpoint: endpoint, Bucket: bucket, PathStyle: objectstore.StyleAuto, CAFile: p.CA, InsecureTLS: p.Insecure,
		Operation: o.Operation, GetShare: o.GetShare, Size: o.Size.Bytes(), Objects: o.Count, Keys: o.Keys, Prefix: o.Prefix, Verify: true,
		Clients: p.connections(), Timeout: timeout, Lease: objectstore.DefaultLease,
		Environ: env.Environ, Stdout: env.Stdout, Stderr: env.Stderr,
	})
	if err != nil {
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
