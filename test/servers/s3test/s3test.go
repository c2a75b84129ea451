// Package s3test starts a real S3 server for tests.
package s3test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// The credentials of the gateways that tests start.
const (
	Key    = "testaccesskey"
	Secret = "testsecretkey-0123456789"
	Bucket = "bench"
)

// Gateway is a real S3 server (versitygw) that keeps objects as files.
type Gateway struct {
	URL    string
	Dir    string        // of its buckets
	Client *minio.Client // of the bucket

	command func() *exec.Cmd
	process *exec.Cmd
}

// gatewayBinary finds versitygw where scripts/install-versitygw.sh puts it, or on
// the PATH.
func gatewayBinary(t *testing.T) string {
	t.Helper()
	dir, err := os.Getwd() // of the package that is tested
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if path, err := exec.LookPath(filepath.Join(dir, ".tools", "versitygw")); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("versitygw")
	if err != nil {
		workloadtest.Need(t, errors.New("versitygw is missing; run scripts/install-versitygw.sh"))
	}
	return path
}

// Start starts a server with an empty bucket, which ends with the test. It may have more
// options. A program finds its credentials where the test calls UseCredentials, or TestMain
// SetCredentials.
func Start(t *testing.T, options ...string) *Gateway {
	t.Helper()
	binary, g := gatewayBinary(t), &Gateway{Dir: t.TempDir()}
	address := servers.FreeAddress(t)
	g.URL = "http://" + address
	options = append(options, "--port", address, "--health", "/health", "--quiet", "posix", g.Dir)
	var output bytes.Buffer
	g.command = func() *exec.Cmd {
		cmd := exec.Command(binary, options...)
		cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+Key, "ROOT_SECRET_KEY="+Secret)
		cmd.Stdout, cmd.Stderr = &output, &output
		return cmd
	}
	g.Begin(t)
	t.Cleanup(func() {
		g.End()
		if t.Failed() {
			t.Logf("versitygw printed:\n%s", output.String())
		}
	})
	g.Client = client(t, address)
	g.MakeBucket(t, Bucket)
	return g
}

// Begin starts the server again after End.
func (g *Gateway) Begin(t *testing.T) {
	t.Helper()
	g.process = g.command()
	if err := g.process.Start(); err != nil {
		t.Fatal(err)
	}
	awaitHealth(t, g.URL)
}

// End kills the server.
func (g *Gateway) End() {
	_ = g.process.Process.Kill() // it may have ended
	_ = g.process.Wait()         // by the kill
}

// MakeBucket makes another bucket.
func (g *Gateway) MakeBucket(t *testing.T, name string) {
	t.Helper()
	if err := g.Client.MakeBucket(t.Context(), name, minio.MakeBucketOptions{}); err != nil {
		t.Fatal(err)
	}
}

// client is one with the credentials of a gateway.
func client(t *testing.T, address string) *minio.Client {
	t.Helper()
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := minio.New(address, &minio.Options{Creds: credentials.NewStaticV4(Key, Secret, ""), Region: "us-east-1",
		Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// variables hide what the machine has, so that nothing but the test's credentials is
// found, and no address off the machine is asked.
func variables() map[string]string {
	all := map[string]string{"HOME": "/nonexistent", "AWS_EC2_METADATA_DISABLED": "true", "AWS_ACCESS_KEY_ID": Key,
		"AWS_SECRET_ACCESS_KEY": Secret}
	for _, name := range []string{"AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3",
		"AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
		"MINIO_ROOT_USER", "MINIO_ACCESS_KEY"} {
		all[name] = ""
	}
	return all
}

// UseCredentials gives a test the credentials of gateways, and no others.
func UseCredentials(t *testing.T) {
	t.Helper()
	for name, value := range variables() {
		t.Setenv(name, value)
	}
}

// SetCredentials does so for all tests of a package, which then may be parallel.
func SetCredentials() {
	for name, value := range variables() {
		if err := os.Setenv(name, value); err != nil {
			panic(err)
		}
	}
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
		select {
		case <-ctx.Done():
			t.Fatal("versitygw does not answer")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Objects lists the bucket: keys with sizes.
func (g *Gateway) Objects(t *testing.T) map[string]int64 {
	t.Helper()
	found := map[string]int64{}
	for o := range g.Client.ListObjectsIter(t.Context(), Bucket, minio.ListObjectsOptions{Recursive: true}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
		found[o.Key] = o.Size
	}
	return found
}

// Put puts an object of one byte.
func (g *Gateway) Put(t *testing.T, key string) { g.Write(t, key, "x") }

// Write puts an object.
func (g *Gateway) Write(t *testing.T, key, text string) {
	t.Helper()
	body := strings.NewReader(text)
	if _, err := g.Client.PutObject(t.Context(), Bucket, key, body, body.Size(), minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
}

// Read gets an object.
func (g *Gateway) Read(t *testing.T, key string) string {
	t.Helper()
	o, err := g.Client.GetObject(t.Context(), Bucket, key, minio.GetObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = o.Close() }() // only read
	text, err := io.ReadAll(o)
	if err != nil {
		t.Fatalf("object %q: %v", key, err)
	}
	return string(text)
}

// ETag is that of an object.
func (g *Gateway) ETag(t *testing.T, key string) string {
	t.Helper()
	info, err := g.Client.StatObject(t.Context(), Bucket, key, minio.StatObjectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return info.ETag
}

// Remove deletes an object.
func (g *Gateway) Remove(t *testing.T, key string) {
	t.Helper()
	if err := g.Client.RemoveObject(t.Context(), Bucket, key, minio.RemoveObjectOptions{}); err != nil {
		t.Fatal(err)
	}
}
