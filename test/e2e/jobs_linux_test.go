package e2e_test

import (
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/internal/jobs"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
	"github.com/scalebench/scalebench/test/servers/s3test"
	"github.com/scalebench/scalebench/test/slots"
)

// TestJobsKilled: a task of workload jobs is killed in mid-work, with the commands that it
// runs. Each item has one record, and the object that it names is the item's.
func TestJobsKilled(t *testing.T) {
	s3test.UseCredentials(t)
	g := s3test.Start(t)
	w := install(t)
	w.StartServer()
	for _, name := range []string{"a", "b"} {
		w.StartAgent(name)
	}
	w.AwaitNodes(2)
	const items = 40
	file := w.Write("jobs.yaml", fmt.Sprintf(`
name: killed
fleet: {agents: {count: 2}}
workloads:
  - kind: jobs
    items: {count: %d}
    slots: 2
    command: echo {item} > {out}; sleep 0.2
    put: {prefix: out, keep: true}
    lease: 2s
    endpoint: %s
    region: us-east-1
    bucket: %s
evaluations: [parallel]
trials: 1
timeouts: {task: 5m}
retries: {lost: 9, failed: 9}
`, items, g.URL, s3test.Bucket))
	w.Run("run", file, "--detach")
	server := filepath.Join(w.Dir, "server")
	d := w.AwaitRun("newest", "at work", func(d model.RunData) bool { return len(slots.Read(t, server, d.Run.ID)) > 4 })
	if err := syscall.Kill(w.TaskOf("a"), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	d = w.AwaitRun(string(d.Run.ID), "over", program.IsOver)
	program.CheckComplete(t, d)
	records := slots.Read(t, server, d.Run.ID)
	slots.Check(t, records, items)
	for key, r := range records {
		if text := g.Read(t, r.Output); r.Outcome != jobs.Done || text != key+"\n" {
			t.Errorf("item %s: %q, %+v", key, text, r)
		}
	}
}
