package e2e_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/test/program"
)

// TestLabCommands: a lab that was made by hand stands until it is taken down.
func TestLabCommands(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	file := w.Write("lab.yaml", wholeLab+"workloads: [{kind: command, command: 'true'}]\n")
	id := w.labUp(file)
	if line := lineWith(w.Run("lab", "list"), id); !strings.Contains(line, "kept") {
		t.Errorf("lab list: %q, want it kept", line)
	}
	// Another command's sweep does not touch it.
	w.Run("run", w.Write("local.yaml",
		"fleet: {local: {nodes: 1}}\nworkloads: [{kind: command, command: echo}]\nevaluations: [serial]\n"))

	out := w.Run("lab", "exec", "--lab", id, "lab-a-2", "--", "ip", "-4", "-o", "addr", "show", "dev", "eth0")
	if !strings.Contains(out, "10.213.1.2/16") {
		t.Errorf("lab exec: %q, want the address of the node", out)
	}
	if out := w.Run("lab", "exec", "--lab", id, "lab-a-2", "cat", "/proc/self/cgroup"); !strings.Contains(out,
		"/scalebench/"+id+"/lab-a-2") {
		t.Errorf("lab exec: cgroups %q, want those of the node", out)
	}
	_, stderr, err := w.Try("lab", "exec", "--lab", id, "lab-a-1", "--", "sh", "-c", "exit 42")
	program.CheckExit(t, "lab exec exit 42", err, 42)
	if stderr != "" {
		t.Errorf("lab exec of a command that fails says %q, want nothing of its own", stderr)
	}
	for command, code := range map[string]int{"nosuchcmd": 127, "/no/such/command": 127, "/etc/passwd": 126, "/etc": 126} {
		_, stderr, err = w.Try("lab", "exec", "--lab", id, "lab-a-1", "--", command)
		program.CheckExit(t, "lab exec "+command, err, code)
		if !strings.Contains(stderr, command) || !strings.Contains(stderr, "lab-a-1") {
			t.Errorf("lab exec %s says %q, want the command and the host", command, stderr)
		}
	}
	_, stderr, err = w.Try("lab", "exec", "--lab", id, "lab-9", "true")
	program.CheckExit(t, "lab exec on no host", err, 2)
	if !strings.Contains(stderr, "lab-b-1") {
		t.Errorf("lab exec on no host says %q, want those that there are", stderr)
	}

	w.Run("lab", "down", id)
	program.CheckNothing(t, id)
	_, _, err = w.Try("lab", "down", id)
	program.CheckExit(t, "lab down again", err, 1)
}

// TestLabExamples runs what `lab --help` shows, as it stands there. Other labs
// may be here at the same time; so this one is named where there could be a
// doubt, and others are not taken down.
func TestLabExamples(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	id, ran := "", 0
	t.Cleanup(func() {
		if id != "" {
			_, _, _ = w.Try("lab", "down", id) // the last example has done it
		}
	})
	for _, args := range examplesOf(t, w.Run("lab", "--help")) {
		switch args[1] {
		case "up":
			_, stderr, err := w.Try("lab", "up", filepath.Join("..", "..", args[2]))
			if err != nil {
				t.Fatalf("%v: %v\n%s", args, err, stderr)
			}
			id = program.LabName(t, stderr)
		case "exec":
			args = append([]string{"lab", "exec", "--lab", id}, args[2:]...)
			// A server that was just started in the background is not there
			// at once.
			w.Poll(strings.Join(args, " "), func() bool { _, _, err := w.Try(args...); return err == nil })
		case "list":
			if line := lineWith(w.Run(args...), id); !strings.Contains(line, "lab-rack-1") {
				t.Errorf("%v: %q, want the lab with its hosts", args, line)
			}
		case "down":
			w.Run("lab", "down", id)
			program.CheckNothing(t, id)
		}
		ran++
	}
	if id == "" || ran < 4 {
		t.Errorf("%d examples were run, of lab %q, want all of them", ran, id)
	}
}

// examplesOf returns the arguments of each example in a command's help.
func examplesOf(t *testing.T, help string) [][]string {
	t.Helper()
	_, rest, ok := strings.Cut(help, "Examples:\n")
	if !ok {
		t.Fatalf("no examples in\n%s", help)
	}
	var all [][]string
	for line := range strings.Lines(rest) {
		args := strings.Fields(line)
		if len(args) == 0 {
			break
		}
		all = append(all, args[1:])
	}
	return all
}

// TestLabHeld: with --keep=false the lab belongs to the command: others may
// not take it away, and Ctrl-C does.
func TestLabHeld(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	p := w.Start("lab", "up", "--keep=false",
		w.Write("lab.yaml", "fleet: {lab: {nodes: 1}}\nworkloads: [{kind: command, command: 'true'}]\n"))
	p.Await(t, "Ctrl-C removes it")
	id := program.LabName(t, p.Log())
	if line := lineWith(w.Run("lab", "list"), id); !strings.Contains(line, "running") {
		t.Errorf("lab list: %q, want it running", line)
	}
	_, stderr, err := w.Try("lab", "down", id)
	program.CheckExit(t, "lab down", err, 2)
	if !strings.Contains(stderr, "--force") || !strings.Contains(stderr, strconv.Itoa(p.Cmd.Process.Pid)) {
		t.Errorf("lab down: %q, want its owner and how to go on", stderr)
	}
	p.Leave(t)
	program.CheckNothing(t, id)
}

// labUp makes a lab that is removed at the end of the test at the latest, and
// checks the table of its hosts.
func (w *installation) labUp(file string) string {
	w.T.Helper()
	made := w.MakeLab(file)
	if len(made.Hosts) != 4 || made.State != "kept" {
		w.T.Errorf("lab up = %+v, want a lab of 4 hosts that is kept", made)
	}
	for _, h := range made.Hosts {
		if _, err := os.Stat("/run/netns/" + h.Namespace.Name); err != nil {
			w.T.Errorf("host %s: %v", h.Name, err)
		}
		for name, path := range h.Paths {
			if _, err := os.Stat(path); err != nil {
				w.T.Errorf("volume %s of %s: %v", name, h.Name, err)
			}
		}
	}
	return made.ID
}

// TestLabWithoutRights: a user without rights is told at once what is missing
// and how to go on, and no run is stored.
func TestLabWithoutRights(t *testing.T) {
	t.Parallel()
	program.NeedLab(t)
	w := install(t)
	file := w.Write("lab.yaml", "fleet: {lab: {nodes: 2}}\nworkloads: [{kind: command, command: 'true'}]\n")
	bin := copyFor(t, w.Bin, w.Dir)
	as := func(args ...string) (string, error) {
		cmd := exec.Command(bin, args...)
		cmd.Env = append(w.Env(), "SCALEBENCH_DATA="+filepath.Join(w.Dir, "nobody"))
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
		began := time.Now()
		out, err := cmd.CombinedOutput()
		t.Logf("%v: %v", args, time.Since(began))
		return string(out), err
	}
	if err := os.Mkdir(filepath.Join(w.Dir, "nobody"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(w.Dir, "nobody"), nobody, nobody); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"run", file}, {"lab", "up", file}} {
		out, err := as(args...)
		program.CheckExit(t, strings.Join(args, " "), err, 1)
		for _, want := range []string{"CAP_NET_ADMIN", "cgroup", "fleet: local"} {
			if !strings.Contains(out, want) {
				t.Errorf("%v: %q, want %q in it", args, out, want)
			}
		}
	}
	if out, err := as("lab", "exec", "lab-1", "--", "true"); err == nil || !strings.Contains(out, "needs root") || strings.Contains(out, "built") {
		t.Errorf("lab exec = %q, %v, want that it needs root", out, err)
	}
	if out, err := as("runs", "--format", "json"); err != nil || strings.TrimSpace(out) != "[]" {
		t.Errorf("runs = %q, %v, want none", out, err)
	}
	if out, err := as("run", "--dry-run", file); err != nil || !strings.Contains(out, "lab-2") || !strings.Contains(out, "this machine cannot run it") {
		t.Errorf("run --dry-run = %q, %v, want the plan and a warning", out, err)
	}
}

// nobody is the unprivileged user of every Linux.
const nobody = 65534

// copyFor copies the program, and opens the way to it, for everybody.
func copyFor(t *testing.T, from, dir string) string {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = in.Close() }() // only read
	path := filepath.Join(dir, "scalebench")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err == nil {
		_, err = io.Copy(out, in)
		err = errors.Join(err, out.Close())
	}
	for d := dir; err == nil && d != os.TempDir() && d != "/"; d = filepath.Dir(d) {
		err = os.Chmod(d, 0o755)
	}
	if err == nil {
		err = os.Chmod(filepath.Join(dir, "lab.yaml"), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
