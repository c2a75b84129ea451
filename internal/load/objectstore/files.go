package objectstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"

	"github.com/scalebench/scalebench/internal/load"
)

// ErrGone means that there is no such object.
var ErrGone = errors.New("the object is not there")

// Reach finds out whether the bucket can be listed, and makes it if it may.
func (t *Target) Reach(ctx context.Context) error {
	t.Say(t.Stdout, "%s%s, bucket %s", t.client.endpoint, t.client.via(ctx), t.Bucket)
	return t.scrub(t.reach(ctx))
}

// Close ends the connections of a target without a directory; Remove does so, too.
func (t *Target) Close() { t.client.transport.CloseIdleConnections() }

// List calls each for the keys and sizes of all objects below a prefix.
func (t *Target) List(ctx context.Context, prefix string, each func(key string, size int64)) error {
	for o := range t.client.ListObjectsIter(ctx, t.Bucket, minio.ListObjectsOptions{Prefix: prefix, Recursive: true}) {
		if o.Err != nil {
			return t.scrub(fmt.Errorf("listing bucket %q: %w", t.Bucket, o.Err))
		}
		each(o.Key, o.Size)
	}
	return ctx.Err()
}

// GetFile gets an object into a file, which is replaced, and returns its size. Attempts
// are counted and repeated as in a test. The error is ErrGone where there is no object,
// and that of the file system where the file cannot be written.
func (t *Target) GetFile(ctx context.Context, key, path string) (size int64, err error) {
	var local error
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = t.attempts(ctx, Get, func(tr *transfer) (err error) {
		size, local, err = t.getFile(ctx, key, path, tr)
		if local != nil {
			cancel() // nothing is wrong with the store: no attempt has failed, and none follows
		}
		return err
	})
	if local != nil {
		return 0, local
	}
	return size, plain(err)
}

// plain is an error without the engine's kind, and tells what is not there from the rest.
func plain(err error) error {
	e, ok := errors.AsType[*load.Error](err)
	switch {
	case !ok:
		return err
	case e.Status == http.StatusNotFound && code(e) != "NoSuchBucket":
		return fmt.Errorf("%w: %w", ErrGone, e.Err)
	}
	return e.Err
}

func code(err error) string {
	answer, _ := errors.AsType[minio.ErrorResponse](err)
	return answer.Code
}

// Down finds out whether the store fails as a whole, after a get or put of a file failed
// with err, and returns why. It is nil if one object or file alone is at fault.
func (t *Target) Down(ctx context.Context, err error) error {
	_, remote := errors.AsType[*load.Redacted](err)
	if !remote || errors.Is(err, ErrGone) || errors.Is(err, errCorrupt) {
		return nil
	}
	return t.Probe(ctx)
}

// probeTime bounds a probe.
const probeTime = 10 * time.Second

// Probe asks for one key of the bucket, and returns why the store does not answer.
func (t *Target) Probe(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, min(t.Timeout, probeTime))
	defer cancel()
	return t.scrub(t.listOne(ctx))
}

// IsRefusal reports whether an error is the answer of a store that refuses, so that it may
// not pass by itself: there is no such bucket, or credentials are not valid.
func IsRefusal(err error) bool { return kindOf(err) == failClient }

// Which returns the key, of several that are possible, of the object with an ETag. If none
// has it, Which returns the first key of an object, and if there is none, the first key. It
// makes so many requests.
func (t *Target) Which(ctx context.Context, etag string, keys []string) (found string, requests int64, err error) {
	for _, key := range keys {
		var info minio.ObjectInfo
		err := repeat(ctx, t.Retries, false, func() (err error) {
			requests++
			ctx, cancel := context.WithTimeout(ctx, t.Timeout)
			defer cancel()
			info, err = t.client.StatObject(ctx, t.Bucket, key, minio.StatObjectOptions{})
			return err
		}, func(error, bool) {})
		answer, _ := errors.AsType[minio.ErrorResponse](err)
		switch {
		case err == nil && info.ETag == etag:
			return key, requests, nil
		case err == nil:
			found = cmp.Or(found, key)
		case answer.StatusCode != http.StatusNotFound:
			return "", requests, t.scrub(err)
		}
	}
	return cmp.Or(found, keys[0]), requests, nil
}

// getFile is one attempt. What went wrong with the file is local.
func (t *Target) getFile(ctx context.Context, key, path string, tr *transfer) (size int64, local, err error) {
	ctx, cancel := t.watch(ctx, tr, false)
	defer cancel()
	content, info, _, err := minio.Core{Client: t.client.Client}.GetObject(ctx, t.Bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = content.Close() }() // everything was read, or it failed
	file, local := os.Create(path)
	if local != nil {
		return 0, local, local
	}
	from := &reader{Reader: content, tr: tr}
	size, err = io.Copy(file, from)
	closed := file.Close()
	switch {
	case from.failed != nil:
		return 0, nil, from.failed
	case err != nil || closed != nil:
		local = errors.Join(err, closed)
		return 0, local, local
	case size != info.Size:
		return 0, nil, fmt.Errorf("%w: %d of %d bytes came", errCorrupt, size, info.Size)
	}
	return size, nil, nil
}

// reader counts what comes, and keeps why no more did.
type reader struct {
	io.Reader

	tr     *transfer
	failed error
}

func (r *reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.tr.moved.Add(int64(n))
	if err != nil && !errors.Is(err, io.EOF) {
		r.failed = err
	}
	return n, err
}

// PutFile puts a file as an object, and returns its size.
func (t *Target) PutFile(ctx context.Context, path, key string) (size int64, err error) {
	file, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { _ = file.Close() }() // only read
	info, err := file.Stat()
	if err != nil {
		return 0, err
	}
	if size = info.Size(); size > maxSize {
		return 0, fmt.Errorf("the file has %d bytes, and one PutObject takes %d", size, maxSize)
	}
	return size, plain(t.attempts(ctx, Put, func(tr *transfer) error {
		payload := &reader{Reader: io.NewSectionReader(file, 0, size), tr: tr} // no library sends it again unnoticed
		return t.send(ctx, key, payload, size, tr)
	}))
}

// Drop deletes an object. It is no error if there is none.
func (t *Target) Drop(ctx context.Context, key string) error {
	return t.scrub(repeat(ctx, t.Retries, false, func() error {
		return t.delete(ctx, &object{key: key}, newTransfer(0))
	}, func(error, bool) {}))
}

// NewKey is that of a new object: with a UUID, in the target's directory, and so removed
// with it; or below a folder of the bucket, and left there.
func (t *Target) NewKey(folder string) string {
	if folder == "" {
		folder = t.Dir
	}
	return folder + uuid.NewString()
}

// NumberedID is a UUID that all nodes give to the n-th of these things.
func NumberedID(things string, n int) string {
	return uuid.NewSHA1(uuid.NameSpaceURL, []byte(things+"#"+strconv.Itoa(n))).String()
}
