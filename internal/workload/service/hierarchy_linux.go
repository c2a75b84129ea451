package service

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// hierarchy is where the control group of this node is: below it are those of
// services. With v1 it is a folder a controller, with v2 one for all.
type hierarchy struct {
	v2 string
	v1 map[string]string // by controller: cpu, cpuacct, memory
}

// ownHierarchy finds the group in which the agent is. A machine may have both
// versions mounted: v1 is taken where it has the controller cpu.
func ownHierarchy() (hierarchy, error) {
	mounts, err1 := os.ReadFile("/proc/self/mountinfo")
	own, err2 := os.ReadFile("/proc/self/cgroup")
	if err := errors.Join(err1, err2); err != nil {
		return hierarchy{}, fmt.Errorf("looking for control groups: %w", err)
	}
	mine, h := procself.Groups(string(own)), hierarchy{v1: make(map[string]string)}
	for m := range procself.Mounts(string(mounts)) {
		if m.Unified() {
			h.v2 = cmp.Or(h.v2, groupDir(m, mine[""]))
		}
		for _, c := range []string{"cpu", "cpuacct", "memory"} {
			if m.Controls(c) && h.v1[c] == "" {
				h.v1[c] = groupDir(m, mine[c])
			}
		}
	}
	if h.v1["cpu"] != "" {
		h.v2 = ""
	} else if h.v2 == "" {
		return h, errors.New("this node has no control groups")
	}
	return h, nil
}

// groupDir is the folder of a group. A container may see the path from outside;
// where it leads nowhere, the top of what is mounted is the own group.
func groupDir(m procself.Mount, path string) string {
	dir := filepath.Join(m.Point, procself.Below(m.Root, path))
	if _, err := os.Stat(dir); err != nil {
		return m.Point
	}
	return dir
}

// dirs are the folders of a group below, or of the node's own for "".
func (h hierarchy) dirs(name string) []string {
	if h.v2 != "" {
		return []string{filepath.Join(h.v2, name)}
	}
	var out []string
	for _, dir := range h.v1 {
		out = append(out, filepath.Join(dir, name))
	}
	slices.Sort(out)
	return slices.Compact(out) // controllers that are mounted together have one
}

// passOn lets groups below have controllers of version 2. What has processes cannot
// pass controllers on (Linux, cgroup-v2.rst, "No Internal Process Constraint"), so the
// agent and its children move to a group below for it. Others are not touched: where
// some are in the group, it is not the agent's to divide.
func (h hierarchy) passOn(controllers string) error {
	subtree := filepath.Join(h.v2, "cgroup.subtree_control")
	err := writeGroup(subtree, controllers)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the agent's group %s does not have these controllers; %s", err, h.v2, delegate)
	}
	leaf := filepath.Join(h.v2, procself.AgentGroup)
	root := ownRoot()
	for range 100 { // until nothing new was started meanwhile
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		in := pids(filepath.Join(h.v2, "cgroup.procs"))
		if err := onlyBelow(root, in); err != nil {
			return fmt.Errorf("the agent's group %s %w; %s", h.v2, err, delegate)
		}
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for _, pid := range in {
			_ = writeGroup(filepath.Join(leaf, "cgroup.procs"), strconv.Itoa(pid)) // it may be gone
		}
		err = writeGroup(subtree, controllers)
	}
	return err
}

// delegate is what to do about a group that is not the agent's own.
const delegate = "start the agent in a group of its own: by a systemd unit with Delegate=yes, or by systemd-run --scope -p Delegate=yes scalebench agent"

// ownRoot is the process from which all of this agent descend: the topmost ancestor
// that executes the same program.
func ownRoot() int {
	pid := os.Getpid()
	own, err := os.Stat("/proc/self/exe")
	for err == nil {
		p, err1 := procself.ReadProcess(pid)
		above, err2 := os.Stat(fmt.Sprintf("/proc/%d/exe", p.Parent))
		if err1 != nil || err2 != nil || !os.SameFile(own, above) {
			break
		}
		pid = p.Parent
	}
	return pid
}

// onlyBelow fails unless all of these processes are root or descend from it.
func onlyBelow(root int, all []int) error {
	var others []string
	for _, pid := range all {
		p, err := procself.ReadProcess(pid)
		for at := p; err == nil && at.PID != root; {
			if at, err = procself.ReadProcess(at.Parent); err != nil {
				others = append(others, fmt.Sprintf("%d (%s)", pid, command(pid)))
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("has processes of others, too: %s", strings.Join(others[:min(len(others), 3)], ", "))
}

func command(pid int) string { return readGroup(fmt.Sprintf("/proc/%d/comm", pid)) }
