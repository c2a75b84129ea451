package runner

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/procself"
)

// kill ends the tree and returns when all of it is gone.
//
// Killing one by one loses against a tree that keeps forking. So the group is
// signalled as a whole, which the kernel does atomically against fork, and
// what has left the group is first stopped, until no new process appears, and
// then killed.
func (t tree) kill() error {
	deadline := time.Now().Add(killTime)
	stopped := make(map[int]bool)
	for {
		alive, err := t.freeze(stopped)
		if err != nil || len(alive) == 0 {
			return err
		}
		if t.pgid > 0 && !t.spareSelf {
			_ = unix.Kill(-t.pgid, unix.SIGKILL) // the group may be empty by now
		}
		var errs []error
		for _, p := range alive {
			if err := p.Signal(unix.SIGKILL); err != nil && !errors.Is(err, unix.ESRCH) {
				errs = append(errs, fmt.Errorf("killing process %d: %w", p.PID, err))
			}
		}
		if time.Now().After(deadline) {
			var pids []int
			for _, p := range alive {
				pids = append(pids, p.PID)
			}
			return errors.Join(append([]error{fmt.Errorf("processes %v cannot be killed", pids)}, errs...)...)
		}
		procself.AwaitEnd(alive[0].PID, 50*time.Millisecond)
	}
}

// freeze stops the tree until it has stopped growing and returns it.
func (t tree) freeze(stopped map[int]bool) ([]procself.Process, error) {
	const rounds = 100
	for i := 0; ; i++ {
		alive, err := t.find()
		if err != nil {
			return nil, err
		}
		fresh := slices.DeleteFunc(slices.Clone(alive), func(p procself.Process) bool { return stopped[p.PID] })
		if len(fresh) == 0 || i == rounds {
			return alive, nil
		}
		for _, p := range fresh {
			stopped[p.PID] = true
			_ = p.Signal(unix.SIGSTOP) // it may be gone, and the kill reports what cannot be signalled
		}
	}
}

func (t tree) find() ([]procself.Process, error) {
	all, err := processes()
	if err != nil {
		return nil, err
	}
	parent := make(map[int]int, len(all))
	for _, p := range all {
		parent[p.PID] = p.Parent
	}
	self := os.Getpid()
	return slices.DeleteFunc(all, func(p procself.Process) bool {
		mine := t.pgid > 0 && (p.Group == t.pgid || descends(p.PID, t.pgid, parent)) ||
			t.cookie != "" && carries(p.PID, t.cookie)
		return p.Zombie || p.PID == self || !mine
	}), nil
}

// cpu adds up the processor time of all of the tree.
func (t tree) cpu() (sum time.Duration, ok bool) {
	all, err := t.find()
	for _, p := range all {
		sum += p.CPU
	}
	return sum, err == nil && len(all) > 0
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

// KillLeftover kills what is left of an attempt that an earlier agent process
// started, and returns when it is gone. It never touches a process that merely
// got the same id later: nil if nothing is left.
func KillLeftover(pgid int, startTicks uint64) error {
	t := tree{cookie: cookie(pgid, startTicks)}
	// A group with a dead leader looks like a later group with the same
	// number; the cookie finds its members.
	if token, err := startToken(pgid); err == nil && token == startTicks {
		t.pgid = pgid
	}
	if err := t.kill(); err != nil {
		return fmt.Errorf("killing the leftovers of process group %d: %w", pgid, err)
	}
	return nil
}

// awaitExit returns when the child has ended. It leaves the zombie, so that
// its id stays taken until its descendants are killed.
func awaitExit(cmd *exec.Cmd) { _ = procself.AwaitExit(cmd.Process.Pid) }

// adoptOrphans makes orphans of the workload children of this process, so that
// the walk down the tree finds them, and this tree the first victim when
// memory runs out, rather than the agent.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)        // without it the cookie still finds them
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0) // best effort; raising needs no right
}

// processes lists all processes. Those that end meanwhile are left out.
func processes() ([]procself.Process, error) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil, fmt.Errorf("listing processes: %w", err)
	}
	var out []procself.Process
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue // not a process
		}
		if p, err := procself.ReadProcess(pid); err == nil {
			out = append(out, p)
		}
	}
	return out, nil
}

// startToken identifies a process beyond its id: a hash of its start time and
// of the boot, because ticks count from boot.
func startToken(pid int) (uint64, error) {
	p, err := procself.ReadProcess(pid)
	if err != nil {
		return 0, fmt.Errorf("reading the start time of process %d: %w", pid, err)
	}
	boot, err := procself.BootID()
	if err != nil {
		return 0, fmt.Errorf("reading the boot id: %w", err)
	}
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s %d", boot, p.Start) // a hash takes everything
	return h.Sum64(), nil
}

// carries reports whether a process was started with this variable
// ("NAME=value") in its environment. Processes of other users say no.
func carries(pid int, variable string) bool {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	return slices.Contains(strings.Split(string(data), "\x00"), variable)
}

// sleep blocks the thread in nanosleep, which is late by the timer slack
// (50 µs) and by the scheduler; the spin makes up for the slack. It may return
// early.
func sleep(d time.Duration) {
	t := unix.NsecToTimespec(d.Nanoseconds())
	_ = unix.ClockNanosleep(unix.CLOCK_MONOTONIC, 0, &t, nil) // an interrupted sleep is resumed by the caller's loop
}
