package http1

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/model"
)

// poller waits for events on connections. Events are edge-triggered: each
// change is reported once, so that a connection is registered when it is opened
// and never touched again.
type poller struct {
	fd     int // epoll
	alarm  int // eventfd: interrupts waiting
	events [256]unix.EpollEvent
	limit  unix.Timespec
	set    [1]unix.PollFd // fd, for ppoll
	// spins: it never sleeps.
	spins bool
	// lateness of sleeps that nothing ended but their time.
	lateness lateness
	// coarse: the kernel has no epoll_pwait2 (it came with Linux 5.11), the
	// only one that waits to the nanosecond.
	coarse bool
}

// alarmSlot stands in events for the alarm.
const alarmSlot = -1

func newPoller(spins bool) (*poller, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("%w: making an epoll instance: %w; raise the limit of open files (ulimit -n)", model.ErrUnavailable, err)
	}
	alarm, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("%w: making an eventfd: %w; raise the limit of open files (ulimit -n)", model.ErrUnavailable, err)
	}
	p := &poller{fd: fd, alarm: alarm, spins: spins, set: [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}}
	if err := unix.EpollCtl(fd, unix.EPOLL_CTL_ADD, alarm, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: alarmSlot}); err != nil {
		p.close()
		return nil, fmt.Errorf("%w: watching an eventfd: %w", model.ErrUnavailable, err)
	}
	return p, nil
}

func (p *poller) close() {
	_ = unix.Close(p.alarm) // nothing was written that could be lost
	_ = unix.Close(p.fd)
}

// watchFor registers a connection (EPOLL_CTL_ADD): what has happened to it already
// is reported, too. Or it reports once more what there is to read (EPOLL_CTL_MOD).
func (p *poller) watchFor(how int, c *conn) error {
	// Data, room for data, the end of the server's side.
	const interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET
	e := unix.EpollEvent{Events: interest, Fd: c.slot, Pad: c.age}
	if err := unix.EpollCtl(p.fd, how, c.fd, &e); err != nil {
		return fmt.Errorf("%w: watching a connection: %w; allow fewer connections", model.ErrUnavailable, err)
	}
	return nil
}

// ring ends a wait, or the next one. It may be called from any goroutine.
func (p *poller) ring() {
	one := [8]byte{0: 1}
	_, _ = unix.Write(p.alarm, one[:]) // fails only where it is ringing already
}

// wait returns what happened, after d at the latest; at once if d is not
// positive.
func (p *poller) wait(d time.Duration) ([]unix.EpollEvent, error) {
	n, errno := p.poll(d)
	if errno == unix.EINTR { // by Go's scheduler, for one
		return nil, nil
	}
	if errno != 0 {
		return nil, fmt.Errorf("%w: waiting for connections: %w", model.ErrUnavailable, errno)
	}
	return p.events[:n], nil
}

// poll sleeps until a little before the time, and watches for the rest: what is
// due then would otherwise be late by the time that waking up takes, which is
// processor time in any case.
func (p *poller) poll(d time.Duration) (int, unix.Errno) {
	if p.spins {
		return p.watch(d)
	}
	early := p.lateness.least()
	if d > early {
		begin := time.Now()
		n, errno := p.rest(d - early)
		if n != 0 || errno != 0 {
			return n, errno
		}
		if d -= time.Since(begin); d > early {
			return 0, 0 // it need not be this long
		}
	}
	return p.watch(d)
}

// rest waits for events, or until the time is over, or for about as long as Go
// lets a goroutine run: a thread keeps its place no longer.
func (p *poller) rest(d time.Duration) (int, unix.Errno) {
	d = min(d, 10*time.Millisecond)
	if !p.coarse {
		begin := time.Now()
		n, errno := p.exact(d)
		if n == 0 && errno == 0 {
			p.lateness.add(time.Since(begin) - d)
		}
		// Filters of system calls answer EPERM to what they do not know.
		if errno != unix.ENOSYS && errno != unix.EPERM {
			return n, errno
		}
		p.coarse = true
	}
	p.limit = unix.NsecToTimespec(int64(d))
	// An epoll instance can itself be waited for.
	_, err := unix.Ppoll(p.set[:], &p.limit, nil)
	if errno := unix.Errno(0); errors.As(err, &errno) {
		return 0, errno
	}
	return p.look()
}

// exact waits, to the nanosecond.
//
// A normal system call tells Go's scheduler that it may wait. The scheduler then
// takes the P from a thread that waits for more than 20 µs, and wakes up others
// to look for work: three times what a request costs. This call does not tell
// it: a loop keeps its P. The garbage collector, or a goroutine that needs the
// P, can still interrupt it by a signal.
func (p *poller) exact(d time.Duration) (int, unix.Errno) {
	p.limit = unix.NsecToTimespec(int64(d))
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.limit)), 0, 0)
	return int(n), errno
}

// watch looks again and again, so that it need not be woken up.
func (p *poller) watch(d time.Duration) (int, unix.Errno) {
	for begin := time.Now(); ; {
		if n, errno := p.look(); n != 0 || errno != 0 || time.Since(begin) >= d {
			return n, errno
		}
	}
}

// look does not wait.
func (p *poller) look() (int, unix.Errno) {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.fd), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), 0, 0, 0)
	return int(n), errno
}

const (
	// brief is less time than it takes to fall asleep and to wake up again.
	brief = 3 * time.Microsecond
	// longestEarly bounds how long before a time a loop wakes up, and so the
	// processor time that this can cost.
	longestEarly = 20 * time.Microsecond
	// A sleep in ten ends earlier than supposed. With these steps up and down
	// the supposition comes to rest where that is so.
	stepUp, stepDown = 50 * time.Nanosecond, 450 * time.Nanosecond
)

// lateness is by how much sleeps last longer than they should: some µs on
// hardware, some tens of µs on a virtual processor. It gets each sleep, and
// follows their tenth percentile, up and down.
type lateness struct{ supposed time.Duration }

// add tells it of a sleep.
func (l *lateness) add(late time.Duration) {
	if late > l.supposed {
		l.supposed = min(l.supposed+stepUp, longestEarly)
	} else {
		l.supposed = max(l.supposed-stepDown, 0)
	}
}

// least is how late sleeps are, at the least; brief if they are not even that.
func (l *lateness) least() time.Duration { return max(l.supposed, brief) }
