package http1

import (
	"errors"
	"fmt"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
)

// dispatch sends what is due, as far as there are connections: first what waited
// for an origin.
func (l *loop) dispatch() {
	for _, o := range l.origins {
		for range min(o.waiting.n, burst) {
			if l.err != nil || !l.send(o, o.waiting.first()) {
				break
			}
			o.waiting.pop()
		}
	}
	for range burst {
		if l.err != nil || !l.holding && !l.draw() {
			return
		}
		x := l.held
		if x.due+l.timeout <= l.now {
			l.drop(x)
		} else if o := l.origins[l.targets[x.kind].site]; (o.waiting.n > 0 || !l.send(o, x)) && !o.waiting.push(x) {
			return
		}
		l.holding = false
	}
}

// draw takes the next operation from the source if it is due.
func (l *loop) draw() bool {
	due, ok := l.source.Peek()
	if !ok || due > l.now {
		return false
	}
	l.source.Take()
	if l.holding = true; l.sessions != nil {
		t := l.sessions.turn
		l.held = operation{kind: t.Op, due: due, wire: t.Wire, user: t.User}
	} else {
		kind := l.mix.Next()
		l.held = operation{kind: kind, due: due, wire: l.targets[kind].wire}
	}
	l.shard.Due(l.held.kind, due)
	return true
}

// tell lets the source know that an operation has ended. The error is that of
// load.Sessions.
func (l *loop) tell(x operation, a load.Answer) error {
	if a.Now = l.now; l.sessions != nil {
		return l.sessions.Sessions.Ended(x.user, a)
	}
	l.source.Ended(l.now)
	return nil
}

// sessions are a source: what else it is told they do not need.
type sessions struct {
	load.Sessions

	turn load.Turn // that was taken last
}

func (s *sessions) Take()               { s.turn = s.Sessions.Take() }
func (s *sessions) Ended(time.Duration) {}

// drop ends an operation that has waited for too long.
func (l *loop) drop(x operation) {
	l.shard.Drop(x.kind, x.due)
	_ = l.tell(x, load.Answer{}) // nothing came that could be wrong
}

// send gives an operation to a free connection or, if none is free and another
// is allowed, to a new one.
func (l *loop) send(o *origin, x operation) bool {
	if l.owned {
		l.sendOwn(o, x)
		return true
	}
	for o.idle.last != nil {
		if l.begin(o.idle.last, x) {
			return true
		}
	}
	if o.full() {
		if l.short {
			l.fatal(load.ErrFiles(o.limit * l.loops))
		}
		return false
	}
	l.open(o, x)
	return true
}

// sendOwn gives an operation to the connection of its user, or to a new one.
func (l *loop) sendOwn(o *origin, x operation) {
	for len(l.own) <= x.user {
		l.own = append(l.own, nil)
	}
	if c := l.own[x.user]; c == nil || c.state != idle || !l.begin(c, x) {
		l.open(o, x)
	}
}

// begin sends an operation over a connection that is free. It reports false,
// and closes the connection, if that turns out to be dead before anything was
// written.
func (l *loop) begin(c *conn, x operation) bool {
	l.tick()
	n, errno := send(c.fd, x.wire)
	if errno != 0 && errno != unix.EAGAIN {
		l.close(c)
		return false
	}
	c.origin.idle.remove(c)
	c.rest, c.reused = x.wire[n:], true
	l.sent += n
	l.occupy(c, x, busy)
	return true
}

// occupy gives an operation to a connection, now.
func (l *loop) occupy(c *conn, x operation, s state) {
	c.op, c.sent, c.state, c.cut = x, l.now, s, false
	if l.owned {
		l.own[x.user] = c
	}
	c.origin.outstanding.push(c)
	c.reply.Begin(l.targets[x.kind].head)
	l.shard.Sent(x.kind, x.due, c.origin.freeSince, l.now)
}

// open makes a connection for an operation.
func (l *loop) open(o *origin, x operation) {
	l.tick()
	c := l.place(o, x)
	l.occupy(c, x, connecting)
	l.connect(c)
}

// place is room for a connection to an origin.
func (l *loop) place(o *origin, x operation) *conn {
	c := l.slot()
	c.origin, c.rest, c.reused, c.raced = o, x.wire, false, false
	c.tried, c.causes = c.tried[:0], c.causes[:0]
	o.open++
	return c
}

// slot is a connection that is closed.
func (l *loop) slot() *conn {
	if n := len(l.spare); n > 0 {
		c := l.spare[n-1]
		l.spare = l.spare[:n-1]
		return c
	}
	c := &conn{slot: int32(len(l.conns)), fd: -1, reply: l.limits}
	l.conns = append(l.conns, c)
	return c
}

// repeat sends an operation again, over a new connection. To the server it is the
// same, and to the record, too.
func (l *loop) repeat(c *conn) {
	x, sent, o := c.op, c.sent, c.origin
	o.outstanding.remove(c)
	l.close(c)
	l.shard.Repeat(x.kind, x.due)
	c = l.place(o, x)
	c.op, c.sent, c.state, c.cut = x, sent, connecting, false
	if l.owned {
		l.own[x.user] = c
	}
	o.outstanding.push(c)
	c.reply.Begin(l.targets[x.kind].head)
	l.connect(c)
}

// write goes on writing a request.
func (l *loop) write(c *conn) {
	n, errno := send(c.fd, c.rest)
	switch errno {
	case 0:
		c.rest = c.rest[n:]
		l.sent += n
	case unix.EAGAIN, unix.EINTR:
	default:
		// The server reads no more. What it said before that may be here.
		c.rest, c.cut = nil, true
		l.receive(c, true)
	}
}

// send writes what the kernel has room for; b is not empty. It bypasses Go's
// scheduler, as receiver.read does.
func send(fd int, b []byte) (n int, errno unix.Errno) {
	r, _, e := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), unix.MSG_NOSIGNAL, 0, 0)
	if e != 0 {
		return 0, e
	}
	return int(r), 0
}

// dial begins to connect. An error that is model.ErrUnavailable is this
// machine's; others say that the address cannot be reached.
func dial(e *endpoint) (int, error) {
	fd, err := unix.Socket(e.family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, e.wrong(err)
	}
	askForStamps(fd)
	// A request is written at once; nothing would come that it could wait for.
	err = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	if err == nil {
		err = unix.Connect(fd, e.socket)
	}
	if err != nil && !errors.Is(err, unix.EINPROGRESS) && !errors.Is(err, unix.EINTR) {
		_ = unix.Close(fd) // err says more
		return -1, e.wrong(err)
	}
	return fd, nil
}

// connected says how the handshake ended.
func connected(fd int) error {
	code, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err != nil {
		return err
	}
	if code != 0 {
		return unix.Errno(code)
	}
	return nil
}

// wrong tells what this machine lacks from what is wrong with an address.
func (e *endpoint) wrong(err error) error {
	if lack := load.Lack(err, e.HasWorked()); lack != nil {
		return lack
	}
	return e.with(err)
}

// with adds the address to an error.
func (e *endpoint) with(err error) error { return fmt.Errorf("%s: %w", e.AddrPort, err) }
