package oddanswers

import (
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

// Silent listens at an address, and no SYN that comes there is answered, as behind
// a firewall that drops them: the queue of connections is full. Port 0: one that
// is free.
func Silent(t testing.TB, at netip.AddrPort) netip.AddrPort {
	t.Helper()
	socket := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Close(fd) })
		return fd
	}
	fd := socket()
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: at.Addr().As4(), Port: int(at.Port())}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		_ = unix.Connect(socket(), bound) // the first are taken, by the kernel
	}
	return netip.AddrPortFrom(at.Addr(), uint16(bound.(*unix.SockaddrInet4).Port))
}
