package objectstore

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"

	"github.com/scalebench/scalebench/internal/unit"
)

// Upload is what users do first: a bucket is made, an object is put into it, and
// both are deleted ("S3 Access", section 4.2 of the paper on runtime variance).
// The bucket is called as the configuration says, and an id of its own:
//
//	bench-019cb7321a7e7c1f9d0a3b5e8f6c2d14
type Upload struct {
	*Target
	stem string // how all these buckets begin
	made bool   // the bucket may be there
}

// The parts of an upload, in their order.
const (
	CreateBucket = "create_bucket"
	PutObject    = "put"
	DeleteObject = "delete_object"
	DeleteBucket = "delete_bucket"
)

// Part is how long one part of an upload took, with its retries and the pauses
// before them.
type Part struct {
	Name string
	Took time.Duration
}

// MostStem is how long the beginning of the names may be: S3 allows 63
// characters, and the id has 33.
const MostStem = 30

// leftOverAfter is the age at which a bucket of another task counts as left over,
// by the server's clock; this node's differs by less than a quarter of an hour, or
// the server would refuse its signatures.
const leftOverAfter = time.Hour

// NewUpload is New for an upload; nothing is sent to the server yet.
func NewUpload(c Config) (*Upload, error) {
	c.Operation = Put
	stem := c.Bucket
	c.Bucket = stem + "-" + strings.ReplaceAll(uuid.Must(uuid.NewV7()).String(), "-", "") // fails only without random numbers
	t, err := New(c)
	if err != nil {
		return nil, err
	}
	return &Upload{Target: t, stem: stem}, nil
}

// Prepare opens the connection, makes the object, and removes buckets that killed
// tasks left behind. Its errors say what to do.
func (u *Upload) Prepare(ctx context.Context) (err error) {
	defer func() { err = u.scrub(err) }()
	u.Say(u.Stdout, "objectstore: %s%s, a new bucket %s for one object of %v", u.client.endpoint, u.client.via(ctx), u.Bucket, unit.Size(u.Size))
	limited, cancel := context.WithTimeout(ctx, sweepTime)
	defer cancel()
	buckets, err := u.client.ListBuckets(limited)
	if err != nil {
		return fmt.Errorf("listing buckets, to find what killed tasks left (the credentials need the right): %w", err)
	}
	u.sweepBuckets(limited, buckets)
	u.block = newBlock(u.Size)
	return ctx.Err()
}

// bucketID is what follows the beginning of a bucket's name.
var bucketID = regexp.MustCompile(`^-[0-9a-f]{12}7[0-9a-f]{19}$`)

// sweepBuckets removes old buckets of killed tasks, and names those that are not
// old enough or hold what is not ours. What goes wrong is said and does not matter
// to this task.
func (u *Upload) sweepBuckets(ctx context.Context, buckets []minio.BucketInfo) {
	for _, b := range buckets {
		id, ok := strings.CutPrefix(b.Name, u.stem)
		if !ok || !bucketID.MatchString(id) {
			continue
		}
		age := time.Since(b.CreationDate)
		if age < max(leftOverAfter, 2*u.Longest()) {
			u.Say(u.Stderr, "objectstore: the bucket %s is there for %v: another task is at work with it, or was killed; a later task removes it, %v after it was made",
				b.Name, age.Round(time.Second), max(leftOverAfter, 2*u.Longest()))
			continue
		}
		if err := u.removeBucket(ctx, b.Name); err != nil {
			u.Say(u.Stderr, "objectstore: removing the bucket %s that an earlier task left: %v", b.Name, err)
			continue
		}
		u.Say(u.Stdout, "objectstore: removed the bucket %s that an earlier task left", b.Name)
	}
}

// removeBucket removes a bucket with the objects that uploads put.
func (u *Upload) removeBucket(ctx context.Context, bucket string) error {
	for o := range u.client.ListObjectsIter(ctx, bucket, minio.ListObjectsOptions{Recursive: true}) {
		err := o.Err
		if err == nil && !isOurs("", o.Key) {
			return fmt.Errorf("%s is not an object of a task: the bucket is left alone", o.Key)
		}
		if err == nil {
			err = u.client.RemoveObject(ctx, bucket, o.Key, minio.RemoveObjectOptions{})
		}
		if err != nil {
			return err
		}
	}
	return u.client.RemoveBucket(ctx, bucket)
}

// errNotYet is an answer that passes: a store may show a bucket, and that an
// object is gone, a moment later.
var errNotYet = errors.New("the store has not caught up")

// Do makes the bucket, puts the object and deletes both, and says how long each
// part took. Each is tried again as often as the configuration allows; a part
// that fails ends the upload.
func (u *Upload) Do(ctx context.Context) (parts []Part, err error) {
	o := newObject("", UUIDKeys, 0)
	u.made = true // from now on it may be there
	for _, part := range []struct {
		name string
		do   func(context.Context) error
		done []string // answers to a second attempt that say that the first did it
	}{
		{CreateBucket, func(ctx context.Context) error {
			return u.client.MakeBucket(ctx, u.Bucket, minio.MakeBucketOptions{Region: u.client.region})
		}, []string{"BucketAlreadyOwnedByYou", "BucketAlreadyExists"}},
		{PutObject, func(ctx context.Context) error { return u.put(ctx, o, newTransfer(u.Size)) }, nil},
		{DeleteObject, func(ctx context.Context) error { return u.delete(ctx, o, newTransfer(u.Size)) }, nil},
		{DeleteBucket, func(ctx context.Context) error { return u.client.RemoveBucket(ctx, u.Bucket) }, []string{"NoSuchBucket"}},
	} {
		begun, attempts := time.Now(), 0
		err := repeat(ctx, u.Retries, false, func() error {
			ctx, cancel := context.WithTimeout(ctx, u.Timeout)
			defer cancel()
			err := part.do(ctx)
			attempts++
			switch code := minio.ToErrorResponse(err).Code; {
			case attempts > 1 && slices.Contains(part.done, code):
				return nil
			case slices.Contains([]string{"NoSuchBucket", "BucketNotEmpty", "OperationAborted"}, code):
				return fmt.Errorf("%w: %w", errNotYet, err)
			}
			return err
		}, func(err error, again bool) {
			u.Recorder.attemptFailed(part.name, kindOf(err), u.scrub(err).Error(), again)
		})
		if err != nil {
			return parts, u.scrub(fmt.Errorf("%s, bucket %s: %w", strings.ReplaceAll(part.name, "_", " "), u.Bucket, err))
		}
		parts = append(parts, Part{part.name, time.Since(begun)})
	}
	u.made = false
	return parts, nil
}

// Remove removes what an upload that did not end has left.
func (u *Upload) Remove(ctx context.Context) error {
	defer u.client.transport.CloseIdleConnections()
	if !u.made {
		return nil
	}
	err := u.removeBucket(ctx, u.Bucket)
	if err == nil || minio.ToErrorResponse(err).Code == "NoSuchBucket" {
		return nil
	}
	return u.scrub(fmt.Errorf("removing the bucket %s (remove it, or a later task will): %w", u.Bucket, err))
}
