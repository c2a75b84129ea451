//go:build unix

package httpstd

import (
	"crypto/tls"
	"net"
	"syscall"
	"time"

	"github.com/scalebench/scalebench/internal/load"
)

// quiet reports whether nothing has come over a connection, not even its end.
func quiet(conn net.Conn) bool {
	nothing := false
	ofSocket(conn, func(fd int) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(fd, one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = err == syscall.EAGAIN
	})
	return nothing
}

// roundTrip is the shortest on a connection; 0 where it is not known.
func roundTrip(conn net.Conn) (d time.Duration) {
	ofSocket(conn, func(fd int) { d = load.RoundTrip(fd) })
	return d
}

// ofSocket asks something of the socket of a connection, if that is still open.
func ofSocket(conn net.Conn, ask func(fd int)) {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	c, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	if raw, err := c.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { ask(int(fd)) }) // it fails for one that is closed
	}
}
