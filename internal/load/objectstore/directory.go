package objectstore

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"

	"github.com/scalebench/scalebench/internal/workload"
)

// findBucket makes the bucket if it may, and refuses one that keeps what was
// deleted: it would grow by all that is put.
func (t *Target) findBucket(ctx context.Context) error {
	if err := t.reach(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	// This may be forbidden, and not every server knows it.
	if v, err := t.client.GetBucketVersioning(ctx, t.Bucket); err == nil && v.Enabled() {
		return fmt.Errorf("bucket %q keeps versions, so deleted objects would stay and cost money; use a bucket without versioning", t.Bucket)
	}
	return nil
}

// reach lists the bucket, and makes it if it is missing and may be made.
func (t *Target) reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	err := t.listOne(ctx)
	switch {
	case minio.ToErrorResponse(err).Code == "NoSuchBucket" && t.Create:
		if err := t.makeBucket(ctx); err != nil {
			return fmt.Errorf("making bucket %q: %w", t.Bucket, err)
		}
		return nil
	case minio.ToErrorResponse(err).Code == "NoSuchBucket":
		return fmt.Errorf("the bucket %q does not exist on %s: create it, or set create: true (workload objectstore)", t.Bucket, t.client.endpoint)
	case err != nil:
		return fmt.Errorf("checking bucket %q: %w", t.Bucket, err)
	}
	return nil
}

// makeBucket makes it, unless another node was faster. Stores that many nodes ask at once may
// answer with an error of their own for a moment.
func (t *Target) makeBucket(ctx context.Context) error {
	const tries, pause = 5, 200 * time.Millisecond
	for try := 1; ; try++ {
		err := t.client.MakeBucket(ctx, t.Bucket, minio.MakeBucketOptions{Region: t.client.region})
		r := minio.ToErrorResponse(err)
		switch {
		case err == nil, r.Code == "BucketAlreadyOwnedByYou", r.Code == "BucketAlreadyExists":
			return nil
		case r.StatusCode < http.StatusInternalServerError || try == tries:
			return err //nolint:wrapcheck // the caller says what failed
		}
		if workload.Pause(ctx, pause) != nil {
			return err //nolint:wrapcheck // the store's last word says more
		}
	}
}

// listOne asks for one key. HEAD would do, but its answer has no text, so that all that is
// wrong with clock, keys or region would look the same.
func (t *Target) listOne(ctx context.Context) error {
	for o := range t.client.ListObjectsIter(ctx, t.Bucket, minio.ListObjectsOptions{Prefix: t.Prefix + "/", MaxKeys: 1}) {
		return o.Err
	}
	return nil
}

// takeLease puts the task's first object, the lease, which says that the task
// lives, and renews it until release. Its age is the difference of two times
// that the server has set, so that no node's clock matters.
func (t *Target) takeLease(ctx context.Context) error {
	if err := t.renew(ctx); err != nil {
		return fmt.Errorf("putting the first object into bucket %q: %w", t.Bucket, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // it outlives Prepare
	var renewing sync.WaitGroup
	renewing.Go(func() {
		for workload.Pause(ctx, t.Lease/5) == nil {
			if err := t.renew(ctx); err != nil && ctx.Err() == nil {
				t.Say(t.Stderr, "objectstore: renewing the lease of %s: %v", t.Dir, err)
			}
		}
	})
	t.release = func() { cancel(); renewing.Wait() }
	return nil
}

const leaseText = "A scalebench task is using this directory. When this object is older than the task's lease, the task is dead, and the next one removes the directory.\n"

func (t *Target) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.Lease/5)
	defer cancel()
	_, err := t.client.PutObject(ctx, t.Bucket, t.Dir+LeaseName, strings.NewReader(leaseText), int64(len(leaseText)),
		minio.PutObjectOptions{ContentType: "text/plain", DisableContentSha256: true})
	return err
}

// Remove removes the directory, and ends all connections. What it does not get
// done, a later task does. The lease is removed last: as long as it is there,
// and young, no other task removes the same.
func (t *Target) Remove(ctx context.Context) error {
	defer t.client.transport.CloseIdleConnections()
	if t.release == nil {
		return nil // nothing was put
	}
	t.release() // else it could come back
	removed, err := t.remove(ctx, t.Dir)
	if removed > 0 {
		t.Say(t.Stdout, "objectstore: removed %d objects of this task", removed)
	}
	if err != nil {
		return t.scrub(fmt.Errorf("removing %s from bucket %q (remove it, or a task that starts %v later will): %w", t.Dir, t.Bucket, t.Lease, err))
	}
	return nil
}

// sweepTime bounds what a task does for the dead ones, within the time that it
// has to prepare.
const sweepTime = time.Minute

// sweep removes the directories of tasks that are over: below our prefix, named
// like a task's, without any object but such as tasks write, and without one
// that is younger than a lease. Everything else is left alone. What goes wrong
// with a directory is said and does not matter to this task, and neither does
// what is not done in time: a later task does it.
func (t *Target) sweep(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	err := t.sweepAll(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		t.Say(t.Stderr, "objectstore: removing leftovers of earlier tasks takes longer than %v; later tasks continue", sweepTime)
		return nil
	}
	return err
}

func (t *Target) sweepAll(ctx context.Context) error {
	// The server's time of a moment ago.
	own, err := t.client.StatObject(ctx, t.Bucket, t.Dir+LeaseName, minio.StatObjectOptions{})
	if minio.ToErrorResponse(err).Code == "NoSuchKey" { // a store may show what was put a moment later
		t.Say(t.Stderr, "objectstore: the first object of this task does not show yet; a later task removes what earlier ones left")
		return nil
	}
	if err != nil {
		return fmt.Errorf("checking the first object: %w", err)
	}
	for entry := range t.client.ListObjectsIter(ctx, t.Bucket, minio.ListObjectsOptions{Prefix: t.Prefix + "/"}) {
		if entry.Err != nil {
			return fmt.Errorf("listing bucket %q: %w", t.Bucket, entry.Err)
		}
		if !IsTask(t.Prefix, entry.Key) || entry.Key == t.Dir {
			continue
		}
		over, err := t.isOver(ctx, entry.Key, own.LastModified)
		if over && err == nil {
			var removed int64
			if removed, err = t.remove(ctx, entry.Key); removed > 0 {
				t.Say(t.Stdout, "objectstore: removed %d leftover objects of an earlier task in %s", removed, entry.Key)
			}
		}
		if err != nil {
			t.Say(t.Stderr, "objectstore: removing leftovers of an earlier task in %s: %v", entry.Key, err)
		}
	}
	return ctx.Err()
}

// isOver says whether a directory holds nothing but what a dead task wrote.
func (t *Target) isOver(ctx context.Context, dir string, now time.Time) (bool, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the listing if we leave it early
	defer cancel()
	for o := range t.client.ListObjectsIter(ctx, t.Bucket, minio.ListObjectsOptions{Prefix: dir, Recursive: true}) {
		switch {
		case o.Err != nil:
			return false, o.Err
		case !isOurs(dir, o.Key):
			return false, fmt.Errorf("%s is not an object of a task: the directory is left alone", o.Key)
		case now.Sub(o.LastModified) < t.Lease:
			return false, nil // the lease of a task that lives is the first in the list
		}
	}
	return true, nil
}

// remove deletes a task's directory, the lease last, and returns how many
// other objects there were. It looks again after deleting: the server may
// still have been at work on a request that we had given up.
func (t *Target) remove(ctx context.Context, dir string) (removed int64, err error) {
	for n := int64(1); n > 0; removed += n {
		if n, err = t.removeListed(ctx, dir); err != nil {
			return removed + n, err
		}
	}
	return removed, t.client.RemoveObject(ctx, t.Bucket, dir+LeaseName, minio.RemoveObjectOptions{})
}

// removeListed deletes everything in the directory but the lease, by four
// requests at a time of up to 1000 objects each. A removal that takes long says
// how far it is.
func (t *Target) removeListed(ctx context.Context, dir string) (removed int64, err error) {
	listed := make(chan minio.ObjectInfo)
	group, ctx := errgroup.WithContext(ctx)
	for range 4 {
		group.Go(func() error {
			var err error
			for failed := range t.client.RemoveObjects(ctx, t.Bucket, listed, minio.RemoveObjectsOptions{}) {
				err = cmp.Or(err, fmt.Errorf("deleting %s: %w", failed.ObjectName, failed.Err))
			}
			return err
		})
	}
	group.Go(func() error {
		defer close(listed)
		said := time.Now()
		for o := range t.client.ListObjectsIter(ctx, t.Bucket, minio.ListObjectsOptions{Prefix: dir, Recursive: true}) {
			if o.Err != nil {
				return fmt.Errorf("listing %s: %w", dir, o.Err)
			}
			if o.Key == dir+LeaseName || !isOurs(dir, o.Key) {
				continue
			}
			select {
			case listed <- o:
				removed++
			case <-ctx.Done():
				return ctx.Err()
			}
			if time.Since(said) > 2*time.Second {
				said = time.Now()
				t.Say(t.Stdout, "objectstore: removing: %d objects so far", removed)
			}
		}
		return nil
	})
	err = group.Wait()
	return removed, err
}
