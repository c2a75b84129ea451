package load

import (
	"time"

	"golang.org/x/sys/unix"
)

// RoundTrip is the shortest that the kernel has seen on a connection; 0 where it
// has seen none.
func RoundTrip(fd int) time.Duration {
	info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
	if err != nil || info.Min_rtt == 1<<32-1 {
		return 0
	}
	return time.Duration(info.Min_rtt) * time.Microsecond
}
