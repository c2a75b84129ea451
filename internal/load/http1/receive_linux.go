package http1

import (
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/load/httpwire"
)

// What epoll reports where there is something to read, or an end.
const (
	ended    = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	readable = unix.EPOLLIN | ended
)

// What may happen to an operation, apart from what the kernel says.
var (
	errEnd     = errors.New("the server closed the connection before its answer was whole")
	errUnasked = errors.New("the server sent data beyond its answer")
	errLate    = errors.New("the answer took longer than the timeout")
)

// reads is how often one connection is read from before others get their turn.
const reads = 4

// handle deals with an event.
func (l *loop) handle(e *unix.EpollEvent) {
	if e.Fd == alarmSlot {
		var count [8]byte
		_, _ = unix.Read(l.poller.alarm, count[:]) // stops it; there is nothing to read where it does not ring
		return
	}
	c, age := l.conns[e.Fd], e.Pad
	if c.age != age {
		return // what it was about is closed
	}
	comes := e.Events&readable != 0
	switch c.state {
	case connecting:
		l.established(c, e.Events)
	case busy:
		if len(c.rest) > 0 && e.Events&unix.EPOLLOUT != 0 {
			l.write(c)
		}
		if comes && c.state == busy && c.age == age {
			l.receive(c, e.Events&ended != 0)
		}
	case racing:
		l.raced(c)
	case idle, parting:
		// Data that were not asked for, or the end.
		if comes {
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
	// What came after the handshake: who refuses that causes ECONNREFUSED.
	lost := errors.Is(err, unix.ECONNRESET) || errors.Is(err, unix.EPIPE)
	if err != nil && !lost {
		l.refused(c, c.endpoint.with(err))
		return
	}
	l.besides(c, func(*conn) {})
	c.endpoint.Opened()
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

// refused deals with an address that takes no connection.
func (l *loop) refused(c *conn, err error) {
	c.endpoint.Failed(time.Now(), err)
	c.causes = append(c.causes, err)
	l.hangUp(c)
	for b := l.race.beside.first; c.raced && b != nil; b = b.next {
		if b.lead == c { // one that is under way takes its place
			c.fd, b.fd = b.fd, -1
			c.endpoint, c.began = b.endpoint, b.began
			l.endRacer(b)
			l.fatal(l.poller.watchFor(unix.EPOLL_CTL_MOD, c))
			l.await(c)
			return
		}
	}
	l.connect(c)
}

// early is called where something came before the request was sent: an answer
// to nothing, or the end.
func (l *loop) early(c *conn) {
	n, _, errno := l.receiver.read(c.fd)
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

// receive reads what came. Where less came than there is room for, that is all
// there is; unless the end came, too, which is not reported again.
func (l *loop) receive(c *conn, toEnd bool) {
	for range reads {
		n, stamp, errno := l.receiver.read(c.fd)
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
		l.feed(c, l.receiver.buffer[:n], stamp)
		if c.state != busy {
			l.leave(c, toEnd)
			return
		}
		if n < len(l.receiver.buffer) && !toEnd {
			return
		}
	}
	l.fatal(l.poller.watchFor(unix.EPOLL_CTL_MOD, c)) // reports once more what there is to read
}

// leave closes a connection that the server has closed, after its answer.
func (l *loop) leave(c *conn, toEnd bool) {
	if toEnd && c.state != closed {
		l.close(c)
	}
}

// feed reads an answer, as far as it is here; the last of it has a stamp, or 0.
func (l *loop) feed(c *conn, b []byte, stamp int64) {
	n, err := c.reply.Feed(b)
	switch {
	case err != nil:
		l.tick()
		l.fail(c, load.ErrProtocol, err)
	case c.reply.Whole() && n < len(b):
		l.tick()
		l.fail(c, load.ErrProtocol, errUnasked)
	case c.reply.Whole():
		l.tick()
		l.answered(c, stamp)
	}
}

// ends is called when the server has closed the connection; or has reset it,
// where writing has noticed that first: then what came is not all.
func (l *loop) ends(c *conn) {
	if c.cut || !c.reply.End() {
		l.fail(c, load.ErrClosed, errEnd)
		return
	}
	l.answered(c, 0) // the kernel does not stamp the end
	l.leave(c, true)
}

// answered ends an operation that has an answer. To a source it ends when that
// was read: a user of a closed loop can go on only then.
func (l *loop) answered(c *conn, stamp int64) {
	x, free := c.op, l.seen
	at, stamped := l.arrival(c, stamp)
	if stamped {
		free = at
		l.shard.Read(x.due, l.now-at)
	}
	a := load.Answer{}
	switch {
	case at-c.sent > l.timeout:
		l.failed(c, load.ErrTimeout, c.endpoint.with(errLate))
	case !l.targets[x.kind].expect.Match(c.reply.Status()):
		l.failed(c, load.ErrStatus, nil)
	default:
		page, shortened := c.reply.Page()
		a = load.Answer{OK: true, Page: page, Incomplete: shortened}
	}
	wrong := l.tell(x, a)
	switch {
	case wrong != nil:
		l.failed(c, load.ErrWrong, wrong)
	case a.OK:
		l.shard.OK(x.kind, x.due, c.sent, at)
	}
	c.reply.LetGo()
	c.origin.outstanding.remove(c)
	if c.reply.Last() || c.cut || len(c.rest) > 0 {
		l.part(c, free)
		return
	}
	l.free(c, free)
}

// fail ends an operation, and its connection. Where the server has closed that, and need
// not have had the request, it is sent again.
func (l *loop) fail(c *conn, kind load.Kind, why error) {
	if kind == load.ErrClosed && c.reused && !c.reply.Begun() && httpwire.Idempotent(c.op.wire) &&
		load.Crossed(l.now-c.sent, load.RoundTrip(c.fd), l.crossing) {
		l.repeat(c)
		return
	}
	l.failed(c, kind, why)
	c.origin.outstanding.remove(c)
	_ = l.tell(c.op, load.Answer{}) // it failed in any case
	if kind == load.ErrClosed {     // by the server
		l.close(c)
		return
	}
	l.abandon(c)
}

// failed counts an operation that failed, and keeps the first of each kind as an
// example.
func (l *loop) failed(c *conn, kind load.Kind, why error) {
	status := 0
	if kind == load.ErrStatus {
		status = c.reply.Status()
		l.shard.Refuse(c.op.kind, c.op.due, status)
	} else {
		l.shard.Fail(c.op.kind, c.op.due, kind)
	}
	if l.examples[kind] != nil {
		return
	}
	if kind == load.ErrStatus {
		why = fmt.Errorf("unexpected status %d", status)
	}
	if kind != load.ErrConnect && kind != load.ErrTimeout { // these say where themselves
		why = c.endpoint.with(why)
	}
	l.examples[kind] = &load.Error{Kind: kind, Status: status, Err: why}
}

// free makes a connection ready for the next operation, which it has been since
// a time.
func (l *loop) free(c *conn, since time.Duration) {
	if c.origin.full() {
		c.origin.freeSince = max(since, c.sent)
	}
	c.state = idle
	c.origin.idle.push(c)
}

// part lets the server close the connection. Who closes first has the port
// occupied for a minute, and a generator would run out of ports.
func (l *loop) part(c *conn, since time.Duration) {
	if l.leaving >= l.partings {
		l.abandon(l.parting.first)
	}
	l.release(c, since)
	c.state, c.sent = parting, l.now
	l.parting.push(c)
	l.leaving++
}

// release gives up the connection's part of what is allowed.
func (l *loop) release(c *conn, since time.Duration) {
	if c.origin.full() {
		c.origin.freeSince = max(since, c.sent)
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
		l.release(c, l.seen)
	}
	l.besides(c, func(*conn) {})
	l.hangUp(c)
	c.state = closed
	if l.owned && l.own[c.op.user] == c {
		l.own[c.op.user] = nil
	}
	c.reply.Forget()
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

// overdue reports whether some answer has not been read in time.
func (l *loop) overdue() bool {
	for _, o := range l.origins {
		if c := o.outstanding.first; c != nil && c.sent+l.timeout <= l.now {
			return true
		}
	}
	return false
}

// expire ends what takes too long.
func (l *loop) expire() {
	for _, o := range l.origins {
		for c := o.outstanding.first; c != nil && c.sent+l.timeout <= l.now; c = o.outstanding.first {
			if c.state != connecting {
				l.fail(c, load.ErrTimeout, c.awaits(l.now))
				continue
			}
			silent := func(b *conn) {
				err := b.unanswered(l.now)
				b.endpoint.Failed(time.Now(), err)
				c.causes = append(c.causes, err)
			}
			silent(c)
			l.besides(c, silent)
			l.fail(c, load.ErrConnect, load.Unconnected(c.causes))
		}
		for o.waiting.n > 0 && o.waiting.first().due+l.timeout <= l.now {
			l.drop(o.waiting.pop())
		}
	}
	for c := l.parting.first; c != nil && c.sent+partingTime <= l.now; c = l.parting.first {
		l.abandon(c)
	}
}
