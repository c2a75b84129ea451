package cli_test

import (
	"encoding/json"
	"errors"
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/capacity"
	"github.com/scalebench/scalebench/internal/load/loadserver"
)

// exactServer serves 1000 requests a second, exactly: four at a time for 4 ms
// each. It keeps at most a second's worth waiting.
var exactServer = loadserver.Behaviour{Workers: 4, Service: 4 * time.Millisecond, Room: 1000}

// shortWindows make a search of about a minute. At 1 % above what the server
// takes, requests wait for 30 ms by the end of a window, so that the SLA breaks
// within 1 % of it.
var shortWindows = []string{"--sla", "p90=20ms", "--window", "2s", "--warm-up", "1s", "--start", "200op/s"}

// TestCapacityTruth: the capacity of a server whose capacity is arithmetic, and
// what thresholds make of it.
func TestCapacityTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t)
	server := loadserver.Start(t, exactServer)
	r := w.capacity(t, 0, server.URL(), shortWindows...)
	if r.Limit != capacity.LimitTarget || !r.Confirmed || r.Estimate == nil || r.Passed == nil || r.Failed == nil {
		t.Fatalf("limit %s, confirmed %v, estimate %v, warnings %q", r.Limit, r.Confirmed, r.Estimate, r.Warnings)
	}
	const truth = 1000
	t.Logf("1000/s by arithmetic; passed %.1f, failed %.1f, estimate %.1f %v, %d windows", *r.Passed, *r.Failed, *r.Estimate, *r.CI, len(r.Windows))
	for name, v := range map[string]float64{"passed": *r.Passed, "estimate": *r.Estimate} {
		if math.Abs(v-truth) > .03*truth {
			t.Errorf("%s = %.1f, want within 3 %% of %d", name, v, truth)
		}
	}
	if len(w.run("show", "latest")) == 0 || !strings.Contains(w.run("runs"), "capacity of") {
		t.Error("a search is no run like others")
	}
}

// TestCapacityThresholds: --fail-below decides the exit code, and a search ends
// as soon as the largest load allowed has passed.
func TestCapacityThresholds(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t)
	url := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 10 * time.Millisecond, Room: 100}).URL()
	args := []string{"--sla", "p90=50ms", "--window", "1s", "--warm-up", "1s", "--resolution", "0.5"}
	if r := w.capacity(t, 0, url, append(args, "--max", "50op/s", "--start", "50op/s", "--fail-below", "40")...); r.Limit != capacity.LimitCap || r.Estimate != nil {
		t.Errorf("limit %s, estimate %v; want cap and none", r.Limit, r.Estimate)
	}
	if r := w.capacity(t, 3, url, append(args, "--fail-below", "150")...); r.Limit != capacity.LimitTarget {
		t.Errorf("limit %s, want target; %q", r.Limit, r.Warnings)
	}
}

// capacity runs `scalebench capacity`, which must end with this exit code.
func (w *world) capacity(t *testing.T, code int, url string, args ...string) capacity.Record {
	t.Helper()
	out, stderr, err := w.try(append([]string{"capacity", url, "--format", "json"}, args...)...)
	var exit *exec.ExitError
	got := 0
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	}
	if got != code {
		t.Fatalf("scalebench capacity: exit code %d, want %d: %v\n%s\n%s", got, code, err, out, stderr)
	}
	var r capacity.Record
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return r
}
