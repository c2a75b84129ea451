package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/loadserver"
	"github.com/scalebench/scalebench/test/program"
)

// startLabelled starts the agents of nodes, each with the label pick=NAME.
func (w *installation) startLabelled(names ...string) {
	w.T.Helper()
	for _, n := range names {
		w.Agents[n] = w.Start("agent", "--node", n, "--state", w.AgentState(n), "--label", "pick="+n, "--token",
			strings.TrimSpace(w.Run("token")))
	}
	w.AwaitNodes(len(names))
}

// gated is a run on one agent: its tasks leave a mark and end when a gate opens.
type gated struct{ mark, gate string }

func (w *installation) submitGated(name, node string, more string) (id string, g gated) {
	w.T.Helper()
	g = gated{filepath.Join(w.Dir, name+".mark"), filepath.Join(w.Dir, name+".gate")}
	return strings.TrimSpace(w.Run("run", "--detach", w.gatedFile(name, node, more, g))), g
}

func (w *installation) gatedFile(name, node, more string, g gated) string {
	w.T.Helper()
	return w.Write(name+".yaml", fmt.Sprintf(`
name: %s
fleet: {agents: {labels: {pick: %s}}}
workloads: [{kind: command, command: "touch %s; while [ ! -e %s ]; do sleep 0.05; done"}]
evaluations: [serial]
%s
`, name, node, g.mark, g.gate, more))
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

func (w *installation) open(g gated) {
	w.T.Helper()
	if err := os.WriteFile(g.gate, nil, 0o600); err != nil {
		w.T.Fatal(err)
	}
}

// span is from when to when the tasks of a run were at work.
func span(d model.RunData) (from, to time.Time) {
	for _, r := range d.Results {
		if from.IsZero() || r.Started.Before(from) {
			from = r.Started
		}
		if r.Ended.After(to) {
			to = r.Ended
		}
	}
	return from, to
}

// overlap reports whether tasks of two runs were at work at the same time.
func overlap(a, b model.RunData) bool {
	for _, r := range a.Results {
		for _, s := range b.Results {
			if r.Started.Before(s.Ended) && s.Started.Before(r.Ended) {
				return true
			}
		}
	}
	return false
}

// TestRunsShareAgents: on one server, runs on different agents are at work at
// the same time where both files say that they share the host; a run on an
// agent, or a host, that another has waits and says for what. One that waits
// can be cancelled.
func TestRunsShareAgents(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	w.startLabelled("n1", "n2")
	one, gateOne := w.submitGated("one", "n1", "shared: true")
	two, gateTwo := w.submitGated("two", "n2", "shared: true")
	w.Poll("both runs to be at work", func() bool { return exists(gateOne.mark) && exists(gateTwo.mark) })

	gateThree := gated{filepath.Join(w.Dir, "three.mark"), filepath.Join(w.Dir, "three.gate")}
	w.open(gateThree) // its task ends at once
	three := w.Start("run", w.gatedFile("three", "n1", "shared: true", gateThree))
	three.Await(t, fmt.Sprintf("waiting for run %s (one) to release node n1", one))
	alone, gateAlone := w.submitGated("alone", "n2", "")
	const forTwo = "(two) to release node n2"
	w.AwaitRun(alone, "waiting", func(d model.RunData) bool { return strings.Contains(d.Run.Reason, forTwo) })
	whole, _ := w.submitGated("whole", "n1", "")
	w.AwaitRun(whole, "waiting",
		func(d model.RunData) bool { return d.Run.State == model.RunPending && d.Run.Reason != "" })
	if runs := w.Run("runs", "--format", "csv"); !strings.Contains(runs, forTwo) {
		t.Errorf("`scalebench runs` does not say what a run waits for:\n%s", runs)
	}
	if show := w.Run("show", alone); !strings.Contains(strings.Join(strings.Fields(show), " "), forTwo) {
		t.Errorf("`scalebench show` does not say what the run waits for:\n%s", show)
	}
	w.Run("cancel", alone)
	if d := w.Data(alone); d.Run.State != model.RunCancelled || len(d.Results) != 0 || exists(gateAlone.mark) {
		t.Errorf("the run that was cancelled in line is %s, with %d results", d.Run.State, len(d.Results))
	}
	w.Run("cancel", whole)

	w.open(gateOne)
	<-three.Ended
	if code := three.Cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the run that waited ended with exit code %d; it said:\n%s", code, three.Log())
	}
	w.open(gateTwo)
	first, second := w.AwaitRun(one, "over", program.IsOver), w.AwaitRun(two, "over", program.IsOver)
	said, _, _ := strings.Cut(three.Log(), "\n")
	third := w.Data(strings.TrimPrefix(said, "run "))
	for _, d := range []model.RunData{first, second, third} {
		program.CheckComplete(t, d)
	}
	if !overlap(first, second) {
		t.Error("the runs on different agents were not at work at the same time")
	}
	if overlap(first, third) {
		t.Error("two runs on one agent were at work at the same time")
	}
}

// TestServerKilledWithTwoRuns: the server is killed while two runs are at work.
// Both are resumed; nothing of either is lost or doubled.
func TestServerKilledWithTwoRuns(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	w.startLabelled("n1", "n2")
	var ids []string
	for _, n := range []string{"n1", "n2"} {
		ids = append(ids, strings.TrimSpace(w.Run("run", "--detach", w.Write(n+".yaml", fmt.Sprintf(`
name: run on %s
fleet: {agents: {labels: {pick: %s}}}
workloads: [{kind: command, command: "sleep 0.5"}]
evaluations: [serial]
trials: 6
shared: true
timeouts: {node: 30s}
`, n, n)))))
	}
	for _, id := range ids {
		w.AwaitRun(id, "at work", func(d model.RunData) bool { return len(d.Results) > 1 })
	}
	w.Server.Kill()
	w.StartServer()
	var resumed []*program.Process
	for _, id := range ids {
		if d := w.Data(id); d.Run.State != model.RunInterrupted {
			t.Fatalf("run %s is %s after the kill, want interrupted", id, d.Run.State)
		}
		resumed = append(resumed, w.Start("resume", id))
	}
	var runs []model.RunData
	for i, id := range ids {
		<-resumed[i].Ended
		runs = append(runs, w.Data(id))
		program.CheckComplete(t, runs[i])
	}
	if !overlap(runs[0], runs[1]) {
		t.Error("the runs were not at work at the same time")
	}
}

// TestSearchGivesItsNodeBack: between two trials a search holds nothing: its
// fleet is down, another run has the node, and the search goes on in time with
// a fleet of its own.
func TestSearchGivesItsNodeBack(t *testing.T) {
	t.Parallel() // it mostly waits, and judges no latency
	if testing.Short() {
		t.Skip("waits for the second trial of a search")
	}
	url := loadserver.Start(t, program.ExactServer).URL()
	w := install(t)
	w.StartServer()
	const every = 15 * time.Second
	search := strings.TrimSpace(w.Run("run", "--detach", w.Write("search.yaml", fmt.Sprintf(`
name: search
fleet: {local: {nodes: 1}}
evaluations: [search]
trials: 2
every: %s
workloads: [{kind: load, target: "%s", sla: p90=1s, start: 20op/s, max: 20op/s, duration: 1s, warm_up: 0s}]
`, every, url))))
	w.AwaitRun(search, "searching", func(d model.RunData) bool { return len(d.Steps) > 0 })
	between := w.Start("run", w.Write("between.yaml", `
name: between
fleet: {local: {nodes: 1}}
workloads: [{kind: command, command: "true"}]
evaluations: [serial]
`))
	between.Await(t, fmt.Sprintf("waiting for run %s (search) to release node local-1", search))
	resting := w.AwaitRun(search, "resting",
		func(d model.RunData) bool { return strings.HasPrefix(d.Run.Reason, "waiting until ") })
	if resting.Run.State != model.RunRunning {
		t.Errorf("a search between two trials is %s, want running", resting.Run.State)
	}
	<-between.Ended
	other := w.Data("latest")
	program.CheckComplete(t, other)
	d := w.AwaitRun(search, "over", program.IsOver)
	program.CheckComplete(t, d)
	from, to := span(other)
	trials := make(map[int]int)
	for _, s := range d.Steps {
		trials[s.Trial]++
		if s.Trial == 1 && s.StartAt.After(from) || s.Trial == 2 && s.StartAt.Before(to) {
			t.Errorf("a window of trial %d began at %v; the other run was at work from %v to %v", s.Trial, s.StartAt, from, to)
		}
		if due := d.Run.Started.Add(every); s.Trial == 2 && s.StartAt.Before(due) {
			t.Errorf("a window of trial 2 began at %v, before %v", s.StartAt, due)
		}
	}
	if trials[1] == 0 || trials[2] == 0 {
		t.Errorf("windows by trial %v, want some of both", trials)
	}
}
