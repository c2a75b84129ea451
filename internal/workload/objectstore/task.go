package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// task is the state from Prepare to Cleanup.
type task struct {
	params *Params
	settings
	client         *client
	dir            string // of the task, with a slash at its end
	block          block
	objects        []*object // to be got
	lease          *lease
	stdout, stderr io.Writer
}

// newTask finds server and credentials, and sends nothing to the server yet.
func newTask(p *Params, env *workload.Env) (*task, error) {
	s := p.settings()
	c, err := newClient(p, s, lookup(env.Environ))
	if err != nil {
		return nil, err
	}
	return &task{
		params: p, settings: s, client: c, dir: newDirectory(p.Prefix, p.Keys, time.Now()),
		stdout: env.Stdout, stderr: env.Stderr,
	}, nil
}

// lookup returns a function like os.Getenv for an environment.
func lookup(environ []string) func(string) string {
	return func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if k, v, ok := strings.Cut(environ[i], "="); ok && k == name {
				return v
			}
		}
		return ""
	}
}

// scrub takes credentials out of an error and adds what to do about it.
func (t *task) scrub(err error) error {
	if err == nil {
		return nil
	}
	err = t.client.explain(err, t.params.Bucket)
	return &scrubbed{text: scrubText(err.Error(), t.client.value()), err: err}
}

// say prints a line for people; what cannot be printed is lost.
func (t *task) say(w io.Writer, format string, args ...any) {
	_, _ = fmt.Fprintln(w, scrubText(fmt.Sprintf(format, args...), t.client.value()))
}

func (t *task) prepare(ctx context.Context) error {
	t.say(t.stdout, "objectstore: %s%s, bucket %s, directory %s", t.client.endpoint, t.client.via(ctx), t.params.Bucket, t.dir)
	if err := t.findBucket(ctx); err != nil {
		return err
	}
	var err error
	if t.lease, err = t.takeLease(ctx); err != nil {
		return err
	}
	if err := t.sweep(ctx); err != nil {
		return err
	}
	t.block = newBlock(t.size)
	if err := t.putObjects(ctx); err != nil {
		return err
	}
	return t.connect(ctx)
}

// findBucket makes the bucket if it may, and refuses one that keeps what was
// deleted: it would grow by all that is put.
func (t *task) findBucket(ctx context.Context) error {
	bucket := t.params.Bucket
	ctx, cancel := context.WithTimeout(ctx, t.params.RequestTimeout.Std())
	defer cancel()
	err := t.look(ctx)
	switch {
	case minio.ToErrorResponse(err).Code == "NoSuchBucket" && t.params.Create:
		return t.makeBucket(ctx)
	case minio.ToErrorResponse(err).Code == "NoSuchBucket":
		return fmt.Errorf("there is no bucket %q on %s: make it, or set create: true", bucket, t.client.endpoint)
	case err != nil:
		return fmt.Errorf("looking into bucket %q: %w", bucket, err)
	}
	// Not everybody may ask this, and not every server knows it.
	if v, err := t.client.GetBucketVersioning(ctx, bucket); err == nil && v.Enabled() {
		return fmt.Errorf("bucket %q keeps versions: what the benchmark deletes would stay and be paid for; name a bucket without versioning", bucket)
	}
	return nil
}

// look lists one object, where HEAD would do: its answer has no text, so that
// all that is wrong with clock, keys or region would look the same.
func (t *task) look(ctx context.Context) error {
	for o := range t.client.ListObjectsIter(ctx, t.params.Bucket, minio.ListObjectsOptions{Prefix: t.params.Prefix + "/", MaxKeys: 1}) {
		return o.Err
	}
	return nil
}

// makeBucket accepts that another node was faster.
func (t *task) makeBucket(ctx context.Context) error {
	err := t.client.MakeBucket(ctx, t.params.Bucket, minio.MakeBucketOptions{Region: t.client.region})
	if code := minio.ToErrorResponse(err).Code; err == nil || code == "BucketAlreadyOwnedByYou" || code == "BucketAlreadyExists" {
		return nil
	}
	return fmt.Errorf("making bucket %q: %w", t.params.Bucket, err)
}

// putObjects puts what is to be got. Every object must be there, so errors are
// tried again more patiently than in the test.
func (t *task) putObjects(ctx context.Context) error {
	if !t.reads() {
		return nil
	}
	t.say(t.stdout, "objectstore: putting %d objects of %v to be got", t.settings.objects, unit.Size(t.size))
	t.objects = make([]*object, t.settings.objects)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(t.concurrency)
	for i := range t.objects {
		t.objects[i] = newObject(t.dir, t.params.Keys, int64(i))
		group.Go(func() error { return t.putPatiently(ctx, t.objects[i]) })
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("putting the objects that are to be got: %w", err)
	}
	return nil
}

func (t *task) putPatiently(ctx context.Context, o *object) error {
	for attempt := range patience {
		err := t.put(ctx, o, t.size, &transfer{size: t.size}, newTiming())
		if err == nil || !kindOf(err).passing() || attempt == patience-1 {
			return err
		}
		if !pause(ctx, backoff(attempt)) {
			return ctx.Err()
		}
	}
	return nil
}

const patience = 8

// connect makes as many connections as there are workers, with an object of
// some bytes each, which is put, got and deleted: what the credentials do not
// allow is found before the start.
func (t *task) connect(ctx context.Context) error {
	var all sync.WaitGroup
	errs := make([]error, t.concurrency)
	for i := range errs {
		all.Go(func() { errs[i] = t.tryOut(ctx) })
	}
	all.Wait()
	return errors.Join(firstError(errs))
}

func firstError(errs []error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *task) tryOut(ctx context.Context) error {
	o := newObject(t.dir, UUIDKeys, 0)
	small := &transfer{size: headerSize}
	if err := t.put(ctx, o, headerSize, small, newTiming()); err != nil {
		return fmt.Errorf("trying to put an object: %w", err)
	}
	if t.reads() {
		if err := t.get(ctx, o, headerSize, small, newTiming(), make([]byte, 4096)); err != nil {
			return fmt.Errorf("trying to get an object: %w", err)
		}
	}
	if err := t.delete(ctx, o, newTiming()); err != nil {
		return fmt.Errorf("trying to delete an object: %w", err)
	}
	return nil
}

// cleanup removes the lease last: as long as it is there, and young, no other
// task removes the same.
func (t *task) cleanup(ctx context.Context) error {
	defer t.client.transport.CloseIdleConnections()
	if t.lease == nil {
		return nil // nothing was put
	}
	t.lease.stop() // else it could come back
	removed, err := t.remove(ctx, t.dir)
	if removed > 0 {
		t.say(t.stdout, "objectstore: removed %d objects of this task", removed)
	}
	if err != nil {
		return fmt.Errorf("removing %s from bucket %q (a task that begins %v later, or you, will do it): %w", t.dir, t.params.Bucket, t.params.leaseTime, err)
	}
	return nil
}

// resources of the directions.
var resources = map[string]string{kindPut: model.ResourceObjectPut, kindDelete: model.ResourceObjectPut, kindGet: model.ResourceObjectGet}
