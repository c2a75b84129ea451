package loadserver

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// poller waits for events with the kernel's exact timers.
type poller struct {
	epoll  int
	events []unix.EpollEvent
	limit  unix.Timespec // here, so that it need not be allocated each time
}

func newPoller(epoll int) *poller {
	return &poller{epoll: epoll, events: make([]unix.EpollEvent, 128)}
}

// wait returns what happened within a time; negative: whenever it happens.
//
// The kernel may end a wait late by a thousandth of its length (fs/select.c,
// select_estimate_accuracy): 1 ms in 1 s. So we ask for a thousandth less, and
// the caller, who finds that nothing is due yet, waits for the rest.
//
// The system call is made without telling the Go scheduler. It would take the
// processor away from a thread that sleeps for longer than 20 µs, and give it
// back by waking another thread, which costs more than a request does. This
// process has nothing else to run; when it does, the scheduler's signal ends
// the wait (EINTR).
func (p *poller) wait(most time.Duration) ([]unix.EpollEvent, error) {
	var limit *unix.Timespec
	if most >= 0 {
		p.limit = unix.NsecToTimespec(int64(most - most/1000))
		limit = &p.limit
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epoll),
		uintptr(unsafe.Pointer(&p.events[0])), uintptr(len(p.events)), uintptr(unsafe.Pointer(limit)), 0, 0)
	switch {
	case errno == 0:
		return p.events[:n], nil
	case errors.Is(errno, unix.EINTR):
		return nil, nil
	case errors.Is(errno, unix.ENOSYS):
		return nil, fmt.Errorf("epoll_pwait2: %w: this needs Linux 5.11 or newer", errno)
	}
	return nil, fmt.Errorf("epoll_pwait2: %w", errno)
}
