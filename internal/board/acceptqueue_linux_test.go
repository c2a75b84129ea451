package board_test

import (
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/board"
)

// TestAcceptQueue: the kernel's queue has the length that was asked for, and
// connections beyond those that may be open wait in it.
func TestAcceptQueue(t *testing.T) {
	s := start(t, board.Config{Role: board.Web, Upstreams: []string{"127.0.0.1:1"}, Backlog: 7, Connections: 2})
	var open []net.Conn
	dialer := net.Dialer{Timeout: 5 * time.Second}
	for range 5 {
		c, err := dialer.DialContext(t.Context(), "tcp", s.Address())
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	waiting, limit := acceptQueue(t, s.Address(), 3)
	if waiting != 3 || limit != 7 || s.Backlog() != 7 {
		t.Errorf("%d connections wait of at most %d, and Backlog says %d; want 3 of 7", waiting, limit, s.Backlog())
	}
	if st := s.Status().Connections; st.Open != 2 || st.Max != 2 || st.Accepted != 2 {
		t.Errorf("connections: %+v, want 2 open", st)
	}
	for _, c := range open {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
}

// acceptQueue reads the queue of a listening socket of this process, when as many
// wait as are expected, or after a time.
func acceptQueue(t *testing.T, address string, expected uint32) (waiting, limit uint32) {
	t.Helper()
	deadline := time.Now().Add(5 * time.Second)
	for waiting != expected && time.Now().Before(deadline) {
		for fd := 3; fd < 200; fd++ {
			listens, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ACCEPTCONN)
			if err != nil || listens != 1 {
				continue
			}
			name, err := unix.Getsockname(fd)
			if in, ok := name.(*unix.SockaddrInet4); err != nil || !ok || fmt.Sprintf("127.0.0.1:%d", in.Port) != address {
				continue
			}
			info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
			if err != nil {
				t.Fatal(err)
			}
			waiting, limit = info.Unacked, info.Sacked // which mean that for one that listens (tcp_get_info)
		}
	}
	return waiting, limit
}
