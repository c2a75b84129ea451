package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("OBJECTSTORE_TEST_VICTIM") != "" {
		fmt.Fprintln(os.Stderr, "the victim was not killed:", victim())
		os.Exit(1)
	}
	s3test.SetCredentials()
	goleak.VerifyTestMain(m)
}

// gateway is a real S3 server with an empty bucket.
type gateway struct{ *s3test.Gateway }

func startGateway(t *testing.T) *gateway { return &gateway{s3test.Start(t)} }

// What tests of this package name often.
const (
	testKey, testSecret, testBucket = s3test.Key, s3test.Secret, s3test.Bucket
	leaseName, taskWord             = store.LeaseName, "task-"
)

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

// objects lists the bucket: keys with sizes, without leases.
func (g *gateway) objects(t *testing.T) map[string]int64 {
	t.Helper()
	found := g.Objects(t)
	maps.DeleteFunc(found, func(key string, _ int64) bool { return strings.HasSuffix(key, leaseName) })
	return found
}

// all lists the bucket with leases, in order.
func (g *gateway) all(t *testing.T) []string {
	t.Helper()
	return slices.Sorted(maps.Keys(g.Objects(t)))
}

// log is what a task reported.
type log struct{ workloadtest.Record }

func newLog(t *testing.T) *log {
	r := &log{}
	r.T = t
	return r
}

// last is the end of a series.
func (r *log) last(metric string) float64 {
	s := r.Readings[metric]
	if len(s) == 0 {
		r.T.Fatalf("no series %s", metric)
	}
	return s[len(s)-1].Value
}

// value is that of the sample of a metric, with its label kind if it has one.
func (r *log) value(key string) float64 {
	r.T.Helper()
	metric, kind, _ := strings.Cut(key, " ")
	for _, s := range r.Samples {
		if s.Metric == metric && s.Labels["kind"] == kind {
			return s.Value
		}
	}
	r.T.Fatalf("no sample %s", key)
	return 0
}

// bench is one task of a test.
type bench struct {
	*Params
	env            *workload.Env
	record         *log
	stdout, stderr *bytes.Buffer
}

// newBench makes a task against an endpoint, changed by the caller.
func newBench(t *testing.T, endpoint string, change func(*Params)) *bench {
	t.Helper()
	p, ok := Kind().New().(*Params)
	if !ok {
		t.Fatal("New returns something else")
	}
	p.Endpoint, p.Region, p.Bucket, p.Concurrency = endpoint, "us-east-1", testBucket, 2
	change(p)
	if err := p.Validate(); err != nil {
		t.Fatal(err)
	}
	b := &bench{Params: p, record: newLog(t), stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}}
	b.env = &workload.Env{Environ: os.Environ(), Stdout: b.stdout, Stderr: b.stderr, Report: b.record}
	return b
}

// prepare prepares, and cleans up after the test.
func (b *bench) prepare(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { b.clean(t) })
	if err := b.Prepare(t.Context(), b.env); err != nil {
		t.Fatalf("Prepare() = %v", err)
	}
}

func (b *bench) clean(t *testing.T) {
	if err := b.Cleanup(context.Background(), b.env); err != nil {
		t.Errorf("Cleanup() = %v", err)
	}
}

// measure runs after prepare.
func (b *bench) measure(t *testing.T) error {
	t.Helper()
	b.record.Start = time.Now()
	err := b.Run(t.Context(), b.env)
	b.checkSums(t)
	return err
}

// checkSums holds a finished run to what must be true of any: every failed
// attempt was followed by a retry or gave an operation up.
func (b *bench) checkSums(t *testing.T) {
	t.Helper()
	var attempts float64
	for _, kind := range store.Failures {
		attempts += b.record.value(fmt.Sprintf("objectstore_errors %s", kind))
	}
	if sum := b.record.value("objectstore_retries") + b.record.value("objectstore_failed_operations"); sum != attempts {
		t.Errorf("%v failed attempts, but %v retries and failed operations", attempts, sum)
	}
}
