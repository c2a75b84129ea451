package service

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/scalebench/scalebench/internal/cgroup"
	"github.com/scalebench/scalebench/internal/procself"
)

// TestRemoveTree: groups that a service made below its own go with it, and what is in
// them.
func TestRemoveTree(t *testing.T) {
	needGroups(t)
	g, err := newGroup("test-tree-" + strconv.Itoa(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer g.remove()
	deep := exec.CommandContext(t.Context(), "sleep", "300")
	if err := deep.Start(); err != nil {
		t.Fatal(err)
	}
	for _, dir := range g.Dirs() {
		below := filepath.Join(dir, "a", "b")
		if err := errors.Join(os.MkdirAll(below, 0o755), cgroup.Write(below, "cgroup.procs", strconv.Itoa(deep.Process.Pid))); err != nil {
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

func alive(pid int) bool {
	p, err := procself.ReadProcess(pid)
	return err == nil && !p.Zombie
}
