package jobs

import (
	"io"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// TestRetries: a get that breaks off in the middle and a put that the store refuses for
// now are tried again, and counted; what counts is whole.
func TestRetries(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	text := strings.Repeat("0123456789\n", 10_000)
	for _, key := range []string{"in/a", "in/b", "in/c"} {
		g.Write(t, key, text)
	}
	var seen sync.Map
	url := s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		object := strings.Contains(r.URL.Path, "/in/") || strings.Contains(r.URL.Path, "/out/")
		if _, again := seen.LoadOrStore(r.Method+r.URL.Path, true); again || !object {
			pass.ServeHTTP(w, r)
			return
		}
		switch r.Method {
		case http.MethodGet:
			pass.ServeHTTP(&cut{ResponseWriter: w, left: len(text) / 2}, r)
		case http.MethodPut:
			_, _ = io.Copy(io.Discard, r.Body) // whatever comes
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			pass.ServeHTTP(w, r)
		}
	})
	s := newServer(t)
	gateway := *g
	gateway.URL = url
	a := newTask(t, s, onGateway(&gateway, `"items": {"prefix": "in/"}, "function": "copy", "put": {"prefix": "out",
			"keep": true}, "slots": 1`), 0, 1)
	ran(t, a)
	for name, r := range s.records(jobs.Done) {
		if g.Read(t, r.Output) != text || r.Try != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if v, size := a.Values(), float64(len(text)); v["jobs_get_bytes"] < 1.2*size || v["jobs_get_bytes"] > 1.6*size ||
		v["jobs_put_bytes"] != 2*size || math.Abs(v["jobs_wasted_bytes"]-v["jobs_get_bytes"]-v["jobs_put_bytes"]+2*size) > 1 {
		t.Errorf("bytes of attempts that failed: samples %v", v)
	}
	if v := a.Values(); v["jobs_done"] != 3 || v["jobs_retries"] != 6 || v["jobs_requests"] != 4 || v["jobs_failed"] != 0 {
		t.Errorf("samples %v", v)
	}
}

// cut breaks an answer off.
type cut struct {
	http.ResponseWriter

	left int
}

func (c *cut) Write(p []byte) (int, error) {
	if c.left -= len(p); c.left < 0 {
		panic(http.ErrAbortHandler)
	}
	return c.ResponseWriter.Write(p)
}
