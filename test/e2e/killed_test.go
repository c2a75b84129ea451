package e2e_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/program"
)

// chaosExperiment has short tasks, so that a kill can hit every stage of many.
const chaosExperiment = `
name: chaos
fleet: {agents: {count: 3}}
workloads:
  - {kind: cpu, threads: 1, duration: 300ms}
trials: 2
timeouts: {node: 30s, ready: 20s, task: 20s}
retries: {lost: 20}
`

// rounds is how often a chaos test kills something: a few in short mode,
// $CHAOS_ROUNDS when set.
func rounds(normal int) int {
	if n, err := strconv.Atoi(os.Getenv("CHAOS_ROUNDS")); err == nil {
		return n
	}
	if testing.Short() {
		return 1
	}
	return normal
}

// TestKilledAtRandomMoments kills an agent, the server, or both with SIGKILL
// at random moments of a run. After a restart and a resume, each task has
// exactly one result and the CDI is computed from complete data.
func TestKilledAtRandomMoments(t *testing.T) {
	t.Parallel()
	for round := range rounds(3) {
		victim := []string{"agent", "server", "both"}[round%3]
		t.Run(fmt.Sprintf("%d %s", round, victim), func(t *testing.T) {
			t.Parallel()
			seed := uint64(time.Now().UnixNano())
			t.Logf("seed %d", seed)
			killOnce(t, victim, rand.New(rand.NewPCG(seed, 0)))
		})
	}
}

func killOnce(t *testing.T, victim string, rnd *rand.Rand) {
	w := install(t)
	w.StartServer()
	for i := 1; i <= 3; i++ {
		w.StartAgent(fmt.Sprintf("n%d", i))
	}
	id := strings.TrimSpace(w.Run("run", w.Write("chaos.yaml", chaosExperiment), "--detach"))

	// Some results are in; then anything up to two task lengths later.
	want := rnd.IntN(9)
	w.AwaitRun(id, fmt.Sprintf("%d results", want), func(d model.RunData) bool { return len(d.Results) >= want })
	time.Sleep(time.Duration(rnd.IntN(600)) * time.Millisecond) //nolint:forbidigo // the random moment

	name := fmt.Sprintf("n%d", 1+rnd.IntN(3))
	if victim != "server" {
		w.Agents[name].Kill()
	}
	if victim != "agent" {
		w.Server.Kill()
		w.StartServer()
	}
	if victim != "server" {
		w.StartAgent(name)
	}
	if victim != "agent" {
		if _, stderr, err := w.Try("resume", id); err != nil && !strings.Contains(stderr, "is done") {
			t.Fatalf("resume: %v\n%s\nserver:\n%s", err, stderr, w.Server.Log())
		}
	}
	d := w.AwaitRun(id, "over", program.IsOver)
	program.CheckComplete(t, d)
	f := w.Findings(id)
	if len(f) == 0 || f[0].Nodes != 3 || f[0].CDI == nil {
		t.Errorf("findings after the kill = %+v, want a CDI of 3 nodes", f)
	}
}

// TestRunCommandKilled kills a `scalebench run` that is server and fleet in
// one. Nothing it started survives it, and resume completes the run.
func TestRunCommandKilled(t *testing.T) {
	t.Parallel()
	for round := range rounds(1) {
		t.Run(strconv.Itoa(round), func(t *testing.T) {
			t.Parallel()
			w := install(t)
			text := strings.Replace(chaosExperiment, "agents: {count: 3}", "local: {nodes: 3}", 1)
			p := w.Start("run", w.Write("chaos.yaml", text), "-v")
			p.Await(t, "run ")
			d := w.awaitRunning(p)
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) //nolint:forbidigo // the random moment
			p.Kill()
			program.AwaitNobody(t, w.Dir)
			w.Run("resume", string(d.Run.ID))
			program.CheckComplete(t, w.Data(string(d.Run.ID)))
		})
	}
}

// TestRunAfterKilled: a run that starts while the agent of a killed one still
// ends its task waits for that agent, says so, and succeeds.
func TestRunAfterKilled(t *testing.T) {
	t.Parallel()
	w := install(t)
	begun := filepath.Join(w.Dir, "begun")
	const form = "fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: %q}]\nevaluations: [serial]\n"
	stubborn := fmt.Sprintf("trap '' TERM; touch %s; while :; do sleep 0.1; done", begun)
	p := w.Start("run", w.Write("stubborn.yaml", fmt.Sprintf(form, stubborn)))
	w.Poll("the task", func() bool { _, err := os.Stat(begun); return err == nil })
	p.Kill()
	_, stderr, err := w.Try("run", w.Write("next.yaml", fmt.Sprintf(form, "true")))
	if err != nil || !strings.Contains(stderr, "another agent, of an earlier run or of another server, is still running on") {
		t.Errorf("the next run: %v; want success, and for what it waited:\n%s", err, stderr)
	}
}

// TestServerSaysWhatCanBeResumed: a server that was killed with a run at work
// and one in line says so when it starts again, and what each of them was at.
func TestServerSaysWhatCanBeResumed(t *testing.T) {
	t.Parallel()
	w := install(t)
	w.StartServer()
	file := w.Write("long.yaml",
		"fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: sleep 600}]\nevaluations: [serial]\n")
	first := strings.TrimSpace(w.Run("run", file, "--detach"))
	w.AwaitRun(first, "running", func(d model.RunData) bool { return !d.Run.Started.IsZero() })
	second := strings.TrimSpace(w.Run("run", file, "--detach"))
	w.Server.Kill()
	w.StartServer()
	w.Server.Await(t, "2 runs are interrupted; `scalebench resume ID` continues one, the latest is "+second)
	if r := w.Data(first).Run; r.Reason != "the scalebench server stopped during the run" {
		t.Errorf("the run at work is %s (%s)", r.State, r.Reason)
	}
	if r := w.Data(second).Run; r.Reason != "the scalebench server stopped before the run began" {
		t.Errorf("the run in line is %s (%s)", r.State, r.Reason)
	}
	w.Run("delete", second, "--yes")
	w.Server.Leave(t)
	w.StartServer()
	w.Server.Await(t, "1 run is interrupted; `scalebench resume "+first+"` continues it")
}

// awaitRunning waits until the first result of the latest run is stored.
func (w *installation) awaitRunning(p *program.Process) model.RunData {
	w.T.Helper()
	w.Server = p
	defer func() { w.Server = nil }()
	return w.AwaitRun("newest", "running", func(d model.RunData) bool { return len(d.Results) > 0 })
}
