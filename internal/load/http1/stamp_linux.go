package http1

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// receiver reads from connections. Beside the bytes it gets the kernel's stamp:
// when, by the wall clock, the segment with the last of them came from the
// network, before anything had to be woken up for it.
type receiver struct {
	buffer  []byte
	into    unix.Iovec
	header  unix.Msghdr
	control control
	info    unix.TCPInfo
	// keeper is a socket that asks for stamps and is never used; -1: none. The
	// kernel begins to stamp some time after the first socket asks, and would
	// end with the last one: servers may close all connections again and again.
	keeper int
}

// control is what the kernel puts beside the bytes, and all that it is asked
// for.
type control struct {
	unix.Cmsghdr
	stamp unix.Timespec
}

func newReceiver() *receiver {
	r := &receiver{buffer: make([]byte, 64<<10)}
	r.into.Base = &r.buffer[0]
	r.into.SetLen(len(r.buffer))
	r.header.Iov = &r.into
	r.header.SetIovlen(1)
	r.header.Control = (*byte)(unsafe.Pointer(&r.control))
	var err error
	if r.keeper, err = unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0); err != nil {
		r.keeper = -1 // stamps may then begin later
		return r
	}
	askForStamps(r.keeper)
	return r
}

// askForStamps is of no effect where the kernel has none for such sockets: then
// an answer counts from when it is read.
func askForStamps(fd int) { _ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) }

func (r *receiver) close() {
	if r.keeper >= 0 {
		_ = unix.Close(r.keeper) // nothing went over it
	}
}

// read reads into the buffer. n = 0 without an error is the end. The stamp is in
// ns since 1970; 0: none.
//
// The call does not wait, so it bypasses Go's scheduler, which would otherwise
// handle each of them.
func (r *receiver) read(fd int) (n int, stamp int64, errno unix.Errno) {
	r.header.SetControllen(int(unsafe.Sizeof(r.control)))
	got, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&r.header)), 0)
	if errno != 0 {
		return 0, 0, errno
	}
	if int(r.header.Controllen) < int(unsafe.Sizeof(r.control)) || r.control.Level != unix.SOL_SOCKET || r.control.Type != unix.SCM_TIMESTAMPNS {
		return int(got), 0, 0
	}
	return int(got), r.control.stamp.Nano(), 0
}

// outOfOrder returns how many segments of a connection came before one that was
// sent earlier. known is false where the kernel does not say: before Linux 5.4.
func (r *receiver) outOfOrder(fd int) (segments uint32, known bool) {
	size := uint32(unsafe.Sizeof(r.info))
	_, _, errno := unix.RawSyscall6(unix.SYS_GETSOCKOPT, uintptr(fd), unix.IPPROTO_TCP, unix.TCP_INFO,
		uintptr(unsafe.Pointer(&r.info)), uintptr(unsafe.Pointer(&size)), 0)
	counted := unsafe.Offsetof(r.info.Rcv_ooopack) + unsafe.Sizeof(r.info.Rcv_ooopack)
	return r.info.Rcv_ooopack, errno == 0 && uintptr(size) >= counted
}

// reanchor compares the wall clock with the clock of the run, and reads the
// latter.
func (l *loop) reanchor() {
	before := time.Since(l.base)
	wall := l.wall().UnixNano()
	l.tick()
	l.anchor.compare(before, wall, l.now)
}

// unremarkable is how long after its stamp an answer is read at times, with a
// loop that nothing is wrong with.
const unremarkable = 250 * time.Microsecond

// arrival is when an answer that is whole now was so in this machine's kernel.
// Where that is not known it is when it was read, and stamped is false.
//
// The stamp is that of the last bytes. Where these came before others, of a
// segment that was lost and sent again, the answer was whole only when those
// came, which have no stamp of their own any more. It then seems to have been
// read late, so only what was read late is looked into.
func (l *loop) arrival(c *conn, stamp int64) (at time.Duration, stamped bool) {
	if stamp == 0 {
		return l.now, false
	}
	at, believed := l.anchor.convert(stamp, c.sent, l.now)
	if !believed || l.now-at > unremarkable && l.disordered(c) {
		l.rejected++
		return l.now, false
	}
	return at, true
}

// disordered reports whether segments of a connection may have come out of order
// since the last time that this was asked.
func (l *loop) disordered(c *conn) bool {
	n, known := l.receiver.outOfOrder(c.fd)
	before := c.outOfOrder
	c.outOfOrder = n
	return !known || n != before
}
