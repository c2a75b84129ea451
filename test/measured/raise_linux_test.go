package measured_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"github.com/scalebench/scalebench/test/program"
)

// TestRaise: a volume with limits drawn at random is raised within a run. The throughput
// grows as arithmetic says, and by at most what the pressures before allowed.
func TestRaise(t *testing.T) {
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	program.NeedLab(t)
	t.Parallel() // it waits for its volume, which its own limits hold back
	rng := drawn(t)
	const kib = 64
	iops, times := 10*(10+rng.IntN(20)), 2+rng.IntN(5)
	room := 1.5 + 2*rng.Float64() // how many times the bytes allow
	bandwidth := int(room * float64(iops*kib))
	file := fmt.Sprintf(`fleet:
  lab: {nodes: 1, volumes: [{name: data, type: raw, size: 64MiB, iops: %d, bandwidth: %dKiB/s}]}
workloads:
- {kind: disk, volume: data, pattern: random, operation: read, block_size: %dKiB, depth: 16, size: 32MiB,
   ramp: 500ms, duration: 3s, layout: false}
study: {kind: pressure, models: [{name: lab}], raise: {data: {iops: %d}}}
`, iops, bandwidth, kib, times*iops)
	want := min(float64(times), room)
	program.Calmly(t, func() error {
		w := program.Install(t)
		out, stderr, err := w.Try("run", w.Write("raise.yaml", file), "--format", "json")
		if err != nil {
			return fmt.Errorf("%w: %s", err, stderr)
		}
		var r struct {
			Raised []struct{ Growth, Predicted float64 }
			Advice []struct{ Action, Quality string }
		}
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err) // again would be no better
		}
		t.Logf("%d op/s × %d, %d KiB/s: %s", iops, times, bandwidth, out[max(0, len(out)-700):])
		switch {
		case len(r.Raised) == 0 || len(r.Advice) == 0:
			return fmt.Errorf("no growth, or no advice: %+v", r)
		case r.Advice[0].Action != "raise" || r.Advice[0].Quality != "ops.read":
			return fmt.Errorf("advice %+v, want a raise of ops.read", r.Advice)
		case math.Abs(r.Raised[0].Growth/want-1) > .05:
			return fmt.Errorf("growth %.3f, want %.3f", r.Raised[0].Growth, want)
		case r.Raised[0].Growth > 1.05*r.Raised[0].Predicted:
			return fmt.Errorf("growth %.3f, predicted at most %.3f", r.Raised[0].Growth, r.Raised[0].Predicted)
		}
		return nil
	})
}
