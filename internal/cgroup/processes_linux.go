package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// Start starts a command in the group with these folders, from its first instruction on,
// or from where this thread is for none. A child inherits the groups of version 1 from the
// thread that starts it, which must be one that ends afterwards (procself.OnThread); into
// one of version 2 the kernel puts it as it is made.
func Start(dirs []string, cmd *exec.Cmd) error {
	if len(dirs) == 0 {
		return cmd.Start()
	}
	if exists(dirs[0], "tasks") {
		for _, dir := range dirs {
			if err := Write(dir, "tasks", strconv.Itoa(unix.Gettid())); err != nil {
				return err
			}
		}
		return cmd.Start()
	}
	dir, err := os.Open(dirs[0])
	if err != nil {
		return fmt.Errorf("entering the control group: %w", err)
	}
	defer dir.Close() //nolint:errcheck // only looked at
	cmd.SysProcAttr.UseCgroupFD, cmd.SysProcAttr.CgroupFD = true, int(dir.Fd())
	return cmd.Start()
}

func readPIDs(dir, file string) ([]int, error) {
	path := filepath.Join(dir, file)
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, field := range strings.Fields(string(data)) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		pids = append(pids, pid)
	}
	return pids, nil
}

// Members lists the processes with their first thread in a group. With version 1 a
// process that starts a program in the group has another of its threads there for a moment,
// and cgroup.procs then lists the process.
func Members(dir string) ([]int, error) {
	procs, err := readPIDs(dir, "cgroup.procs")
	if err != nil {
		return nil, err
	}
	tasks, err := readPIDs(dir, "tasks")
	if errors.Is(err, fs.ErrNotExist) {
		return procs, nil // version 2
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(procs, func(pid int) bool { return !slices.Contains(tasks, pid) }), nil
}

// Tree lists these folders, as far as they exist, and those of groups that programs made
// below them, children first.
func Tree(dirs ...string) (all []string) {
	for _, top := range dirs {
		// What cannot be read is not there any more, or fails when removed.
		_ = filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				all = append(all, path)
			}
			return nil
		})
	}
	slices.Sort(all) // a parent is the beginning of its children
	slices.Reverse(all)
	return slices.Compact(all)
}

// gone reports whether a file of a group, or its group, is not there.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) }

// killWait is how long Kill waits for the end of a process.
const killWait = 100 * time.Millisecond

// Kill kills the living processes in these groups and below them, without this one, and
// waits a moment for the first of them. It returns which these were: it is to be called
// again until there is none. What another PID namespace has put there has the id 0 here,
// and is left out.
func Kill(dirs ...string) (found []int, err error) {
	for _, dir := range Tree(dirs...) {
		in, err := Members(dir)
		if err != nil && !gone(err) {
			return found, fmt.Errorf("listing processes of %s: %w", dir, err)
		}
		for _, pid := range in {
			// A zombie waits for its parent; it holds nothing any more.
			if p, err := procself.ReadProcess(pid); err != nil || p.Zombie || pid <= 1 || pid == os.Getpid() {
				continue
			}
			found = append(found, pid)
			_ = procself.SignalIf(pid, unix.SIGKILL, func() bool { // one that is gone is not found again
				in, err := Members(dir)
				return err == nil && slices.Contains(in, pid)
			})
		}
	}
	if len(found) > 0 {
		procself.AwaitEnd(found[0], killWait)
	}
	return found, nil
}

// Remove removes these groups and those below them, as far as they are there. A group that
// was just left by its last process stays busy (unix.EBUSY) for a moment.
func Remove(dirs ...string) (failed error) {
	for _, dir := range Tree(dirs...) {
		if err := os.Remove(dir); err != nil && !gone(err) {
			failed = errors.Join(failed, fmt.Errorf("removing a control group: %w", err))
		}
	}
	return failed
}
