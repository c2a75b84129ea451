package network

import (
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// smallSegments has a connection that is about to be made use segments of at most so
// many bytes, in both directions: the kernel tells the peer (tcp(7), TCP_MAXSEG).
func smallSegments(size int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) {
			failed = os.NewSyscallError("setsockopt", unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, size))
		})
		if err == nil && failed != nil {
			err = fmt.Errorf("packets of %d bytes: %w: %w", size, failed, errFatal)
		}
		return err
	}
}
