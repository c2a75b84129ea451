package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
)

// timing notes when the first byte of an answer came; nanoseconds of the
// process's clock since origin, 0 until then.
type timing struct {
	origin time.Time
	first  atomic.Int64
}

func newTiming() *timing { return &timing{origin: time.Now()} }

// firstByte is when the first byte of the last answer came.
func (t *timing) firstByte() time.Time { return t.origin.Add(time.Duration(t.first.Load())) }

// attempt bounds one request and watches it.
func (t *task) attempt(ctx context.Context, tr *transfer, at *timing) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, t.params.RequestTimeout.Std())
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if queue := sendQueue(info.Conn); queue != nil && tr != nil {
				tr.queue.Store(&queue)
			}
		},
		GotFirstResponseByte: func() { at.first.Store(int64(time.Since(at.origin))) },
	}), cancel
}

// put is one PutObject. The payload is not signed: that would measure how fast
// this processor hashes. Nothing but our own code tries it again.
func (t *task) put(ctx context.Context, o *object, size int64, tr *transfer, at *timing) error {
	ctx, cancel := t.attempt(ctx, tr, at)
	defer cancel()
	payload := &body{block: t.block, header: &o.header, size: size, moved: func(n int) { tr.moved.Add(int64(n)) }}
	_, err := t.client.PutObject(ctx, t.params.Bucket, o.key, payload, size, minio.PutObjectOptions{DisableMultipart: true, DisableContentSha256: true})
	if err == nil && payload.pos != size {
		return fmt.Errorf("the server accepted an object of which only %d of %d bytes were sent", payload.pos, size)
	}
	return err
}

// get is one GetObject. All of the object is read; buf is scratch.
func (t *task) get(ctx context.Context, o *object, size int64, tr *transfer, at *timing, buf []byte) error {
	ctx, cancel := t.attempt(ctx, nil, at)
	defer cancel()
	content, _, _, err := minio.Core{Client: t.client.Client}.GetObject(ctx, t.params.Bucket, o.key, minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // everything was read, or it failed
	check := &checker{block: t.block, header: &o.header, size: size, compare: t.params.Verify}
	for {
		n, err := content.Read(buf)
		tr.moved.Add(int64(n))
		if err := check.take(buf[:n]); err != nil {
			return err
		}
		if errors.Is(err, io.EOF) {
			return check.end()
		}
		if err != nil {
			return err
		}
	}
}

// delete is one DeleteObject.
func (t *task) delete(ctx context.Context, o *object, at *timing) error {
	ctx, cancel := t.attempt(ctx, nil, at)
	defer cancel()
	return t.client.RemoveObject(ctx, t.params.Bucket, o.key, minio.RemoveObjectOptions{})
}

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// backoff is the pause after the n-th failed attempt in a row, from 0: doubled
// each time, so that a server that asks for less gets less.
func backoff(n int) time.Duration { return min(firstPause<<min(n, 10), lastPause) }

// pause waits; false if the context ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
