//go:build proof

package proof_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// shortWindows make a search of about a minute. At 1 % above what the server
// takes, requests wait for 30 ms by the end of a window, so that the SLA breaks
// within 1 % of it.
var shortWindows = []string{"--sla", "p90=20ms", "--window", "2s", "--warm-up", "1s", "--start", "200op/s"}

// TestCapacityFailBelow: a capacity that is known, below what --fail-below asks for,
// decides the exit code.
func TestCapacityFailBelow(t *testing.T) {
	parts.Begin(t)
	w := install(t)
	url := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 10 * time.Millisecond, Room: 100}).URL()
	args := []string{"--sla", "p90=50ms", "--window", "1s", "--warm-up", "1s", "--resolution", "0.5"}
	program.Calmly(t, func() error {
		r, err := w.Capacity(3, url, append(args, "--fail-below", "150")...)
		if err == nil && r.Limit != capacity.LimitTarget {
			err = fmt.Errorf("limit %s, want target; %q", r.Limit, r.Warnings)
		}
		return err
	})
}

// TestCapacityOfBucket searches for what a real object store takes behind a door through
// which one object comes every 10 ms: 100 a second, by arithmetic.
func TestCapacityOfBucket(t *testing.T) {
	parts.Begin(t)
	w := install(t)
	g, target := program.SlowBucket(t)
	args := []string{"--sla", "p90=100ms", "--mix", "get", "--object-size", "10kB", "--records", "8", "--connections",
		"16",
		"--window", "1s", "--warm-up", "1s", "--start", "50op/s"}
	program.Calmly(t, func() error {
		// At 101.5 a second the last of three seconds' requests wait for 45 ms.
		r, err := w.Capacity(0, target, append(args, "--sla", "p90=40ms", "--window", "2s", "--max", "200op/s")...)
		if err != nil {
			return err
		}
		if err := program.Decided(r); err != nil {
			return err
		}
		t.Logf("100/s by arithmetic; passed %.1f, failed %.1f, %d windows", *r.Passed, *r.Failed, len(r.Windows))
		return program.Near(r, 100)
	})
	if left := g.Objects(t); len(left) > 0 {
		t.Errorf("the search left %v", left)
	}
}
