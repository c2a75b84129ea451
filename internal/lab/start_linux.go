package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

// Start starts a program on a host: in its network namespace and its cgroups
// from the first instruction on. The program has a process group of its own,
// which is killed when ctx ends. The caller must Wait for it.
func (l *Lab) Start(ctx context.Context, host model.NodeID, p Process) (*Handle, error) {
	r, err := l.host(host)
	if err != nil {
		return nil, err
	}
	if len(p.Args) == 0 {
		return nil, fmt.Errorf("starting a program on host %s: %w: there is nothing to start", host, model.ErrUsage)
	}
	cmd := p.command(ctx)
	err = r.Namespace.inside(func() error { return l.manifest.startIn(r.Groups, cmd) })
	if err != nil {
		return nil, fmt.Errorf("starting %s on host %s: %w", p.Args[0], host, err)
	}
	return cmd, nil
}

// command is the program, not yet started.
func (p Process) command(ctx context.Context) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Args[0], p.Args[1:]...)
	cmd.Env, cmd.Dir = p.Environ, p.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Stdin, p.Stdout, p.Stderr
	cmd.ExtraFiles = p.Files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !p.Foreground}
	cmd.Cancel = func() error {
		if p.Foreground {
			return cmd.Process.Kill()
		}
		return unix.Kill(-cmd.Process.Pid, unix.SIGKILL)
	}
	return cmd
}

// startIn starts a command in cgroups, from this thread, which is in the
// host's namespace and ends afterwards. A child inherits the thread's groups
// of v1, or is put into that of v2 by the kernel as it is made.
func (m Manifest) startIn(dirs []string, cmd *exec.Cmd) error {
	if !m.Unified {
		for _, dir := range dirs {
			if err := writeGroup(dir, "tasks", strconv.Itoa(unix.Gettid())); err != nil {
				return err
			}
		}
		return cmd.Start()
	}
	dir, err := os.Open(dirs[0])
	if err != nil {
		return fmt.Errorf("entering cgroup: %w", err)
	}
	defer func() { _ = dir.Close() }() // only looked at
	cmd.SysProcAttr.UseCgroupFD = true
	cmd.SysProcAttr.CgroupFD = int(dir.Fd())
	return cmd.Start()
}

// dialHere connects from the namespace of this thread.
func dialHere(ctx context.Context, address string) (net.Conn, error) {
	// Only for a literal address is the socket made in this goroutine, and so
	// on this thread: names are looked up, and tried, in others.
	if _, err := netip.ParseAddrPort(address); err != nil {
		return nil, fmt.Errorf("%w: %q is not an address and a port", model.ErrUsage, address)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}

// members lists the processes whose first thread is in a group. With v1 a
// process that starts a program in the group has another of its threads there
// for that moment, and is listed in cgroup.procs for it.
func members(dir string) ([]int, error) {
	procs, err := readPids(filepath.Join(dir, "cgroup.procs"))
	if err != nil {
		return nil, err
	}
	tasks, err := readPids(filepath.Join(dir, "tasks"))
	if errors.Is(err, fs.ErrNotExist) {
		return procs, nil // v2
	}
	if err != nil {
		return nil, err
	}
	first := make(map[int]bool, len(tasks))
	for _, t := range tasks {
		first[t] = true
	}
	var pids []int
	for _, p := range procs {
		if first[p] {
			pids = append(pids, p)
		}
	}
	return pids, nil
}
