package runner

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// destroy kills the quarry and returns when all of it is gone.
//
// Killing one by one loses against a tree that keeps forking. So the group is
// signalled as a whole, which the kernel does atomically against fork, and
// what has left the group is first stopped, until no new process appears, and
// then killed.
func (q quarry) destroy(limit time.Duration) error {
	deadline := time.Now().Add(limit)
	stopped := make(map[int]bool)
	for {
		alive, err := q.freeze(stopped)
		if err != nil || len(alive) == 0 {
			return err
		}
		err = q.kill(alive)
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("processes %v do not die", pids(alive)), err)
		}
		alive[0].awaitDeath(50 * time.Millisecond)
	}
}

// awaitDeath returns when the process has ended, or after a time.
func (p proc) awaitDeath(limit time.Duration) {
	var fds []unix.PollFd
	if fd, err := unix.PidfdOpen(p.pid, 0); err == nil {
		defer func() { _ = unix.Close(fd) }() // nothing was written
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	} else if errors.Is(err, unix.ESRCH) {
		return
	}
	_, _ = unix.Poll(fds, int(limit.Milliseconds())) // the caller looks at all of them anyway
}

// freeze stops the quarry until it has stopped growing and returns it.
func (q quarry) freeze(stopped map[int]bool) ([]proc, error) {
	const rounds = 100
	for i := 0; ; i++ {
		alive, err := q.find()
		if err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(slices.Clone(alive), func(p proc) bool { return stopped[p.pid] })
		if len(fresh) == 0 || i == rounds {
			return alive, nil
		}
		for _, p := range fresh {
			stopped[p.pid] = true
			_ = p.signal(unix.SIGSTOP) // it may be gone, and the kill reports what cannot be signalled
		}
	}
}

// kill sends SIGKILL to the group and to every single process.
func (q quarry) kill(alive []proc) error {
	if q.pgid > 0 && !q.inside {
		_ = unix.Kill(-q.pgid, unix.SIGKILL) // the group may be empty by now
	}
	var errs []error
	for _, p := range alive {
		if err := p.signal(unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
			errs = append(errs, fmt.Errorf("killing process %d: %w", p.pid, err))
		}
	}
	return errors.Join(errs...)
}

// find lists the living processes of the quarry.
func (q quarry) find() ([]proc, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.pid] = p.ppid
	}
	self := os.Getpid()
	return slices.DeleteFunc(all, func(p proc) bool {
		return p.zombie || p.pid == self || !q.owns(p, parent)
	}), nil
}

func (q quarry) owns(p proc, parent map[int]int) bool {
	if q.pgid > 0 && (p.pgrp == q.pgid || descends(p.pid, q.pgid, parent)) {
		return true
	}
	return q.cookie != "" && carries(p.pid, q.cookie)
}

// descends reports whether pid is root or below it. The walk is bounded: the
// table was read while processes came and went, so it may hold a circle.
func descends(pid, root int, parent map[int]int) bool {
	for range len(parent) + 1 {
		if pid == root {
			return true
		}
		next, ok := parent[pid]
		if !ok || next <= 1 {
			return false
		}
		pid = next
	}
	return false
}

func pids(ps []proc) []int {
	out := make([]int, len(ps))
	for i, p := range ps {
		out[i] = p.pid
	}
	return out
}

// signal sends a signal to exactly this process, never to a later one with the
// same id: the descriptor pins the id, and the start time is compared after
// pinning.
func (p proc) signal(s unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if errors.Is(err, unix.ENOSYS) { // Linux before 5.3
		return unix.Kill(p.pid, s)
	}
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	now, err := readProc(p.pid)
	if err != nil || now.ticks != p.ticks {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}

// KillLeftover kills what is left of an attempt that an earlier agent process
// started, and returns when it is gone. It never touches a process that merely
// got the same id later: nil if nothing is left.
func KillLeftover(pgid int, startTicks uint64) error {
	q := quarry{cookie: cookie(pgid, startTicks)}
	// A group whose leader has died cannot be told from a later group of the
	// same number; its members are found by the cookie.
	if token, err := startToken(pgid); err == nil && token == startTicks {
		q.pgid = pgid
	}
	if err := q.destroy(huntTime); err != nil {
		return fmt.Errorf("killing the leftovers of process group %d: %w", pgid, err)
	}
	return nil
}

// awaitExit returns when the child has ended. It leaves the zombie, so that
// its id stays taken until the hunt for its relatives is over.
func awaitExit(cmd *exec.Cmd) {
	for {
		err := unix.Waitid(unix.P_PID, cmd.Process.Pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

// terminate asks the group to end.
func terminate(pgid int) { _ = unix.Kill(-pgid, unix.SIGTERM) } // it may be gone

// ownGroup makes the child the leader of a new process group.
//
// There is no parent-death signal: it would kill the child alone and leave its
// descendants behind. Instead the child sees its control pipe close and kills
// its whole tree, itself last.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// settleChild makes orphans of the workload children of this process, so that
// the walk down the tree finds them, and this tree the first victim when
// memory runs out, rather than the agent.
func settleChild() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)        // without it the cookie still finds them
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // best effort; raising needs no right
}

// killSelf kills the whole group, this process included.
func killSelf() { _ = unix.Kill(0, unix.SIGKILL) }
