package objectstore

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	stdlog "log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	store "github.com/scalebench/scalebench/internal/load/objectstore"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/test/servers"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `<?xml version="1.0"?><Error><Code>%s</Code><Message>%s</Message></Error>`, code, message) // the client may be gone
}

// isObject tells requests for objects of the test from those for leases and
// lists.
func isObject(r *http.Request, method string) bool {
	return r.Method == method && strings.Contains(r.URL.Path, "/"+taskWord) && !strings.HasSuffix(r.URL.Path, leaseName)
}

// everyTenth calls fail for the first request for every tenth object, once on
// is set.
func everyTenth(method string, on *atomic.Bool, fail func(w http.ResponseWriter, r *http.Request, pass http.Handler)) func(http.ResponseWriter, *http.Request, http.Handler) {
	var n atomic.Int64
	var seen sync.Map
	return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if on.Load() && isObject(r, method) {
			if _, again := seen.LoadOrStore(r.URL.Path, true); !again && n.Add(1)%10 == 0 {
				fail(w, r, pass)
				return
			}
		}
		pass.ServeHTTP(w, r)
	}
}

// answerSlowDown reads the object and throws it away.
func answerSlowDown(w http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.Copy(io.Discard, r.Body) // whatever comes
	refuse(w, http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate.")
}

// breakOff ends the connection in the middle of an object.
func breakOff(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
	_, _ = io.CopyN(io.Discard, r.Body, r.ContentLength/2) // whatever comes
	panic(http.ErrAbortHandler)
}

// TestEveryTenthFails checks that failures are counted apart and that the work
// reported is exactly that in the bucket.
func TestEveryTenthFails(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, kind string
		retries    int
		fail       func(w http.ResponseWriter, r *http.Request, pass http.Handler)
		errors     float64 // of 100 operations
		objects    int
	}{
		{"slow down", "slow_down", 0, answerSlowDown, 10, 90},
		{"slow down and retry", "slow_down", 2, answerSlowDown, 10, 100},
		{"broken connection", "connection", 0, breakOff, 10, 90},
		{"internal error", "server", 0, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			refuse(w, http.StatusInternalServerError, "InternalError", "We encountered an internal error.")
		}, 10, 90},
		{"denied", "client", 5, func(w http.ResponseWriter, _ *http.Request, _ http.Handler) {
			refuse(w, http.StatusForbidden, "AccessDenied", "Access Denied.")
		}, 10, 90},
	}
	g := startGateway(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var on atomic.Bool
			proxy := s3test.Proxy(t, g.URL, everyTenth(http.MethodPut, &on, tt.fail))
			b := newBench(t, proxy, func(p *Params) {
				p.Count, p.Size, p.Retries, p.MaxErrors, p.Concurrency = 100, 200_000, tt.retries, 0.1, 4
			})
			b.prepare(t)
			on.Store(true)
			if err := b.measure(t); err != nil {
				t.Fatal(err)
			}
			on.Store(false)
			if n := len(g.objects(t)); n != tt.objects {
				t.Errorf("%d objects in the bucket, want %d", n, tt.objects)
			}
			checkFaults(t, b, tt.kind, tt.errors, float64(tt.objects))
		})
	}
}

func checkFaults(t *testing.T, b *bench, kind string, errors, objects float64) {
	t.Helper()
	if got := b.record.last("objectstore_operations"); got != objects {
		t.Errorf("%v operations reported, want %v", got, objects)
	}
	if got := b.record.last("objectstore_put_throughput"); got != objects*200_000 {
		t.Errorf("%v bytes reported, want %v", got, objects*200_000)
	}
	if got := b.record.value("objectstore_errors " + kind); got != errors {
		t.Errorf("%v errors of kind %s, want %v", got, kind, errors)
	}
	if got := b.record.value("objectstore_failed_operations"); got != 100-objects {
		t.Errorf("%v failed operations, want %v", got, 100-objects)
	}
	if got := b.record.value("objectstore_retries"); got != errors-(100-objects) {
		t.Errorf("%v retries, want %v", got, errors-(100-objects))
	}
	if !strings.Contains(b.stderr.String(), kind+": ") {
		t.Errorf("stderr %q does not warn about %s", b.stderr, kind)
	}
}

// TestLostAnswer lets the server store the object and loses the answer: the task
// must not count it, and Cleanup must find it.
func TestLostAnswer(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	var on atomic.Bool
	proxy := s3test.Proxy(t, g.URL, everyTenth(http.MethodPut, &on,
		func(_ http.ResponseWriter, r *http.Request, pass http.Handler) {
			pass.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		}))
	b := newBench(t, proxy, func(p *Params) { p.Count, p.Size, p.Retries, p.MaxErrors = 50, 1000, 0, 0.1 })
	b.prepare(t)
	on.Store(true)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	if got := b.record.last("objectstore_operations"); got != 45 || len(g.objects(t)) != 50 {
		t.Errorf("%v operations reported and %d objects stored, want 45 and 50", got, len(g.objects(t)))
	}
	b.clean(t)
	if left := g.all(t); len(left) > 0 {
		t.Errorf("Cleanup left %v", left)
	}
}

// TestTooManyErrors checks the limit, that a hopeless task ends early, and that
// no figure looks like a result.
func TestTooManyErrors(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	var on atomic.Bool
	var requests atomic.Int64
	proxy := s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if on.Load() && isObject(r, http.MethodPut) {
			requests.Add(1)
			answerSlowDown(w, r, pass)
			return
		}
		pass.ServeHTTP(w, r)
	})
	b := newBench(t, proxy, func(p *Params) { p.Count, p.Size, p.Retries = 1000, 1000, 0 })
	b.prepare(t)
	on.Store(true)
	err := b.measure(t)
	if err == nil || !strings.Contains(err.Error(), "no operation succeeded") || !strings.Contains(err.Error(), "slow_down") {
		t.Errorf("Run() = %v, want that none succeeded, and why", err)
	}
	if n := requests.Load(); n > 15 {
		t.Errorf("%d requests, where 10 failures decide", n)
	}
	for _, s := range b.record.Samples {
		if !s.Info {
			t.Errorf("sample %s = %v of a task in which nothing succeeded", s.Metric, s.Value)
		}
	}
}

// TestTimeout checks that a request without an answer is given up.
func TestTimeout(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	var on atomic.Bool
	proxy := s3test.Proxy(t, g.URL, everyTenth(http.MethodPut, &on,
		func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			_, _ = io.Copy(io.Discard, r.Body) // whatever comes
			<-r.Context().Done()
		}))
	b := newBench(t, proxy, func(p *Params) {
		p.Count, p.Size, p.Retries, p.MaxErrors, p.RequestTimeout = 20, 1000, 0, 0.1, unit.Duration(time.Second)
	})
	b.prepare(t)
	on.Store(true)
	if err := b.measure(t); err != nil {
		t.Fatal(err)
	}
	if got := b.record.value("objectstore_errors timeout"); got != 2 {
		t.Errorf("%v timeouts, want 2", got)
	}
	// A series must be readable although one transfer hung for a second.
	s := b.record.Readings["objectstore_put_throughput"]
	for i := 1; i < len(s); i++ {
		if s[i].After-s[i-1].After > time.Second {
			t.Errorf("no reading from %v to %v", s[i-1].After, s[i].After)
		}
	}
}

// TestCorrupt checks that an object that came back with another bit is seen,
// and not if the user says so.
func TestCorrupt(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	var on atomic.Bool
	proxy := s3test.Proxy(t, g.URL, everyTenth(http.MethodGet, &on,
		func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
			answer := httptest.NewRecorder()
			pass.ServeHTTP(answer, r)
			data := bytes.Clone(answer.Body.Bytes())
			data[len(data)-1] ^= 4
			for k, v := range answer.Header() {
				w.Header()[k] = v
			}
			_, _ = w.Write(data) // the client may be gone
		}))
	for _, verify := range []bool{true, false} {
		on.Store(false)
		b := newBench(t, proxy, func(p *Params) {
			p.Operation, p.Count, p.Objects, p.Size, p.MaxErrors, p.Verify = store.Get, 30, 30, 70_000, 0.1, verify
		})
		b.prepare(t)
		on.Store(true)
		if err := b.measure(t); err != nil {
			t.Fatal(err)
		}
		want := map[bool]float64{true: 3, false: 0}[verify]
		if got := b.record.value("objectstore_errors corrupt"); got != want {
			t.Errorf("verify %v: %v corrupt objects, want %v", verify, got, want)
		}
		if got := b.record.last("objectstore_get_throughput"); got != (30-want)*70_000 {
			t.Errorf("verify %v: %v bytes, want %v", verify, got, (30-want)*70_000)
		}
	}
}

// TestNoSecretIsTold lets a server quote everything it knows.
func TestNoSecretIsTold(t *testing.T) {
	t.Setenv("AWS_SESSION_TOKEN", "testsessiontoken")
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusBadRequest, "InvalidToken", fmt.Sprintf("%v %s %s %s", r.Header, testKey, testSecret, "testsessiontoken"))
	}))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
	b := newBench(t, s.URL, func(p *Params) { p.Create = true })
	err := b.Prepare(t.Context(), b.env)
	if err == nil {
		t.Fatal("Prepare() = nil")
	}
	if !strings.Contains(err.Error(), "token") {
		t.Errorf("Prepare() = %v, want what the server said", err)
	}
	b.clean(t)
	told := err.Error() + b.stdout.String() + b.stderr.String()
	for _, secret := range []string{testKey, testSecret, "testsessiontoken"} {
		if strings.Contains(told, secret) {
			t.Errorf("%q was told: %s", secret, told)
		}
	}
}

// TestNoCredentials must not take nothing for anonymous access.
func TestNoCredentials(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	b := newBench(t, "http://127.0.0.1:1", func(*Params) {})
	if err := b.Prepare(t.Context(), b.env); err == nil || !strings.Contains(err.Error(), "AWS_ACCESS_KEY_ID") {
		t.Errorf("Prepare() = %v, want where credentials belong", err)
	}
	b.clean(t)
}

// TestCredentialsFromProfile takes them from a shared file.
func TestCredentialsFromProfile(t *testing.T) {
	g := startGateway(t)
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	file := filepath.Join(t.TempDir(), "credentials")
	text := fmt.Sprintf("[bench]\naws_access_key_id = %s\naws_secret_access_key = %s\n", testKey, testSecret)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", file)
	t.Setenv("AWS_PROFILE", "bench")
	b := newBench(t, g.URL, func(p *Params) { p.Count, p.Size = 2, 16 })
	b.prepare(t)
	if err := b.measure(t); err != nil {
		t.Error(err)
	}
}

func TestAdvice(t *testing.T) {
	g := startGateway(t)
	wrongSecret := func(t *testing.T) string { t.Setenv("AWS_SECRET_ACCESS_KEY", "wrong"); return g.URL }
	answering := func(status int, code string, header ...string) func(*testing.T) string {
		return func(t *testing.T) string {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if len(header) > 0 {
					w.Header().Set("Date", header[0])
				}
				if r.Method == http.MethodHead {
					w.WriteHeader(http.StatusOK)
					return
				}
				refuse(w, status, code, "No.")
			}))
			t.Cleanup(func() { s.CloseClientConnections(); s.Close() })
			return s.URL
		}
	}
	past := time.Now().Add(-20 * time.Minute).UTC().Format(http.TimeFormat)
	tests := []struct {
		name     string
		endpoint func(*testing.T) string
		want     string
	}{
		{"wrong secret", wrongSecret, "AWS_SECRET_ACCESS_KEY"},
		{"skewed clock", answering(403, "RequestTimeTooSkewed", past), "ahead of the server's: set it"},
		{"region", answering(400, "AuthorizationHeaderMalformed"), "set region"},
		{"host style", answering(403, "SecondLevelDomainForbidden"), "path_style: never"},
		{"no listener", func(t *testing.T) string { return "http://" + servers.FreeAddress(t) }, "check the endpoint"},
		{"no TLS", func(*testing.T) string { return strings.Replace(g.URL, "http:", "https:", 1) }, "write http://"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t, tt.endpoint(t), func(*Params) {})
			err := b.Prepare(t.Context(), b.env)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Prepare() = %v, want %q in it", err, tt.want)
			}
			_ = b.Cleanup(t.Context(), b.env) // nothing can be reached
		})
	}
}

// TestTLS measures through a server with a certificate of its own authority.
func TestTLS(t *testing.T) {
	t.Parallel()
	g := startGateway(t)
	plain := s3test.Proxy(t, g.URL, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		pass.ServeHTTP(w, r)
	})
	secure := httptest.NewTLSServer(nil)
	secure.Config.ErrorLog = stdlog.New(io.Discard, "", 0) // of the client that does not trust it
	secure.Config.Handler = s3test.Forward(t, plain)
	t.Cleanup(func() { secure.CloseClientConnections(); secure.Close() })
	file := filepath.Join(t.TempDir(), "ca.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, change := range []func(*Params){
		func(p *Params) { p.CAFile = file },
		func(p *Params) { p.InsecureTLS = true },
	} {
		b := newBench(t, secure.URL, func(p *Params) { p.Count, p.Size = 5, 300_000; change(p) })
		b.prepare(t)
		if err := b.measure(t); err != nil {
			t.Error(err)
		}
		b.clean(t)
	}
	b := newBench(t, secure.URL, func(*Params) {})
	if err := b.Prepare(t.Context(), b.env); err == nil || !strings.Contains(err.Error(), "ca_file") {
		t.Errorf("Prepare() = %v, want the word ca_file", err)
	}
	b.clean(t)
}
