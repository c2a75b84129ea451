package e2e_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/s3test"
)

// TestCapacityOfBucket searches for what a real object store takes behind a
// door through which one object comes every 10 ms: 100 a second, by arithmetic.
func TestCapacityOfBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t)
	g := s3test.Start(t)
	s3test.UseCredentials(t)
	t.Setenv("AWS_REGION", "us-east-1")
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := &httputil.ReverseProxy{
		Rewrite:      func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	door := time.NewTicker(10 * time.Millisecond)
	defer door.Stop()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/task-") {
			select {
			case <-door.C:
			case <-r.Context().Done():
			}
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	target := strings.Replace(s.URL, "http:", "s3:", 1) + "/" + s3test.Bucket
	args := []string{"--sla", "p90=100ms", "--mix", "get", "--object-size", "10kB", "--records", "8", "--connections", "16",
		"--window", "1s", "--warm-up", "1s", "--start", "50op/s"}
	calmly(t, func() error {
		r, err := w.capacity(0, target, append(args, "--max", "50op/s")...)
		if err == nil && r.Limit != capacity.LimitCap {
			err = fmt.Errorf("limit %s, want cap; %q", r.Limit, r.Warnings)
		}
		return err
	})
	if *loadProof { // a whole search: `make load-proof` does it
		calmly(t, func() error {
			// At 101.5 a second the last of three seconds' requests wait for 45 ms.
			r, err := w.capacity(0, target, append(args, "--sla", "p90=40ms", "--window", "2s", "--max", "200op/s")...)
			if err != nil {
				return err
			}
			if err := decided(r); err != nil {
				return err
			}
			t.Logf("100/s by arithmetic; passed %.1f, failed %.1f, %d windows", *r.Passed, *r.Failed, len(r.Windows))
			return near(r, 100)
		})
	}
	if left := g.Objects(t); len(left) > 0 {
		t.Errorf("the search left %v", left)
	}
}
