package e2e_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/store"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/slots"
)

// TestItemsSurviveKills: tasks, agents and server are killed while a queue is drained.
// Each item has one result that counts, and none is lost. The proof kills 200 times.
func TestItemsSurviveKills(t *testing.T) {
	s3test.UseCredentials(t)
	g := s3test.Start(t)
	read := func(key string) string { return g.Read(t, key) }
	program.NewItemKills(install(t).Installation, g.URL, read, rand.Uint64(), 120).Execute(3)
}

// TestLateResults: a task stands still for longer than its leases. Others get its items,
// and what it says afterwards does not count.
func TestLateResults(t *testing.T) {
	s3test.UseCredentials(t)
	g := s3test.Start(t)
	w := install(t)
	w.StartServer()
	for _, name := range []string{"a", "b"} {
		w.StartAgent(name)
	}
	w.AwaitNodes(2)
	const items, held = 60, 2
	file := w.Write("late.yaml", fmt.Sprintf(`
name: late
fleet: {agents: {count: 2}}
workloads:
  - kind: jobs
    items: {count: %d}
    slots: %d
    command: echo {item} > {out}; sleep 0.2
    put: {prefix: out, keep: true}
    lease: 1s
    endpoint: %s
    region: us-east-1
    bucket: %s
evaluations: [parallel]
trials: 1
`, items, held, g.URL, s3test.Bucket))
	w.Run("run", file, "--detach")
	server := filepath.Join(w.Dir, "server")
	d := w.AwaitRun("newest", "at work", func(d model.RunData) bool { return len(slots.Read(t, server, d.Run.ID)) > 0 })
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
	records := slots.Read(t, server, d.Run.ID)
	slots.Check(t, records, items)
	for key, r := range records {
		if text := g.Read(t, r.Output); text != key+"\n" {
			t.Errorf("the result of item %s is %q", key, text)
		}
	}
	got := make(map[string]float64)
	for _, r := range d.Accepted() {
		for _, s := range r.Samples {
			got[s.Metric+" "+string(r.Node)] += s.Value
		}
	}
	for node, late := range map[string]float64{"a": held, "b": 0} {
		n := got["jobs_lost "+node] + got["jobs_duplicates "+node]
		if n > late || late > 0 && n < 1 {
			t.Errorf("node %s has %v late results; a stood still with %d", node, n, held)
		}
	}
	if n := got["jobs_done a"] + got["jobs_done b"]; n != items {
		t.Errorf("%v results count, of %d items", n, items)
	}
	var exported struct{ Jobs []store.Job }
	err := json.Unmarshal([]byte(w.Run("export", string(d.Run.ID))), &exported)
	if err != nil || len(exported.Jobs) != items {
		t.Errorf("the export has %d jobs of %d: %v", len(exported.Jobs), items, err)
	}
	if left := g.Objects(t); len(left) != items {
		t.Errorf("%d objects are left of %d items", len(left), items)
	}
}
