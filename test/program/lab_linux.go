package program

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/scalebench/scalebench/internal/lab"
	"github.com/scalebench/scalebench/internal/procself"
)

// Traces lists everything on this machine that names a lab: what another lab
// that happens to be here made is not among it.
func Traces(t testing.TB, id string) []string {
	t.Helper()
	var out []string
	for _, pattern := range []string{
		"/run/netns/scalebench-" + id + "*", lab.DefaultStateDir + "/" + id + "*", lab.DefaultVolumeDir + "/" + id,
	} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	out = append(out, CgroupsOf(id)...)
	loops, err := filepath.Glob("/sys/block/loop*/loop/backing_file")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(loops, "/proc/self/mountinfo") {
		text, _ := os.ReadFile(file) // a device may go between listing and reading
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "/"+id+"/") {
				out = append(out, file+": "+strings.TrimSpace(line))
			}
		}
	}
	return out
}

// CheckNothing fails if anything is left of a lab.
func CheckNothing(t testing.TB, id string) {
	t.Helper()
	if left := Traces(t, id); len(left) > 0 {
		t.Errorf("left of lab %s:\n%s", id, strings.Join(left, "\n"))
	}
}

// labNameRE finds the name of a lab in what is printed of it.
var labNameRE = regexp.MustCompile(`lab ([a-z0-9]{6})\b`)

// LabName finds the lab's name in what a command said.
func LabName(t testing.TB, text string) string {
	t.Helper()
	m := labNameRE.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no lab is named in:\n%s", text)
	}
	return m[1]
}

// KillAll kills every process of a lab, and its server, at once as a power cut would. It
// returns the folders of the services that ran.
func (w *Installation) KillAll(id string, server *Process) []string {
	w.T.Helper()
	groups := CgroupsOf(id)
	if len(groups) == 0 {
		w.T.Fatalf("lab %s has no cgroups", id)
	}
	var all []int // agents, their tasks, and services in groups of their own below
	for _, g := range groups {
		_ = filepath.WalkDir(g, func(path string, d fs.DirEntry, err error) error {
			pids, _ := os.ReadFile(filepath.Join(path, "cgroup.procs")) // agents may be gone by themselves, and v1 groups with them
			for _, pid := range strings.Fields(string(pids)) {
				if n, err := strconv.Atoi(pid); err == nil {
					all = append(all, n)
				}
			}
			return nil
		})
	}
	slices.Sort(all)
	all = slices.Compact(all)
	// All stand still before the first one dies: one that sees another end removes what
	// that one has, and so does an agent when its task ends.
	signal := func(pid int, s syscall.Signal) { _ = syscall.Kill(pid, s) } // it may be gone by itself
	signal(server.Cmd.Process.Pid, syscall.SIGSTOP)
	for _, pid := range all {
		signal(pid, syscall.SIGSTOP)
	}
	left := FoldersOf(w.T, all)
	signal(server.Cmd.Process.Pid, syscall.SIGKILL)
	for _, pid := range all {
		signal(pid, syscall.SIGKILL)
	}
	if len(all) == 0 {
		w.T.Error("no process was killed; the test proves nothing")
	}
	for _, pid := range all {
		w.Poll(fmt.Sprintf("process %d to end", pid),
			func() bool { p, err := procself.ReadProcess(pid); return err != nil || p.Zombie })
	}
	return left
}

// CgroupsOf lists the cgroups of a lab, one in each hierarchy.
func CgroupsOf(id string) []string {
	var out []string
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == id {
			out = append(out, path)
		}
		return nil // other groups come and go
	})
	return out
}

// CheckExit reports another exit code than the one wanted.
func CheckExit(t *testing.T, what string, err error, want int) {
	t.Helper()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != want {
		t.Errorf("%s: %v, want exit code %d", what, err, want)
	}
}

// Optional is a number that may be missing, for a message.
func Optional(v *float64) any {
	if v == nil {
		return "none"
	}
	return fmt.Sprintf("%.1f", *v)
}

// LabMade is what `lab up` prints of a lab.
type LabMade struct {
	ID    string `json:"id"`
	State string `json:"state"`
	Hosts []struct {
		Name      string
		Namespace struct{ Name string }
		Paths     map[string]string
	} `json:"hosts"`
}

// MakeLab makes a lab that is removed at the end of the test at the latest.
func (w *Installation) MakeLab(file string) (made LabMade) {
	w.T.Helper()
	out, stderr, err := w.Try("lab", "up", "--format", "json", file)
	if err != nil {
		w.T.Fatalf("lab up: %v\n%s", err, stderr)
	}
	if err := json.Unmarshal([]byte(out), &made); err != nil {
		w.T.Fatalf("lab up: %v\n%s", err, out)
	}
	w.T.Cleanup(func() { _, _, _ = w.Try("lab", "down", made.ID) }) // most tests have done it
	return made
}

// TierGroups lists the control groups of services of the task with this folder, or of all tasks
// without one. Tests that are not of one installation share the machine: what is there of "all" is
// theirs, too.
func TierGroups(t testing.TB, task string) (out []string) {
	t.Helper()
	prefix := "scalebench-"
	if task != "" {
		prefix += filepath.Base(task) + "-"
	}
	_ = filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), prefix) && strings.Count(d.Name(), "-") >= 3 {
			out = append(out, path)
		}
		return nil // other groups come and go
	})
	return out
}

// AwaitLong waits until a process that lives says something, for as long as a trial
// of a busy machine takes after trial.
func (p *Process) AwaitLong(t *testing.T, text string) {
	t.Helper()
	p.AwaitWhile(t, text, func() <-chan time.Time { return time.After(2 * time.Minute) })
}

// FoldersOf are the folders of the services of which these processes are the tasks.
func FoldersOf(t testing.TB, tasks []int) (out []string) {
	t.Helper()
	for _, pid := range tasks {
		found, err := filepath.Glob(fmt.Sprintf("/var/tmp/scalebench-services-%d/%d-*", os.Geteuid(), pid))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, found...)
	}
	return out
}

// CheckGone reports directories that are still there.
func CheckGone(t testing.TB, dirs []string) {
	t.Helper()
	for _, dir := range dirs {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("folder %s of a service that was killed is left", dir)
		}
	}
}
