package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/slots"
)

// TestItemsSurviveKills: tasks, agents and server are killed while a queue is drained.
// Each item has one result that counts, and none is lost. The proof kills 200 times.
func TestItemsSurviveKills(t *testing.T) {
	t.Parallel()
	program.NewItemKills(install(t).Installation, rand.Uint64(), 120).Execute(3)
}

// TestLateResults: a task stands still for longer than its leases. Others get its items,
// and what it says afterwards does not count.
func TestLateResults(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	for _, name := range []string{"a", "b"} {
		w.StartAgent(name)
	}
	w.AwaitNodes(2)
	files := filepath.Join(w.Dir, "results")
	if err := os.Mkdir(files, 0o700); err != nil {
		t.Fatal(err)
	}
	const items, held = 60, 2
	file := w.Write("late.yaml", fmt.Sprintf(`
name: late
fleet: {agents: {count: 2}}
workloads: [{name: items, kind: slots, slots: %d, items: %d, work: 300ms, lease: 1s, dir: %s}]
evaluations: [parallel]
trials: 1
`, held, items, files))
	w.Run("run", file, "--detach")
	d := w.AwaitRun("newest", "at work", func(d model.RunData) bool {
		return len(slots.Read(t, filepath.Join(w.Dir, "server"), d.Run.ID)) > 0
	})
	task := w.TaskOf("a")
	if err := syscall.Kill(task, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * time.Second) //nolint:forbidigo // longer than a lease
	if err := syscall.Kill(task, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	d = w.AwaitRun(string(d.Run.ID), "over", program.IsOver)
	program.CheckComplete(t, d)
	slots.Check(t, slots.Read(t, filepath.Join(w.Dir, "server"), d.Run.ID), items, files)
	got := make(map[string]float64)
	for _, r := range d.Accepted() {
		for _, s := range r.Samples {
			got[s.Metric+" "+string(r.Node)] += s.Value
		}
	}
	if got["jobs_refused a"] < 1 || got["jobs_refused a"] > held || got["jobs_refused b"] > 0 {
		t.Errorf("refused results: %v of a, which stood still, and %v of b", got["jobs_refused a"], got["jobs_refused b"])
	}
	if got["jobs_done a"]+got["jobs_done b"] != items || got["jobs_retried b"] < 1 {
		t.Errorf("%v and %v results count, of %d items; %v were tried again", got["jobs_done a"], got["jobs_done b"], items,
			got["jobs_retried b"])
	}
	var exported struct{ Jobs []store.Job }
	err := json.Unmarshal([]byte(w.Run("export", string(d.Run.ID))), &exported)
	if err != nil || len(exported.Jobs) != items {
		t.Errorf("the export has %d jobs of %d: %v", len(exported.Jobs), items, err)
	}
	if left, err := filepath.Glob(filepath.Join(files, "*")); err != nil || len(left) != items {
		t.Errorf("%d files are left of %d items: %v", len(left), items, err)
	}
}
