package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/servers/s3test"
)

// ExactServer serves 1000 requests a second, exactly: four at a time for 4 ms
// each. It keeps at most a second's worth waiting.
var ExactServer = loadserver.Behaviour{Workers: 4, Service: 4 * time.Millisecond, Room: 1000}

// Calmly tries again, up to three times: a machine with other work makes some
// windows say nothing, and then a search rightly ends otherwise.
func Calmly(t *testing.T, try func() error) {
	t.Helper()
	var err error
	for range 3 {
		if err = try(); err == nil {
			return
		}
		t.Log("again, for", err)
	}
	t.Error(err)
}

// Capacity runs `scalebench capacity`; another exit code than this is an error.
func (w *Installation) Capacity(code int, url string, args ...string) (r capacity.Record, err error) {
	w.T.Helper()
	out, stderr, err := w.Try(append([]string{"capacity", url, "--format", "json"}, args...)...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		return r, fmt.Errorf("scalebench capacity: exit code %d, want %d: %w\n%s", got, code, err, stderr)
	}
	return r, json.Unmarshal([]byte(out), &r)
}

// LabNginx is a command that serves a page of so many bytes from one process of
// nginx on port 8080 of a lab's host. The options are further ones of the
// server.
func LabNginx(bytes int, options string) string {
	return fmt.Sprintf(`head -c %d /dev/zero > $SCALEBENCH_DIR/index.html; cat > $SCALEBENCH_DIR/nginx.conf <<END
daemon off; worker_processes 1; pid $SCALEBENCH_DIR/pid; error_log stderr;
events { worker_connections 4096; }
http {
  access_log off; keepalive_requests 1000000000;
  client_body_temp_path $SCALEBENCH_DIR; proxy_temp_path $SCALEBENCH_DIR; fastcgi_temp_path $SCALEBENCH_DIR;
  uwsgi_temp_path $SCALEBENCH_DIR; scgi_temp_path $SCALEBENCH_DIR;
  server { listen 8080; root $SCALEBENCH_DIR; %s }
}
END
exec nginx -c $SCALEBENCH_DIR/nginx.conf`, bytes, options)
}

// NeedNginx skips where labs or nginx are not to be had, except in CI.
func NeedNginx(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	NeedLab(t)
	if _, err := exec.LookPath("nginx"); err == nil {
		return
	}
	switch _, err := os.Stat("/usr/sbin/nginx"); {
	case err == nil:
	case os.Getenv("CI") != "":
		t.Fatal("nginx is not installed; scripts/deps.sh does it")
	default:
		t.Skip("nginx is not installed; scripts/deps.sh does it")
	}
}

// PathSearch is a search from a generator in a lab for what nginx takes of a page of
// 10 KiB;
// link limits the generator's link, and options are parameters of the load.
func PathSearch(link, options string) string {
	return fmt.Sprintf(`
fleet: {lab: {nodes: 1%s}}
services: [{name: web, port: 8080, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=100ms, %s}
`, link, LabNginx(10240, ""), options)
}

// PageOnWire is what an answer takes of a link, in bits: the page and its
// headers, of about 240 bytes, in frames of 1514 bytes for 1448 of payload.
const PageOnWire = 8 * (10240 + 240) * 1514. / 1448

// SetLink takes the port of host lab-1 "up" or "down", as if its cable were plugged
// or pulled. Up, it waits until the port passes packets: the kernel looks for a
// carrier once a second.
func SetLink(l *lab.Lab, state string) error {
	port := PortOf(l, "lab-1")
	_, err := InSwitch(l, "ip", "link", "set", port, state)
	for deadline := time.Now().Add(5 * time.Second); err == nil && state == "up"; <-time.After(5 * time.Millisecond) {
		var shown string
		if shown, err = InSwitch(l, "ip", "-o", "link", "show", port); strings.Contains(shown, "state UP") {
			break
		}
		if err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("no carrier: %s", shown)
		}
	}
	return err
}

// PortOf is the switch's end of the link of a host.
func PortOf(l *lab.Lab, host model.NodeID) string {
	for _, h := range l.Manifest().Hosts {
		if h.Name == host {
			return h.Port
		}
	}
	return "none"
}

// InSwitch runs a command where the links of a lab meet.
func InSwitch(l *lab.Lab, args ...string) (string, error) {
	args = append([]string{"netns", "exec", l.Manifest().Switch.Name}, args...)
	out, err := exec.Command("ip", args...).CombinedOutput() //nolint:gosec // of this lab
	if err != nil {
		err = fmt.Errorf("ip %v: %w: %s", args, err, out)
	}
	return string(out), err
}

// SearchFile runs a search of an experiment file; another exit code than this
// is an error.
func (w *Installation) SearchFile(code int, text string) (r capacity.Record, stderr string, err error) {
	w.T.Helper()
	out, stderr, err := w.Try("run", w.Write("search.yaml", text), "--format", "json")
	got, exit := 0, (*exec.ExitError)(nil)
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		return r, stderr, fmt.Errorf("run: exit code %d, want %d: %w\n%s%s", got, code, err, out, stderr)
	}
	return r, stderr, json.Unmarshal([]byte(out), &r)
}

// Decided reports what a search that found a target's capacity would not say.
func Decided(r capacity.Record) error {
	if r.Limit != capacity.LimitTarget || !r.Confirmed || r.Estimate == nil || r.Passed == nil || r.Failed == nil {
		return fmt.Errorf("limit %s, confirmed %v, estimate %v, warnings %q", r.Limit, r.Confirmed, r.Estimate, r.Warnings)
	}
	return nil
}

// Near reports where a capacity is not within 3 % of the truth, or what passed
// not within 5 %.
func Near(r capacity.Record, truth float64) error {
	if math.Abs(*r.Estimate-truth) > .03*truth || math.Abs(*r.Passed-truth) > .05*truth {
		return fmt.Errorf("passed %.1f, estimate %.1f, want within 5 and 3 %% of %.1f", *r.Passed, *r.Estimate, truth)
	}
	return nil
}

// CheckLabPath searches behind a link of 20 Mbit/s, with these parameters of the load: the
// path is at its limit, no capacity is reported, and the figures show the link.
func CheckLabPath(t *testing.T, options string) {
	t.Helper()
	NeedNginx(t)
	const link = 20e6
	most := link / PageOnWire
	Calmly(t, func() error {
		r, stderr, err := InstallForLabs(t).SearchFile(4, PathSearch(", link: 20Mbit/s", options))
		if err != nil {
			return err
		}
		t.Logf("the link takes %.1f/s by arithmetic; passed %v, failed %v, path %+v, %d windows", most, Optional(r.Passed),
			Optional(r.Failed), r.Path, len(r.Windows))
		switch {
		case r.Limit != capacity.LimitPath || r.Path == nil:
			return fmt.Errorf("limit %s, want path; warnings %q", r.Limit, r.Warnings)
		case r.Estimate != nil || r.CI != nil:
			return fmt.Errorf("estimate %v of the target, want none", *r.Estimate)
		case r.Path.Full < 5 || r.Path.Light > r.Path.Full/5:
			return fmt.Errorf("round trips of %.2f ms under a light load and %.2f ms under full, want those of a full queue", r.Path.Light, r.Path.Full)
		case 8*r.Path.Received < .6*link || 8*r.Path.Received > link:
			return fmt.Errorf("%.1f Mbit/s came back through a link of 20", 8*r.Path.Received/1e6)
		case *r.Passed > 1.05*most:
			return fmt.Errorf("%.1f/s passed through a link that takes %.1f/s", *r.Passed, most)
		case !strings.Contains(strings.Join(r.Warnings, "\n"), "the path was at its limit"):
			return fmt.Errorf("no warning says so: %q", r.Warnings)
		case !strings.Contains(stderr, "the path to the target was at its limit"):
			return fmt.Errorf("the end does not say so: %s", stderr)
		}
		return nil
	})
}

// SlowBucket is a bucket of a real object store behind a door through which one object
// comes every 10 ms: 100 a second, by arithmetic.
func SlowBucket(t *testing.T) (g *s3test.Gateway, target string) {
	t.Helper()
	g = s3test.Start(t)
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
	t.Cleanup(door.Stop)
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
	target = strings.Replace(s.URL, "http:", "s3:", 1) + "/" + s3test.Bucket
	return g, target
}
