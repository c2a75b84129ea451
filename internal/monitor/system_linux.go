package monitor

import (
	"bytes"
	"encoding/binary"
	"errors"
	"syscall"
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

// socketQueues is nil where the kernel does not answer.
func socketQueues() source {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil
	}
	d := &diag{fd: fd, request: diagRequest(), buf: make([]byte, 32<<10), allowed: allowance{perTurn: diagAllowance}}
	timeout := unix.Timeval{Sec: 1} // an answer comes at once or not at all
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	if err == nil {
		_, err = d.ask()
	}
	if err != nil {
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
	b[netlinkHeader] = unix.AF_INET // the kernel lists sockets of both versions, whatever is here
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

// The sizes and places of inet_diag messages (linux/inet_diag.h, sock_diag(7)).
const (
	netlinkHeader = 16
	diagMessage   = 72 // struct inet_diag_msg
	diagReceive   = 56 // idiag_rqueue in it
	diagSend      = 60 // idiag_wqueue in it

	messageError = 2
	messageDone  = 3
)

// queues are the bytes that wait in all TCP sockets.
type queues struct {
	send, receive uint64
}

var errDiag = errors.New("reading socket queues")

// addMessages adds the sockets of one datagram of answers. done: it was the
// last.
func (q *queues) addMessages(b []byte) (done bool, err error) {
	for len(b) >= netlinkHeader {
		n := int(binary.NativeEndian.Uint32(b))
		if n < netlinkHeader || n > len(b) {
			return true, errDiag
		}
		switch binary.NativeEndian.Uint16(b[4:]) {
		case messageDone:
			return true, nil
		case messageError:
			return true, errDiag
		}
		if n < netlinkHeader+diagMessage {
			return true, errDiag
		}
		body := b[netlinkHeader:]
		q.receive += uint64(binary.NativeEndian.Uint32(body[diagReceive:]))
		q.send += uint64(binary.NativeEndian.Uint32(body[diagSend:]))
		b = b[min((n+3)&^3, len(b)):]
	}
	if len(b) > 0 {
		return true, errDiag
	}
	return false, nil
}

// allowance keeps work of a cost that is not known beforehand within a
// share of the time: after a turn that took long, the next turns are left out.
type allowance struct {
	perTurn time.Duration // what a turn may take on average
	debt    time.Duration
}

func (a *allowance) turn() bool {
	a.debt = max(a.debt-a.perTurn, 0)
	return a.debt == 0
}

func (a *allowance) spent(d time.Duration) { a.debt += d }

// systemLinks lists the interfaces of this process's network namespace. It
// asks the kernel and not /sys/class/net, which shows the namespace in which
// /sys was mounted. Without an answer the list is empty.
func systemLinks() []link {
	rib, err := syscall.NetlinkRIB(unix.RTM_GETLINK, unix.AF_UNSPEC)
	if err != nil {
		return nil
	}
	messages, err := syscall.ParseNetlinkMessage(rib)
	if err != nil {
		return nil
	}
	var links []link
	for i := range messages {
		if l, ok := parseLink(&messages[i]); ok {
			links = append(links, l)
		}
	}
	return links
}

// parseLink reads an RTM_NEWLINK message (rtnetlink(7)).
func parseLink(m *syscall.NetlinkMessage) (l link, ok bool) {
	if m.Header.Type != unix.RTM_NEWLINK || len(m.Data) < unix.SizeofIfInfomsg {
		return l, false
	}
	l.index = int32(binary.NativeEndian.Uint32(m.Data[4:]))
	l.loopback = binary.NativeEndian.Uint32(m.Data[8:])&unix.IFF_LOOPBACK != 0
	eachAttribute(m.Data[unix.SizeofIfInfomsg:], func(kind uint16, value []byte) {
		switch kind {
		case unix.IFLA_IFNAME:
			l.name = string(bytes.TrimRight(value, "\x00"))
		case unix.IFLA_MASTER:
			if len(value) >= 4 {
				l.master = int32(binary.NativeEndian.Uint32(value))
			}
		case unix.IFLA_LINKINFO:
			eachAttribute(value, func(kind uint16, value []byte) {
				if kind == unix.IFLA_INFO_KIND {
					l.kind = string(bytes.TrimRight(value, "\x00"))
				}
			})
		}
	})
	return l, l.name != ""
}

// eachAttribute cuts up netlink attributes: length, type, value, and zeros up
// to a multiple of four bytes.
func eachAttribute(b []byte, fn func(kind uint16, value []byte)) {
	for len(b) >= unix.SizeofRtAttr {
		n := int(binary.NativeEndian.Uint16(b))
		if n < unix.SizeofRtAttr || n > len(b) {
			return
		}
		fn(binary.NativeEndian.Uint16(b[2:])&^unix.NLA_F_NESTED, b[unix.SizeofRtAttr:n])
		b = b[min((n+3)&^3, len(b)):]
	}
}

// deviceNumber returns the device below a path: of a block device its own
// number, of a file or folder that of the device which holds it. Some file
// systems (btrfs, overlay, tmpfs, network ones) return a number that no device
// has; then nothing in /proc/diskstats matches.
func deviceNumber(path string) (major, minor uint64, ok bool) {
	var st unix.Stat_t
	if err := unix.Stat(path, &st); err != nil {
		return 0, 0, false
	}
	dev := uint64(st.Dev) //nolint:unconvert // 32 bits on some processors
	if st.Mode&unix.S_IFMT == unix.S_IFBLK {
		dev = uint64(st.Rdev) //nolint:unconvert // as above
	}
	return uint64(unix.Major(dev)), uint64(unix.Minor(dev)), true
}
