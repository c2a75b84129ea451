package e2e_test

import (
	"strings"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
)

// TestDetach: --detach returns as soon as the run is stored, also while agents
// are missing and while another run holds them. The run waits for them on the
// server, and goes on with a server that was killed meanwhile.
func TestDetach(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("needs some seconds")
	}
	w := newWorld(t)
	w.startServer()
	file := w.write("two.yaml", "seed: 7\nfleet: {agents: {count: 2}}\nworkloads: [{name: burn, kind: cpu, threads: 1, duration: 300ms}]\n")
	detach := func() string {
		t.Helper()
		out, said, err := w.try("run", file, "--detach")
		id := strings.TrimSpace(out)
		if err != nil || len(id) != 26 || !strings.Contains(said, "`scalebench show "+id+"`") {
			t.Fatalf("run --detach: %v, printed %q and said %q; want an id alone, and what to do next", err, out, said)
		}
		return id
	}
	first, second := detach(), detach()
	if d := w.awaitRun(first, "waiting for agents", waits); len(d.Steps) != 0 {
		t.Errorf("a run that has no nodes yet has %d steps", len(d.Steps))
	}
	w.server.kill()
	w.startServer()
	resumed := w.start("resume", first)
	defer resumed.kill()
	w.awaitRun(first, "waiting for agents again", waits)
	if _, said, err := w.try("submit", w.write("job.json", `{"jobName": "x", "jobs": [{"node": "*", "path": "/bin", "command": "true"}]}`), "--detach"); err == nil || !strings.Contains(said, "start `scalebench agent`") {
		t.Errorf("submit without agents: %v, %q", err, said)
	}
	w.startAgent("n1")
	w.startAgent("n2")
	third := detach()
	checkComplete(t, w.awaitRun(first, "over", isOver))
	d := w.awaitRun(third, "over", isOver)
	checkComplete(t, d)
	if len(d.Nodes) != 2 || d.Run.Seed != 7 {
		t.Errorf("the run has the nodes %v and the seed %d, want two and 7", d.Nodes, d.Run.Seed)
	}
	if d := w.data(second); d.Run.State != model.RunInterrupted {
		t.Errorf("the run that was not resumed is %s", d.Run.State)
	}
}

func waits(d model.RunData) bool {
	return d.Run.State == model.RunPending && strings.HasPrefix(d.Run.Reason, "waiting: too few agents: 0 of 2 ")
}
