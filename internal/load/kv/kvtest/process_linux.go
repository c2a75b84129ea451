package kvtest

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"
)

// dieWithParent has the kernel end the server when its parent dies.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// awaitStop returns when all threads of a child have stopped after a signal;
// until then some of them may still answer.
func awaitStop(pid int) error {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WSTOPPED, nil)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
