package network

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/scalebench/scalebench/internal/model"
	"github.com/scalebench/scalebench/internal/workload"
	"github.com/scalebench/scalebench/test/workloadtest"
)

// taskVariable holds the task of a helper: this test binary, started again as
// the process of one node.
const taskVariable = "SCALEBENCH_TEST_NETWORK_TASK"

// task is what a helper runs.
type task struct {
	Params         *Params
	Self           model.Host
	Peers, Clients []model.Host
	Role           model.Role
}

// outcome is what a helper prints as its last line.
type outcome struct {
	Error   string
	Samples map[string]model.Sample
	Usage   float64 // CPU time of Run in s, user and system, of this process
	Kids    float64 // the same of its child processes
}

// asHelper runs this process as a helper, where it is one.
func asHelper() bool {
	text := os.Getenv(taskVariable)
	if text == "" {
		return false
	}
	var tk task
	if err := json.Unmarshal([]byte(text), &tk); err != nil {
		panic(err)
	}
	if err := json.NewEncoder(os.Stdout).Encode(tk.run()); err != nil {
		panic(err)
	}
	return true
}

// run prints "ready" when prepared, and goes on with the first line of stdin.
func (tk task) run() (o outcome) {
	r := &workloadtest.Record{}
	env := &workload.Env{
		Node: tk.Self.Node, Self: tk.Self, Peers: tk.Peers, Clients: tk.Clients, Role: tk.Role,
		Dir: os.TempDir(), Environ: os.Environ(), Stdout: io.Discard, Stderr: os.Stderr, Report: r,
	}
	ctx := context.Background()
	if err := tk.Params.Prepare(ctx, env); err != nil {
		return outcome{Error: err.Error()}
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return outcome{Error: err.Error()}
	}
	self, kids := usage(syscall.RUSAGE_SELF), usage(syscall.RUSAGE_CHILDREN)
	if err := tk.Params.Run(ctx, env); err != nil {
		o.Error = err.Error()
	}
	o.Samples = map[string]model.Sample{}
	for _, s := range r.Samples {
		o.Samples[s.Metric] = s
	}
	o.Usage, o.Kids = usage(syscall.RUSAGE_SELF)-self, usage(syscall.RUSAGE_CHILDREN)-kids
	return o
}

func usage(who int) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		panic(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// helper is a started task.
type helper struct {
	name  string
	cmd   *exec.Cmd
	stdin io.WriteCloser
	out   *bufio.Reader
}

// startHelper starts a task, after a prefix such as "ip netns exec NAME", and
// returns when it is prepared.
func startHelper(t testing.TB, tk task, prefix ...string) *helper {
	t.Helper()
	text, err := json.Marshal(tk)
	if err != nil {
		t.Fatal(err)
	}
	words := append(prefix, os.Args[0])
	h := &helper{name: string(tk.Self.Node), cmd: exec.Command(words[0], words[1:]...)}
	h.cmd.Env = append(os.Environ(), taskVariable+"="+string(text))
	h.cmd.Stderr = os.Stderr
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if h.stdin, err = h.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = h.cmd.Process.Kill() // it has ended where all went well
		_ = h.cmd.Wait()
	})
	h.out = bufio.NewReader(out)
	if line, err := h.out.ReadString('\n'); line != "ready\n" {
		t.Fatalf("%s: %q, %v; want it to be ready", h.name, line, err)
	}
	return h
}

// begin lets the task begin.
func (h *helper) begin(t testing.TB) {
	t.Helper()
	if _, err := io.WriteString(h.stdin, "begin\n"); err != nil {
		t.Fatal(err)
	}
}

// end returns what the task left.
func (h *helper) end(t testing.TB) outcome {
	t.Helper()
	line, err := h.out.ReadString('\n')
	if err != nil {
		t.Fatalf("%s: %v", h.name, err)
	}
	var o outcome
	if err := json.Unmarshal([]byte(line), &o); err != nil {
		t.Fatalf("%s: %v in %q", h.name, err, line)
	}
	return o
}

// need is workloadtest.Need for a part of the set-up.
func need(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		workloadtest.Need(t, fmt.Errorf("%s: %w", what, err))
	}
}

// command runs a program of the test's own set-up.
func command(line ...string) error {
	out, err := exec.Command(line[0], line[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(line, " "), err, out)
	}
	return nil
}
