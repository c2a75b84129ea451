package load

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// handshakeTime asks the kernel how long the handshake of a new connection
// took: that is exact even when this process was kept from its processor. Of
// one that had to send its SYN again it does not know that; took, what this
// process has measured, is long compared with its error then.
func handshakeTime(c *net.TCPConn, took time.Duration) (rtt time.Duration, lost, ok bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false, false
	}
	var info *unix.TCPInfo
	var infoErr error
	if err := raw.Control(func(fd uintptr) {
		info, infoErr = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
	}); err != nil || infoErr != nil {
		return 0, false, false
	}
	if info.Total_retrans > 0 {
		return took, true, true
	}
	return time.Duration(info.Rtt) * time.Microsecond, false, true
}
