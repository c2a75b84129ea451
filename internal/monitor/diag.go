package monitor

import (
	"encoding/binary"
	"errors"
	"time"
)

// The sizes and places of inet_diag messages (linux/inet_diag.h, sock_diag(7)).
const (
	netlinkHeader = 16
	diagMessage   = 72 // struct inet_diag_msg
	diagReceive   = 56 // idiag_rqueue in it
	diagSend      = 60 // idiag_wqueue in it

	messageError = 2
	messageDone  = 3
)

// queues are the bytes that wait in all TCP sockets.
type queues struct {
	send, receive uint64
}

var errDiag = errors.New("reading socket queues")

// addMessages adds the sockets of one datagram of answers. done: it was the
// last.
func (q *queues) addMessages(b []byte) (done bool, err error) {
	for len(b) >= netlinkHeader {
		n := int(binary.NativeEndian.Uint32(b))
		if n < netlinkHeader || n > len(b) {
			return true, errDiag
		}
		switch binary.NativeEndian.Uint16(b[4:]) {
		case messageDone:
			return true, nil
		case messageError:
			return true, errDiag
		}
		if n < netlinkHeader+diagMessage {
			return true, errDiag
		}
		body := b[netlinkHeader:]
		q.receive += uint64(binary.NativeEndian.Uint32(body[diagReceive:]))
		q.send += uint64(binary.NativeEndian.Uint32(body[diagSend:]))
		b = b[min((n+3)&^3, len(b)):]
	}
	if len(b) > 0 {
		return true, errDiag
	}
	return false, nil
}

// allowance keeps something whose cost is not known beforehand within a
// share of the time: after a turn that took long, the next turns are left out.
type allowance struct {
	perTurn time.Duration // what a turn may take on average
	debt    time.Duration
}

// turn reports whether it may be done this time.
func (a *allowance) turn() bool {
	a.debt = max(a.debt-a.perTurn, 0)
	return a.debt == 0
}

// spent records what a turn took.
func (a *allowance) spent(d time.Duration) { a.debt += d }
