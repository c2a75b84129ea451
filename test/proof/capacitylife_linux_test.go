//go:build proof

package proof_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store/sqlite"
	"github.com/scalebench/scalebench/internal/study/capacity"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/proof/parts"
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/storetest"
)

// TestCapacityCutAndResumed: a search that is cut in order by Ctrl-C, then by
// SIGKILL in mid-window, and resumed each time, finds what an undisturbed one
// would. What is known when it is cut in order is printed and kept.
func TestCapacityCutAndResumed(t *testing.T) {
	skip.UnlessLong(t)
	parts.Begin(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	url := loadserver.Start(t, program.ExactServer).URL()
	program.Calmly(t, func() error {
		w := install(t)
		partial := w.cutInOrder(url)
		if partial.Passed == nil {
			return fmt.Errorf("a light load did not pass: %+v", partial.Windows)
		}
		w.checkKept(partial)
		checkOtherLoads(t, w.Data("latest"))
		w.killInMidWindow()
		return w.checkResumed(partial)
	})
}

// cutInOrder interrupts a search after two windows and returns what it printed.
func (w *installation) cutInOrder(url string) capacity.Record {
	w.T.Helper()
	var out bytes.Buffer
	p := &program.Process{Ended: make(chan struct{}), Lines: make(chan string, 1000)}
	p.Cmd = exec.Command(w.Bin, "capacity", url, "--format", "json", "--sla", "p90=50ms", "--window", "1s", "--warm-up",
		"0s",
		"--start", "700op/s", "--max", "1600op/s", "--resolution", "0.5", "--windows", "5")
	p.Cmd.Stdout = &out
	w.Launch(p)
	for range 2 {
		p.Await(w.T, "op/s: ")
	}
	if err := p.Cmd.Process.Signal(os.Interrupt); err != nil {
		w.T.Fatal(err)
	}
	select {
	case <-p.Ended:
	case <-time.After(20 * time.Second):
		w.T.Fatalf("SIGINT did not end the search; log:\n%s", p.Log())
	}
	if code := p.Cmd.ProcessState.ExitCode(); code != 130 {
		w.T.Errorf("exit code %d after SIGINT, want 130; log:\n%s", code, p.Log())
	}
	var r capacity.Record
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		w.T.Fatalf("what a search that was cut has printed: %v\n%s", err, &out)
	}
	return r
}

// checkKept compares what was printed of a search that was cut with what is
// stored of it, and reads that with the commands for it.
func (w *installation) checkKept(partial capacity.Record) {
	w.T.Helper()
	d := w.Data("latest")
	complete := 0
	for _, s := range d.Steps {
		if s.State == model.StepComplete {
			complete++
		}
	}
	if d.Run.State != model.RunInterrupted || complete < 2 || len(partial.Windows) != complete {
		w.T.Errorf("run %s with %d complete windows, of which %d were printed; want interrupted, all of at least 2",
			d.Run.State, complete, len(partial.Windows))
	}
	if partial.Limit != capacity.LimitNone || partial.Confirmed || partial.Estimate != nil ||
		!strings.Contains(strings.Join(partial.Warnings, ";"), "stopped after") {
		w.T.Errorf("partial result: limit %s, confirmed %v, estimate %v, warnings %q",
			partial.Limit, partial.Confirmed, partial.Estimate, partial.Warnings)
	}
	if show := strings.Join(strings.Fields(w.Run("show", "latest")), " "); !strings.Contains(show, "not over") ||
		!strings.Contains(show, "stopped after") {
		w.T.Errorf("show does not say what is known so far:\n%s", show)
	}
	page := filepath.Join(w.Dir, "partial.html")
	w.Run("report", "latest", "-o", page)
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "stopped after") {
		w.T.Errorf("the report does not say that it is partial: %v", err)
	}
}

// checkOtherLoads: a search that has tried other loads than its file asks for is
// not gone on with.
func checkOtherLoads(t *testing.T, d model.RunData) {
	t.Helper()
	w := install(t)
	url := "sqlite://" + filepath.Join(w.Dir, "other.db")
	st, err := sqlite.Open(t.Context(), filepath.Join(w.Dir, "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	d.Run.Source = strings.Replace(d.Run.Source, "700op/s", "800op/s", 1)
	storetest.Save(t, st, d)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := w.Try("resume", "latest", "--store", url)
	program.CheckExit(t, "resume", err, 2)
	if !strings.Contains(stderr, "cannot be resumed") || !strings.Contains(stderr, "which this search has not asked for") {
		t.Errorf("resume of a search with other loads says %q", stderr)
	}
}

// killInMidWindow resumes the search and kills it while load is offered.
func (w *installation) killInMidWindow() {
	w.T.Helper()
	p := w.Start("resume", "latest")
	w.AwaitRunOf(p, "newest", "in mid-window", func(d model.RunData) bool {
		return slices.ContainsFunc(d.Steps, func(s model.Step) bool { return s.State == model.StepRunning && !s.StartAt.IsZero() })
	})
	p.Kill()
	program.AwaitNobody(w.T, w.Dir)
}

// checkResumed resumes the search to its end. The answer may be that the
// generators had no processor to spare, where the machine has other work, or that
// its kernel was slow to answer handshakes, which is taken for the path. Errors
// are of measurements that something else disturbed.
func (w *installation) checkResumed(partial capacity.Record) error {
	w.T.Helper()
	out, stderr, err := w.Try("resume", "latest", "--format", "json")
	var r capacity.Record
	if jsonErr := json.Unmarshal([]byte(out), &r); jsonErr != nil {
		w.T.Fatalf("resume: %v, %v\n%s", err, jsonErr, stderr)
	}
	refused := slices.Contains([]capacity.Limit{capacity.LimitGenerator, capacity.LimitMachine, capacity.LimitPath}, r.Limit)
	if (err != nil) != refused {
		w.T.Errorf("resume: %v; limit %s\n%s", err, r.Limit, stderr)
	}
	d := w.Data("latest")
	program.CheckComplete(w.T, d)
	if repeated := slices.ContainsFunc(d.Steps, func(s model.Step) bool { return s.Attempt > 1 }); !repeated {
		w.T.Error("no window was repeated, though one was cut and one killed")
	}
	for i, old := range partial.Windows {
		if i >= len(r.Windows) || r.Windows[i].Load != old.Load || r.Windows[i].Verdict != old.Verdict || !r.Windows[i].Start.Equal(old.Start) {
			w.T.Fatalf("window %d is not what it was before the cut: %+v", i+1, old)
		}
	}
	const truth = 1000
	if r.Passed == nil || *r.Passed > 1.05*truth || !refused && (r.Limit != capacity.LimitTarget || r.Failed == nil || *r.Failed < .95*truth) {
		return fmt.Errorf("limit %s, passed %v, failed %v, warnings %q", r.Limit, r.Passed, r.Failed, r.Warnings)
	}
	w.T.Logf("1000/s by arithmetic; passed %.0f, limit %s, in %d windows, %d of them before the first cut", *r.Passed,
		r.Limit, len(r.Windows), len(partial.Windows))
	return nil
}
