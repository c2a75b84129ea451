// Package objectstore is one bucket of an S3 object store as a target of load:
// objects that are put, got, or put and deleted (section 3.4 of the ScaleBench
// paper).
//
//  1. New finds the endpoint, the region and the credentials as the field does
//     it: the configuration, then the usual variables, files and metadata
//     services. Credentials stay in this process; whatever is printed is
//     searched for them (client.go).
//  2. Prepare looks at the bucket, and takes a directory of its own in it:
//     "<prefix>/task-<uuid>/", with a lease object that is renewed while the
//     target is open. Directories with an expired lease are what crashed tasks
//     left behind, and are removed (directory.go). It puts what is to be got,
//     and opens the connections.
//  3. Each client does one operation after another. One that fails is tried
//     again as often as allowed; every failed attempt is counted by its kind
//     (client.go). What is got is compared with what was put (object.go).
//  4. A Recorder knows how much was done by when (recorder.go).
//  5. Remove removes the directory.
package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// The operations that a target can be asked for.
const (
	Put       = "put"        // each object is new, and stays until Remove
	Get       = "get"        // objects that Prepare has put, in turn
	PutDelete = "put_delete" // as in the paper: put an object, then delete it
	Mixed     = "mixed"      // get or put, by lot

	Delete = "delete" // what PutDelete consists of, beside Put
)

// Kinds says what an operation consists of; each is counted apart.
func Kinds(operation string) []string {
	switch operation {
	case PutDelete:
		return []string{Put, Delete}
	case Mixed:
		return []string{Put, Get}
	}
	return []string{operation}
}

// How objects are named below the target's directory, and where that lies.
const (
	UUIDKeys = "uuid" // at random, so that they spread over a store's partitions
	HotKeys  = "hot"  // in sequence, next to those of all other tasks
)

const (
	// maxSize is what S3 takes in one PutObject: an object in parts would be
	// another API call, and another measurement.
	maxSize    = int64(5 * unit.GiB)
	maxObjects = 1_000_000
	// MaxClients is how many connections are opened before at most.
	MaxClients = 4096
	// DefaultPrefix is where directories lie in the bucket.
	DefaultPrefix = "scalebench"
	// DefaultLease is the age at which a lease has expired. It is renewed five
	// times in that time: a task that missed all of them is dead, or cut off
	// from the store, and would fail anyway.
	DefaultLease = 5 * time.Minute
)

// Config says which bucket is used, and how. What is not given has no default,
// except where it says so.
type Config struct {
	Endpoint    string // URL; "": that of the environment, else Amazon's of the region
	Region      string // "": that of the environment, else the server is asked
	Bucket      string
	Create      bool   // make the bucket if it is missing
	PathStyle   string // of PathStyles
	Trust       load.Trust
	InsecureTLS bool // do not check the server's certificate

	Operation string
	GetShare  float64 // of a mixed operation
	Size      int64   // of every object, in bytes
	Objects   int     // how many are put before, where they are got
	Keys      string
	Prefix    string        // where in the bucket directories lie
	Verify    bool          // compare every byte that is got
	Clients   int           // operations at the same time
	Retries   int           // of an operation, after errors that may pass
	Insistent bool          // do not pause after an operation that failed: what is due next does not wait
	Timeout   time.Duration // of one attempt
	Lease     time.Duration

	Environ        []string // where variables are looked up
	Stdout, Stderr io.Writer
}

// Check reports what is impossible, each as a model.InputError with the key
// of the workload objectstore.
func (c Config) Check() error {
	refuse := func(bad bool, field string, value any, allowed string) error {
		return workload.Refuse(bad, field, allowed, "%v is impossible", value)
	}
	oneOf := func(field, value string, words ...string) error {
		return refuse(!slices.Contains(words, value), field, strconv.Quote(value), strings.Join(words, ", "))
	}
	var endpoint error
	if _, err := ParseEndpoint(c.Endpoint); c.Endpoint != "" && err != nil { // which is not shown: it may hold a password
		endpoint = &model.InputError{Path: "endpoint", Problem: err.Error(), Allowed: "use http://HOST:PORT or https://HOST"}
	}
	return errors.Join(endpoint,
		refuse(!bucketPattern.MatchString(c.Bucket) || strings.Contains(c.Bucket, ".."), "bucket", strconv.Quote(c.Bucket), "a name of 3 to 63 lower-case letters, digits, dots and dashes"),
		refuse(len(c.Prefix) > 200 || !prefixPattern.MatchString(c.Prefix), "prefix", strconv.Quote(c.Prefix), "words of letters, digits, and . _ -, with / between them"),
		oneOf("path_style", c.PathStyle, StyleAuto, StyleAlways, StyleNever),
		oneOf("operation", c.Operation, Put, Get, PutDelete, Mixed),
		oneOf("keys", c.Keys, UUIDKeys, HotKeys),
		refuse(c.Size < headerSize || c.Size > maxSize, "size", unit.Size(c.Size), fmt.Sprintf("%v to %v, what one PutObject takes", unit.Size(headerSize), unit.Size(maxSize))),
		refuse(!(c.GetShare >= 0 && c.GetShare <= 1), "get_share", c.GetShare, "0 to 1"),
		refuse(c.Objects > maxObjects, "objects", c.Objects, fmt.Sprintf("1 to %d", maxObjects)),
		refuse(c.Retries < 0 || c.Retries > 100, "retries", c.Retries, "0 to 100"))
}

// Target is a bucket under load. It is a load.Target.
type Target struct {
	Config
	// Recorder counts the operations; it may be replaced between runs.
	Recorder *Recorder
	// Dir is the directory in the bucket, with a slash at its end.
	Dir string

	client  *connection
	block   block
	objects []*object    // to be got
	release func()       // ends the renewing of the lease; nil before there is one
	got     atomic.Int64 // gets that were begun: the next object's turn
	named   atomic.Int64 // objects that were named
}

var _ load.Target = (*Target)(nil)

// New finds server and credentials, and sends nothing to the server yet.
func New(c Config) (*Target, error) {
	if !slices.Contains(Kinds(c.Operation), Get) {
		c.Objects = 0
	}
	client, err := connect(c)
	if err != nil {
		return nil, err
	}
	t := &Target{Config: c, Recorder: NewRecorder(c.Operation, time.Now(), nil), Dir: newDirectory(c.Prefix, c.Keys), client: client}
	t.named.Store(int64(c.Objects)) // the first numbers are of those that Prepare puts
	return t, nil
}

// Longest is how long an operation can take with all its attempts.
func (c Config) Longest() time.Duration {
	return time.Duration(len(Kinds(c.Operation))*(c.Retries+1)) * (c.Timeout + longestPause)
}

// Prepare does what must not be timed. Its errors say what to do.
func (t *Target) Prepare(ctx context.Context) (err error) {
	defer func() { err = t.scrub(err) }()
	t.Say(t.Stdout, "objectstore: %s%s, bucket %s, directory %s", t.client.endpoint, t.client.via(ctx), t.Bucket, t.Dir)
	if err := t.findBucket(ctx); err != nil {
		return err
	}
	if err := t.takeLease(ctx); err != nil {
		return err
	}
	if err := t.sweep(ctx); err != nil {
		return err
	}
	t.block = newBlock(t.Size)
	if err := t.putObjects(ctx); err != nil {
		return err
	}
	// As many connections as there are clients. What the credentials do not
	// allow is found before the start.
	group := errgroup.Group{}
	for range min(t.Clients, MaxClients) {
		group.Go(func() error { return t.tryOut(ctx) })
	}
	return group.Wait()
}

// patience is how often what is to be got is tried to be put again: more than
// in the test, for every object must be there.
const patience = 7

func (t *Target) putObjects(ctx context.Context) error {
	if t.Objects > 0 {
		t.Say(t.Stdout, "objectstore: putting %d objects of %v to read", t.Objects, unit.Size(t.Size))
	}
	t.objects = make([]*object, t.Objects)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(t.Clients)
	for i := range t.objects {
		t.objects[i] = newObject(t.Dir, t.Keys, int64(i))
		group.Go(func() error {
			return repeat(ctx, patience, false, func() error { return t.put(ctx, t.objects[i], newTransfer(t.Size)) }, func(error, bool) {})
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("putting the objects to read: %w", err)
	}
	return nil
}

// tryOut puts, gets and deletes an object of some bytes.
func (t *Target) tryOut(ctx context.Context) error {
	o, small := newObject(t.Dir, UUIDKeys, 0), newTransfer(headerSize)
	if err := t.put(ctx, o, small); err != nil {
		return fmt.Errorf("trying to put an object: %w", err)
	}
	if t.Objects > 0 {
		if err := t.get(ctx, o, small, make([]byte, 4096)); err != nil {
			return fmt.Errorf("trying to get an object: %w", err)
		}
	}
	if err := t.delete(ctx, o, small); err != nil {
		return fmt.Errorf("trying to delete an object: %w", err)
	}
	return nil
}

// Mix names what the engine counts as one operation.
func (t *Target) Mix() []load.Weight {
	if t.Operation == Mixed {
		return []load.Weight{{Name: Put, Weight: 1 - t.GetShare}, {Name: Get, Weight: t.GetShare}}
	}
	return []load.Weight{{Name: t.Operation, Weight: 1}}
}

// Open makes a client; connections are opened as they are needed, and stay
// open from client to client.
func (t *Target) Open(context.Context, int) (load.Client, error) {
	return &client{Target: t, buf: make([]byte, 256<<10)}, nil
}

// client does one operation at a time.
type client struct {
	*Target
	buf []byte // what is got goes through it
}

func (c *client) Close() error { return nil }

// Do does an operation of kind op, or a pair of them.
func (c *client) Do(ctx context.Context, op int) error {
	if c.Operation == Get || op == 1 {
		o := c.objects[(c.got.Add(1)-1)%int64(len(c.objects))]
		return c.attempts(ctx, Get, func(tr *transfer) error { return c.get(ctx, o, tr, c.buf) })
	}
	o := newObject(c.Dir, c.Keys, c.named.Add(1))
	err := c.attempts(ctx, Put, func(tr *transfer) error { return c.put(ctx, o, tr) })
	if err == nil && c.Operation == PutDelete {
		err = c.attempts(ctx, Delete, func(tr *transfer) error { return c.delete(ctx, o, tr) })
	}
	return err
}

// attempts makes as many attempts at an operation as allowed, and counts. It
// does not count an operation that the end of the run cut off.
func (t *Target) attempts(ctx context.Context, kind string, attempt func(*transfer) error) error {
	r := t.Recorder
	end, bytes := r.begin(kind), r.ledgers[Counter{Kind: kind, Bytes: true}]
	var last *transfer
	err := repeat(ctx, t.Retries, !t.Insistent, func() error {
		last = bytes.begin(t.Size)
		err := attempt(last)
		bytes.end(last, err == nil)
		return err
	}, func(err error, again bool) { r.attemptFailed(kind, kindOf(err), t.scrub(err).Error(), again) })
	end(last, err == nil)
	if err == nil {
		return nil
	}
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	engine := ofEngine[kindOf(err)]
	if answer.Code == "NoSuchKey" { // it was put before: only what was put is asked for
		engine = load.ErrMissing
	}
	return &load.Error{Kind: engine, Err: t.scrub(err), Status: answer.StatusCode}
}

// repeat makes an attempt, and as many more while its error may pass. It calls
// failed for each error, with whether another attempt follows, unless ctx was
// done. Before each attempt after a failure, and at the end if linger is set, it
// pauses, so that a server that asks for less gets less.
func repeat(ctx context.Context, times int, linger bool, attempt func() error, failed func(err error, again bool)) error {
	for n := 0; ; n++ {
		err := attempt()
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		kind := kindOf(err)
		again := n < times && kind != failClient && kind != failCorrupt // others may pass
		failed(err, again)
		if !again && !linger || workload.Pause(ctx, pauseAfter(n)) != nil || !again {
			return err
		}
	}
}

const longestPause = 5 * time.Second

// pauseAfter is the pause after the n-th failed attempt in a row, from 0: it is
// doubled each time.
func pauseAfter(n int) time.Duration { return min(100*time.Millisecond<<min(n, 10), longestPause) }
