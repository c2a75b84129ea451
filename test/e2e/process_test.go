package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/servertest"
)

// world is a data directory with a server and agents as real processes, which
// tests start and kill.
type world struct {
	t      testing.TB
	bin    string
	dir    string
	listen string
	server *proc
	agents map[string]*proc
	args   []string // further flags of the server
	extra  []string // further variables of the processes that are started next
}

func newWorld(t testing.TB, serverArgs ...string) *world {
	t.Helper()
	bin, err := exec.LookPath("scalebench") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: bin, dir: t.TempDir(), listen: servertest.FreeAddress(t), agents: make(map[string]*proc), args: serverArgs}
	t.Cleanup(w.stop)
	return w
}

// proc is a running scalebench process.
type proc struct {
	cmd    *exec.Cmd
	ended  chan struct{}
	mu     sync.Mutex
	stderr bytes.Buffer
	lines  chan string
}

func (p *proc) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

// kill ends the process as a power cut would.
func (p *proc) kill() {
	_ = p.cmd.Process.Kill()
	<-p.ended
}

// leave asks the process to end and reports how it did.
func (p *proc) leave(t testing.TB) {
	t.Helper()
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(20 * time.Second):
		t.Errorf("%v did not end on SIGTERM; log:\n%s", p.cmd.Args, p.log())
		p.kill()
	}
	if log := p.log(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
		t.Errorf("%v:\n%s", p.cmd.Args, log)
	}
}

func (w *world) env() []string {
	return slices.Concat(os.Environ(), []string{
		"SCALEBENCH_DATA=" + filepath.Join(w.dir, "server"), "SCALEBENCH_TOKEN=",
		"SCALEBENCH_CONFIG=" + os.DevNull, // the settings of whoever runs the tests are none of theirs
	}, w.extra)
}

// start runs scalebench in the background; each line it prints to standard
// error can be waited for.
func (w *world) start(args ...string) *proc {
	w.t.Helper()
	p := &proc{cmd: exec.Command(w.bin, args...), ended: make(chan struct{}), lines: make(chan string, 1000)}
	p.cmd.Stdout = io.Discard
	w.launch(p)
	return p
}

// launch starts a process that was prepared.
func (w *world) launch(p *proc) {
	w.t.Helper()
	p.cmd.Env = w.env()
	pipe, err := p.cmd.StderrPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			p.mu.Lock()
			p.stderr.WriteString(s.Text() + "\n")
			p.mu.Unlock()
			select {
			case p.lines <- s.Text():
			default:
			}
		}
		_ = p.cmd.Wait()
		close(p.ended)
	}()
}

// await waits for a line that contains text.
func (p *proc) await(t testing.TB, text string) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	p.awaitWhile(t, text, func() <-chan time.Time { return timeout })
}

// awaitWhile is the same until patience, which is asked for anew after each line, is over.
func (p *proc) awaitWhile(t testing.TB, text string, patience func() <-chan time.Time) {
	t.Helper()
	for {
		select {
		case l := <-p.lines:
			if strings.Contains(l, text) {
				return
			}
		case <-p.ended:
			t.Fatalf("%v ended before %q; log:\n%s", p.cmd.Args, text, p.log())
		case <-patience():
			t.Fatalf("%v: no %q; log:\n%s", p.cmd.Args, text, p.log())
		}
	}
}

func (w *world) startServer() {
	w.t.Helper()
	w.server = w.start(append([]string{"server", "--listen", w.listen}, w.args...)...)
	w.server.await(w.t, "serves on")
}

func (w *world) agentState(name string) string { return filepath.Join(w.dir, "agents", name) }

// startAgent starts the agent of a node; the first time it joins with a token.
func (w *world) startAgent(name string) {
	w.t.Helper()
	token := ""
	if _, err := os.Stat(filepath.Join(w.agentState(name), "server.json")); err != nil {
		token = strings.TrimSpace(w.run("token"))
	}
	w.startAgentWith(name, token)
}

// startAgentWith starts an agent with a token, or without one ("").
func (w *world) startAgentWith(name, token string) {
	w.t.Helper()
	args := []string{"agent", "--node", name, "--state", w.agentState(name)}
	if token != "" {
		args = append(args, "--token", token)
	}
	w.agents[name] = w.start(args...)
}

// run runs a command to its end and returns its standard output.
func (w *world) run(args ...string) string {
	w.t.Helper()
	out, stderr, err := w.try(args...)
	if err != nil {
		w.t.Fatalf("scalebench %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return out
}

func (w *world) try(args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(w.bin, args...)
	cmd.Env = w.env()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func (w *world) data(run string) model.RunData {
	w.t.Helper()
	var d model.RunData
	if err := json.Unmarshal([]byte(w.run("export", run)), &d); err != nil {
		w.t.Fatal(err)
	}
	return d
}

func (w *world) findings(run string) []evaluation.Finding {
	w.t.Helper()
	var f []evaluation.Finding
	if err := json.Unmarshal([]byte(w.run("cdi", run, "--format", "json")), &f); err != nil {
		w.t.Fatal(err)
	}
	return f
}

func (w *world) write(name, text string) string {
	w.t.Helper()
	path := filepath.Join(w.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	return path
}

// tryData is data for a run that may not exist yet.
func (w *world) tryData(run string) (d model.RunData, ok bool) {
	if run == "newest" { // whether it is over or not
		if d, ok := w.tryData("running"); ok {
			return d, true
		}
		run = "latest"
	}
	out, _, err := w.try("export", run)
	return d, err == nil && json.Unmarshal([]byte(out), &d) == nil
}

// poll waits until other processes have done something.
func (w *world) poll(what string, done func() bool) {
	w.t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			if w.server != nil {
				w.t.Log(w.server.log())
			}
			w.t.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

// awaitRun waits until a run satisfies ok.
func (w *world) awaitRun(run string, what string, ok func(model.RunData) bool) model.RunData {
	w.t.Helper()
	return w.awaitRunOf(w.server, run, what, ok)
}

// awaitRunOf is awaitRun where another process than the server executes it.
func (w *world) awaitRunOf(p *proc, run string, what string, ok func(model.RunData) bool) model.RunData {
	w.t.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for {
		d, found := w.tryData(run)
		if found && ok(d) {
			return d
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("run %s: not %s; state %s %s; server log:\n%s", run, what, d.Run.State, d.Run.Reason, p.log())
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

func isOver(d model.RunData) bool { return d.Run.State.Final() }

func (w *world) stop() {
	for _, a := range w.agents {
		a.leave(w.t)
	}
	if w.server != nil {
		w.server.leave(w.t)
	}
	if w.t.Failed() {
		for name, a := range w.agents {
			w.t.Logf("agent %s:\n%s", name, a.log())
		}
	}
}

// checkComplete fails unless the run is done and every task has exactly one
// result that counts.
func checkComplete(t testing.TB, d model.RunData) {
	t.Helper()
	if d.Run.State != model.RunDone {
		t.Fatalf("run is %s (%s), want done", d.Run.State, d.Run.Reason)
	}
	count := make(map[model.TaskID]int)
	for _, r := range d.Accepted() {
		if r.Outcome != model.OutcomeOK {
			t.Errorf("task %s counts with outcome %s", r.Task, r.Outcome)
		}
		count[r.Task]++
	}
	for _, s := range d.Steps {
		for _, task := range s.Tasks {
			if count[task.ID] != 1 {
				t.Errorf("task %s has %d results that count, want 1", task.ID, count[task.ID])
			}
		}
	}
	seen := make(map[string]bool)
	for _, r := range d.Results {
		key := fmt.Sprint(r.Task, "#", r.Attempt)
		if seen[key] {
			t.Errorf("attempt %s has two results", key)
		}
		seen[key] = true
	}
}
