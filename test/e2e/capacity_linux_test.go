package e2e_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
)

// exactServer serves 1000 requests a second, exactly: four at a time for 4 ms
// each. It keeps at most a second's worth waiting.
var exactServer = loadserver.Behaviour{Workers: 4, Service: 4 * time.Millisecond, Room: 1000}

// shortWindows make a search of about a minute. At 1 % above what the server
// takes, requests wait for 30 ms by the end of a window, so that the SLA breaks
// within 1 % of it.
var shortWindows = []string{"--sla", "p90=20ms", "--window", "2s", "--warm-up", "1s", "--start", "200op/s"}

// TestCapacityTruth: the capacity of a server with a computed capacity. At 1 %
// above it requests wait for 20 ms by the end of a window.
func TestCapacityTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t)
	server := loadserver.Start(t, exactServer)
	calmly(t, func() error {
		r, err := w.capacity(0, server.URL(), "--sla", "p90=15ms", "--window", "1s", "--warm-up", "1s", "--start", "200op/s")
		if err != nil {
			return err
		}
		if err := decided(r); err != nil {
			return err
		}
		const truth = 1000
		t.Logf("1000/s by arithmetic; passed %.1f, failed %.1f, estimate %.1f %v, %d windows", *r.Passed, *r.Failed, *r.Estimate, *r.CI, len(r.Windows))
		return near(r, truth)
	})
	if len(w.run("show", "latest")) == 0 || !strings.Contains(w.run("runs"), "capacity of") {
		t.Error("show or runs does not list the search like other runs")
	}
}

// TestCapacityThresholds: --fail-below decides the exit code, and a search ends
// as soon as the largest load allowed has passed. Short windows do not show that
// such a load is sustained.
func TestCapacityThresholds(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := newWorld(t)
	url := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 10 * time.Millisecond, Room: 100}).URL()
	args := []string{"--sla", "p90=50ms", "--window", "1s", "--warm-up", "1s", "--resolution", "0.5"}
	calmly(t, func() error {
		r, err := w.capacity(4, url, append(args, "--max", "50op/s", "--start", "50op/s", "--fail-below", "40")...)
		if err == nil && (r.Limit != capacity.LimitCap || r.Estimate != nil || r.HeldFor != 2) {
			err = fmt.Errorf("limit %s, estimate %v, held for %v s; want cap, none and 2", r.Limit, r.Estimate, r.HeldFor)
		}
		return err
	})
	if !*loadProof {
		return // a whole search: `make load-proof` does it
	}
	calmly(t, func() error {
		r, err := w.capacity(3, url, append(args, "--fail-below", "150")...)
		if err == nil && r.Limit != capacity.LimitTarget {
			err = fmt.Errorf("limit %s, want target; %q", r.Limit, r.Warnings)
		}
		return err
	})
}

// calmly tries again, up to three times: a machine with other work makes some
// windows say nothing, and then a search rightly ends otherwise.
func calmly(t *testing.T, try func() error) {
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

// capacity runs `scalebench capacity`; another exit code than this is an error.
func (w *world) capacity(code int, url string, args ...string) (r capacity.Record, err error) {
	w.t.Helper()
	out, stderr, err := w.try(append([]string{"capacity", url, "--format", "json"}, args...)...)
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
