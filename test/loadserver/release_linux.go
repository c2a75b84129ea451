package loadserver

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// release sends the answers that are due.
func (l *loop) release(now time.Duration) {
	for len(l.departing.items) > 0 && l.departing.items[0].request.Due <= now {
		d := l.departing.pop()
		d.request.Sent = now
		if d.conn.gone {
			d.request.Outcome = Gone
		}
		l.journal.add(d.request)
		l.answer(d)
		now = l.clock.now()
	}
}

// answer does to the client what was decided.
func (l *loop) answer(d departure) {
	switch c := d.conn; d.request.Outcome {
	case OK, Failed, Refused, Redirected:
		c.out = l.answers[d.shape]
		l.flush(c)
	case Closed:
		l.drop(c)
	case WasReset:
		// Closing then discards what is unsent and sends a reset.
		_ = unix.SetsockoptLinger(c.fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1, Linger: 0}) // a plain close is the worst that can come
		l.drop(c)
	case Unanswered, Gone:
		// The connection stays busy until the client closes it, or is closed.
	}
}

// flush writes what the kernel takes. When the answer is out the connection is
// ready for the next request, which may be here already.
func (l *loop) flush(c *conn) {
	for len(c.out) > 0 {
		n, err := unix.Write(c.fd, c.out)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.EAGAIN):
			return // the loop hears when it can go on
		case err != nil:
			l.drop(c)
			return
		}
		c.out = c.out[n:]
	}
	c.busy = false
	if c.last {
		l.drop(c)
		return
	}
	l.serve(c)
}
