package service

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// startIn starts a process in a group of version 2.
func startIn(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err := (&group{hierarchy{v2: filepath.Dir(dir)}, filepath.Base(dir)}).start(cmd); err != nil {
		t.Fatal(err)
	}
	return cmd
}

// TestPassOn: with version 2 the agent's own processes move so that groups below can
// have limits, and a service begins in its group; the processes of others stay.
func TestPassOn(t *testing.T) {
	dir, controller := unified(t)
	h := hierarchy{v2: dir}
	mine := startIn(t, dir, "sleep", "300")
	if err := h.passOn("+" + controller); err != nil {
		t.Fatal(err)
	}
	if got := pids(filepath.Join(dir, "scalebench-agent", "cgroup.procs")); !slices.Equal(got, []int{mine.Process.Pid}) {
		t.Errorf("%v are in the agent's group, want %d", got, mine.Process.Pid)
	}
	if got := readGroup(filepath.Join(dir, "cgroup.subtree_control")); got != controller {
		t.Errorf("%q is passed on, want %s", got, controller)
	}
	g := &group{h, groupPrefix + "db"}
	if err := os.Mkdir(g.Dirs()[0], 0o755); err != nil {
		t.Fatal(err)
	}
	service := startIn(t, g.Dirs()[0], "sleep", "300")
	if got := pids(g.file("", "", "cgroup.procs")); !slices.Equal(got, []int{service.Process.Pid}) {
		t.Errorf("%v are in the service's group, want %d", got, service.Process.Pid)
	}
	g.remove()
	_, _ = mine.Process.Kill(), service.Wait()
	_ = mine.Wait()
	if _, err := os.Stat(g.Dirs()[0]); err == nil {
		t.Error("the service's group is left")
	}
}

// TestPassOnOthers: where others are in the group, none is moved.
func TestPassOnOthers(t *testing.T) {
	dir, controller := unified(t)
	mine := startIn(t, dir, "sleep", "300")
	// An orphan is no descendant of this process.
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "sleep 300 >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	other, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	if err := writeGroup(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(other)); err != nil {
		t.Fatal(err)
	}
	err = hierarchy{v2: dir}.passOn("+" + controller)
	if err == nil || !strings.Contains(err.Error(), strconv.Itoa(other)+" (sleep)") || !strings.Contains(err.Error(), "Delegate=yes") {
		t.Errorf("passOn = %v, want process %d named, and what to do", err, other)
	}
	in := pids(filepath.Join(dir, "cgroup.procs"))
	if !slices.Contains(in, other) || !slices.Contains(in, mine.Process.Pid) {
		t.Errorf("%v are in the group, want %d and %d to have stayed", in, other, mine.Process.Pid)
	}
	_ = mine.Process.Kill()
	_ = mine.Wait()
}

// TestPassOnLacking: a controller that the group does not have is told, with what to do.
func TestPassOnLacking(t *testing.T) {
	dir, _ := unified(t)
	err := hierarchy{v2: dir}.passOn("+nothing")
	if err == nil || !strings.Contains(err.Error(), "cgroup.subtree_control") {
		t.Errorf("passOn = %v, want the controller refused", err)
	}
}

// TestRemoveTree: groups that a service made below its own go with it, and what is in
// them.
func TestRemoveTree(t *testing.T) {
	needGroups(t)
	g, err := newGroup("test-tree-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer g.remove()
	removeTree(t, g)
}

// TestRemoveTreeUnified is the same with version 2 where both are mounted.
func TestRemoveTreeUnified(t *testing.T) {
	dir, _ := unified(t)
	g := &group{hierarchy{v2: dir}, groupPrefix + "tree"}
	if err := os.Mkdir(g.Dirs()[0], 0o755); err != nil {
		t.Fatal(err)
	}
	removeTree(t, g)
}

func removeTree(t *testing.T, g *group) {
	t.Helper()
	deep := exec.CommandContext(t.Context(), "sleep", "300")
	if err := deep.Start(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range g.Dirs() {
		below := filepath.Join(dir, "a", "b")
		if err := errors.Join(os.MkdirAll(below, 0o755), writeGroup(filepath.Join(below, "cgroup.procs"), strconv.Itoa(deep.Process.Pid))); err != nil {
			t.Fatal(err)
		}
	}
	go func() { _ = deep.Wait() }() // it is killed
	g.remove()
	for _, dir := range g.Dirs() {
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%s is left", dir)
		}
	}
	if alive(deep.Process.Pid) {
		t.Errorf("process %d below the group lives", deep.Process.Pid)
	}
}
