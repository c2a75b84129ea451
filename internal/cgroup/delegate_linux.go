package cgroup

import (
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

// subtreeControl is the file that lists what groups below have limits of.
const subtreeControl = "cgroup.subtree_control"

// Lacking returns those of these controllers that groups below a group of version 2 cannot
// have limits of.
func Lacking(dir string, controllers ...string) []string {
	return lacks(dir, subtreeControl, controllers)
}

// lacks returns the controllers that a file of a group does not list.
func lacks(dir, file string, controllers []string) []string {
	have := strings.Fields(Read(dir, file)) // unreadable is the same as lacking
	return slices.DeleteFunc(slices.Clone(controllers), func(c string) bool { return slices.Contains(have, c) })
}

// Enable lets the groups below a group of version 2 have limits. It only adds what is
// missing.
func Enable(dir string, controllers ...string) error {
	missing := Lacking(dir, controllers...)
	if len(missing) == 0 {
		return nil
	}
	return Write(dir, subtreeControl, "+"+strings.Join(missing, " +"))
}

// Usable returns nil if groups with limits can be made in this group of version 2, and
// otherwise why not. It only reads, and asks for rights: nothing is changed.
func Usable(dir string, controllers ...string) error {
	if missing := lacks(dir, "cgroup.controllers", controllers); len(missing) > 0 {
		return fmt.Errorf("no controller %s", strings.Join(missing, ", "))
	}
	if err := MayWrite(dir); err != nil {
		return err
	}
	if len(Lacking(dir, controllers...)) == 0 {
		return nil
	}
	if err := MayWrite(filepath.Join(dir, subtreeControl)); err != nil {
		return err
	}
	// What has processes cannot pass controllers on, except for the root,
	// which has no type (Linux, cgroup-v2.rst, "No Internal Process
	// Constraint").
	kind, err := os.ReadFile(filepath.Join(dir, "cgroup.type"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if k := strings.TrimSpace(string(kind)); k != "domain" {
		return fmt.Errorf("the group's type is %q instead of domain", k)
	}
	pids, err := readPIDs(dir, "cgroup.procs")
	if err == nil && len(pids) > 0 {
		err = errors.New("the group contains processes, so its subgroups cannot have limits")
	}
	return err
}

// MayWrite asks whether this process may write to a file, or make groups in a folder.
func MayWrite(path string) error {
	if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("writing to %s: %w", path, err)
	}
	return nil
}

// PassOn lets groups below an agent's group of version 2 have controllers.
// What has processes cannot pass controllers on, so the agent and its children move to a
// group below for it. Others are not touched: where some are in the group, it is not the
// agent's to divide.
func PassOn(dir string, controllers ...string) error {
	err := Enable(dir, controllers...)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the agent's group %s does not have these controllers; %s", err, dir, delegate)
	}
	leaf := filepath.Join(dir, procself.AgentGroup)
	root := ownRoot()
	for range 100 { // until nothing new was started meanwhile
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
		in, _ := readPIDs(dir, "cgroup.procs") // what cannot be read is seen by the next write
		if err := onlyBelow(root, in); err != nil {
			return fmt.Errorf("the agent's group %s %w; %s", dir, err, delegate)
		}
		if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		for _, pid := range in {
			_ = Write(leaf, "cgroup.procs", strconv.Itoa(pid)) // it may be gone
		}
		err = Enable(dir, controllers...)
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
				others = append(others, fmt.Sprintf("%d (%s)", pid, Read(fmt.Sprintf("/proc/%d", pid), "comm")))
			}
		}
	}
	if len(others) == 0 {
		return nil
	}
	return fmt.Errorf("has processes of others, too: %s", strings.Join(others[:min(len(others), 3)], ", "))
}
