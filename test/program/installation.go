package program

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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/evaluation"
	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/test/servers"
)

// Installation is a data directory with a server and agents as real processes, which
// tests start and kill.
type Installation struct {
	T      testing.TB
	Bin    string
	Dir    string
	Listen string
	Server *Process
	Agents map[string]*Process
	Args   []string // further flags of the server
	Extra  []string // further variables of the processes that are started next
}

// Install makes one that ends with the test. Its server has these further flags.
func Install(t testing.TB, serverArgs ...string) *Installation {
	t.Helper()
	bin, err := exec.LookPath("scalebench") // testscript.Main put it there
	if err != nil {
		t.Fatal(err)
	}
	w := &Installation{T: t, Bin: bin, Dir: t.TempDir(), Listen: servers.FreeAddress(t),
		Agents: make(map[string]*Process), Args: serverArgs}
	t.Cleanup(w.Stop)
	return w
}

// Process is a running scalebench process.
type Process struct {
	Cmd    *exec.Cmd
	Ended  chan struct{}
	Mu     sync.Mutex
	Stderr bytes.Buffer
	Lines  chan string
}

// Log is what the process printed to standard error so far.
func (p *Process) Log() string {
	p.Mu.Lock()
	defer p.Mu.Unlock()
	return p.Stderr.String()
}

// Kill ends the process as a power cut would.
func (p *Process) Kill() {
	_ = p.Cmd.Process.Kill()
	<-p.Ended
}

// Leave asks the process to end and reports how it did.
func (p *Process) Leave(t testing.TB) {
	t.Helper()
	_ = p.Cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.Ended:
	case <-time.After(20 * time.Second):
		t.Errorf("%v did not end on SIGTERM; log:\n%s", p.Cmd.Args, p.Log())
		p.Kill()
	}
	if log := p.Log(); strings.Contains(log, "DATA RACE") || strings.Contains(log, "panic:") {
		t.Errorf("%v:\n%s", p.Cmd.Args, log)
	}
}

// Env are the variables of its processes.
func (w *Installation) Env() []string {
	return slices.Concat(os.Environ(), []string{
		"SCALEBENCH_DATA=" + filepath.Join(w.Dir, "server"), "SCALEBENCH_TOKEN=",
		"SCALEBENCH_CONFIG=" + os.DevNull, // the settings of whoever runs the tests are none of theirs
	}, w.Extra)
}

// Start runs scalebench in the background; each line it prints to standard
// error can be waited for.
func (w *Installation) Start(args ...string) *Process {
	w.T.Helper()
	p := &Process{Cmd: exec.Command(w.Bin, args...), Ended: make(chan struct{}), Lines: make(chan string, 1000)}
	p.Cmd.Stdout = io.Discard
	w.Launch(p)
	return p
}

// Launch starts a process that was prepared.
func (w *Installation) Launch(p *Process) {
	w.T.Helper()
	p.Cmd.Env = w.Env()
	pipe, err := p.Cmd.StderrPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := p.Cmd.Start(); err != nil {
		w.T.Fatal(err)
	}
	go func() {
		for s := bufio.NewScanner(pipe); s.Scan(); {
			p.Mu.Lock()
			p.Stderr.WriteString(s.Text() + "\n")
			p.Mu.Unlock()
			select {
			case p.Lines <- s.Text():
			default:
			}
		}
		_ = p.Cmd.Wait()
		close(p.Ended)
	}()
}

// Await waits for a line that contains text.
func (p *Process) Await(t testing.TB, text string) {
	t.Helper()
	timeout := time.After(30 * time.Second)
	p.AwaitWhile(t, text, func() <-chan time.Time { return timeout })
}

// AwaitWhile is the same until patience, which is asked for anew after each line, is over.
func (p *Process) AwaitWhile(t testing.TB, text string, patience func() <-chan time.Time) {
	t.Helper()
	for {
		select {
		case l := <-p.Lines:
			if strings.Contains(l, text) {
				return
			}
		case <-p.Ended:
			t.Fatalf("%v ended before %q; log:\n%s", p.Cmd.Args, text, p.Log())
		case <-patience():
			t.Fatalf("%v: no %q; log:\n%s", p.Cmd.Args, text, p.Log())
		}
	}
}

// StartServer returns when the server is ready.
func (w *Installation) StartServer() {
	w.T.Helper()
	w.Server = w.Start(append([]string{"server", "--listen", w.Listen}, w.Args...)...)
	w.Server.Await(w.T, "serves on")
}

// AgentState is the directory of an agent.
func (w *Installation) AgentState(name string) string { return filepath.Join(w.Dir, "agents", name) }

// StartAgent starts the agent of a node; the first time it joins with a token. more are
// further arguments.
func (w *Installation) StartAgent(name string, more ...string) {
	w.T.Helper()
	token := ""
	if _, err := os.Stat(filepath.Join(w.AgentState(name), "server.json")); err != nil {
		token = strings.TrimSpace(w.Run("token"))
	}
	w.StartAgentWith(name, token, more...)
}

// StartAgentWith starts an agent with a token, or without one ("").
func (w *Installation) StartAgentWith(name, token string, more ...string) {
	w.T.Helper()
	args := append([]string{"agent", "--node", name, "--state", w.AgentState(name)}, more...)
	if token != "" {
		args = append(args, "--token", token)
	}
	w.Agents[name] = w.Start(args...)
}

// Run runs a command to its end and returns its standard output.
func (w *Installation) Run(args ...string) string {
	w.T.Helper()
	out, stderr, err := w.Try(args...)
	if err != nil {
		w.T.Fatalf("scalebench %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return out
}

// Try runs scalebench, which may fail.
func (w *Installation) Try(args ...string) (stdout, stderr string, err error) {
	cmd := exec.Command(w.Bin, args...)
	cmd.Env = w.Env()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// Data is what is stored of a run.
func (w *Installation) Data(run string) model.RunData {
	w.T.Helper()
	var d model.RunData
	if err := json.Unmarshal([]byte(w.Run("export", run)), &d); err != nil {
		w.T.Fatal(err)
	}
	return d
}

// Findings are what `scalebench cdi` says of a run.
func (w *Installation) Findings(run string) []evaluation.Finding {
	w.T.Helper()
	var f []evaluation.Finding
	if err := json.Unmarshal([]byte(w.Run("cdi", run, "--format", "json")), &f); err != nil {
		w.T.Fatal(err)
	}
	return f
}

// Write writes a file into the directory, and returns its path.
func (w *Installation) Write(name, text string) string {
	w.T.Helper()
	path := filepath.Join(w.Dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.T.Fatal(err)
	}
	return path
}

// TryData is data for a run that may not exist yet.
func (w *Installation) TryData(run string) (d model.RunData, ok bool) {
	if run == "newest" { // whether it is over or not
		if d, ok := w.TryData("running"); ok {
			return d, true
		}
		run = "latest"
	}
	out, _, err := w.Try("export", run)
	return d, err == nil && json.Unmarshal([]byte(out), &d) == nil
}

// Poll waits until other processes have done something.
func (w *Installation) Poll(what string, done func() bool) {
	w.T.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			if w.Server != nil {
				w.T.Log(w.Server.Log())
			}
			w.T.Fatalf("waited in vain for %s", what)
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

// AwaitRun waits until a run satisfies ok.
func (w *Installation) AwaitRun(run string, what string, ok func(model.RunData) bool) model.RunData {
	w.T.Helper()
	return w.AwaitRunOf(w.Server, run, what, ok)
}

// AwaitRunOf is awaitRun where another process than the server executes it.
func (w *Installation) AwaitRunOf(p *Process, run string, what string, ok func(model.RunData) bool) model.RunData {
	w.T.Helper()
	deadline := time.Now().Add(90 * time.Second)
	for {
		d, found := w.TryData(run)
		if found && ok(d) {
			return d
		}
		if time.Now().After(deadline) {
			w.T.Fatalf("run %s: not %s; state %s %s; server log:\n%s", run, what, d.Run.State, d.Run.Reason, p.Log())
		}
		time.Sleep(50 * time.Millisecond) //nolint:forbidigo // another process is asked again
	}
}

// IsOver reports whether the run has ended for good.
func IsOver(d model.RunData) bool { return d.Run.State.Final() }

// Stop ends all processes, and reports those that do not end in order.
func (w *Installation) Stop() {
	for _, a := range w.Agents {
		a.Leave(w.T)
	}
	if w.Server != nil {
		w.Server.Leave(w.T)
	}
	if w.T.Failed() {
		for name, a := range w.Agents {
			w.T.Logf("agent %s:\n%s", name, a.Log())
		}
	}
}

// CheckComplete fails unless the run is done and every task has exactly one
// result that counts.
func CheckComplete(t testing.TB, d model.RunData) {
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

// AwaitNodes waits until so many agents are here.
func (w *Installation) AwaitNodes(n int) {
	w.T.Helper()
	w.Poll("agents to join", func() bool {
		return strings.Count(w.Run("nodes", "--format", "csv"), ",alive,") == n
	})
}

// AwaitNobody waits until no process names dir in its command line or
// environment.
func AwaitNobody(t testing.TB, dir string) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		left := ProcessesWith(t, dir)
		if len(left) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("processes that survived: %v", left)
		}
		time.Sleep(20 * time.Millisecond) //nolint:forbidigo // /proc is looked at again
	}
}

// ProcessesWith lists the processes that have a text in their command line or environment.
func ProcessesWith(t testing.TB, text string) []string {
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

// ExampleFile is the path of an experiment file in examples.
func ExampleFile(name string) string { return filepath.Join("..", "..", "examples", name) }

// Tries is how often a measurement may be repeated. The truth holds on a
// machine that does nothing else; a neighbour's burst of work spoils one try,
// an instrument that is wrong spoils them all.
const Tries = 3
