package objectstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/scalebench/scalebench/internal/workload"
)

// FuzzParseEndpoint checks that what is accepted is a server and nothing more,
// and that what is refused is not repeated.
func FuzzParseEndpoint(f *testing.F) {
	for _, s := range []string{"http://127.0.0.1:7070", "https://s3.amazonaws.com/", "https://key:secret@host", "http://[::1]:80", "//x", "http://h?x=y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseEndpoint(s)
		if err == nil && (u.Hostname() == "" || u.User != nil || u.RawQuery != "") {
			t.Errorf("ParseEndpoint(%q) = %v", s, u)
		}
	})
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
		getenv := func(name string) string {
			value, _ := workload.Getenv(tt.environ, name)
			return value
		}
		if got := findEndpoint(tt.given, tt.region, getenv); got != tt.want {
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
		want Failure
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

func TestScrub(t *testing.T) {
	scrub := func(text string, v credentials.Value) string {
		return (&connection{creds: credentials.New(&credentials.Static{Value: v})}).scrub(text)
	}
	v := credentials.Value{AccessKeyID: "AKIA1", SecretAccessKey: "s3cret", SessionToken: "tok"}
	if got, want := scrub("AKIA1 said s3cret and tok", v), "[credential] said [credential] and [credential]"; got != want {
		t.Errorf("scrub() = %q, want %q", got, want)
	}
	if got := scrub("nothing", credentials.Value{}); got != "nothing" {
		t.Errorf("scrub() without credentials = %q", got)
	}
}

func TestDirectories(t *testing.T) {
	for _, keys := range []string{UUIDKeys, HotKeys} {
		dir, other := newDirectory("a/b", keys), newDirectory("a/b", keys)
		if dir == other || !IsTask("a/b", dir) || IsTask("a", dir) || IsTask("a/b", dir+"x") {
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

func TestPauseAfter(t *testing.T) {
	for n, want := range map[int]time.Duration{0: 100 * time.Millisecond, 1: 200 * time.Millisecond, 5: 3200 * time.Millisecond, 6: 5 * time.Second, 99: 5 * time.Second} {
		if got := pauseAfter(n); got != want {
			t.Errorf("pauseAfter(%d) = %v, want %v", n, got, want)
		}
	}
}

// TestRepeat: errors that may pass are met with as many attempts as allowed, and
// pauses between them; the last failure is followed by one only where asked for.
func TestRepeat(t *testing.T) {
	throttled, denied := minio.ErrorResponse{StatusCode: 503}, minio.ErrorResponse{StatusCode: 403}
	for _, tt := range []struct {
		name     string
		errs     []error // of the attempts
		linger   bool
		attempts int
		took     time.Duration
		again    []bool
	}{
		{"at once", []error{nil}, true, 1, 0, nil},
		{"the third", []error{throttled, throttled, nil}, false, 3, 300 * time.Millisecond, []bool{true, true}},
		{"given up", []error{throttled, throttled, throttled}, false, 3, 300 * time.Millisecond, []bool{true, true, false}},
		{"given up, then a pause", []error{throttled, throttled, throttled}, true, 3, 700 * time.Millisecond, []bool{true, true, false}},
		{"of no use", []error{denied}, false, 1, 0, []bool{false}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begin, n := time.Now(), 0
				var again []bool
				err := repeat(t.Context(), 2, tt.linger, func() error { n++; return tt.errs[n-1] }, func(_ error, more bool) { again = append(again, more) })
				if !errors.Is(err, tt.errs[tt.attempts-1]) || n != tt.attempts || time.Since(begin) != tt.took || !slices.Equal(again, tt.again) {
					t.Errorf("%v after %d attempts in %v, again %v; want %v after %d in %v, %v", err, n, time.Since(begin), again, tt.errs[tt.attempts-1], tt.attempts, tt.took, tt.again)
				}
			})
		})
	}
}
