package procself

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// Signal sends a signal to exactly this process, never to a later one with the
// same id; unix.ESRCH when it is gone.
func (p Process) Signal(s unix.Signal) error {
	return SignalIf(p.PID, s, func() bool {
		now, err := ReadProcess(p.PID)
		return err == nil && now.Start == p.Start
	})
}

// SignalIf sends a signal to the process with this id if it is the one that is
// meant, and returns unix.ESRCH if not. A descriptor pins the id before meant
// looks at it: what it is then, it is when it gets the signal.
func SignalIf(pid int, s unix.Signal, meant func() bool) error {
	fd, err := unix.PidfdOpen(pid, 0)
	pinned := err == nil
	if pinned {
		defer func() { _ = unix.Close(fd) }() // nothing was written
	} else if !errors.Is(err, unix.ENOSYS) {
		return err
	}
	switch {
	case !meant():
		return unix.ESRCH
	case !pinned: // Linux before 5.3
		return unix.Kill(pid, s)
	}
	return unix.PidfdSendSignal(fd, s, nil, 0)
}

// AwaitEnd waits until a process has ended, or for limit.
func AwaitEnd(pid int, limit time.Duration) {
	var fds []unix.PollFd
	if fd, err := unix.PidfdOpen(pid, 0); err == nil {
		defer func() { _ = unix.Close(fd) }() // nothing was written
		fds = append(fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	} else if errors.Is(err, unix.ESRCH) {
		return
	}
	_, _ = unix.Poll(fds, int(limit.Milliseconds())) // without a descriptor it only waits
}

// AwaitExit returns when a child has ended. It leaves the zombie, so that its id, and
// that of its process group, stay taken until Wait.
func AwaitExit(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
