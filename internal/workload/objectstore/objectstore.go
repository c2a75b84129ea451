// Package objectstore measures an S3 object store: how many bytes and how many
// operations a second a node puts into it or gets out of it (section
// 3.4 of the ScaleBench paper). The store is a target of the load engine, package
// load/objectstore, which a closed loop of so many users asks, for a time or a
// number of operations.
//
// Progress is published in retrospect: a reading comes when everything that
// it saw under way has ended, and contains the bytes and operations of what
// succeeded. So a series never counts a byte of a failed transfer and never goes
// down. By count, it ends at exactly the completed bytes; by duration, at the
// deadline, whatever still ends later.
package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/scalebench/scalebench/internal/load"
	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// PresetPaper is the test of the paper: 100 MB, put and deleted 3,200 times,
// by one worker a core (section 3.4 of the ScaleBench paper).
const PresetPaper = "paper"

// Params are the parameters of the workload, with its state between Prepare
// and Cleanup. Zero values of size, count, concurrency … mean that the user
// named none: settings fills them in.
type Params struct {
	Endpoint  string `json:"endpoint,omitempty" jsonschema:"description=URL of the server; without it AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL of the agent's environment and else Amazon S3 of the region"`
	Region    string `json:"region,omitempty" jsonschema:"description=Region of the bucket; without it AWS_REGION of the agent's environment and else the server is asked"`
	Bucket    string `json:"bucket" jsonschema:"required,description=Bucket to write into; of an upload how the names of new buckets begin,minLength=3,maxLength=63"`
	Create    bool   `json:"create,omitempty" jsonschema:"description=Make the bucket if it is missing; it is not removed"`
	PathStyle string `json:"path_style,omitempty" jsonschema:"description=Whether the bucket is named in the path rather than in the host name,enum=auto,enum=always,enum=never"`

	Preset      string        `json:"preset,omitempty" jsonschema:"description=The test of the paper: put_delete of 100MB 3200 times by one worker per core; keys beside it change it,enum=paper"`
	Operation   string        `json:"operation,omitempty" jsonschema:"description=What is repeated (default put),enum=put,enum=get,enum=put_delete,enum=mixed,enum=upload"`
	Size        unit.Size     `json:"size,omitempty" jsonschema:"description=Size of every object (default 8MiB; of an upload 100MB)"`
	Concurrency int           `json:"concurrency,omitempty" jsonschema:"description=Operations under way at the same time; default: one per core,minimum=1,maximum=4096"`
	Duration    unit.Duration `json:"duration,omitempty" jsonschema:"description=How long operations are started (default 30s unless count is given)"`
	Count       int64         `json:"count,omitempty" jsonschema:"description=Number of operations (pairs for put_delete) instead of a duration,minimum=1"`
	Objects     int           `json:"objects,omitempty" jsonschema:"description=How many objects get reads in turn; default: four per worker,minimum=1,maximum=1000000"`
	GetShare    *float64      `json:"get_share,omitempty" jsonschema:"description=Share of gets in operation mixed,minimum=0,maximum=1,default=0.5"`
	Keys        string        `json:"keys,omitempty" jsonschema:"description=Names of the objects: random (uuid), or all with one prefix to provoke a hot partition (hot),enum=uuid,enum=hot"`
	Prefix      string        `json:"prefix,omitempty" jsonschema:"description=Prefix of the tasks' directories in the bucket"`

	Retries        int           `json:"retries,omitempty" jsonschema:"description=Retries of an operation after a transient error,minimum=0,maximum=100"`
	RequestTimeout unit.Duration `json:"request_timeout,omitempty" jsonschema:"description=Timeout of one attempt at an operation"`
	MaxErrors      float64       `json:"max_errors,omitempty" jsonschema:"description=Share of operations that may fail before the task fails,minimum=0,maximum=1"`
	Verify         bool          `json:"verify" jsonschema:"description=Compare every byte read with what was written"`

	CAFile      string `json:"ca_file,omitempty" jsonschema:"description=File of certificate authorities (PEM) on the node to trust beside the system's"`
	InsecureTLS bool   `json:"insecure_tls,omitempty" jsonschema:"description=Do not check the server's certificate"`

	leaseTime time.Duration // how old a lease may be; the default outside of tests
	target    *store.Target // what Prepare made
	upload    *store.Upload // instead, with operation: upload
}

// OpUpload is the operation that makes a bucket, puts an object and deletes both.
const OpUpload = "upload"

func operations() []string {
	return []string{store.Put, store.Get, store.PutDelete, store.Mixed, OpUpload}
}

// Defaults of what depends on nothing else are set by Kind, so that a file can
// set them to zero; the rest is resolved by settings.
const (
	defaultSize     = 8 * unit.MiB
	defaultDuration = 30 * time.Second
	defaultGetShare = 0.5

	paperSize  = 100_000_000 // "a 100 MB test file"
	paperCount = 3200
)

// Kind describes the workload.
func Kind() workload.Kind {
	return workload.Kind{
		Name:    "objectstore",
		Summary: "Puts, gets and deletes on an S3 object store: throughput, rates, latencies and errors.",
		New: func() workload.Workload {
			return &Params{
				PathStyle: store.StyleAuto, Keys: store.UUIDKeys, Prefix: store.DefaultPrefix,
				Retries: 2, RequestTimeout: unit.Duration(5 * time.Minute), MaxErrors: 0.01, Verify: true,
				leaseTime: store.DefaultLease,
			}
		},
	}
}

// UsesEnviron implements workload.EnvironUser.
func (p *Params) UsesEnviron() (names, patterns []string) { return nil, store.Variables() }

// settings are parameters with every choice made.
type settings struct {
	operation   string
	getShare    float64 // of a mixed operation
	size        int64
	concurrency int
	count       int64         // 0: by duration
	duration    time.Duration // 0: by count
	objects     int           // that Prepare puts
}

// settings resolves the preset and the defaults; what the user named stands.
func (p *Params) settings() settings {
	s := settings{operation: p.Operation, size: p.Size.Bytes(), concurrency: p.Concurrency, count: p.Count, duration: p.Duration.Std(), objects: p.Objects}
	if p.Preset == PresetPaper {
		s.operation, s.size = cmp.Or(s.operation, store.PutDelete), cmp.Or(s.size, paperSize)
		if s.duration == 0 {
			s.count = cmp.Or(s.count, paperCount)
		}
	}
	if s.operation == OpUpload {
		s.size, s.concurrency, s.count = cmp.Or(s.size, paperSize), 1, 1
	}
	s.operation, s.size = cmp.Or(s.operation, store.Put), cmp.Or(s.size, defaultSize.Bytes())
	s.concurrency = cmp.Or(s.concurrency, runtime.GOMAXPROCS(0)) // cores, or the cgroup's share of them
	if s.count == 0 {
		s.duration = cmp.Or(s.duration, defaultDuration)
	}
	if s.operation == store.Mixed {
		s.getShare = defaultGetShare
	}
	if p.GetShare != nil {
		s.getShare = *p.GetShare
	}
	s.objects = cmp.Or(s.objects, 4*s.concurrency)
	if !s.reads() {
		s.objects = 0
	}
	return s
}

// reads says whether objects must be there before the start.
func (s settings) reads() bool { return s.operation == store.Get || s.operation == store.Mixed }

// Validate implements workload.Workload.
func (p *Params) Validate() error {
	s := p.settings()
	const shortest = 100 * time.Millisecond
	impossible := func(bad bool, field string, value any, allowed string) error {
		return workload.Refuse(bad, field, allowed, "%v is impossible", value)
	}
	return errors.Join(p.config().Check(), p.checkUpload(),
		impossible(p.Operation != "" && !slices.Contains(operations(), p.Operation), "operation", fmt.Sprintf("%q", p.Operation), strings.Join(operations(), ", ")),
		impossible(p.Preset != "" && p.Preset != PresetPaper, "preset", fmt.Sprintf("%q", p.Preset), PresetPaper),
		impossible(p.Concurrency < 0 || p.Concurrency > store.MaxClients, "concurrency", p.Concurrency, fmt.Sprintf("1 to %d; leave it out for one per core", store.MaxClients)),
		impossible(p.Duration != 0 && p.Duration.Std() < shortest, "duration", p.Duration, "100ms or more"),
		impossible(p.Objects < 0, "objects", p.Objects, "1 and more; leave it out for four per worker"),
		impossible(p.Count < 0, "count", p.Count, "1 or more"),
		impossible(p.RequestTimeout.Std() < shortest, "request_timeout", p.RequestTimeout, "100ms or more"),
		impossible(!(p.MaxErrors >= 0 && p.MaxErrors <= 1), "max_errors", p.MaxErrors, "a share from 0 to 1"),
		workload.Invalid(p.Count > 0 && p.Duration > 0, "count", "count and duration exclude each other", "leave out count or duration"),
		workload.Refuse(p.GetShare != nil && s.operation != store.Mixed, "get_share", "it only with operation: mixed", "does not apply to operation: %s", s.operation),
		workload.Refuse(p.Objects > 0 && !s.reads(), "objects", "it only with operation: get or mixed", "does not apply to operation: %s", s.operation))
}

// checkUpload refuses what an upload of one object has no use for.
func (p *Params) checkUpload() error {
	if p.Operation != OpUpload {
		return nil
	}
	no := func(given bool, field string) error {
		return workload.Refuse(given, field, "it with another operation", "does not apply to operation: upload, which puts one object into a new bucket")
	}
	return errors.Join(no(p.Create, "create"), no(p.Preset != "", "preset"), no(p.Concurrency != 0, "concurrency"), no(p.Duration != 0, "duration"), no(p.Count != 0, "count"),
		workload.Refuse(len(p.Bucket) > store.MostStem, "bucket", fmt.Sprintf("at most %d characters: new buckets are called so, and an id of their own", store.MostStem), "%q is too long", p.Bucket))
}

// Estimate implements workload.Workload. How long a number of operations takes
// is what the task finds out.
func (p *Params) Estimate() time.Duration { return p.settings().duration }

// config is what the target needs to know, except the environment.
func (p *Params) config() store.Config {
	s := p.settings()
	if s.operation == OpUpload || !slices.Contains(operations(), s.operation) { // which Validate refuses
		s.operation = store.Put
	}
	return store.Config{
		Endpoint: p.Endpoint, Region: p.Region, Bucket: p.Bucket, Create: p.Create, PathStyle: p.PathStyle, Trust: load.Trust{File: p.CAFile}, InsecureTLS: p.InsecureTLS,
		Operation: s.operation, GetShare: s.getShare, Size: s.size, Objects: s.objects, Keys: p.Keys, Prefix: p.Prefix, Verify: p.Verify,
		Clients: s.concurrency, Retries: p.Retries, Timeout: p.RequestTimeout.Std(), Lease: p.leaseTime,
	}
}

// Prepare looks at the bucket, removes what crashed tasks left in it, puts the
// objects to be got, and opens the connections.
func (p *Params) Prepare(ctx context.Context, env *workload.Env) (err error) {
	c := p.config()
	c.Environ, c.Stdout, c.Stderr = env.Environ, env.Stdout, env.Stderr
	if p.Operation == OpUpload {
		if p.upload, err = store.NewUpload(c); err != nil {
			return err
		}
		return p.upload.Prepare(ctx)
	}
	if p.target, err = store.New(c); err != nil {
		return err
	}
	return p.target.Prepare(ctx)
}

// Cleanup implements workload.Cleaner: it removes the task's directory from
// the bucket, or the bucket that an upload has made. What it does not get done, a later task does.
func (p *Params) Cleanup(ctx context.Context, _ *workload.Env) error {
	switch {
	case p.upload != nil:
		return p.upload.Remove(ctx)
	case p.target != nil:
		return p.target.Remove(ctx)
	}
	return nil
}
