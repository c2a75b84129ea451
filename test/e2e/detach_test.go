package e2e_test

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
)

// TestDetach: --detach returns as soon as the run is stored, also while agents
// are missing and while another run holds them. The run waits for them on the
// server, and goes on with a server that was killed meanwhile.
func TestDetach(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := install(t)
	w.StartServer()
	file := w.Write("two.yaml",
		"seed: 7\nfleet: {agents: {count: 2}}\nworkloads: [{name: burn, kind: cpu, threads: 1, duration: 300ms}]\n")
	detach := func() string {
		t.Helper()
		out, said, err := w.Try("run", file, "--detach")
		id := strings.TrimSpace(out)
		if err != nil || len(id) != 26 || !strings.Contains(said, "`scalebench show "+id+"`") {
			t.Fatalf("run --detach: %v, printed %q and said %q; want an id alone, and what to do next", err, out, said)
		}
		return id
	}
	first, second := detach(), detach()
	if d := w.AwaitRun(first, "waiting for agents", waits); len(d.Steps) != 0 {
		t.Errorf("a run that has no nodes yet has %d steps", len(d.Steps))
	}
	w.Server.Kill()
	w.StartServer()
	resumed := w.Start("resume", first)
	defer resumed.Kill()
	w.AwaitRun(first, "waiting for agents again", waits)
	job := w.Write("job.json", `{"jobName": "x", "jobs": [{"node": "*", "path": "/bin", "command": "true"}]}`)
	_, said, err := w.Try("submit", job, "--detach")
	if err == nil || !strings.Contains(said, "start `scalebench agent`") {
		t.Errorf("submit without agents: %v, %q", err, said)
	}
	w.StartAgent("n1")
	w.StartAgent("n2")
	third := detach()
	program.CheckComplete(t, w.AwaitRun(first, "over", program.IsOver))
	d := w.AwaitRun(third, "over", program.IsOver)
	program.CheckComplete(t, d)
	if len(d.Nodes) != 2 || d.Run.Seed != 7 {
		t.Errorf("the run has the nodes %v and the seed %d, want two and 7", d.Nodes, d.Run.Seed)
	}
	if d := w.Data(second); d.Run.State != model.RunInterrupted {
		t.Errorf("the run that was not resumed is %s", d.Run.State)
	}
}

func waits(d model.RunData) bool {
	return d.Run.State == model.RunPending && strings.HasPrefix(d.Run.Reason, "waiting: too few agents: 0 of 2 ")
}
