package objectstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"go.uber.org/goleak"

	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/servertest"
	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestMain(m *testing.M) {
	if os.Getenv("OBJECTSTORE_TEST_VICTIM") != "" {
		fmt.Fprintln(os.Stderr, "the victim was not killed:", victim())
		os.Exit(1)
	}
	goleak.VerifyTestMain(m)
}

// The credentials of the gateways that tests start.
const (
	testKey    = "testaccesskey"
	testSecret = "testsecretkey-0123456789"
	testBucket = "bench"
)

// gateway is a real S3 server (versitygw) that keeps objects as files.
type gateway struct {
	url    string
	dir    string // of its buckets
	client *minio.Client
}

// gatewayBinary finds versitygw where scripts/install-versitygw.sh puts it.
func gatewayBinary(t *testing.T) string {
	t.Helper()
	local, err := filepath.Abs("../../../.tools/versitygw")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{local, "versitygw"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	workloadtest.Need(t, errors.New("versitygw is missing; run scripts/install-versitygw.sh"))
	return ""
}

// startGateway starts a server with an empty bucket, which ends with the test,
// and gives the test its credentials.
func startGateway(t *testing.T) *gateway {
	t.Helper()
	binary, g := gatewayBinary(t), &gateway{dir: t.TempDir()}
	address := servertest.FreeAddress(t)
	g.url = "http://" + address
	cmd := exec.Command(binary, "--port", address, "--health", "/health", "--quiet", "posix", g.dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+testKey, "ROOT_SECRET_KEY="+testSecret)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()         // by the kill
		if t.Failed() {
			t.Logf("versitygw printed:\n%s", output.String())
		}
	})
	awaitHealth(t, g.url)
	g.client = testClient(t, address)
	if err := g.client.MakeBucket(t.Context(), testBucket, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
	useCredentials(t)
	return g
}

func testClient(t *testing.T, address string) *minio.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(testKey, testSecret, ""), Region: "us-east-1", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// useCredentials hides what the machine has, so that nothing but the test's
// credentials is found, and nobody off the machine is asked.
func useCredentials(t *testing.T) {
	t.Helper()
	for _, name := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "MINIO_ROOT_USER", "MINIO_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", t.TempDir())
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_ACCESS_KEY_ID", testKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", testSecret)
}

// awaitHealth returns when the server answers.
func awaitHealth(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/health", nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(req); err == nil {
			_ = resp.Body.Close() // its content does not matter
			return
		}
		if !pause(ctx, 10*time.Millisecond) {
			t.Fatal("versitygw does not answer")
		}
	}
}

// objects lists the bucket: keys with sizes, without leases.
func (g *gateway) objects(t *testing.T) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for o := range g.client.ListObjectsIter(t.Context(), testBucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		if !strings.HasSuffix(o.Key, leaseName) {
			found[o.Key] = o.Size
		}
	}
	return found
}

// all lists the bucket with leases.
func (g *gateway) all(t *testing.T) []string {
	t.Helper()
	var keys []string
	for o := range g.client.ListObjectsIter(t.Context(), testBucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		keys = append(keys, o.Key)
	}
	return keys
}

func (g *gateway) put(t *testing.T, key string) {
	t.Helper()
	if _, err := g.client.PutObject(t.Context(), testBucket, key, strings.NewReader("x"), 1, minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
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
	for _, kind := range failures {
		attempts += b.record.value(fmt.Sprintf("objectstore_errors %s", kind))
	}
	if sum := b.record.value("objectstore_retries") + b.record.value("objectstore_failed_operations"); sum != attempts {
		t.Errorf("%v failed attempts, but %v retries and failed operations", attempts, sum)
	}
}
