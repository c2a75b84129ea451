package load

import (
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

// pollAlarm sleeps in ppoll(2), with a timeout in nanoseconds, on an eventfd
// that others write to. It wakes some 10 µs late on an idle machine.
type pollAlarm struct {
	poll    [1]unix.PollFd
	timeout unix.Timespec

	mu     sync.Mutex
	closed bool // its descriptor may be another file's by now
}

func newAlarm() (alarm, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("%w: the generator cannot open a timer (raise the limit of open files): %w", model.ErrUnavailable, err)
	}
	return &pollAlarm{poll: [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}}, nil
}

func (a *pollAlarm) fd() int { return int(a.poll[0].Fd) }

func (a *pollAlarm) sleep(d time.Duration) {
	// The kernel may delay a thread's timers by its slack, 50 µs by default,
	// to wake less often. The slack is a property of the thread, and this may
	// be another one each time. Where it cannot be set, sleeps are that long.
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	a.timeout = unix.NsecToTimespec(int64(max(d, 0)))
	if n, err := unix.Ppoll(a.poll[:], &a.timeout, nil); err != nil || n == 0 {
		return // the time is over; or a signal came, which is early for no reason
	}
	var count [8]byte
	_, _ = unix.Read(a.fd(), count[:]) // empties it
}

func (a *pollAlarm) wake() {
	one := binary.NativeEndian.AppendUint64(nil, 1)
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.closed {
		_, _ = unix.Write(a.fd(), one) // fails only when it is full of wakes
	}
}

func (a *pollAlarm) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	_ = unix.Close(a.fd()) // nothing was written that could be lost
}
