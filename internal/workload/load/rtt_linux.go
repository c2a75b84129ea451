package load

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// handshakeTime asks the kernel how long the handshake of a new connection
// took: that is exact even when this process was kept from its processor.
func handshakeTime(c *net.TCPConn, _ time.Duration) (time.Duration, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, err
	}
	var info *unix.TCPInfo
	var infoErr error
	if err := raw.Control(func(fd uintptr) {
		info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil {
		return 0, err
	}
	if infoErr != nil {
		return 0, infoErr
	}
	return time.Duration(info.Rtt) * time.Microsecond, nil
}
