package load

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// listen opens a socket on the loopback interface whose queue of connections
// not yet accepted is so long, and returns its address.
func listen(t *testing.T, backlog int) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, backlog); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
}

// probeFor makes a handshake every 20 ms for a time.
func probeFor(t *testing.T, address string, d time.Duration) (lost, round int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	for _, h := range (prober{address: address, every: 20 * time.Millisecond}).run(ctx, time.Now()) {
		if h.Lost {
			lost++
		} else {
			round++
		}
		if h.Lost != (h.Took >= resentAfter) {
			t.Errorf("a handshake took %v, lost %v", h.Took, h.Lost)
		}
	}
	return lost, round
}

// TestHandshakes: the kernel answers, although nobody accepts; where it answers
// no longer, handshakes go on being made at their times, and are told to be
// lost; where it refuses, nothing is learnt.
func TestHandshakes(t *testing.T) {
	if lost, round := probeFor(t, listen(t, 1000), 300*time.Millisecond); lost > 0 || round < 5 {
		t.Errorf("%d handshakes, %d lost; want about 15 and none", round, lost)
	}

	full := listen(t, 0) // has room for one
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", full)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	// Those begun in the first half second of the one and a half are known to
	// be lost at its end.
	if lost, round := probeFor(t, full, 1500*time.Millisecond); lost < 10 || round > 1 {
		t.Errorf("with a full queue %d handshakes, %d lost; want none and about 25", round, lost)
	}

	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close() // nobody listens there any more
	if lost, round := probeFor(t, l.Addr().String(), 200*time.Millisecond); lost+round > 0 {
		t.Errorf("%d handshakes, %d lost, with a server that refuses; want none", round, lost)
	}
}
