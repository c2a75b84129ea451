package http1

import "time"

// operation is one that is due.
type operation struct {
	kind int // index of its target
	due  time.Duration
}

// state is what a connection is doing.
type state uint8

const (
	closed     state = iota
	connecting       // the handshake is under way, for an operation
	busy             // an operation has been sent, wholly or in part
	idle             // free
	parting          // the server will close it; nothing is sent any more
)

// conn is a connection, or the place of one: it is used again for another
// connection when this one is closed.
type conn struct {
	// slot and age say in epoll's events whom they are about: an event may be
	// reported together with what closes the connection, and the place be
	// taken again before the event is looked at.
	slot, age int32
	fd        int // -1: none
	state     state
	origin    *origin
	endpoint  *endpoint

	op    operation
	sent  time.Duration // when op was sent, or the connection began to part
	tries int           // addresses that were tried for op
	rest  []byte        // of the request, that is not written yet
	cut   bool          // nothing can be written any more
	reply reply

	prev, next *conn // in the list that it is in, if any
}

// list is a list of connections. Each is in one list at most, so that adding
// and removing costs nothing but a few pointers.
type list struct{ first, last *conn }

// push adds c at the end.
func (l *list) push(c *conn) {
	c.prev, c.next = l.last, nil
	if l.last == nil {
		l.first = c
	} else {
		l.last.next = c
	}
	l.last = c
}

// remove takes c out, wherever it is.
func (l *list) remove(c *conn) {
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.prev, c.next = nil, nil
}

// queue holds operations that wait for a connection to their origin while what
// is for others goes on. Its room is fixed.
type queue struct {
	room []operation
	head int
	n    int
}

// push reports whether there was room.
func (q *queue) push(x operation) bool {
	if q.n == len(q.room) {
		return false
	}
	q.room[(q.head+q.n)%len(q.room)] = x
	q.n++
	return true
}

// first is the operation that has waited for longest; there is one.
func (q *queue) first() operation { return q.room[q.head] }

func (q *queue) pop() operation {
	x := q.room[q.head]
	q.head = (q.head + 1) % len(q.room)
	q.n--
	return x
}
