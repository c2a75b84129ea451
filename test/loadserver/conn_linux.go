package loadserver

import (
	"errors"

	"golang.org/x/sys/unix"
)

// conn is a connection. One request at a time is served: the next, if the
// client sends it early, arrives when the one before is answered.
type conn struct {
	fd   int
	in   []byte // what was read and not understood yet
	out  []byte // the rest of an answer that the kernel did not take yet
	busy bool   // a request is not answered
	last bool   // close after the answer
	gone bool   // closed
}

// interest: told once, edge-triggered, so that no further calls are needed.
// Readable data is then read to its end.
const interest = unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET

// maxUnread bounds what a client may send ahead, in bytes.
const maxUnread = maxHead + maxBody

// accept takes all connections that are there.
func (l *loop) accept() {
	for {
		fd, _, err := unix.Accept4(l.listener, unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC)
		if err != nil {
			return // none left; or one that ended already, or no files: the client sees it
		}
		// Answers go out at once. It cannot fail on a TCP socket that is open,
		// and if it is not, reading will tell.
		_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
		if err := l.watch(fd, interest); err != nil {
			_ = unix.Close(fd) // the client sees it
			continue
		}
		l.journal.rec.Accepted++
		l.conns[fd] = &conn{fd: fd}
	}
}

func (l *loop) drop(c *conn) {
	if c.gone {
		return
	}
	c.gone = true
	delete(l.conns, c.fd)
	_ = unix.Close(c.fd) // what was written is with the kernel
}

// ready is called when a connection may be read or written again.
func (l *loop) ready(c *conn, events uint32) {
	if events&unix.EPOLLOUT != 0 && len(c.out) > 0 {
		l.flush(c)
	}
	ending := events&(unix.EPOLLRDHUP|unix.EPOLLHUP|unix.EPOLLERR) != 0
	if !c.gone && (ending || events&unix.EPOLLIN != 0) {
		l.read(c, ending)
	}
}

// read reads all there is; where the end of the connection was announced, up
// to that. A client that ends its side is gone: generators do not shut down
// one half.
func (l *loop) read(c *conn, ending bool) {
	for !c.gone {
		n, err := unix.Read(c.fd, l.buffer)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return
		case err != nil || n == 0:
			l.drop(c)
			return
		}
		c.in = append(c.in, l.buffer[:n]...)
		if len(c.in) > maxUnread {
			l.refuse(c)
			return
		}
		l.serve(c)
		if n < len(l.buffer) && !ending {
			return // that was all; what comes later is announced again
		}
	}
}

// serve takes the next request out of what was read, if the one before is
// answered.
func (l *loop) serve(c *conn) {
	for !c.gone && !c.busy && len(c.in) > 0 {
		r, n, err := parse(c.in)
		if err != nil {
			l.refuse(c)
			return
		}
		if n == 0 {
			return
		}
		c.in = append(c.in[:0], c.in[n:]...)
		l.receive(c, r)
	}
}

// refuse ends a connection over which came no request of ours.
func (l *loop) refuse(c *conn) {
	l.journal.rec.Malformed++
	_, _ = unix.Write(c.fd, []byte("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")) // if it still listens
	l.drop(c)
}

// receive decides on a request; it is answered by release.
func (l *loop) receive(c *conn, r request) {
	c.busy, c.last = true, r.close || l.desk.b.Closing
	d := l.desk.receive(l.clock.now())
	l.count++
	l.departing.push(departure{
		request: d, number: l.count, conn: c,
		shape: shape{status: d.Outcome.status(), head: r.head, close: c.last},
	})
}
