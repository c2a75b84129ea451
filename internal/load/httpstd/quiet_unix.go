//go:build unix

package httpstd

import (
	"crypto/tls"
	"net"
	"syscall"
)

// quiet reports whether nothing has come over a connection, not even its end.
func quiet(conn net.Conn) bool {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return true
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	nothing := false
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN //nolint:errorlint // it is the system call's own
	})
	return err == nil && nothing
}
