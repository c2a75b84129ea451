package http1

import (
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
)

// answered ends an operation that has an answer.
func (l *loop) answered(c *conn) {
	x := c.op
	switch {
	case l.now-c.sent > l.timeout:
		l.failed(c, load.ErrTimeout, errLate)
	case !l.targets[x.kind].expect.Match(c.reply.status):
		l.failed(c, load.ErrStatus, nil)
	default:
		l.shard.OK(x.kind, x.due, c.sent, l.now)
	}
	c.origin.outstanding.remove(c)
	l.source.Ended(l.now)
	if c.reply.last || c.cut || len(c.rest) > 0 {
		l.part(c)
		return
	}
	l.free(c)
}

// fail ends an operation, and its connection.
func (l *loop) fail(c *conn, kind load.Kind, why error) {
	l.failed(c, kind, why)
	c.origin.outstanding.remove(c)
	l.source.Ended(l.now)
	if kind == load.ErrClosed { // by the server
		l.close(c)
		return
	}
	l.abandon(c)
}

// failed counts an operation that failed, and keeps the first of each kind as an
// example.
func (l *loop) failed(c *conn, kind load.Kind, why error) {
	l.shard.Fail(c.op.kind, c.op.due, kind)
	if l.examples[kind] != nil {
		return
	}
	if kind == load.ErrStatus {
		why = fmt.Errorf("status %d, which is not expected", c.reply.status)
	}
	l.examples[kind] = &load.Error{Kind: kind, Err: fmt.Errorf("%s: %w", c.endpoint.address, why)}
}

// free makes a connection ready for the next operation.
func (l *loop) free(c *conn) {
	if c.origin.full() {
		c.origin.freeSince = max(l.seen, c.sent)
	}
	c.state = idle
	c.origin.idle.push(c)
}

// part lets the server close the connection. Who closes first has the port
// occupied for a minute, and a generator would run out of ports.
func (l *loop) part(c *conn) {
	if l.leaving == maxParting {
		l.abandon(l.parting.first)
	}
	l.release(c)
	c.state, c.sent = parting, l.now
	l.parting.push(c)
	l.leaving++
}

// release gives up the connection's part of what is allowed.
func (l *loop) release(c *conn) {
	if c.origin.full() {
		c.origin.freeSince = max(l.seen, c.sent)
	}
	c.origin.open--
}

// close ends a connection, which has no operation any more.
func (l *loop) close(c *conn) {
	switch c.state {
	case parting:
		l.parting.remove(c)
		l.leaving--
	case idle:
		c.origin.idle.remove(c)
		c.origin.open--
	default:
		l.release(c)
	}
	l.hangUp(c)
	c.state = closed
	c.reply.forget()
	l.spare = append(l.spare, c)
}

// abandon ends a connection that the server has not ended: with a reset. Saying
// goodbye first would leave the port occupied for a minute, and under overload
// it is operations by the thousand that are given up.
func (l *loop) abandon(c *conn) {
	if c.fd >= 0 {
		_ = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	}
	l.close(c)
}

// hangUp closes the socket. Events that are still to be looked at are not about
// what comes next in its place.
func (l *loop) hangUp(c *conn) {
	if c.fd >= 0 {
		_ = unix.Close(c.fd) // it is gone in any case
	}
	c.fd = -1
	c.age++
}

// expire ends what takes too long.
func (l *loop) expire() {
	for _, o := range l.origins {
		for c := o.outstanding.first; c != nil && c.sent+l.timeout <= l.now; c = o.outstanding.first {
			l.expireOne(c)
		}
		for o.waiting.n > 0 && o.waiting.first().due+l.timeout <= l.now {
			l.drop(o.waiting.pop())
		}
	}
	for c := l.parting.first; c != nil && c.sent+partingTime <= l.now; c = l.parting.first {
		l.abandon(c)
	}
}

func (l *loop) expireOne(c *conn) {
	if c.state != connecting {
		l.fail(c, load.ErrTimeout, errLate)
		return
	}
	c.endpoint.bad = true
	l.fail(c, load.ErrConnect, errLate)
}
