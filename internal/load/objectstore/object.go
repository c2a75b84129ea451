package objectstore

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http/httptrace"
	"regexp"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/minio/minio-go/v7"
)

// Below the prefix every task has a directory of its own:
//
//	scalebench/task-1b671a64-40d5-491e-99b0-da01ff1f3341/.lease
//	scalebench/task-1b671a64-40d5-491e-99b0-da01ff1f3341/9c5b94b1-35ad-49bb-b118-8e8fc24abf80
//
// With random keys the directory is a random UUID (version 4), too, so that
// tasks are spread over the store's partitions. With hot keys it is a UUID that
// begins with the time (version 7), and objects are numbered: all tasks of a
// parallel trial then write next to each other, behind one constant prefix.
const (
	taskWord  = "task-"
	LeaseName = ".lease" // sorts before all others

	idForm = `[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
)

var (
	taskPattern   = regexp.MustCompile(`^` + taskWord + idForm + `/$`)
	objectPattern = regexp.MustCompile(`^(\.lease|` + idForm + `|[0-9]{12})$`)
	// bucketPattern is S3's rule for names; a few old buckets differ.
	bucketPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$`)
	prefixPattern = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`)
)

// newDirectory names the directory of a task, with a slash at its end.
func newDirectory(prefix, keys string) string {
	id := uuid.New()
	if keys == HotKeys {
		id = uuid.Must(uuid.NewV7()) // fails only without random numbers, which there always are
	}
	return prefix + "/" + taskWord + id.String() + "/"
}

// IsTask says whether a key below prefix is the directory of a task.
func IsTask(prefix, dir string) bool {
	name, ok := strings.CutPrefix(dir, prefix+"/")
	return ok && taskPattern.MatchString(name)
}

// isOurs says whether a key in a task's directory is one that tasks write.
func isOurs(dir, key string) bool {
	name, ok := strings.CutPrefix(key, dir)
	return ok && objectPattern.MatchString(name)
}

// object is what is put and got.
type object struct {
	key    string
	header header
}

// newObject names the n-th object in a directory.
func newObject(dir, keys string, n int64) *object {
	o := &object{key: dir + uuid.NewString()}
	if keys == HotKeys {
		o.key = fmt.Sprintf("%s%012d", dir, n)
	}
	_, _ = rand.Read(o.header[:]) // never fails, as documented
	return o
}

// headerSize is what begins every object, so that no two are equal.
const headerSize = 16

// header is random: the object's first bytes, and where in the block the rest
// begins.
type header [headerSize]byte

const (
	minBlock = 1 << 20
	maxBlock = 64 << 20 // beyond the caches of most processors
)

// block is random bytes, which no compression makes smaller, generated once:
// during the test nothing is computed and no disk is read. An object is a
// header and then the block, read in a circle from a place of its own, so that
// a store which looks for equal pieces at fixed distances finds none.
type block []byte

// newBlock makes a block for objects of this size.
func newBlock(size int64) block {
	b := make(block, min(max(minBlock, 4*size), maxBlock))
	var seed [32]byte
	_, _ = rand.Read(seed[:]) // never fails, as documented
	_, _ = mathrand.NewChaCha8(seed).Read(b)
	return b
}

// at returns the bytes of an object from a position on: at least one, and as
// many as lie in one piece.
func (b block) at(h *header, pos int64) []byte {
	if pos < headerSize {
		return h[pos:]
	}
	start := binary.LittleEndian.Uint64(h[:8]) % uint64(len(b))
	return b[(start+uint64(pos))%uint64(len(b)):]
}

// body is an object as it is sent. It is not an io.Seeker, so that no library
// can send it again unnoticed.
type body struct {
	block  block
	header *header
	size   int64
	pos    int64
	moved  func(n int) // gets how many bytes were taken
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	if b.pos >= b.size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), b.size-b.pos)]
	var n int
	for n < len(p) {
		n += copy(p[n:], b.block.at(b.header, b.pos+int64(n)))
	}
	b.pos += int64(n)
	b.moved(n)
	return n, nil
}

// errCorrupt says that an object is not what was put.
var errCorrupt = errors.New("the object differs from the one that was written")

// checker takes an object as it is got, and compares it.
type checker struct {
	block   block
	header  *header
	size    int64
	pos     int64
	compare bool
}

// take checks the next bytes.
func (c *checker) take(p []byte) error {
	if c.pos+int64(len(p)) > c.size {
		return fmt.Errorf("%w: it is longer than %d bytes", errCorrupt, c.size)
	}
	for c.compare && len(p) > 0 {
		want := c.block.at(c.header, c.pos)
		n := min(len(p), len(want))
		if !bytes.Equal(p[:n], want[:n]) {
			return fmt.Errorf("%w: it differs in the %d bytes from byte %d on", errCorrupt, n, c.pos)
		}
		p, c.pos = p[n:], c.pos+int64(n)
	}
	c.pos += int64(len(p))
	return nil
}

// end says whether all of the object was there.
func (c *checker) end() error {
	if c.pos != c.size {
		return fmt.Errorf("%w: it has %d bytes instead of %d", errCorrupt, c.pos, c.size)
	}
	return nil
}

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

// put puts an object of the size of its transfer.
func (t *Target) put(ctx context.Context, o *object, tr *transfer) error {
	payload := &body{block: t.block, header: &o.header, size: tr.size, moved: func(n int) { tr.moved.Add(int64(n)) }}
	err := t.send(ctx, o.key, payload, tr.size, tr)
	if err == nil && payload.pos != tr.size {
		return fmt.Errorf("the server accepted an object after only %d of its %d bytes were sent", payload.pos, tr.size)
	}
	return err
}

// send is one PutObject. The payload is not signed: that would measure how fast
// this processor hashes. Nothing but our own code tries it again.
func (t *Target) send(ctx context.Context, key string, payload io.Reader, size int64, tr *transfer) error {
	ctx, cancel := t.watch(ctx, tr, true)
	defer cancel()
	_, err := t.client.PutObject(ctx, t.Bucket, key, payload, size,
		minio.PutObjectOptions{DisableMultipart: true, DisableContentSha256: true})
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
