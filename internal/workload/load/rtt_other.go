//go:build !linux

package load

import (
	"net"
	"time"
)

// handshakeTime is how long connecting took for this process.
func handshakeTime(_ *net.TCPConn, took time.Duration) (rtt time.Duration, lost, ok bool) {
	return took, took >= resentAfter, true
}
