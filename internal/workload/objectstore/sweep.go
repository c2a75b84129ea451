package objectstore

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
)

// sweep removes the directories of tasks that are over: below our prefix, named
// like a task's, without any object but such as tasks write, and without one
// that is younger than a lease. Everything else is left alone. What goes wrong
// with a directory is said and does not matter to this task, and neither does
// what is not done in time: a later task does it.
func (t *task) sweep(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	err := t.sweepAll(limited)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		t.say(t.stderr, "objectstore: removing what earlier tasks left takes longer than %v; later tasks go on with it", sweepTime)
		return nil
	}
	return err
}

// sweepTime bounds what a task does for the dead ones, within the time that it
// has to prepare.
const sweepTime = time.Minute

func (t *task) sweepAll(ctx context.Context) error {
	now, err := t.serverTime(ctx)
	if err != nil {
		return err
	}
	for entry := range t.client.ListObjectsIter(ctx, t.params.Bucket, minio.ListObjectsOptions{Prefix: t.params.Prefix + "/"}) {
		if entry.Err != nil {
			return fmt.Errorf("listing bucket %q: %w", t.params.Bucket, entry.Err)
		}
		if !isTask(t.params.Prefix, entry.Key) || entry.Key == t.dir {
			continue
		}
		if err := t.sweepOne(ctx, entry.Key, now); err != nil {
			t.say(t.stderr, "objectstore: removing what an earlier task left in %s: %v", entry.Key, err)
		}
	}
	return ctx.Err()
}

// serverTime is the server's time of a moment ago: that of our lease.
func (t *task) serverTime(ctx context.Context) (time.Time, error) {
	info, err := t.client.StatObject(ctx, t.params.Bucket, t.dir+leaseName, minio.StatObjectOptions{})
	if err != nil {
		return time.Time{}, fmt.Errorf("looking at the object that was just put: %w", err)
	}
	return info.LastModified, nil
}

func (t *task) sweepOne(ctx context.Context, dir string, now time.Time) error {
	over, err := t.isOver(ctx, dir, now)
	if err != nil || !over {
		return err
	}
	removed, err := t.remove(ctx, dir)
	if removed > 0 {
		t.say(t.stdout, "objectstore: removed %d objects that an earlier task left in %s", removed, dir)
	}
	return err
}

// isOver says whether a directory holds nothing but what a dead task wrote.
func (t *task) isOver(ctx context.Context, dir string, now time.Time) (bool, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the listing if we leave it early
	defer cancel()
	for o := range t.client.ListObjectsIter(ctx, t.params.Bucket, minio.ListObjectsOptions{Prefix: dir, Recursive: true}) {
		switch {
		case o.Err != nil:
			return false, o.Err
		case !isOurs(dir, o.Key):
			return false, fmt.Errorf("%s is none of ours: the directory is left as it is", o.Key)
		case now.Sub(o.LastModified) < t.params.leaseTime:
			return false, nil // the lease of a task that lives is the first in the list
		}
	}
	return true, nil
}

const removers = 4 // requests at a time, of up to 1000 objects each

// remove deletes a task's directory, the lease last, and returns how many
// other objects there were. It looks again after deleting: the server may
// still have been at work on a request that we had given up.
func (t *task) remove(ctx context.Context, dir string) (int64, error) {
	var removed int64
	for {
		n, err := t.removeListed(ctx, dir)
		removed += n
		if err != nil {
			return removed, err
		}
		if n == 0 {
			break
		}
	}
	return removed, t.client.RemoveObject(ctx, t.params.Bucket, dir+leaseName, minio.RemoveObjectOptions{})
}

// removeListed deletes everything in the directory but the lease.
func (t *task) removeListed(ctx context.Context, dir string) (int64, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	listed := make(chan minio.ObjectInfo)
	var fed atomic.Int64
	var listing error
	var all sync.WaitGroup
	all.Go(func() {
		defer close(listed)
		listing = t.feed(ctx, dir, listed, &fed)
	})
	errs := make([]error, removers)
	for i := range errs {
		all.Go(func() {
			for failed := range t.client.RemoveObjects(ctx, t.params.Bucket, listed, minio.RemoveObjectsOptions{}) {
				errs[i] = first(errs[i], fmt.Errorf("deleting %s: %w", failed.ObjectName, failed.Err))
			}
		})
	}
	finished := t.tellRemoved(ctx, &fed)
	all.Wait()
	finished()
	return fed.Load(), errors.Join(listing, firstError(errs))
}

// feed lists the directory into a channel.
func (t *task) feed(ctx context.Context, dir string, to chan<- minio.ObjectInfo, fed *atomic.Int64) error {
	for o := range t.client.ListObjectsIter(ctx, t.params.Bucket, minio.ListObjectsOptions{Prefix: dir, Recursive: true}) {
		if o.Err != nil {
			return fmt.Errorf("listing %s: %w", dir, o.Err)
		}
		if o.Key == dir+leaseName || !isOurs(dir, o.Key) {
			continue
		}
		select {
		case to <- o:
			fed.Add(1)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// tellEvery is how often a removal that takes long says how far it is.
const tellEvery = 2 * time.Second

// tellRemoved prints the progress of a removal until the function that it
// returns is called.
func (t *task) tellRemoved(ctx context.Context, fed *atomic.Int64) (finished func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for pause(ctx, tellEvery) {
			t.say(t.stdout, "objectstore: removing: %d objects so far", fed.Load())
		}
	})
	return func() { cancel(); done.Wait() }
}
