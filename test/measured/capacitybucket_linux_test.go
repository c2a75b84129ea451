package measured_test

import (
	"fmt"
	"testing"

	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/program"
)

// TestCapacityOfBucket searches for what a real object store takes behind a
// door through which one object comes every 10 ms: 100 a second, by arithmetic.
func TestCapacityOfBucket(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	w := program.Install(t)
	g, target := program.SlowBucket(t)
	args := []string{"--sla", "p90=100ms", "--mix", "get", "--object-size", "10kB", "--records", "8", "--connections", "16",
		"--window", "1s", "--warm-up", "1s", "--start", "50op/s"}
	program.Calmly(t, func() error {
		r, err := w.Capacity(0, target, append(args, "--max", "50op/s")...)
		if err == nil && r.Limit != capacity.LimitCap {
			err = fmt.Errorf("limit %s, want cap; %q", r.Limit, r.Warnings)
		}
		return err
	})
	if left := g.Objects(t); len(left) > 0 {
		t.Errorf("the search left %v", left)
	}
}
