package monitor

import (
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

// diagAllowance is what reading the queues of all sockets may take of a
// second on average: 0.1 % of a core. A socket takes about a microsecond, so
// beyond a thousand of them there is not a reading every second.
const diagAllowance = time.Millisecond

// tcpDiagGetSock asks for the sockets of both IP versions at once
// (TCPDIAG_GETSOCK in linux/inet_diag.h).
const tcpDiagGetSock = 18

// diagStates are the states of sockets that may have something in their
// queues; in others the fields mean other things, or there are too many
// (TIME_WAIT). The bits are 1 << state, as in net/tcp_states.h.
const diagStates = 1<<1 | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11

// diag reads the queues of all TCP sockets of the network namespace, without
// listing them one by one in text as /proc/net/tcp does.
type diag struct {
	fd      int
	request []byte
	buf     []byte
	allowed allowance
	failed  bool
}

// newDiag returns nil where the kernel does not answer.
func newDiag() *diag {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil
	}
	d := &diag{fd: fd, request: diagRequest(), buf: make([]byte, 32<<10), allowed: allowance{perTurn: diagAllowance}}
	timeout := unix.Timeval{Sec: 1} // an answer comes at once or not at all
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout); err != nil {
		d.close()
		return nil
	}
	if _, err := d.ask(); err != nil {
		d.close()
		return nil
	}
	return d
}

// diagRequest is a netlink header and struct inet_diag_req.
func diagRequest() []byte {
	const size = netlinkHeader + 60
	b := make([]byte, size)
	binary.NativeEndian.PutUint32(b[0:], size)
	binary.NativeEndian.PutUint16(b[4:], tcpDiagGetSock)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[netlinkHeader] = unix.AF_INET // sockets of both versions are told, whatever is here
	binary.NativeEndian.PutUint32(b[netlinkHeader+52:], diagStates)
	return b
}

// read emits the queues when it is their turn. After a failure there may be
// answers left in the socket, so it is not asked again.
func (d *diag) read(out emit) {
	if d.failed || !d.allowed.turn() {
		return
	}
	before := time.Now() // what it costs is real time, whatever the monitor's clock is
	q, err := d.ask()
	d.allowed.spent(time.Since(before))
	if err != nil {
		d.failed = true
		return
	}
	out("tcp.send_queue", float64(q.send))
	out("tcp.receive_queue", float64(q.receive))
}

func (d *diag) ask() (q queues, err error) {
	if err := unix.Sendto(d.fd, d.request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return q, err
	}
	for {
		n, _, err := unix.Recvfrom(d.fd, d.buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return q, err
		}
		if done, err := q.addMessages(d.buf[:n]); done || err != nil {
			return q, err
		}
	}
}

func (d *diag) close() { _ = unix.Close(d.fd) } // nothing was written to it
