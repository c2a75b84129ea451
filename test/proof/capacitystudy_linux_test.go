//go:build proof

package proof_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/search"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
)

// analysed is a file that searches two targets again and again.
const study = `
name: two servers over time
fleet: {local: {nodes: 1}}
evaluations: [search]
trials: 3
every: 1m
workloads:
  - {kind: load, name: small, target: "%s", sla: p90=60ms, start: 40op/s, resolution: 0.1, duration: 2s, warm_up: 0s}
  - {kind: load, name: large, target: "%s", sla: p90=60ms, start: 400op/s, resolution: 0.1, duration: 2s, warm_up: 0s}
`

// TestCapacityStudy: a study of two servers, one with ten times the capacity,
// repeated at intervals.
func TestCapacityStudy(t *testing.T) {
	parts.Begin(t)
	small := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 10 * time.Millisecond, Room: 100})
	large := loadserver.Start(t, program.ExactServer)
	program.Calmly(t, func() error {
		w := install(t)
		file := w.Write("study.yaml", fmt.Sprintf(study, small.URL(), large.URL()))
		page := filepath.Join(w.Dir, "study.html")
		out, stderr, err := w.Try("run", file, "--format", "json", "-o", page)
		if err != nil {
			return fmt.Errorf("%w\n%s", err, stderr)
		}
		var found []capacity.Record
		if err := json.Unmarshal([]byte(out), &found); err != nil {
			t.Fatal(err)
		}
		w.checkStudy(found)
		w.checkStudyShown(page)
		return nearTruths(t, found, map[string]float64{"small": 100, "large": 1000})
	})
}

// checkStudy checks which searches there are, and when they began.
func (w *installation) checkStudy(found []capacity.Record) {
	w.T.Helper()
	started := w.Data("latest").Run.Started
	var order []string
	for _, r := range found {
		order = append(order, fmt.Sprint(r.Workload, r.Trial))
		if len(r.Windows) == 0 {
			w.T.Fatalf("%s, trial %d has no windows", r.Workload, r.Trial)
		}
		due := started.Add(time.Duration(r.Trial-1) * time.Minute)
		if first := r.Windows[0].Start; first.Before(due) {
			w.T.Errorf("%s, trial %d began at %v, before %v", r.Workload, r.Trial, first, due)
		}
	}
	if got, want := strings.Join(order, " "), "small1 large1 small2 large2 small3 large3"; got != want {
		w.T.Errorf("searches %s, want %s", got, want)
	}
}

// checkStudyShown checks that everything can be read again later.
func (w *installation) checkStudyShown(page string) {
	w.T.Helper()
	var shown struct {
		Findings struct{ Capacity []capacity.Record }
	}
	if err := json.Unmarshal([]byte(w.Run("show", "latest", "--format", "json")), &shown); err != nil ||
		len(shown.Findings.Capacity) != 6 {
		w.T.Errorf("show has %d searches, %v; want 6", len(shown.Findings.Capacity), err)
	}
	if text := w.Run("show", "latest"); !strings.Contains(text, "ESTIMATE") {
		w.T.Errorf("show has no table of the searches:\n%s", text)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "Capacity by target") || !strings.Contains(string(text), "difference from each row") {
		w.T.Errorf("the report does not compare the targets, each around its median: %v", err)
	}
}

// nearTruths compares estimates with what servers take by arithmetic.
func nearTruths(t *testing.T, found []capacity.Record, truths map[string]float64) error {
	t.Helper()
	for _, r := range found {
		if r.Limit != capacity.LimitTarget || r.Estimate == nil {
			return fmt.Errorf("%s, trial %d: limit %s, warnings %q", r.Workload, r.Trial, r.Limit, r.Warnings)
		}
		truth := truths[r.Workload]
		t.Logf("%s, trial %d: %.1f, %.0f by arithmetic, in %d windows", r.Workload, r.Trial, *r.Estimate, truth, len(r.Windows))
		if math.Abs(*r.Estimate-truth) > .1*truth {
			return fmt.Errorf("%s, trial %d: %.1f, want %.0f within 10 %%", r.Workload, r.Trial, *r.Estimate, truth)
		}
	}
	return nil
}

// TestCapacityPaper: the paper's algorithm from end to end: it doubles while the
// median stays near the round-trip time, goes back by half, and rises in equal
// steps until the SLA breaks.
func TestCapacityPaper(t *testing.T) {
	parts.Begin(t)
	w := install(t)
	// Answers come at once, as far as the paper's rule for the ramp can tell,
	// until requests wait for each other.
	url := loadserver.Start(t, loadserver.Behaviour{Workers: 1, Service: 2 * time.Millisecond, Room: 500}).URL()
	program.Calmly(t, func() error {
		file := w.Write("paper.yaml", fmt.Sprintf(`
name: the paper's algorithm
fleet: {local: {nodes: 1}}
evaluations: [search]
workloads:
  - {kind: load, name: paper, target: "%s", sla: p90=20ms, start: 100op/s, max: 5kop/s, algorithm: paper,
     fraction: 1000, step: 0.2, duration: 2s, warm_up: 1s}
`, url))
		out, stderr, err := w.Try("run", file, "--format", "json")
		if err != nil {
			return fmt.Errorf("%w\n%s", err, stderr)
		}
		var r capacity.Record
		if err := json.Unmarshal([]byte(out), &r); err != nil {
			t.Fatal(err)
		}
		return followsPaper(t, r)
	})
}

// followsPaper checks the loads of a search against Algorithm 1, for a server
// that takes 500/s. Windows that say nothing are repeated and left out.
func followsPaper(t *testing.T, r capacity.Record) error {
	t.Helper()
	var tried []string
	for _, w := range r.Windows {
		if w.Verdict != capacity.Unusable {
			tried = append(tried, fmt.Sprintf("%s %.0f %s", w.Phase, w.Load, w.Verdict))
		}
	}
	const want = "ramp 100 passed,ramp 200 passed,ramp 400 passed,ramp 800 missed," +
		"refine 400 passed,refine 440 passed,refine 480 passed,refine 520 missed"
	if got := strings.Join(tried, ","); got != want {
		return fmt.Errorf("windows %s, want %s", got, want)
	}
	if r.Algorithm != search.Paper || r.Confirmed || r.Estimate == nil || *r.Estimate != 480 || r.Passed == nil || *r.Passed != 480 {
		t.Errorf("algorithm %s, confirmed %v, estimate %v, passed %v; want the paper's answer of 480, not confirmed", r.Algorithm, r.Confirmed, r.Estimate, r.Passed)
	}
	return nil
}
