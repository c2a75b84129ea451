package e2e_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/study/capacity"
)

// loadProof makes the proof of the load engine and of searches complete.
var loadProof = flag.Bool("load-proof", false, "run every case of the load proof")

// labNginx is a command that serves a page of so many bytes from one process of
// nginx on port 8080 of a lab's host. The options are further ones of the
// server.
func labNginx(bytes int, options string) string {
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

// zipped makes nginx copy and compress the page, so that it has something to do.
const zipped = "sendfile off; gzip on; gzip_types *; gzip_comp_level 6;"

// labCapacity searches for the capacity of nginx on a host with so many cores,
// from a generator with so many.
func (w *world) labCapacity(server, generator float64, code int) capacity.Record {
	w.t.Helper()
	file := w.write("capacity.yaml", fmt.Sprintf(`
fleet: {lab: {nodes: 1, cpu: %g}}
services: [{name: web, port: 8080, cpu: %g, command: %q}]
evaluations: [search]
workloads:
  - {kind: load, target: "http://${service.web}:8080/", sla: p90=100ms, duration: 2s, warm_up: 1s, resolution: 0.05,
     requests: [{headers: {Accept-Encoding: gzip}}]}
`, generator, server, labNginx(65536, zipped)))
	out, stderr, err := w.try("run", file, "--format", "json")
	got := 0
	if exit := (*exec.ExitError)(nil); err != nil {
		if !errors.As(err, &exit) {
			w.t.Fatal(err)
		}
		got = exit.ExitCode()
	}
	if got != code {
		w.t.Fatalf("exit code %d, want %d\n%s\n%s", got, code, out, stderr)
	}
	var r capacity.Record
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		w.t.Fatalf("%v in %s", err, out)
	}
	return r
}

// TestLabCapacity: a server on half a core takes half of what it takes on a
// whole one.
func TestLabCapacity(t *testing.T) {
	if !*loadProof {
		t.Skip("takes three minutes; `make load-proof` runs it")
	}
	needNginx(t)
	calmly(t, func() error {
		half := labWorld(t).labCapacity(.5, 1, 0)
		whole := labWorld(t).labCapacity(1, 1, 0)
		for name, r := range map[string]capacity.Record{"half a core": half, "a core": whole} {
			if r.Limit != capacity.LimitTarget || r.Estimate == nil {
				return fmt.Errorf("%s: limit %s, estimate %v, warnings %q", name, r.Limit, r.Estimate, r.Warnings)
			}
		}
		ratio := *half.Estimate / *whole.Estimate
		t.Logf("nginx takes %.0f/s on half a core, %.0f/s on a core: %.2f", *half.Estimate, *whole.Estimate, ratio)
		if ratio < .42 || ratio > .58 { // a core of a virtual machine is not the same one all the time
			return fmt.Errorf("half a core takes %.2f of what a core does, want about .5", ratio)
		}
		return nil
	})
}

// TestStarvedGenerator: no capacity is reported when it is the generator that
// can do no more.
func TestStarvedGenerator(t *testing.T) {
	if !*loadProof {
		t.Skip("takes two minutes; `make load-proof` runs it")
	}
	needNginx(t)
	r := labWorld(t).labCapacity(1, .03, 4)
	if r.Limit != capacity.LimitGenerator || r.Estimate != nil || r.CI != nil {
		t.Errorf("limit %s, estimate %v, want generator and none", r.Limit, r.Estimate)
	}
	if !strings.Contains(strings.Join(r.Warnings, "\n"), "the target's capacity is unknown") {
		t.Errorf("the warnings do not say why: %q", r.Warnings)
	}
}

// needNginx skips where labs or nginx are not to be had, except in CI.
func needNginx(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	needLab(t)
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
