package loadserver

import (
	"cmp"
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// loop is the server: one thread that reads requests and sends answers when
// they are due. Others talk to it through do only.
type loop struct {
	address  string // host:port
	epoll    int
	listener int
	clock    clock
	commands commands

	desk      *desk
	answers   answers
	departing heap[departure]
	count     uint64 // of departures
	conns     map[int]*conn
	journal   journal
	poller    *poller
	buffer    []byte
	used      time.Duration // processor time up to the last record
	stopped   bool
}

// departure is an answer that is due some time.
type departure struct {
	request Request
	number  uint64 // first come, first served among those due at once
	shape   shape
	conn    *conn
}

func earlier(a, b departure) bool {
	if c := cmp.Compare(a.request.Due, b.request.Due); c != 0 {
		return c < 0
	}
	return a.number < b.number
}

// readSize is how much is read at a time: more than a request.
const readSize = 64 << 10

// newLoop listens on a free port of the loopback interface. The loop begins
// with run.
func newLoop(b Behaviour) (*loop, error) {
	if err := b.Check(); err != nil {
		return nil, err
	}
	l := &loop{
		epoll: -1, listener: -1, clock: newClock(), commands: commands{wake: -1},
		answers: newAnswers(b), departing: heap[departure]{before: earlier},
		conns: make(map[int]*conn), buffer: make([]byte, readSize),
	}
	l.desk = newDesk(b, l.clock.now())
	if err := l.open(); err != nil {
		l.close()
		return nil, fmt.Errorf("opening a server: %w", err)
	}
	return l, nil
}

// open makes the descriptors that the loop waits for.
func (l *loop) open() (err error) {
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return err
	}
	l.poller = newPoller(l.epoll)
	if err = l.commands.open(); err != nil {
		return err
	}
	if l.listener, l.address, err = listen(); err != nil {
		return err
	}
	return errors.Join(l.watch(l.commands.wake, unix.EPOLLIN), l.watch(l.listener, unix.EPOLLIN))
}

func (l *loop) watch(fd int, events uint32) error {
	return unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)})
}

func listen() (fd int, address string, err error) {
	fd, err = unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, "", err
	}
	err = errors.Join(
		unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}),
		unix.Listen(fd, unix.SOMAXCONN))
	if err != nil {
		return fd, "", err
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		return fd, "", err
	}
	return fd, fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port), nil
}

// close gives back what the loop holds.
func (l *loop) close() {
	for _, c := range l.conns {
		_ = unix.Close(c.fd) // nothing is lost: what was sent is with the kernel
	}
	l.commands.close()
	for _, fd := range []int{l.listener, l.epoll} {
		if fd >= 0 {
			_ = unix.Close(fd) // nothing was written to it
		}
	}
}

// run serves until the loop is stopped.
func (l *loop) run(urgent bool) error {
	runtime.LockOSThread() // and never unlocked: it is a thread of its own kind
	defer l.close()
	if err := exactTimers(); err != nil {
		return err
	}
	if urgent {
		beFirst()
	}
	for !l.stopped {
		events, err := l.poller.wait(l.idle())
		if err != nil {
			return fmt.Errorf("waiting for requests: %w", err)
		}
		// What is due goes out between any two events: a crowd of requests
		// does not delay it.
		for i := range events {
			l.handle(&events[i])
			l.release(l.clock.now())
		}
		l.release(l.clock.now())
	}
	return nil
}

// idle is how long there is nothing to do unless something happens; negative:
// for ever.
func (l *loop) idle() time.Duration {
	if len(l.departing.items) == 0 {
		return -1
	}
	return max(l.departing.items[0].request.Due-l.clock.now(), 0)
}

func (l *loop) handle(e *unix.EpollEvent) {
	switch fd := int(e.Fd); fd {
	case l.listener:
		l.accept()
	case l.commands.wake:
		l.commands.obey()
	default:
		if c := l.conns[fd]; c != nil {
			l.ready(c, e.Events)
		}
	}
}

// do has the loop's thread call f, and returns when it has.
func (l *loop) do(f func()) error { return l.commands.do(f) }
