package objectstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/scalebench/scalebench/test/workloadtest"
)

func TestValidate(t *testing.T) {
	workloadtest.Validate(t, Kind(), [][2]string{
		{`{"bucket": "bench"}`, ""},
		{`{"bucket": "bench", "preset": "paper", "endpoint": "https://oss-cn-hangzhou.aliyuncs.com", "path_style": "never"}`, ""},
		{`{"bucket": "bench", "retries": 0, "max_errors": 0, "verify": false, "operation": "get", "keys": "hot"}`, ""},
		{`{}`, "bucket"},
		{`{"bucket": "Bench"}`, "bucket"},
		{`{"bucket": "be..nch"}`, "bucket"},
		{`{"bucket": "bench", "endpoint": "127.0.0.1:7070"}`, "endpoint"},
		{`{"bucket": "bench", "endpoint": "ftp://server"}`, "endpoint"},
		{`{"bucket": "bench", "endpoint": "http://server/bucket"}`, "endpoint"},
		{`{"bucket": "bench", "endpoint": "https://key:secret@server"}`, "endpoint"},
		{`{"bucket": "bench", "path_style": "maybe"}`, "path_style"},
		{`{"bucket": "bench", "preset": "cloud"}`, "preset"},
		{`{"bucket": "bench", "operation": "post"}`, "operation"},
		{`{"bucket": "bench", "keys": "cold"}`, "keys"},
		{`{"bucket": "bench", "prefix": "/a"}`, "prefix"},
		{`{"bucket": "bench", "prefix": "a/../b"}`, "prefix"},
		{`{"bucket": "bench", "prefix": ""}`, "prefix"},
		{`{"bucket": "bench", "size": "15B"}`, "size"},
		{`{"bucket": "bench", "size": "6GiB"}`, "size"},
		{`{"bucket": "bench", "concurrency": 5000}`, "concurrency"},
		{`{"bucket": "bench", "count": -1}`, "count"},
		{`{"bucket": "bench", "count": 10, "duration": "10s"}`, "count"},
		{`{"bucket": "bench", "duration": "10ms"}`, "duration"},
		{`{"bucket": "bench", "retries": -1}`, "retries"},
		{`{"bucket": "bench", "max_errors": 1.5}`, "max_errors"},
		{`{"bucket": "bench", "get_share": -0.5}`, "get_share"},
		{`{"bucket": "bench", "operation": "mixed", "get_share": 1.5}`, "get_share"},
		{`{"bucket": "bench", "operation": "mixed", "get_share": 0, "objects": 3}`, ""},
		{`{"bucket": "bench", "operation": "get", "objects": 3}`, ""},
		{`{"bucket": "bench", "operation": "get", "get_share": 0.5}`, "get_share"},
		{`{"bucket": "bench", "operation": "put", "objects": 3}`, "objects"},
		{`{"bucket": "bench", "preset": "paper", "objects": 3}`, "objects"},
		{`{"bucket": "bench", "objects": -5}`, "objects"},
		{`{"bucket": "bench", "request_timeout": "1ms"}`, "request_timeout"},
	})
}

// FuzzParseEndpoint checks that what is accepted is a server and nothing more,
// and that what is refused is not repeated.
func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1:7070", "https://s3.amazonaws.com/", "https://key:secret@host", "http://[::1]:80", "//x", "http://h?x=y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseEndpoint(s)
		if err == nil && (u.Hostname() == "" || u.User != nil || u.RawQuery != "") {
			t.Errorf("parseEndpoint(%q) = %v", s, u)
		}
	})
}

func TestSettings(t *testing.T) {
	cores := runtime.GOMAXPROCS(0)
	tests := []struct {
		params string
		want   settings
	}{
		{`{}`, settings{operation: Put, size: 8 << 20, concurrency: cores, duration: 30 * time.Second}},
		{`{"preset": "paper"}`, settings{operation: PutDelete, size: 1e8, concurrency: cores, count: 3200}},
		{`{"preset": "paper", "count": 10, "size": "1MB", "concurrency": 3}`, settings{operation: PutDelete, size: 1e6, concurrency: 3, count: 10}},
		{`{"preset": "paper", "duration": "1m"}`, settings{operation: PutDelete, size: 1e8, concurrency: cores, duration: time.Minute}},
		{`{"operation": "get", "concurrency": 3}`, settings{operation: Get, size: 8 << 20, concurrency: 3, duration: 30 * time.Second, objects: 12}},
		{`{"operation": "mixed", "objects": 5, "count": 7, "concurrency": 3}`, settings{operation: Mixed, getShare: 0.5, size: 8 << 20, concurrency: 3, count: 7, objects: 5}},
		{`{"operation": "mixed", "get_share": 0, "concurrency": 1, "count": 7}`, settings{operation: Mixed, size: 8 << 20, concurrency: 1, count: 7, objects: 4}},
	}
	for _, tt := range tests {
		p, ok := Kind().New().(*Params)
		if !ok {
			t.Fatal("New returns something else")
		}
		if err := json.Unmarshal([]byte(tt.params), p); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tt.want, p.settings(), cmp.AllowUnexported(settings{})); diff != "" {
			t.Errorf("settings of %s (-want +got):\n%s", tt.params, diff)
		}
		if p.Estimate() != tt.want.duration {
			t.Errorf("Estimate() = %v, want %v", p.Estimate(), tt.want.duration)
		}
	}
}

func TestFindEndpoint(t *testing.T) {
	tests := []struct {
		given, region string
		environ       []string
		want          string
	}{
		{"http://server:9000", "eu-west-1", []string{"AWS_ENDPOINT_URL=http://other"}, "http://server:9000"},
		{"", "eu-west-1", []string{"AWS_ENDPOINT_URL=http://any", "AWS_ENDPOINT_URL_S3=http://s3"}, "http://s3"},
		{"", "eu-west-1", []string{"AWS_ENDPOINT_URL=http://any"}, "http://any"},
		{"", "eu-west-1", nil, "https://s3.eu-west-1.amazonaws.com"},
		{"", "cn-north-1", nil, "https://s3.cn-north-1.amazonaws.com.cn"},
		{"", "", nil, "https://s3.amazonaws.com"},
	}
	for _, tt := range tests {
		if got := findEndpoint(tt.given, tt.region, lookup(tt.environ)); got != tt.want {
			t.Errorf("findEndpoint(%q, %q) with %v = %q, want %q", tt.given, tt.region, tt.environ, got, tt.want)
		}
	}
}

func TestKindOf(t *testing.T) {
	answer := func(status int, code string) error {
		return fmt.Errorf("wrapped: %w", minio.ErrorResponse{StatusCode: status, Code: code})
	}
	tests := []struct {
		name string
		err  error
		want failure
	}{
		{"S3 throttles", answer(503, "SlowDown"), failSlowDown},
		{"Aliyun throttles", answer(503, "QpsLimitExceeded"), failSlowDown},
		{"status only", answer(429, ""), failSlowDown},
		{"unavailable", answer(503, "ServiceUnavailable"), failServer},
		{"internal", answer(500, "InternalError"), failServer},
		{"denied", answer(403, "AccessDenied"), failClient},
		{"too slow for the server", answer(400, "RequestTimeout"), failTimeout},
		{"deadline", fmt.Errorf("put: %w", context.DeadlineExceeded), failTimeout},
		{"socket timeout", &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}, failTimeout},
		{"reset", &net.OpError{Op: "read", Err: errors.New("connection reset by peer")}, failConnection},
		{"corrupt", fmt.Errorf("%w: longer", errCorrupt), failCorrupt},
	}
	for _, tt := range tests {
		if got := kindOf(tt.err); got != tt.want {
			t.Errorf("%s: kindOf(%v) = %s, want %s", tt.name, tt.err, got, tt.want)
		}
	}
}

func TestScrubText(t *testing.T) {
	v := credentials.Value{AccessKeyID: "AKIA1", SecretAccessKey: "s3cret", SessionToken: "tok"}
	if got, want := scrubText("AKIA1 said s3cret and tok", v), "[credential] said [credential] and [credential]"; got != want {
		t.Errorf("scrubText() = %q, want %q", got, want)
	}
	if got := scrubText("nothing", credentials.Value{}); got != "nothing" {
		t.Errorf("scrubText() without credentials = %q", got)
	}
}

func TestDirectories(t *testing.T) {
	now := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	for _, keys := range []string{UUIDKeys, HotKeys} {
		dir, other := newDirectory("a/b", keys, now), newDirectory("a/b", keys, now)
		if dir == other || !isTask("a/b", dir) || isTask("a", dir) || isTask("a/b", dir+"x") {
			t.Errorf("newDirectory(%s) = %s and %s", keys, dir, other)
		}
		// Tasks of one trial begin within seconds: hot keys share what the
		// first of 65 seconds have in common.
		if shared := dir[:len("a/b/task-019cb732")] == other[:len("a/b/task-019cb732")]; shared != (keys == HotKeys) {
			t.Errorf("%s keys lie in %s and %s", keys, dir, other)
		}
		if o := newObject(dir, keys, 17); !isOurs(dir, o.key) || isOurs(other, o.key) {
			t.Errorf("isOurs(%s) is wrong", o.key)
		}
	}
}

func TestBackoff(t *testing.T) {
	for n, want := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 200 * time.Millisecond, 5: 3200 * time.Millisecond, 6: 5 * time.Second, 99: 5 * time.Second} {
		if got := backoff(n); got != want {
			t.Errorf("backoff(%d) = %v, want %v", n, got, want)
		}
	}
}
