package e2e_test

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
	"github.com/scalebench/scalebench/test/skip"
	"github.com/scalebench/scalebench/test/storetest"
)

// TestCapacityCutAndResumed: a search that is cut in order by Ctrl-C, then by
// SIGKILL in mid-window, and resumed each time, finds what an undisturbed one
// would. What is known when it is cut in order is printed and kept.
func TestCapacityCutAndResumed(t *testing.T) {
	skip.UnlessLong(t)
	if testing.Short() {
		t.Skip("measures; needs the machine for itself")
	}
	url := loadserver.Start(t, exactServer).URL()
	calmly(t, func() error {
		w := newWorld(t)
		partial := w.cutInOrder(url)
		if partial.Passed == nil {
			return fmt.Errorf("a light load did not pass: %+v", partial.Windows)
		}
		w.checkKept(partial)
		checkOtherVersion(t, w.data("latest"))
		w.killInMidWindow()
		return w.checkResumed(partial)
	})
}

// cutInOrder interrupts a search after two windows and returns what it printed.
func (w *world) cutInOrder(url string) capacity.Record {
	w.t.Helper()
	var out bytes.Buffer
	p := &proc{ended: make(chan struct{}), lines: make(chan string, 1000)}
	p.cmd = exec.Command(w.bin, "capacity", url, "--format", "json", "--sla", "p90=50ms", "--window", "1s", "--warm-up", "0s",
		"--start", "700op/s", "--max", "1600op/s", "--resolution", "0.5", "--windows", "5")
	p.cmd.Stdout = &out
	w.launch(p)
	for range 2 {
		p.await(w.t, "op/s: ")
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		w.t.Fatal(err)
	}
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		w.t.Fatalf("SIGINT did not end the search; log:\n%s", p.log())
	}
	if code := p.cmd.ProcessState.ExitCode(); code != 130 {
		w.t.Errorf("exit code %d after SIGINT, want 130; log:\n%s", code, p.log())
	}
	var r capacity.Record
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		w.t.Fatalf("what a search that was cut has printed: %v\n%s", err, &out)
	}
	return r
}

// checkKept compares what was printed of a search that was cut with what is
// stored of it, and reads that with the commands for it.
func (w *world) checkKept(partial capacity.Record) {
	w.t.Helper()
	d := w.data("latest")
	complete := 0
	for _, s := range d.Steps {
		if s.State == model.StepComplete {
			complete++
		}
	}
	if d.Run.State != model.RunInterrupted || complete < 2 || len(partial.Windows) != complete {
		w.t.Errorf("run %s with %d complete windows, of which %d were printed; want interrupted, all of at least 2", d.Run.State, complete, len(partial.Windows))
	}
	if partial.Limit != capacity.LimitNone || partial.Confirmed || partial.Estimate != nil ||
		!strings.Contains(strings.Join(partial.Warnings, ";"), "stopped after") {
		w.t.Errorf("partial result: limit %s, confirmed %v, estimate %v, warnings %q",
			partial.Limit, partial.Confirmed, partial.Estimate, partial.Warnings)
	}
	if show := strings.Join(strings.Fields(w.run("show", "latest")), " "); !strings.Contains(show, "not over") || !strings.Contains(show, "stopped after") {
		w.t.Errorf("show does not say what is known so far:\n%s", show)
	}
	page := filepath.Join(w.dir, "partial.html")
	w.run("report", "latest", "-o", page)
	if text, err := os.ReadFile(page); err != nil || !strings.Contains(string(text), "stopped after") {
		w.t.Errorf("the report does not say that it is partial: %v", err)
	}
}

// checkOtherVersion: a search that has tried other loads than this version would
// is not gone on with.
func checkOtherVersion(t *testing.T, d model.RunData) {
	t.Helper()
	w := newWorld(t)
	url := "sqlite://" + filepath.Join(w.dir, "other.db")
	st, err := sqlite.Open(t.Context(), filepath.Join(w.dir, "other.db"))
	if err != nil {
		t.Fatal(err)
	}
	d.Run.Source = strings.Replace(d.Run.Source, "700op/s", "800op/s", 1)
	for _, s := range d.Steps {
		for _, task := range s.Tasks {
			task.Spec.Params["start"] = "800op/s" // as in a file of an earlier version
		}
	}
	storetest.Save(t, st, d)
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	_, stderr, err := w.try("resume", "latest", "--store", url)
	checkExit(t, "resume", err, 2)
	if !strings.Contains(stderr, "cannot be resumed") || !strings.Contains(stderr, "another version of scalebench") {
		t.Errorf("resume of a search of another version says %q", stderr)
	}
}

// killInMidWindow resumes the search and kills it while load is offered.
func (w *world) killInMidWindow() {
	w.t.Helper()
	p := w.start("resume", "latest")
	w.awaitRunOf(p, "newest", "in mid-window", func(d model.RunData) bool {
		return slices.ContainsFunc(d.Steps, func(s model.Step) bool { return s.State == model.StepRunning && !s.StartAt.IsZero() })
	})
	p.kill()
	awaitNobody(w.t, w.dir)
}

// checkResumed resumes the search to its end. The answer may be that the
// generators had no processor to spare, where the machine has other work, or that
// its kernel was slow to answer handshakes, which is taken for the path. Errors
// are of measurements that something else disturbed.
func (w *world) checkResumed(partial capacity.Record) error {
	w.t.Helper()
	out, stderr, err := w.try("resume", "latest", "--format", "json")
	var r capacity.Record
	if jsonErr := json.Unmarshal([]byte(out), &r); jsonErr != nil {
		w.t.Fatalf("resume: %v, %v\n%s", err, jsonErr, stderr)
	}
	refused := slices.Contains([]capacity.Limit{capacity.LimitGenerator, capacity.LimitMachine, capacity.LimitPath}, r.Limit)
	if (err != nil) != refused {
		w.t.Errorf("resume: %v; limit %s\n%s", err, r.Limit, stderr)
	}
	d := w.data("latest")
	checkComplete(w.t, d)
	if repeated := slices.ContainsFunc(d.Steps, func(s model.Step) bool { return s.Attempt > 1 }); !repeated {
		w.t.Error("no window was repeated, though one was cut and one killed")
	}
	for i, old := range partial.Windows {
		if i >= len(r.Windows) || r.Windows[i].Load != old.Load || r.Windows[i].Verdict != old.Verdict || !r.Windows[i].Start.Equal(old.Start) {
			w.t.Fatalf("window %d is not what it was before the cut: %+v", i+1, old)
		}
	}
	const truth = 1000
	if r.Passed == nil || *r.Passed > 1.05*truth || !refused && (r.Limit != capacity.LimitTarget || r.Failed == nil || *r.Failed < .95*truth) {
		return fmt.Errorf("limit %s, passed %v, failed %v, warnings %q", r.Limit, r.Passed, r.Failed, r.Warnings)
	}
	w.t.Logf("1000/s by arithmetic; passed %.0f, limit %s, in %d windows, %d of them before the first cut", *r.Passed, r.Limit, len(r.Windows), len(partial.Windows))
	return nil
}
