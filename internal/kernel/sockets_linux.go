package kernel

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"golang.org/x/sys/unix"
)

// tcpDiagGetSock asks for the sockets of both IP versions at once
// (TCPDIAG_GETSOCK in linux/inet_diag.h).
const tcpDiagGetSock = 18

// States of sockets, as bits: 1 << state, as in net/tcp_states.h.
const (
	// Connections are those that may have something in their queues; in others
	// the fields mean other things, or there are too many (TIME_WAIT).
	Connections = 1<<Established | 1<<2 | 1<<4 | 1<<5 | 1<<8 | 1<<9 | 1<<11
	// Listeners wait for connections.
	Listeners = 1 << Listen

	Established = 1
	Listen      = 10
)

// The sizes and places of inet_diag messages (linux/inet_diag.h, sock_diag(7)).
const (
	netlinkHeader = 16
	diagMessage   = 72 // struct inet_diag_msg
	diagState     = 1  // idiag_state in it, after idiag_family
	diagRemote    = 24 // idiag_dst
	diagCookie    = 44 // idiag_cookie
	diagReceive   = 56 // idiag_rqueue
	diagSend      = 60 // idiag_wqueue

	diagRequest     = 60 // struct inet_diag_req
	diagExtensions  = 3  // idiag_ext in it
	diagRequestPort = 4  // idiag_sport
	diagStates      = 52 // idiag_states
	diagInfo        = 2  // INET_DIAG_INFO

	messageError = 2
	messageDone  = 3
)

// The places of fields in struct tcp_info (linux/tcp.h). Kernels only append to
// it, so one that lacks a field ends before it.
const (
	infoLastSent = 44  // tcpi_last_data_sent, ms
	infoRTT      = 68  // tcpi_rtt, µs
	infoRetrans  = 100 // tcpi_total_retrans
)

// Socket is a TCP socket.
type Socket struct {
	State  uint8
	Cookie uint64 // identifies it
	// Receive and Send are bytes: not yet read by the program, and handed to the
	// kernel and not yet acknowledged by the other end. Of a listener they are
	// connections: not yet accepted, and how many may be.
	Receive, Send uint32

	remote []byte // idiag_dst
	family byte
	info   []byte
}

// Remote is the address of the other end; the zero Addr if it has none. One of IPv4
// is the same over a socket of IPv6.
func (s *Socket) Remote() netip.Addr {
	switch s.family {
	case unix.AF_INET:
		return netip.AddrFrom4([4]byte(s.remote))
	case unix.AF_INET6:
		return netip.AddrFrom16([16]byte(s.remote)).Unmap()
	}
	return netip.Addr{}
}

// Info is what struct tcp_info tells of a connection.
type Info struct {
	LastSent    uint32 // ms since data was last sent
	RTT         uint32 // µs, smoothed
	Retransmits uint32 // segments sent again since it was opened
}

// Info is false where the kernel did not tell, or was not asked.
func (s *Socket) Info() (i Info, ok bool) {
	if len(s.info) < infoRetrans+4 {
		return i, false
	}
	at := func(place int) uint32 { return binary.NativeEndian.Uint32(s.info[place:]) }
	return Info{LastSent: at(infoLastSent), RTT: at(infoRTT), Retransmits: at(infoRetrans)}, true
}

// Sockets asks for the TCP sockets of the network namespace in which it was
// opened, without listing them one by one in text as /proc/net/tcp does.
type Sockets struct {
	fd      int
	request []byte
	buf     []byte
	socket  Socket // that of the moment
}

// OpenSockets opens the way to the kernel and tries it. states is made of bits:
// [Connections], [Listeners]. info: ask for struct tcp_info, too.
func OpenSockets(states uint32, info bool) (*Sockets, error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	s := &Sockets{fd: fd, request: newRequest(states, info), buf: make([]byte, 32<<10)}
	timeout := unix.Timeval{Sec: 1} // an answer comes at once or not at all
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	if err == nil {
		err = s.Each(0, func(*Socket) {})
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// newRequest is a netlink header and struct inet_diag_req.
func newRequest(states uint32, info bool) []byte {
	const size = netlinkHeader + diagRequest
	b := make([]byte, size)
	binary.NativeEndian.PutUint32(b[0:], size)
	binary.NativeEndian.PutUint16(b[4:], tcpDiagGetSock)
	binary.NativeEndian.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[netlinkHeader] = unix.AF_INET // the kernel lists sockets of both versions, whatever is here
	if info {
		b[netlinkHeader+diagExtensions] = 1 << (diagInfo - 1)
	}
	binary.NativeEndian.PutUint32(b[netlinkHeader+diagStates:], states)
	return b
}

// Each calls fn for every socket with this local port, 0 for any. The socket is
// good during the call. After an error there may be answers left: the kernel
// should not be asked again this way.
func (s *Sockets) Each(port uint16, fn func(*Socket)) error {
	binary.BigEndian.PutUint16(s.request[netlinkHeader+diagRequestPort:], port)
	if err := unix.Sendto(s.fd, s.request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	for {
		n, _, err := unix.Recvfrom(s.fd, s.buf, 0)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return err
		}
		if done, err := s.socket.each(s.buf[:n], fn); done || err != nil {
			return err
		}
	}
}

// Close closes the way to the kernel.
func (s *Sockets) Close() { _ = unix.Close(s.fd) } // nothing was written to it

var errDiag = errors.New("reading sockets: the kernel's answer is not understood")

// each fills the socket with one after the other of those of one datagram of
// answers. done: it was the last.
func (s *Socket) each(b []byte, fn func(*Socket)) (done bool, err error) {
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
		s.set(b[netlinkHeader:n])
		fn(s)
		b = b[min((n+3)&^3, len(b)):]
	}
	if len(b) > 0 {
		return true, errDiag
	}
	return false, nil
}

// set takes a struct inet_diag_msg apart, and the attributes behind it.
func (s *Socket) set(b []byte) {
	s.family, s.State = b[0], b[diagState]
	s.remote = b[diagRemote : diagRemote+16]
	s.Cookie = binary.NativeEndian.Uint64(b[diagCookie:])
	s.Receive = binary.NativeEndian.Uint32(b[diagReceive:])
	s.Send = binary.NativeEndian.Uint32(b[diagSend:])
	s.info = nil
	eachAttribute(b[diagMessage:], func(kind uint16, value []byte) {
		if kind == diagInfo {
			s.info = value
		}
	})
}
