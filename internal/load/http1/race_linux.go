package http1

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"

	"github.com/scalebench/scalebench/internal/load"
	"github.com/scalebench/scalebench/internal/model"
)

// race is what a loop knows of handshakes that are under way beside others, with
// hosts that have several addresses (RFC 8305).
type race struct {
	// starts are when operations will have waited for one address for long enough
	// to try another beside it, in order.
	starts []start
	// beside are the handshakes beside those of operations; judged those of nobody,
	// which show whether an address can be used.
	beside, judged list
	running        int // how many of both
}

// start is when a connection will have waited for long enough, unless its age is
// another by then.
type start struct {
	conn *conn
	age  int32
	at   time.Duration
}

// connect tries one address after another until one does not refuse at once.
func (l *loop) connect(c *conn) {
	for {
		a := c.origin.addresses.Pick(c.tried...)
		if a == nil {
			l.fail(c, load.ErrConnect, load.Unconnected(c.causes))
			return
		}
		if l.attempt(c, c, a) {
			l.await(c)
			return
		}
		if l.err != nil {
			return // the operation ends with the run
		}
	}
}

// attempt begins a handshake for a connection, in the place of another or its own.
func (l *loop) attempt(c, in *conn, a *load.Address) bool {
	c.tried = append(c.tried, a)
	in.endpoint, in.began = c.origin.endpoint(a), l.now
	fd, err := dial(in.endpoint)
	switch {
	case errors.Is(err, model.ErrUnavailable):
		l.fatal(err)
		return false
	case err != nil:
		a.Failed(time.Now(), err)
		c.causes = append(c.causes, err)
		return false
	}
	in.fd, in.outOfOrder = fd, 0
	l.fatal(l.poller.watchFor(unix.EPOLL_CTL_ADD, in))
	return true
}

// await notes when another address is to be tried for a connection, if there is
// one.
func (l *loop) await(c *conn) {
	if len(c.tried) < c.origin.addresses.Len() {
		l.race.starts = append(l.race.starts, start{c, c.age, l.now + load.HeadStart})
	}
}

// tryBeside tries other addresses for the connections that have waited for long
// enough, and ends what nobody waits for any more.
func (l *loop) tryBeside() {
	r := &l.race
	for len(r.starts) > 0 && r.starts[0].at <= l.now {
		s := r.starts[0]
		r.starts = r.starts[1:]
		if s.conn.age == s.age && s.conn.state == connecting {
			l.another(s.conn)
		}
	}
	for c := r.judged.first; c != nil && c.sent+load.JudgeAfter <= l.now; c = r.judged.first {
		c.endpoint.Failed(time.Now(), c.unanswered(l.now))
		l.endRacer(c)
	}
}

// another tries the next address for a connection, beside the one before; or
// instead of it, where too many are under way and it is not used any more.
func (l *loop) another(c *conn) {
	a := c.origin.addresses.Pick(c.tried...)
	switch {
	case a == nil:
		return
	case l.race.running < l.racing:
		in := l.slot()
		in.origin, in.state, in.lead = c.origin, racing, c
		if c.raced = true; !l.attempt(c, in, a) {
			in.state, in.lead = closed, nil
			l.spare = append(l.spare, in)
			break
		}
		l.race.running++
		l.race.beside.push(in)
	case c.endpoint.Away():
		l.hangUp(c)
		l.attempt(c, c, a)
	}
	if l.err == nil && c.fd < 0 {
		l.connect(c)
		return
	}
	l.await(c)
}

// raced deals with the end of a handshake beside another, or of nobody's.
func (l *loop) raced(c *conn) {
	l.tick()
	lead, err := c.lead, connected(c.fd)
	switch {
	case err != nil:
		err = c.endpoint.with(err)
		c.endpoint.Failed(time.Now(), err)
		l.endRacer(c)
		if lead != nil {
			lead.causes = append(lead.causes, err)
			l.another(lead)
		}
	case lead == nil:
		c.endpoint.Worked()
		l.endRacer(c)
	default:
		l.overtake(lead, c)
	}
}

// overtake gives a connection the handshake that was quicker than its own; with
// its own it is seen whether that address works, unless that is seen already.
func (l *loop) overtake(c, by *conn) {
	c.fd, by.fd = by.fd, c.fd
	c.endpoint, by.endpoint = by.endpoint, c.endpoint
	c.began, by.began = by.began, c.began
	c.age, by.age = c.age+1, by.age+1
	l.fatal(l.poller.watchFor(unix.EPOLL_CTL_MOD, c)) // reports once more that it is there
	if !by.endpoint.Overtaken(time.Now(), by.unanswered(l.now)) {
		l.endRacer(by)
		return
	}
	l.fatal(l.poller.watchFor(unix.EPOLL_CTL_MOD, by))
	l.race.beside.remove(by)
	l.judge(by)
}

// judge lets a handshake go on for nobody.
func (l *loop) judge(c *conn) {
	c.state, c.lead, c.sent = racing, nil, l.now
	l.race.judged.push(c)
}

// retry tries addresses again that are not used, where it is time to.
func (l *loop) retry() {
	for _, o := range l.origins {
		if o.addresses.Len() < 2 || l.race.running >= l.racing {
			continue
		}
		a := o.addresses.Retry(time.Now())
		if a == nil {
			continue
		}
		c := l.slot()
		c.origin, c.state = o, racing
		c.tried, c.causes = c.tried[:0], c.causes[:0]
		if !l.attempt(c, c, a) {
			c.state = closed
			l.spare = append(l.spare, c)
			continue
		}
		l.race.running++
		l.judge(c)
	}
}

// besides ends the handshakes beside that of a connection; each is handed over
// before.
func (l *loop) besides(c *conn, each func(*conn)) {
	if !c.raced {
		return
	}
	for b := l.race.beside.first; b != nil; {
		next := b.next
		if b.lead == c {
			each(b)
			l.endRacer(b)
		}
		b = next
	}
	c.raced = false
}

// endRacer ends a handshake that has no operation.
func (l *loop) endRacer(c *conn) {
	if c.lead == nil {
		l.race.judged.remove(c)
		c.endpoint.GaveUp()
	} else {
		l.race.beside.remove(c)
	}
	l.race.running--
	l.hangUp(c)
	c.state, c.lead = closed, nil
	l.spare = append(l.spare, c)
}

// unanswered says that the handshake got no answer so far.
func (c *conn) unanswered(now time.Duration) error {
	return &load.UnansweredError{Address: c.endpoint.String(), For: load.AwaitTCP, Waited: now - c.began}
}

// awaits says what the operation of a connection waits for.
func (c *conn) awaits(now time.Duration) error {
	if c.state == connecting {
		return c.unanswered(now)
	}
	e := &load.UnansweredError{Address: c.endpoint.String(), For: load.AwaitAnswer, Waited: now - c.sent}
	if c.reply.Begun() {
		e.For = load.AwaitRest
	}
	return e
}
