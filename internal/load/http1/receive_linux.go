package http1

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
)

// What epoll reports where there is something to read, or an end.
const (
	ended    = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	readable = unix.EPOLLIN | ended
)

// What may happen to an operation, apart from what the kernel says.
var (
	errEnd     = errors.New("the server closed the connection before its answer was whole")
	errUnasked = errors.New("the server said more than it was asked")
	errLate    = errors.New("it took longer than the timeout")
)

// reads is how often one connection is read from before others get their turn.
const reads = 4

// weed closes free connections that the server has closed, before one of them
// is used for what is sent between the other events.
func (l *loop) weed(events []unix.EpollEvent) {
	for i := range events {
		if e := &events[i]; e.Fd != alarmSlot && l.conns[e.Fd].state == idle {
			l.handle(e)
		}
	}
}

// handle deals with an event.
func (l *loop) handle(e *unix.EpollEvent) {
	if e.Fd == alarmSlot {
		l.poller.silence()
		return
	}
	c := l.conns[e.Fd]
	if c.age != e.Pad {
		return // what it was about is closed
	}
	switch c.state {
	case connecting:
		l.established(c, e.Events)
	case busy:
		l.proceed(c, e.Events)
	case idle, parting:
		// Data that nobody asked for, or the end.
		if e.Events&readable != 0 {
			l.tick()
			l.close(c)
		}
	}
}

// established sends the request over a connection that was made, or tries
// another address.
func (l *loop) established(c *conn, events uint32) {
	l.tick()
	err := connected(c.fd)
	if err != nil && !wasConnected(err) {
		c.endpoint.bad = true
		l.hangUp(c)
		l.connect(c, err)
		return
	}
	c.endpoint.worked = true
	l.opened++
	c.state = busy
	switch {
	case err != nil:
		l.fail(c, load.ErrClosed, err)
	case events&readable != 0:
		l.early(c)
	default:
		l.write(c)
	}
}

// early is called where something came before the request was sent: an answer
// to nothing, or the end.
func (l *loop) early(c *conn) {
	n, errno := recv(c.fd, l.buffer)
	switch {
	case errno == unix.EAGAIN, errno == unix.EINTR:
		l.write(c)
	case errno != 0:
		l.fail(c, load.ErrClosed, errno)
	case n == 0:
		l.fail(c, load.ErrClosed, errEnd)
	default:
		l.read += n
		l.fail(c, load.ErrProtocol, errUnasked)
	}
}

// proceed goes on writing and reading.
func (l *loop) proceed(c *conn, events uint32) {
	age := c.age
	if len(c.rest) > 0 && events&unix.EPOLLOUT != 0 {
		l.write(c)
	}
	if events&readable != 0 && c.state == busy && c.age == age {
		l.receive(c, events&ended != 0)
	}
}

// receive reads what came. Where less came than there is room for, that is all
// there is; unless the end came, too, which is not reported again.
func (l *loop) receive(c *conn, toEnd bool) {
	for range reads {
		n, errno := recv(c.fd, l.buffer)
		switch {
		case errno == unix.EINTR:
			continue
		case errno == unix.EAGAIN:
			return
		case errno != 0:
			l.tick()
			l.fail(c, load.ErrClosed, errno)
			return
		case n == 0:
			l.tick()
			l.ends(c)
			return
		}
		l.read += n
		l.feed(c, l.buffer[:n])
		if c.state != busy {
			l.leave(c, toEnd)
			return
		}
		if n < len(l.buffer) && !toEnd {
			return
		}
	}
	l.fatal(l.poller.again(c))
}

// leave closes a connection that the server has closed, after its answer.
func (l *loop) leave(c *conn, toEnd bool) {
	if toEnd && c.state != closed {
		l.close(c)
	}
}

// feed reads an answer, as far as it is here.
func (l *loop) feed(c *conn, b []byte) {
	n, err := c.reply.feed(b)
	switch {
	case err != nil:
		l.tick()
		l.fail(c, load.ErrProtocol, err)
	case c.reply.whole() && n < len(b):
		l.tick()
		l.fail(c, load.ErrProtocol, errUnasked)
	case c.reply.whole():
		l.tick()
		l.answered(c)
	}
}

// ends is called when the server has closed the connection; or has reset it,
// where writing has noticed that first: then what came is not all.
func (l *loop) ends(c *conn) {
	if c.cut || !c.reply.end() {
		l.fail(c, load.ErrClosed, errEnd)
		return
	}
	l.answered(c)
	l.leave(c, true)
}
