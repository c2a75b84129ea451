package http1

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

// The calls here do not wait, so they go past Go's scheduler, which would
// otherwise be told of each.

// recv reads into b, which is not empty. n = 0 without an error is the end.
func recv(fd int, b []byte) (n int, errno unix.Errno) { return transfer(unix.SYS_RECVFROM, fd, b, 0) }

// send writes what the kernel has room for; b is not empty.
func send(fd int, b []byte) (n int, errno unix.Errno) {
	return transfer(unix.SYS_SENDTO, fd, b, unix.MSG_NOSIGNAL)
}

func transfer(call uintptr, fd int, b []byte, flags uintptr) (n int, errno unix.Errno) {
	r, _, e := unix.RawSyscall6(call, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), flags, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// dial begins to connect. An error that is model.ErrUnavailable is this
// machine's; others say that the address cannot be reached.
func dial(e *endpoint) (int, error) {
	fd, err := unix.Socket(e.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, lack(e, err)
	}
	// A request is written at once; nothing would come that it could wait for.
	err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err == nil {
		err = unix.Connect(fd, e.socket)
	}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		_ = unix.Close(fd) // err says more
		return -1, lack(e, err)
	}
	return fd, nil
}

// connected says how the handshake ended.
func connected(fd int) error {
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if code != 0 {
		return unix.Errno(code)
	}
	return nil
}

// lack tells what this machine lacks from what is wrong with an address. That
// no local address is available means, where connections were made before, that
// all local ports are taken.
func lack(e *endpoint, err error) error {
	var advice string
	switch {
	case errors.Is(err, unix.EMFILE), errors.Is(err, unix.ENFILE):
		advice = "raise the limit of open files (ulimit -n), or allow fewer connections"
	case errors.Is(err, unix.ENOBUFS), errors.Is(err, unix.ENOMEM), errors.Is(err, unix.ENOSPC):
		advice = "the kernel has no memory for it; allow fewer connections"
	case errors.Is(err, unix.EADDRNOTAVAIL) && e.worked:
		advice = "all local ports are taken, since the server closes connections after few requests; " +
			"widen net.ipv4.ip_local_port_range, let the server keep connections open, or lower the rate"
	default:
		return err
	}
	return fmt.Errorf("%w: opening a connection to %s: %w; %s", model.ErrUnavailable, e.address, err, advice)
}
