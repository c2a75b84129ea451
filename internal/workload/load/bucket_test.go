package load

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/experiment"
	engine "github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/unit"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// inFront starts a proxy in front of a gateway, and returns the URL of the
// bucket behind it. The host name stays, for it is signed.
func inFront(t *testing.T, g *s3test.Gateway, handle func(w http.ResponseWriter, r *http.Request, pass http.Handler)) string {
	t.Helper()
	to, err := url.Parse(g.URL)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	pass := &httputil.ReverseProxy{
		Transport: transport, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handle(w, r, pass) }))
	t.Cleanup(func() { s.CloseClientConnections(); s.Close(); transport.CloseIdleConnections() })
	return strings.Replace(s.URL, "http:", "s3:", 1) + "/" + s3test.Bucket
}

// TestBucket offers a load to a real object store: what is reported is what
// came there, kinds are apart, every byte is compared, and nothing stays.
func TestBucket(t *testing.T) {
	t.Parallel()
	g := s3test.Start(t)
	var corrupt atomic.Bool
	var puts, gets, corrupted atomic.Int64
	target := inFront(t, g, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		isObject := strings.Contains(r.URL.Path, "/task-") && !strings.HasSuffix(r.URL.Path, "/.lease")
		switch {
		case isObject && r.Method == http.MethodPut && r.ContentLength == 10_000:
			puts.Add(1)
		case isObject && r.Method == http.MethodGet && corrupt.Load() && gets.Add(1)%10 == 0:
			answer := httptest.NewRecorder()
			pass.ServeHTTP(answer, r)
			content := answer.Body.Bytes()
			if len(content) == 10_000 { // and not one that tries the store out
				corrupted.Add(1)
				content[len(content)-1] ^= 1
			}
			maps.Copy(w.Header(), answer.Header())
			_, _ = w.Write(content) // the client may be gone
			return
		}
		pass.ServeHTTP(w, r)
	})
	for _, corrupting := range []bool{false, true} {
		p := params(target, 50)
		p.Objects = defaultObjects()
		p.Objects.Size, p.Objects.Count, p.Connections = 10_000, 7, 8
		corrupt.Store(corrupting)
		puts.Store(0)
		s, _ := run(t, p, 1, "AWS_REGION=us-east-1")
		total, err := s.Total()
		if err != nil {
			t.Fatal(err)
		}
		wrong := total.Errors[engine.ErrWrong]
		if total.Due != 100 || total.OK+wrong != 100 || (wrong > 0) != corrupting || wrong > corrupted.Load() {
			t.Errorf("corrupting %v: %+v; 50/s for 2 s are 100, of which %d or fewer are wrong", corrupting, total.Counts, corrupted.Load())
		}
		if s.Names[0] != "put" || s.Names[1] != "get" || s.Ops[0].OK < 30 || s.Ops[1].OK+wrong < 30 {
			t.Errorf("operations %v, %+v; want puts and gets, half and half", s.Names, s.Ops)
		}
		// Half of 50 in the second of warming up are puts, too; at most all are.
		if n := puts.Load(); n < 7+s.Ops[0].OK || n > 7+s.Ops[0].OK+50 {
			t.Errorf("%d objects were put, %d are reported in two of three seconds, beside 7 before", n, s.Ops[0].OK)
		}
		if left := g.Objects(t); len(left) > 0 {
			t.Errorf("Cleanup left %v", left)
		}
	}
}

// TestBucketBusy: a store behind a door that opens every 20 ms answers
// 50 a second of 100 that are due, and what is late counts from when it was due.
func TestBucketBusy(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	g := s3test.Start(t)
	t.Setenv("AWS_REGION", "us-east-1")
	door := time.NewTicker(20 * time.Millisecond)
	defer door.Stop()
	target := inFront(t, g, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		select {
		case <-door.C:
		case <-r.Context().Done():
		}
		pass.ServeHTTP(w, r)
	})
	p := params(target, 100)
	p.Objects, p.Connections, p.Duration = defaultObjects(), 4, unit.Duration(3*time.Second)
	p.Objects.Operation, p.Objects.Size, p.Objects.Count = "get", 1000, 4
	s, _ := run(t, p, 1)
	total, err := s.Total()
	if err != nil {
		t.Fatal(err)
	}
	achieved := float64(s.Replies) / s.Scored.Seconds()
	t.Logf("%.1f/s of 100/s, p90 %v", achieved, time.Duration(total.Latency.ValueAtPercentile(90)))
	if achieved > 51 || achieved < 15 || total.Latency.ValueAtPercentile(90) < int64(time.Second) {
		t.Errorf("%.1f answers a second, p90 %v; want below 50, and seconds", achieved, time.Duration(total.Latency.ValueAtPercentile(90)))
	}
}

func TestBucketRefused(t *testing.T) {
	for text, want := range map[string]string{
		`{"target": "s3://host:1/bench"}`: "",
		`{"target": "s3s://host/bench", "insecure": true, "objects": {"operation": "put_delete", "size": "64KiB"}}`: "",
		`{"target": "s3://host:1"}`:                                      "s3://host:port/bucket",
		`{"target": "s3://host:1/Bench"}`:                                "lower-case letters",
		`{"target": "s3://key:secret@host/bench"}`:                       "AWS_ACCESS_KEY_ID",
		`{"target": "s3://host:1/bench", "insecure": true}`:              "insecure",
		`{"target": "s3://host:1/bench", "data": {}}`:                    "data",
		`{"target": "s3://host:1/bench", "objects": {"size": "3B"}}`:     "objects.size",
		`{"target": "s3://host:1/bench", "objects": {"get_share": 2}}`:   "objects.get_share",
		`{"target": "s3://host:1/bench", "objects": {"prefix": "../x"}}`: "prefix",
		`{"target": "http://host:1/", "objects": {}}`:                    "s3://",
	} {
		p := params("", 10)
		if err := json.Unmarshal([]byte(text), p); err != nil {
			t.Fatal(err)
		}
		err := p.Validate()
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret@")) {
			t.Errorf("%s: Validate() = %v, want %q in it", text, err, want)
		}
	}
}

// TestBucketAway: what cannot be reached is told before any load, with what to
// do, and nothing is left running.
func TestBucketAway(t *testing.T) {
	g := s3test.Start(t)
	t.Setenv("AWS_REGION", "us-east-1")
	p := params(strings.Replace(g.URL, "http:", "s3:", 1)+"/missing", 10)
	env := &workload.Env{Parts: 1, Environ: os.Environ(), Stdout: io.Discard, Stderr: io.Discard, Report: &workloadtest.Record{T: t}}
	err := p.Prepare(t.Context(), env)
	if err == nil || !strings.Contains(err.Error(), `bucket "missing" does not exist`) || !errors.Is(err, model.ErrUnavailable) {
		t.Errorf("Prepare() = %v, want that there is no such bucket", err)
	}
	if err := p.Cleanup(t.Context(), env); err != nil {
		t.Error(err)
	}
}

// TestFileDefaults: what a file leaves out of a group of keys has its default.
func TestFileDefaults(t *testing.T) {
	for text, want := range map[string]func(*Params) bool{
		"target: 's3://host:1/bench', objects: {operation: get}": func(p *Params) bool {
			o := *defaultObjects()
			o.Operation = "get"
			return *p.Objects == o
		},
		"target: 'redis://host:1', data: {workload: a}": func(p *Params) bool {
			d := *defaultData()
			d.Workload = "a"
			return *p.Data == d
		},
	} {
		file := "name: x\nfleet: {local: {nodes: 1}}\nworkloads: [{kind: load, rate: 5op/s, " + text + "}]\n"
		exp, err := experiment.Parse("x.yaml", []byte(file), experiment.Kinds{Workloads: workload.NewRegistry(Kind())}, nil)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if p, ok := exp.Workloads[0].Bench.(*Params); !ok || !want(p) {
			t.Errorf("%s: %+v", text, exp.Workloads[0].Bench)
		}
	}
}
