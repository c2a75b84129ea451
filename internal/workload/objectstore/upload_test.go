package objectstore

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// upload makes a task that uploads an object of so many bytes.
func upload(t *testing.T, endpoint string, size unit.Size) *bench {
	t.Helper()
	return newBench(t, endpoint, func(p *Params) { p.Operation, p.Concurrency, p.Size = OpUpload, 0, size })
}

func (g *gateway) buckets(t *testing.T) []string {
	t.Helper()
	list, err := g.Client.ListBuckets(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, b := range list {
		out = append(out, b.Name)
	}
	return out
}

// TestUpload: over a path of a known rate the upload takes what its bytes take by
// arithmetic, and the time of all is that of its parts. Nothing is left.
func TestUpload(t *testing.T) {
	const rate, size = 12.5e6, 10_000_000 // 0.8 s
	g := startGateway(t)
	path := startRelay(t, strings.TrimPrefix(g.URL, "http://"), rate)
	b := upload(t, path.url, size)
	b.prepare(t)
	begun := time.Now()
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	wall := time.Since(begun).Seconds()
	elapsed, put := b.record.value("objectstore_upload_elapsed"), b.record.value("objectstore_upload_put")
	t.Logf("elapsed %.3f s, put %.3f s, by arithmetic %.3f s", elapsed, put, size/rate)
	sum := put
	for _, part := range []string{"create_bucket", "delete_object", "delete_bucket"} {
		v := b.record.value("objectstore_upload_" + part)
		if sum += v; v <= 0 {
			t.Errorf("%s took %v s", part, v)
		}
	}
	// Ten milliseconds of credit, and the buffers of the path.
	if put < 0.97*size/rate || put > 1.5*size/rate || elapsed < sum || elapsed > sum+0.01 || elapsed > wall {
		t.Errorf("elapsed %.4f s, put %.4f s, sum of the parts %.4f s, by the wall clock %.4f s", elapsed, put, sum, wall)
	}
	if carried := path.up.carried(begun, begun.Add(time.Minute)) * 60; carried < size {
		t.Errorf("the path carried %.0f bytes, less than the object", carried)
	}
	if diff := cmp.Diff([]string{testBucket}, g.buckets(t)); diff != "" {
		t.Errorf("buckets afterwards (-want +got):\n%s", diff)
	}
}

// TestUploadAgain: what a first attempt has done although its answer was lost, and
// what the store has not caught up with, does not fail the upload.
func TestUploadAgain(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	calls := make(map[string]int)
	proxy := s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		key := strings.Count(strings.Trim(r.URL.Path, "/"), "/")
		call := r.Method + strings.Repeat(" object", key)
		if r.URL.Path == "/" {
			call = "list"
		}
		calls[call]++
		switch {
		case call == "PUT" && calls[call] == 1: // done, but the answer is lost
			pass.ServeHTTP(discard{http.Header{}}, r)
			w.WriteHeader(http.StatusBadGateway)
		case call == "PUT object" && calls[call] == 1:
			answer(w, http.StatusNotFound, "NoSuchBucket")
		case call == "DELETE" && calls[call] == 1:
			answer(w, http.StatusConflict, "BucketNotEmpty")
		default:
			pass.ServeHTTP(w, r)
		}
	})
	b := upload(t, proxy, 1000)
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	if got := b.record.value("objectstore_retries"); got != 3 {
		t.Errorf("%v retries of %v, want 3", got, calls)
	}
	if diff := cmp.Diff([]string{testBucket}, g.buckets(t)); diff != "" {
		t.Errorf("buckets afterwards (-want +got):\n%s", diff)
	}
}

// discard takes an answer that gets lost.
type discard struct{ header http.Header }

func (d discard) Header() http.Header         { return d.header }
func (d discard) Write(p []byte) (int, error) { return len(p), nil }
func (d discard) WriteHeader(int)             {}

func answer(w http.ResponseWriter, status int, code string) {
	w.WriteHeader(status)
	_, _ = w.Write([]byte("<?xml version=\"1.0\"?><Error><Code>" + code + "</Code><Message>so</Message></Error>"))
}

// TestUploadCutOff: an upload that is cancelled in its middle removes its bucket.
func TestUploadCutOff(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	path := startRelay(t, strings.TrimPrefix(g.URL, "http://"), 1e6)
	b := upload(t, path.url, 100_000_000)
	if err := b.Prepare(t.Context(), b.env); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- b.Run(ctx, b.env) }()
	for len(g.buckets(t)) < 2 && t.Context().Err() == nil {
		continue
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("Run() = nil after the cancel")
	}
	b.clean(t)
	if diff := cmp.Diff([]string{testBucket}, g.buckets(t)); diff != "" {
		t.Errorf("buckets afterwards (-want +got):\n%s", diff)
	}
}

// TestUploadKilled: the bucket of an upload that was killed is named by the next
// one, and removed by one that begins when it is old. What is not an upload's
// stays.
func TestUploadKilled(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	path := startRelay(t, strings.TrimPrefix(g.URL, "http://"), 1e6)
	dead := killOnce(t, path.url, func(bucket string) bool { return slices.Contains(g.buckets(t), bucket) }, "OBJECTSTORE_TEST_UPLOAD=1")
	const id = "-019cb7321a7e7c1f9d0a3b5e8f6c2d1"
	foreign := []string{testBucket + "-backup", testBucket + id + "a", "other" + id + "b"}
	for _, name := range foreign {
		g.MakeBucket(t, name)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, foreign[1], "photo.jpg"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	begin := func() (stdout, stderr string) {
		b := upload(t, g.URL, 100)
		if err := b.Prepare(t.Context(), b.env); err != nil {
			t.Fatal(err)
		}
		b.clean(t)
		return b.stdout.String(), b.stderr.String()
	}
	if _, stderr := begin(); !strings.Contains(stderr, "the bucket "+dead+" is there for ") || !slices.Contains(g.buckets(t), dead) {
		t.Errorf("a young bucket: stderr %q, buckets %v", stderr, g.buckets(t))
	}
	for _, name := range append(foreign, dead) {
		then := time.Now().Add(-2 * time.Hour)
		if err := os.Chtimes(filepath.Join(g.Dir, name), then, then); err != nil {
			t.Fatal(err)
		}
	}
	stdout, stderr := begin()
	if !strings.Contains(stdout, "removed the bucket "+dead) || !strings.Contains(stderr, foreign[1]+" that an earlier task left: photo.jpg is not an object of a task") {
		t.Errorf("old buckets: stdout %q, stderr %q", stdout, stderr)
	}
	if got := g.buckets(t); slices.Contains(got, dead) || len(got) != 1+len(foreign) {
		t.Errorf("buckets afterwards: %v, want %s and %v", got, testBucket, foreign)
	}
}
