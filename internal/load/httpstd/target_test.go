package httpstd_test

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpstd"
	"github.com/scalebench/scalebench/internal/model"
)

// TestProtocols: what is asked for is spoken, over TLS and in plain.
func TestProtocols(t *testing.T) {
	for name, c := range map[string]struct {
		tls, http2 bool
		want       string
	}{
		"negotiated over TLS": {true, false, "HTTP/2.0"},
		"2 over TLS":          {true, true, "HTTP/2.0"},
		"plain":               {false, false, "HTTP/1.1"},
		"2 in plain":          {false, true, "HTTP/2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			var proto atomic.Value
			s := serve(t, c.tls, func(w http.ResponseWriter, r *http.Request) {
				proto.Store(r.Proto)
				_, _ = io.WriteString(w, "hello")
			})
			client := open(t, newTarget(t, httpstd.Config{Requests: get(s.URL), HTTP2: c.http2, Insecure: true}))
			for range 3 {
				if err := client.Do(soon(t), 0); err != nil {
					t.Errorf("Do() = %v", err)
				}
			}
			if proto.Load() != c.want || s.connections.Load() != 1 {
				t.Errorf("spoken %v over %d connections, want %v over 1", proto.Load(), s.connections.Load(), c.want)
			}
		})
	}
}

// TestRequestsAreSentAsDescribed, every time.
func TestRequestsAreSentAsDescribed(t *testing.T) {
	type seen struct{ Method, Path, Host, Body, Agent, Type, Encoding string }
	got := make(chan seen, 2)
	s := serve(t, false, func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- seen{r.Method, r.URL.String(), r.Host, string(body), r.UserAgent(), r.Header.Get("content-type"), r.Header.Get("Accept-Encoding")}
	})
	requests := []load.Request{
		{Name: "read", URL: s.URL + "/a?b=c%20d", Weight: 1, Header: http.Header{"host": {"www.example.com"}}},
		{Name: "write", Method: "POST", URL: s.URL + "/b", Weight: 1, Body: []byte("the body"),
			Header: http.Header{"content-type": {"text/plain"}, "User-Agent": {"me"}, "Accept-Encoding": {"gzip"}}},
	}
	host := strings.TrimPrefix(s.URL, "http://")
	want := []seen{
		{"GET", "/a?b=c%20d", "www.example.com", "", "scalebench", "", ""},
		{"POST", "/b", host, "the body", "me", "text/plain", "gzip"},
	}
	for _, http2 := range []bool{false, true} {
		target := newTarget(t, httpstd.Config{Requests: requests, HTTP2: http2})
		client := open(t, target)
		for i := range 4 {
			if err := client.Do(soon(t), i%2); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want[i%2], <-got); diff != "" {
				t.Errorf("HTTP/2 %v: the server saw (-want +got):\n%s", http2, diff)
			}
		}
	}
}

// TestStatuses: what is expected is OK, and nothing is followed.
func TestStatuses(t *testing.T) {
	s := serve(t, true, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/moved":
			http.Redirect(w, r, "/elsewhere", http.StatusFound)
		case "/missing":
			http.NotFound(w, r)
		case "/empty":
			w.WriteHeader(http.StatusNoContent)
		default:
			t.Errorf("unexpected request for %s", r.URL)
		}
	})
	only, err := load.ParseStatuses("404")
	if err != nil {
		t.Fatal(err)
	}
	redirects, err := load.ParseStatuses("3xx")
	if err != nil {
		t.Fatal(err)
	}
	requests := []load.Request{
		{Name: "moved", URL: s.URL + "/moved", Weight: 1},
		{Name: "to be moved", URL: s.URL + "/moved", Weight: 1, Expect: redirects},
		{Name: "missing", URL: s.URL + "/missing", Weight: 1},
		{Name: "to be missing", URL: s.URL + "/missing", Weight: 1, Expect: only},
		{Name: "empty", URL: s.URL + "/empty", Weight: 1, Expect: only},
		{Name: "head", Method: "HEAD", URL: s.URL + "/missing", Weight: 1, Expect: only},
	}
	client := open(t, newTarget(t, httpstd.Config{Requests: requests, Insecure: true}))
	for i, status := range []int{302, 0, 404, 0, 204, 0} {
		err := client.Do(soon(t), i)
		e, failed := errors.AsType[*load.Error](err)
		if failed != (status > 0) || failed && (e.Kind != load.ErrStatus || e.Status != status) {
			t.Errorf("%s: Do() = %v, want the status %d", requests[i].Name, err, status)
		}
	}
	if n := s.connections.Load(); n != 1 {
		t.Errorf("%d connections, want 1: a status ends none", n)
	}
}

// TestCertificates: who is not trusted is not talked to.
func TestCertificates(t *testing.T) {
	s := serve(t, true, func(http.ResponseWriter, *http.Request) {})
	ca := s.caFile(t)
	for name, c := range map[string]struct {
		config httpstd.Config
		fails  string
	}{
		"unknown":  {httpstd.Config{}, "certificate"},
		"insecure": {httpstd.Config{Insecure: true}, ""},
		"trusted":  {httpstd.Config{Trust: load.Trust{File: ca}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.config.Requests = get(s.URL)
			client, err := newTarget(t, c.config).Open(soon(t), 0)
			if c.fails != "" {
				if err == nil || load.KindOf(err) != load.ErrConnect || !strings.Contains(err.Error(), c.fails) {
					t.Errorf("Open = %v, want an error of kind connect about %q", err, c.fails)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := client.Do(soon(t), 0); err != nil {
				t.Errorf("Do() = %v", err)
			}
			if err := client.Close(); err != nil {
				t.Errorf("Close() = %v", err)
			}
		})
	}
}

// TestConnectionClose: a server that closes after each answer costs
// connections, but no operation.
func TestConnectionClose(t *testing.T) {
	s := serve(t, false, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close") })
	x := offer(t, newTarget(t, httpstd.Config{Requests: get(s.URL)}), load.PoolConfig{Clients: 5, Timeout: 20 * time.Second}, 20, 200)
	if x.OK != 20 || x.Opened != 20 || s.connections.Load() != 20 {
		t.Errorf("%+v, %d opened, the server saw %d; want 20 of each", x.Counts, x.Opened, s.connections.Load())
	}
}

// TestSeveralOrigins: each gets its connection, and its requests.
func TestSeveralOrigins(t *testing.T) {
	var a, b atomic.Int64
	sa := serve(t, true, func(http.ResponseWriter, *http.Request) { a.Add(1) })
	sb := serve(t, false, func(http.ResponseWriter, *http.Request) { b.Add(1) })
	target := newTarget(t, httpstd.Config{Insecure: true, Requests: []load.Request{
		{Name: "a", URL: sa.URL, Weight: 1}, {Name: "b", URL: sb.URL + "/x", Weight: 1}, {Name: "a again", URL: sa.URL + "/y", Weight: 1},
	}})
	client := open(t, target)
	for op := range 3 {
		if err := client.Do(soon(t), op); err != nil {
			t.Errorf("Do(%d) = %v", op, err)
		}
	}
	if a.Load() != 2 || b.Load() != 1 || sa.connections.Load() != 1 || sb.connections.Load() != 1 {
		t.Errorf("requests %d and %d, want 2 and 1; connections %d and %d, want 1 each", a.Load(), b.Load(), sa.connections.Load(), sb.connections.Load())
	}
	sb.Close()
	if _, err := target.Open(soon(t), 1); load.KindOf(err) != load.ErrConnect {
		t.Errorf("Open with one origin away = %v, want the kind connect", err)
	}
}

func TestNewRefuses(t *testing.T) {
	const u = "https://127.0.0.1:1/"
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]httpstd.Config{
		"nothing to send": {},
		"bad request":     {Requests: []load.Request{{Name: "x", URL: "nowhere", Weight: 1}}},
		"no such file":    {Requests: get(u), Trust: load.Trust{File: filepath.Join(empty, "x")}},
		"no certificate":  {Requests: get(u), Trust: load.Trust{File: empty}},
	} {
		if _, err := httpstd.New(c); !errors.Is(err, model.ErrUsage) {
			t.Errorf("%s: New = %v, want model.ErrUsage", name, err)
		}
	}
}
