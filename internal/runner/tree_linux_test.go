package runner

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/procself"
)

// lifeline is a FIFO; processes inherit its writing end, so its reader sees the
// end when the last of them is dead. That is an event; /proc would need polling.
type lifeline struct {
	path string
	r    *os.File
}

func newLifeline(t *testing.T) *lifeline {
	t.Helper()
	path := filepath.Join(t.TempDir(), "life")
	if err := unix.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &lifeline{path: path, r: r}
}

// cut checks that every process that has the lifeline dies within a time.
func (l *lifeline) cut(t *testing.T, within time.Duration) {
	t.Helper()
	if err := l.r.SetReadDeadline(time.Now().Add(within)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, l.r); err != nil {
		t.Errorf("processes of the task live on: %v", err)
	}
}

// escapes are the ways in which a process may try to survive its task. UP stands
// for the command that tells the test that it is set up. All of them end after a
// while, so that a failing test does not flood the machine.
var escapes = []struct{ name, script string }{
	{"child", "sleep 100 & UP; sleep 100"},
	{"ignores SIGTERM", `trap "" TERM; UP; sleep 100`},
	{"own session", `setsid sh -c "UP; sleep 100" & sleep 100`},
	{"daemon", `setsid sh -c "setsid sh -c 'UP; sleep 100' & exit" & sleep 100`},
	{"daemon without environment", `env -i setsid sh -c "setsid sh -c 'UP; sleep 100' & exit" & sleep 100`},
	{"stopped", "sleep 100 & kill -STOP $!; UP; sleep 100"},
	{"forks and forks", `for i in 1 2 3 4; do setsid sh -c 'i=0; while [ $i -lt 100 ]; do i=$((i+1)); sleep 30 & setsid sleep 30 & UP; sleep 0.02; done' & done; sleep 100`},
}

// on makes a script hold the lifeline as descriptor 9.
func (l *lifeline) on(script string) string {
	return "exec 9>" + l.path + "; " + strings.ReplaceAll(script, "UP", "echo up >&9")
}

// awaitUp waits until the script holds the lifeline.
func (l *lifeline) awaitUp(t *testing.T) {
	t.Helper()
	// The FIFO has no writer yet: a read would see the end. Its first writer
	// makes the next poll succeed.
	fds := []unix.PollFd{{Fd: int32(l.r.Fd()), Events: unix.POLLIN}}
	if n, err := unix.Poll(fds, 20_000); n != 1 || err != nil {
		t.Fatalf("the script did not start: %d, %v", n, err)
	}
	if err := unix.SetNonblock(int(l.r.Fd()), true); err != nil { // Fd made it blocking
		t.Fatal(err)
	}
	fresh, err := os.OpenFile(l.path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.r.Close()
	l.r = fresh
}

// TestNothingSurvives checks that killing a task kills whatever it started.
func TestNothingSurvives(t *testing.T) {
	for _, e := range escapes {
		t.Run(e.name, func(t *testing.T) {
			l := newLifeline(t)
			cfg := config(t, map[string]any{"script": l.on(e.script)})
			cfg.KillGrace = 100 * time.Millisecond
			p := begun(t, cfg)
			l.awaitUp(t)
			p.Kill(model.OutcomeCancelled)
			want(t, p.Wait(), model.OutcomeCancelled, "killed")
			l.cut(t, time.Second)
		})
	}
}

// TestTimeoutKillsTree checks the same for a timeout.
func TestTimeoutKillsTree(t *testing.T) {
	l := newLifeline(t)
	cfg := config(t, map[string]any{"script": l.on(escapes[len(escapes)-1].script)})
	cfg.Spec.Timeout, cfg.KillGrace = 2*time.Second, 100*time.Millisecond
	p := begun(t, cfg)
	l.awaitUp(t)
	want(t, p.Wait(), model.OutcomeTimeout, "timeout of 2s")
	l.cut(t, time.Second)
}

// TestLeftRunning checks that what a task leaves behind at its regular end is
// killed, that a process which keeps the output open does not hold it up, and
// that the same is true when the child dies in between.
func TestLeftRunning(t *testing.T) {
	for name, last := range map[string]string{"regular end": "exit 0", "child dies": "kill -9 $PPID"} {
		t.Run(name, func(t *testing.T) {
			l := newLifeline(t)
			script := l.on(`sleep 100 & setsid sh -c "setsid sleep 100 & exit"; echo out; ` + last)
			begin := time.Now()
			o := run(t, map[string]any{"script": script})
			l.cut(t, time.Second)
			if o.Stdout.Text != "out\n" {
				t.Errorf("stdout = %q, want %q", o.Stdout.Text, "out\n")
			}
			if d := time.Since(begin); d > 15*time.Second {
				t.Errorf("took %v, want no waiting for processes that keep the output open", d)
			}
		})
	}
}

// agentMain is an agent that starts one task, names it on its output, and
// waits to be killed.
func agentMain(script string) int {
	dir, err := os.MkdirTemp("", "agent-")
	if err != nil {
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	p, err := Start(context.Background(), Config{
		Command: []string{os.Args[0], "run-workload"}, Task: "t", Dir: dir, Environ: os.Environ(),
		Spec: model.Spec{Kind: "probe", Params: map[string]any{"script": script}, Timeout: time.Hour},
	})
	if err != nil || <-p.Ready() != nil || p.Begin(time.Now()) != nil {
		return 1
	}
	fmt.Println(p.PGID(), p.StartTicks())
	p.Wait()
	return 0
}

// startAgent starts agentMain and returns its process and its task's identity.
func startAgent(t *testing.T, script string) (agent *exec.Cmd, pgid int, ticks uint64) {
	t.Helper()
	agent = exec.Command(os.Args[0], "be-agent", script)
	agent.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	agent.Stderr = os.Stderr
	out, err := agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fscan(bufio.NewReader(out), &pgid, &ticks); err != nil {
		t.Fatalf("reading the agent's task: %v", err)
	}
	return agent, pgid, ticks
}

// killAgent is kill -9 of the agent.
func killAgent(t *testing.T, agent *exec.Cmd) {
	t.Helper()
	if err := agent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := agent.Wait(); !errors.As(err, &exit) {
		t.Fatalf("the agent ended with %v, want a signal", err)
	}
}

// TestAgentKilled checks that nothing outlives an agent that got kill -9.
func TestAgentKilled(t *testing.T) {
	for _, e := range escapes {
		t.Run(e.name, func(t *testing.T) {
			l := newLifeline(t)
			agent, _, _ := startAgent(t, l.on(e.script))
			l.awaitUp(t)
			killAgent(t, agent)
			l.cut(t, 10*time.Second)
		})
	}
}

// TestAgentKilledHangup is the case in which the kernel hangs up on the child's
// group when the agent dies: the child must live on to kill its descendants.
// The agent is stopped before, so that it cannot do it.
func TestAgentKilledHangup(t *testing.T) {
	l := newLifeline(t)
	agent, pgid, _ := startAgent(t, l.on(`env -i setsid sh -c "setsid sh -c 'UP; sleep 100' & exit" & sleep 100`))
	l.awaitUp(t)
	if err := agent.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pgid, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	killAgent(t, agent)
	l.cut(t, 10*time.Second)
}

// TestKillLeftover makes the case in which only the journal helps: agent and
// child die in the same moment.
func TestKillLeftover(t *testing.T) {
	l := newLifeline(t)
	agent, pgid, ticks := startAgent(t, l.on(`sleep 100 & setsid sh -c "UP; sleep 100" & sleep 100`))
	l.awaitUp(t)
	if err := syscall.Kill(pgid, syscall.SIGSTOP); err != nil { // the child cannot see its agent's end
		t.Fatal(err)
	}
	killAgent(t, agent)
	if err := KillLeftover(pgid, ticks+1); err != nil {
		t.Errorf("KillLeftover(another start) = %v", err)
	}
	if _, err := procself.ReadProcess(pgid); err != nil {
		t.Fatalf("KillLeftover killed a process with another start: %v", err)
	}
	if err := KillLeftover(pgid, ticks); err != nil {
		t.Errorf("KillLeftover(%d) = %v", pgid, err)
	}
	l.cut(t, time.Second)
	if err := KillLeftover(pgid, ticks); err != nil {
		t.Errorf("second KillLeftover(%d) = %v, want nil: nothing is left", pgid, err)
	}
}

// TestKillLeftoverWithoutLeader: the child is dead, the cookie finds the rest.
func TestKillLeftoverWithoutLeader(t *testing.T) {
	l := newLifeline(t)
	agent, pgid, ticks := startAgent(t, l.on(`sleep 100 & setsid sh -c "UP; sleep 100" & sleep 100`))
	l.awaitUp(t)
	if err := syscall.Kill(agent.Process.Pid, syscall.SIGSTOP); err != nil { // the agent cannot see its child's end
		t.Fatal(err)
	}
	if err := syscall.Kill(pgid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	killAgent(t, agent)
	if err := KillLeftover(pgid, ticks); err != nil {
		t.Errorf("KillLeftover(%d) = %v", pgid, err)
	}
	l.cut(t, time.Second)
}

func TestStartToken(t *testing.T) {
	a, err := startToken(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if b, err := startToken(os.Getpid()); err != nil || b != a {
		t.Errorf("startToken twice = %d, %d, %v; want the same", a, b, err)
	}
	cmd := exec.Command("sleep", "100")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if b, err := startToken(cmd.Process.Pid); err != nil || b == a {
		t.Errorf("startToken of another process = %d, %v; want not %d", b, err, a)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if _, err := startToken(cmd.Process.Pid); err == nil {
		t.Errorf("startToken(%s) of a dead process = nil, want an error", strconv.Itoa(cmd.Process.Pid))
	}
}
