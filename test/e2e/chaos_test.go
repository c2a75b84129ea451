package e2e_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/model"
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
	w := newWorld(t)
	w.startServer()
	for i := 1; i <= 3; i++ {
		w.startAgent(fmt.Sprintf("n%d", i))
	}
	id := strings.TrimSpace(w.run("run", w.write("chaos.yaml", chaosExperiment), "--detach"))

	// Some results are in; then anything up to two task lengths later.
	want := rnd.IntN(9)
	w.awaitRun(id, fmt.Sprintf("%d results", want), func(d model.RunData) bool { return len(d.Results) >= want })
	time.Sleep(time.Duration(rnd.IntN(600)) * time.Millisecond) //nolint:forbidigo // the random moment

	name := fmt.Sprintf("n%d", 1+rnd.IntN(3))
	if victim != "server" {
		w.agents[name].kill()
	}
	if victim != "agent" {
		w.server.kill()
		w.startServer()
	}
	if victim != "server" {
		w.startAgent(name)
	}
	if victim != "agent" {
		if _, stderr, err := w.try("resume", id); err != nil && !strings.Contains(stderr, "is done") {
			t.Fatalf("resume: %v\n%s\nserver:\n%s", err, stderr, w.server.log())
		}
	}
	d := w.awaitRun(id, "over", isOver)
	checkComplete(t, d)
	f := w.findings(id)
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
			w := newWorld(t)
			text := strings.Replace(chaosExperiment, "agents: {count: 3}", "local: {nodes: 3}", 1)
			p := w.start("run", w.write("chaos.yaml", text), "-v")
			p.await(t, "run ")
			d := w.awaitRunning(p)
			time.Sleep(time.Duration(rand.IntN(1500)) * time.Millisecond) //nolint:forbidigo // the random moment
			p.kill()
			awaitNobody(t, w.dir)
			w.run("resume", string(d.Run.ID))
			checkComplete(t, w.data(string(d.Run.ID)))
		})
	}
}

// TestRunAfterKilled: a run that starts while the agent of a killed one still
// ends its task waits for that agent, says so, and succeeds.
func TestRunAfterKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	begun := filepath.Join(w.dir, "begun")
	const form = "fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: %q}]\nevaluations: [serial]\n"
	stubborn := fmt.Sprintf("trap '' TERM; touch %s; while :; do sleep 0.1; done", begun)
	p := w.start("run", w.write("stubborn.yaml", fmt.Sprintf(form, stubborn)))
	w.poll("the task", func() bool { _, err := os.Stat(begun); return err == nil })
	p.kill()
	_, stderr, err := w.try("run", w.write("next.yaml", fmt.Sprintf(form, "true")))
	if err != nil || !strings.Contains(stderr, "another agent, of an earlier run or of another server, is still running on") {
		t.Errorf("the next run: %v; want success, and for what it waited:\n%s", err, stderr)
	}
}

// TestServerSaysWhatCanBeResumed: a server that was killed with a run at work
// and one in line says so when it starts again, and what each of them was at.
func TestServerSaysWhatCanBeResumed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startServer()
	file := w.write("long.yaml", "fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: sleep 600}]\nevaluations: [serial]\n")
	first := strings.TrimSpace(w.run("run", file, "--detach"))
	w.awaitRun(first, "running", func(d model.RunData) bool { return !d.Run.Started.IsZero() })
	second := strings.TrimSpace(w.run("run", file, "--detach"))
	w.server.kill()
	w.startServer()
	w.server.await(t, "2 runs are interrupted; `scalebench resume ID` continues one, the latest is "+second)
	if r := w.data(first).Run; r.Reason != "the scalebench server stopped during the run" {
		t.Errorf("the run at work is %s (%s)", r.State, r.Reason)
	}
	if r := w.data(second).Run; r.Reason != "the scalebench server stopped before the run began" {
		t.Errorf("the run in line is %s (%s)", r.State, r.Reason)
	}
	w.run("delete", second, "--yes")
	w.server.leave(t)
	w.startServer()
	w.server.await(t, "1 run is interrupted; `scalebench resume "+first+"` continues it")
}

// awaitRunning waits until the first result of the latest run is stored.
func (w *world) awaitRunning(p *proc) model.RunData {
	w.t.Helper()
	w.server = p
	defer func() { w.server = nil }()
	return w.awaitRun("newest", "running", func(d model.RunData) bool { return len(d.Results) > 0 })
}

// awaitNobody waits until no process names dir in its command line or
// environment.
func awaitNobody(t testing.TB, dir string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := processesWith(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes that survived: %v", left)
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // /proc is looked at again
	}
}

func processesWith(t testing.TB, text string) []string {
	t.Helper()
	var out []string
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(dirs) == 0 {
		t.Fatalf("reading /proc: %v", err)
	}
	for _, d := range dirs {
		if filepath.Base(d) == strconv.Itoa(os.Getpid()) {
			continue
		}
		cmdline, _ := os.ReadFile(filepath.Join(d, "cmdline"))
		environ, _ := os.ReadFile(filepath.Join(d, "environ"))
		if bytes.Contains(cmdline, []byte(text)) || bytes.Contains(environ, []byte(text)) {
			out = append(out, filepath.Base(d)+" "+strings.ReplaceAll(string(cmdline), "\x00", " "))
		}
	}
	return out
}
