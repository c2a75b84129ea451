package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

// defaultLease is the age at which a lease has run out. A task renews it five
// times in that time: whoever missed all of them is dead, or cut off from the
// store, and would fail anyway.
const defaultLease = 5 * time.Minute

// lease is the object that says that a task lives. Its age is the difference
// of two times that the server has set, so that no node's clock matters.
type lease struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
}

// stop ends the renewing; the object stays.
func (l *lease) stop() {
	l.cancel()
	l.ended.Wait()
}

// takeLease puts the task's first object, and renews it until stop.
func (t *task) takeLease(ctx context.Context) (*lease, error) {
	if err := t.renew(ctx); err != nil {
		return nil, fmt.Errorf("putting the first object into bucket %q: %w", t.params.Bucket, err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the task's end is the end of Cleanup
	l := &lease{cancel: cancel}
	l.ended.Go(func() {
		for pause(ctx, t.params.leaseTime/5) {
			if err := t.renew(ctx); err != nil && ctx.Err() == nil {
				t.say(t.stderr, "objectstore: renewing the lease of %s: %v", t.dir, err)
			}
		}
	})
	return l, nil
}

const leaseText = "A scalebench task is using this directory. When this object is older than the task's lease, the task is dead, and the next one removes the directory.\n"

func (t *task) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, t.params.leaseTime/5)
	defer cancel()
	text := []byte(leaseText)
	_, err := t.client.PutObject(ctx, t.params.Bucket, t.dir+leaseName, bytes.NewReader(text), int64(len(text)),
		minio.PutObjectOptions{ContentType: "text/plain", DisableContentSha256: true})
	return err
}
