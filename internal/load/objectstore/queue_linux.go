package objectstore

import (
	"crypto/tls"
	"net"

	"golang.org/x/sys/unix"
)

// sendQueue returns a function that tells how many bytes of a TCP connection
// the peer has not acknowledged (SIOCOUTQ, tcp(7)); nil where that is unknown. On
// a slow path the kernel takes megabytes at once: counted when they were
// written, they would appear as throughput that the path does not have. With
// TLS the queue holds a little more than the payload, so that less is counted
// until the transfer ends.
func sendQueue(conn net.Conn) func() int64 {
	if t, ok := conn.(*tls.Conn); ok {
		conn = t.NetConn()
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return nil
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil
	}
	return func() int64 {
		var n int // 0 for a connection that is closed
		_ = raw.Control(func(fd uintptr) {
			if v, err := unix.IoctlGetInt(int(fd), unix.TIOCOUTQ); err == nil { // = SIOCOUTQ
				n = v
			}
		})
		return int64(n)
	}
}
