//go:build proof

package proof_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
)

// runExample runs an example from beginning to end, as a user would.
func runExample(t *testing.T, name string, set ...string) []evaluation.Finding {
	t.Helper()
	w := install(t)
	args := []string{"run", program.ExampleFile(name)}
	for _, s := range set {
		args = append(args, "--set", s)
	}
	w.Run(args...)
	program.CheckComplete(t, w.Data("latest"))
	findings := w.Findings("latest")
	if len(findings) == 0 {
		t.Fatal("no findings")
	}
	return findings
}

// measure repeats a measurement until check finds nothing wrong with it.
func measure(t *testing.T, name string, check func(evaluation.Finding) string, set ...string) {
	t.Helper()
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	for try := 1; ; try++ {
		wrong := ""
		for _, f := range runExample(t, name, set...) {
			if f.CDI == nil || f.CI == nil {
				t.Fatalf("%s: CDI %v, interval %v; warnings %q", f.Metric, f.CDI, f.CI, f.Warnings)
			}
			t.Logf("try %d, %s: CDI %.2f %% [%.2f, %.2f] %s; overlap %.3f, skew %.2f ms; warnings %q",
				try, f.Metric, *f.CDI, f.CI[0], f.CI[1], f.Verdict, *f.Overlap, *f.StartSkewMS, f.Warnings)
			wrong += check(f)
		}
		if wrong == "" {
			return
		}
		if try == program.Tries {
			t.Fatalf("after %d tries: %s", program.Tries, wrong)
		}
		t.Log(wrong)
	}
}

// TestTruthOvercommit: 4 nodes with 2 busy threads each share the machine's c
// cores. A node alone gets min(2, c) cores, together they get min(8, c), so
// that CDI = 100·(1 − min(8, c)/(4·min(2, c))): 75 % on 2 cores.
func TestTruthOvercommit(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	c := float64(runtime.NumCPU())
	truth := 100 * (1 - min(8, c)/(4*min(2, c)))
	want := evaluation.Degraded
	if truth == 0 {
		want = evaluation.None
	}
	measure(t, "cpu-overcommit.yaml", func(f evaluation.Finding) string {
		if math.Abs(*f.CDI-truth) > 3 || f.Verdict != want {
			return fmt.Sprintf("CDI %.2f %%, %s; want %.2f %% within 3 points, %s", *f.CDI, f.Verdict, truth, want)
		}
		return ""
	}, "workloads.cpu2.duration=2s")
}

// TestTruthNoContention: 2 nodes with 1 busy thread each do not meet on a
// machine with 2 cores or more.
func TestTruthNoContention(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	if runtime.NumCPU() < 2 {
		t.Skip("needs 2 cores")
	}
	measure(t, "cpu-no-contention.yaml", func(f evaluation.Finding) string {
		// Cores that share what they are made of lose a little, by calibration.
		truth := *f.ExpectedHere
		disturbed := f.Verdict == evaluation.Unclear || f.Verdict == evaluation.Unknown
		if !f.Possible.Contains(truth) || !disturbed && math.Abs(*f.CDI-truth) > 3 {
			return fmt.Sprintf("CDI %.2f %% %v, possibly %v, %s; want %.2f within 3 points, or a doubt", *f.CDI, *f.CI, *f.Possible, f.Verdict, truth)
		}
		return ""
	}, "workloads.cpu1.duration=2s", "expect={cpu1: 0}")
}
