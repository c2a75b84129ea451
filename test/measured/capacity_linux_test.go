package measured_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
)

// TestCapacityTruth: the capacity of a server with a computed capacity. At 1 %
// above it requests wait for 20 ms by the end of a window.
func TestCapacityTruth(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := program.Install(t)
	server := loadserver.Start(t, program.ExactServer)
	program.Calmly(t, func() error {
		r, err := w.Capacity(0, server.URL(), "--sla", "p90=15ms", "--window", "1s", "--warm-up", "1s", "--start", "200op/s")
		if err != nil {
			return err
		}
		if err := program.Decided(r); err != nil {
			return err
		}
		const truth = 1000
		t.Logf("1000/s by arithmetic; passed %.1f, failed %.1f, estimate %.1f %v, %d windows", *r.Passed, *r.Failed, *r.Estimate, *r.CI, len(r.Windows))
		return program.Near(r, truth)
	})
	if len(w.Run("show", "latest")) == 0 || !strings.Contains(w.Run("runs"), "capacity of") {
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
	w := program.Install(t)
	url := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 10 * time.Millisecond, Room: 100}).URL()
	args := []string{"--sla", "p90=50ms", "--window", "1s", "--warm-up", "1s", "--resolution", "0.5"}
	program.Calmly(t, func() error {
		r, err := w.Capacity(4, url, append(args, "--max", "50op/s", "--start", "50op/s", "--fail-below", "40")...)
		if err == nil && (r.Limit != capacity.LimitCap || r.Estimate != nil || r.HeldFor != 2) {
			err = fmt.Errorf("limit %s, estimate %v, held for %v s; want cap, none and 2", r.Limit, r.Estimate, r.HeldFor)
		}
		return err
	})
}
