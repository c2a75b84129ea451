package objectstore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
)

// victim is this test binary as a process of its own: a task that puts objects
// until it is killed. It prints its directory when it has begun.
func victim() error {
	p, ok := Kind().New().(*Params)
	if !ok {
		return errors.New("New returns something else")
	}
	p.Endpoint, p.Region, p.Bucket, p.Concurrency = os.Getenv("OBJECTSTORE_TEST_VICTIM"), "us-east-1", testBucket, 2
	p.Size, p.Duration = 5000, unit.Duration(time.Hour)
	if os.Getenv("OBJECTSTORE_TEST_UPLOAD") != "" {
		p.Operation, p.Concurrency, p.Duration, p.Size = OpUpload, 0, 0, unit.GiB
	}
	env := &workload.Env{Environ: os.Environ(), Stdout: os.Stderr, Stderr: os.Stderr, Report: silent{&log{}}}
	if err := p.Prepare(context.Background(), env); err != nil {
		return err
	}
	if p.upload != nil {
		fmt.Println(p.upload.Bucket)
	} else {
		fmt.Println(p.target.Dir)
	}
	return p.Run(context.Background(), env) // until the kill
}

// silent keeps nothing: a task of an hour reports much.
type silent struct{ *log }

func (silent) ProgressAt(string, string, time.Duration, float64) {}

// TestKilled kills a task with kill -9 in the middle of its work. A task that
// begins while the lease is young leaves everything alone; one that begins
// later removes what was left, and nothing else.
func TestKilled(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	dead := killInMidWork(t, g)
	const other = "9c5b94b1-35ad-49bb-b118-8e8fc24abf80"
	foreign := []string{
		"scalebench/notes.txt", // not in a directory
		"scalebench/task-x/" + other,
		"scalebench/task-" + other + "/" + other,              // young
		"scalebench/task-" + other[:35] + "1/photo.jpg",       // old, but nothing that tasks write
		"scalebench/task-" + other[:35] + "1/" + other,        // beside it
		"scalebench-2/task-" + other + "/" + other,            // another prefix
		"task-" + other + "/" + other,                         // no prefix
		"backup/scalebench/task-" + other + "/000000000001",   // deeper
		"scalebench/task-" + other[:35] + "2/deeper/" + other, // deeper
	}
	for _, key := range foreign {
		g.Put(t, key)
	}
	sweepWith(t, g)
	if left := below(g.all(t), dead); len(left) < 3 {
		t.Errorf("a task removed the directory of one with a young lease: %v left", left)
	}
	alive := newBench(t, g.URL, func(p *Params) { p.Count, p.Size = 5, 100 })
	alive.prepare(t)
	if err := alive.measure(t); err != nil {
		t.Fatal(err)
	}
	before := below(g.all(t), alive.target.Dir)
	// An hour later, for all but the task that renews its lease and one file.
	for _, key := range append(below(g.all(t), dead), foreign...) {
		if key != foreign[2] {
			g.age(t, key, time.Hour)
		}
	}
	for _, key := range before[1:] { // the first is the lease
		g.age(t, key, time.Hour)
	}
	sweepWith(t, g)
	if left := below(g.all(t), dead); len(left) > 0 {
		t.Errorf("left of the dead task: %v", left)
	}
	if diff := cmp.Diff(before, below(g.all(t), alive.target.Dir)); diff != "" {
		t.Errorf("objects of a task that lives (-before +after):\n%s", diff)
	}
	for _, key := range foreign {
		if len(below(g.all(t), key)) != 1 {
			t.Errorf("%s, which is none of ours, was removed", key)
		}
	}
}

// below returns the keys with a prefix.
func below(keys []string, prefix string) []string {
	var out []string
	for _, k := range keys {
		if strings.HasPrefix(k, prefix) {
			out = append(out, k)
		}
	}
	return out
}

// age makes an object older, as the server sees it.
func (g *gateway) age(t *testing.T, key string, by time.Duration) {
	t.Helper()
	then := time.Now().Add(-by)
	if err := os.Chtimes(filepath.Join(g.Dir, testBucket, key), then, then); err != nil {
		t.Fatal(err)
	}
}

// sweepWith begins and ends a task.
func sweepWith(t *testing.T, g *gateway) {
	t.Helper()
	b := newBench(t, g.URL, func(*Params) {})
	if err := b.Prepare(t.Context(), b.env); err != nil {
		t.Errorf("Prepare() = %v", err)
	}
	b.clean(t)
}

// killInMidWork returns the directory of a task that was killed.
func killInMidWork(t *testing.T, g *gateway) string {
	t.Helper()
	dir := killOnce(t, g.URL, func(dir string) bool { return len(below(g.all(t), dir)) >= 10 })
	if !store.IsTask(store.DefaultPrefix, dir) {
		t.Errorf("the victim printed %q", dir)
	}
	return dir
}

// killOnce starts the victim, kills it when it has come so far, and returns what it
// printed. Variables are set beside those that it needs.
func killOnce(t *testing.T, endpoint string, far func(printed string) bool, variables ...string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(append(os.Environ(), "OBJECTSTORE_TEST_VICTIM="+endpoint), variables...)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Errorf("the victim printed %q, %v", line, err)
	}
	printed := strings.TrimSpace(line)
	for !far(printed) && !t.Failed() && t.Context().Err() == nil {
		continue // each look is a request that takes its time
	}
	err = errors.Join(cmd.Process.Kill(), cmd.Wait())
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("the victim ended with %v, want the kill", err)
	}
	return printed
}

// TestFirstObjectNotSeen: a store that does not yet show what was just put keeps
// no task from its work.
func TestFirstObjectNotSeen(t *testing.T) {
	t.Parallel()
	slow := before(t, startGateway(t), func(w http.ResponseWriter, r *http.Request) bool {
		unseen := r.Method == http.MethodHead && strings.HasSuffix(r.URL.Path, leaseName)
		if unseen {
			w.WriteHeader(http.StatusNotFound)
		}
		return unseen
	})
	b := newBench(t, slow, func(p *Params) { p.Count, p.Size = 1, 16 })
	b.prepare(t)
}

// TestBucketMadeByMany: a store that fails for a moment, while many nodes make one bucket,
// fails no task.
func TestBucketMadeByMany(t *testing.T) {
	t.Parallel()
	var tries atomic.Int64
	busy := before(t, startGateway(t), func(w http.ResponseWriter, r *http.Request) bool {
		fails := r.Method == http.MethodPut && strings.Trim(r.URL.Path, "/") == "made" && tries.Add(1) <= 2
		if fails {
			refuse(w, http.StatusInternalServerError, "InternalError", "please try again")
		}
		return fails
	})
	b := newBench(t, busy, func(p *Params) { p.Bucket, p.Create, p.Count, p.Size = "made", true, 1, 16 })
	b.prepare(t)
	if n := tries.Load(); n != 3 {
		t.Errorf("the bucket was asked for %d times, want 3", n)
	}
}

// before is the address of what answers before a gateway, which gets all other requests.
func before(t *testing.T, g *gateway, answers func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	through := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // it is signed
	}}
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !answers(w, r) {
			through.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(front.Close)
	return front.URL
}

// TestLeaseIsRenewed checks that a task in its middle stays young.
func TestLeaseIsRenewed(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	b := newBench(t, g.URL, func(p *Params) { p.leaseTime = 500 * time.Millisecond; p.Count, p.Size = 1, 16 })
	b.prepare(t)
	g.age(t, b.target.Dir+leaseName, time.Hour)
	for {
		info, err := os.Stat(filepath.Join(g.Dir, testBucket, b.target.Dir+leaseName))
		if err == nil && time.Since(info.ModTime()) < time.Minute {
			return
		}
		if !pause(t.Context(), 10*time.Millisecond) {
			t.Fatal("the lease was not renewed")
		}
	}
}
