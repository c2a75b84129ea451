package network

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// memoryFile returns an empty file that exists in memory only.
func memoryFile(string) (*os.File, error) {
	fd, err := unix.MemfdCreate("scalebench-object", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, os.NewSyscallError("memfd_create", err)
	}
	return os.NewFile(uintptr(fd), "scalebench-object"), nil
}

const (
	// chunk is the most that one system call moves.
	chunk = 1 << 20
	// turn is the most that is moved between two looks at the deadline, by
	// which a transfer is cancelled.
	turn = 16 * chunk
)

// discard receives n bytes and drops them in the kernel: with MSG_TRUNC, TCP
// takes data off its queue without copying them (tcp(7), since Linux 2.4).
// It calls took for each piece.
func discard(conn net.Conn, n int64, took func(int64)) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return discardCopying(conn, n, took)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	return turns(raw.Read, "recv", n, receiveNothing, took)
}

// turns moves n bytes with a system call of this name, in pieces; between two turns the
// deadline is looked at. wait calls until the socket is ready.
func turns(wait func(func(fd uintptr) (done bool)) error, name string, n int64,
	move func(fd uintptr, most int64) (int64, error), took func(int64)) error {
	for n > 0 {
		left, failed := min(n, turn), error(nil)
		n -= left
		err := wait(func(fd uintptr) bool {
			for left > 0 {
				k, err := move(fd, min(left, chunk))
				switch {
				case errors.Is(err, unix.EINTR):
					continue
				case errors.Is(err, unix.EAGAIN):
					return false // wait until there is more, or room
				case err != nil:
					failed = os.NewSyscallError(name, err)
					return true
				case k == 0:
					failed = io.ErrUnexpectedEOF
					return true
				}
				left -= k
				took(k)
			}
			return true
		})
		if err = cmp.Or(err, failed); err != nil {
			return err
		}
	}
	return nil
}

// nothing is where received data would go, were they copied: a kernel that
// does not know MSG_TRUNC still measures right. Linux never touches it, so it
// takes no memory, and all connections share it.
var nothing [chunk]byte

// receiveNothing drops at most n bytes of what a socket has received; n is not
// above chunk. (unix.Recvfrom would allocate for an address at every call.)
func receiveNothing(fd uintptr, n int64) (int64, error) {
	k, _, errno := unix.Syscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&nothing[0])), uintptr(n), unix.MSG_TRUNC|unix.MSG_DONTWAIT, 0, 0)
	if errno != 0 {
		return 0, errno
	}
	return int64(k), nil
}

// sendFile sends n bytes of a file from its beginning, without copying them
// through this process (sendfile(2)). It calls took for each piece that has gone
// into the socket.
func sendFile(conn net.Conn, file *os.File, n int64, took func(int64)) error {
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return sendCopying(conn, file, n, took)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return err
	}
	source, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	// Control keeps the file open until all is sent.
	err = source.Control(func(from uintptr) {
		offset := int64(0)
		inner = turns(raw.Write, "sendfile", n, func(fd uintptr, most int64) (int64, error) {
			k, err := unix.Sendfile(int(fd), int(from), &offset, int(most))
			return int64(k), err
		}, took)
	})
	return cmp.Or(err, inner)
}

// sent is what TCP knows of what a connection has sent, and received.
type sent struct {
	acked       int64 // bytes that the peer's TCP has acknowledged
	retransmits int64 // segments sent again
	// Segments with data that have arrived there, and here.
	delivered, received uint32
}

// sentBy asks the kernel (RFC 4898: tcpEStatsAppHCThruOctetsAcked). What is
// written but not yet acknowledged lies in buffers, and has not been
// transferred.
func sentBy(conn *net.TCPConn) (s sent, ok bool) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return s, false
	}
	err = raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if ok = err == nil; ok {
			s = sent{acked: int64(info.Bytes_acked), retransmits: int64(info.Total_retrans),
				delivered: info.Delivered, received: info.Data_segs_in}
		}
	})
	return s, ok && err == nil
}
