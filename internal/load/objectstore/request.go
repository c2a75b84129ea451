package objectstore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptrace"
	"time"

	"github.com/minio/minio-go/v7"
)

// watch bounds one request, and notes in tr what becomes of it.
func (t *Target) watch(ctx context.Context, tr *transfer, sends bool) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			if queue := sendQueue(info.Conn); queue != nil && sends {
				tr.queue.Store(&queue)
			}
		},
		GotFirstResponseByte: func() { tr.first.Store(int64(time.Since(tr.begun))) },
	}), cancel
}

// put is one PutObject. The payload is not signed: that would measure how fast
// this processor hashes. Nothing but our own code tries it again.
func (t *Target) put(ctx context.Context, o *object, tr *transfer) error {
	ctx, cancel := t.watch(ctx, tr, true)
	defer cancel()
	payload := &body{block: t.block, header: &o.header, size: tr.size, moved: func(n int) { tr.moved.Add(int64(n)) }}
	_, err := t.client.PutObject(ctx, t.Bucket, o.key, payload, tr.size, minio.PutObjectOptions{DisableMultipart: true, DisableContentSha256: true})
	if err == nil && payload.pos != tr.size {
		return fmt.Errorf("the server accepted an object after only %d of its %d bytes were sent", payload.pos, tr.size)
	}
	return err
}

// get is one GetObject. All of the object is read; buf is scratch.
func (t *Target) get(ctx context.Context, o *object, tr *transfer, buf []byte) error {
	ctx, cancel := t.watch(ctx, tr, false)
	defer cancel()
	content, _, _, err := minio.Core{Client: t.client.Client}.GetObject(ctx, t.Bucket, o.key, minio.GetObjectOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }() // everything was read, or it failed
	check := &checker{block: t.block, header: &o.header, size: tr.size, compare: t.Verify}
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
func (t *Target) delete(ctx context.Context, o *object, tr *transfer) error {
	ctx, cancel := t.watch(ctx, tr, false)
	defer cancel()
	return t.client.RemoveObject(ctx, t.Bucket, o.key, minio.RemoveObjectOptions{})
}
